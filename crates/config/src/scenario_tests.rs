//! Scenarios of plan files: parsing, positions of mistakes, and the round trip through YAML.

use brunt_measure::Nanos;
use brunt_plan::document;
use brunt_plan::flow::Step;
use brunt_plan::{Arrivals, Load};

use super::file_tests::{is_refused, of_file, with_file};

const SHOP: &str = "\
drain: 3s
scenarios:
  visitors:
    rate: 20/s
    arrivals: constant
    duration: 30s
    start: 5s
    max-users: 40
    graceful-stop: 1s
    flow:
      - url: http://h/login
        capture: {token: json $.token}
      - group: browse
        steps: [{repeat: 2, steps: ['h/item?t={token}']}]
  staff:
    stages: [10s:0..5, 20s:5]
    clear-cookies: true
    flow: [h/admin]
  pages:
    users: 4
    iterations-per-user: 3
    spawn-rate: 2/s
    think: 1s
    urls: [{url: h/a, weight: 3}, h/b]
";

#[test]
fn scenarios_are_read_each_with_its_own_load_and_flow() {
    let plan = of_file(SHOP, &[]);
    let [visitors, staff, pages] = &plan.scenarios[..] else { panic!("three: {:?}", plan.scenarios) };
    let s = Nanos::from_secs;
    assert_eq!((visitors.start, visitors.duration, visitors.max_users), (s(5), Some(s(30)), Some(40)));
    assert!(matches!(visitors.load, Load::Open { arrivals: Arrivals::Constant, .. }));
    assert_eq!((visitors.graceful_stop, staff.graceful_stop), (s(1), s(3)), "that of the plan where it has none");
    assert_eq!((staff.load.stages().len(), staff.duration, staff.flow.clear_cookies), (2, Some(s(30)), true));
    assert_eq!((pages.iterations_per_user, pages.spawn_rate, pages.duration), (Some(3), Some(2.0), None));
    assert_eq!([visitors, staff, pages].map(|each| each.flow.urls()), [vec![0, 1], vec![2], vec![3, 4]]);
    let Step::Choose { ways } = &pages.flow.steps[0] else { panic!("a choice: {:?}", pages.flow) };
    assert_eq!((ways[0].weight, pages.flow.steps.len()), (3.0, 2));
    assert_eq!(plan.duration, None, "the iterations of one end it");
    assert!(plan.load.is_open() && plan.scenarios.iter().all(|each| each.flow.variables == ["token"]));
}

#[test]
fn what_is_shown_and_what_a_report_keeps_are_read_again_as_the_same_plan() {
    let plan = of_file(SHOP, &[]);
    let again = of_file(&document::yaml(&plan), &[]);
    assert_eq!(again.scenarios, plan.scenarios, "{}", document::yaml(&plan));
    let json = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(of_file(&json, &[]).scenarios, plan.scenarios);
}

#[test]
fn what_is_said_of_rates_beside_them_holds_for_those_that_have_one() {
    let text = "max-connections: 9\nslack: 1ms\nscenarios: {a: {users: 2, url: h/}, b: {rate: 5/s, url: h/}}\n";
    let plan = of_file(text, &[]);
    assert_eq!((plan.scenarios[1].max_connections, plan.slack), (9, Nanos::from_millis(1)));
}

#[test]
fn a_list_of_them_is_read_as_well_and_one_may_run_alone() {
    let plan =
        of_file("scenarios:\n  - name: a\n    flow: [h/a]\n  - {name: b, users: 3, url: h/b}\n", &["--scenario", "b"]);
    assert_eq!(plan.scenarios.iter().map(|each| each.name.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_eq!((plan.load.peak(), plan.duration), (3.0, Some(Nanos::from_secs(10))));
}

#[test]
fn an_objective_on_a_scenario_that_does_not_run_is_told_and_left_out() {
    let text = "\
objectives:
- p95{pay}<1s
- p95{GET /b}<1s
- p95{GET /c}<1s
- p95{iteration a}<1s
- p95{cart active}<1s
- failed{scenario b}<1%
- failed<1%
- p95{nowhere}<1s
scenarios:
  a: {flow: [{url: h/a, name: pay}, {group: cart, steps: [h/c]}]}
  b: {flow: [h/b]}
";
    let only = |name: &str| {
        let intent = with_file(text, &["--scenario", name]).expect("a plan");
        (intent.plan.objectives.join(" "), intent.flow_remarks.len(), intent.flow_remarks)
    };
    let (judged, left_out, remarks) = only("b");
    // A name that no scenario has is refused later.
    assert_eq!((&*judged, left_out), ("p95{GET /b}<1s failed{scenario b}<1% failed<1% p95{nowhere}<1s", 4));
    assert_eq!(remarks[0], "the objective `p95{pay}<1s` is about another scenario and is not judged");
    let (_, left_out, remarks) = only("a");
    assert_eq!(left_out, 2, "{remarks:?}");
}

#[test]
fn what_is_wrong_with_a_scenario_is_said_at_its_place() {
    let one = |lines: &str| format!("scenarios:\n  a:\n    flow: [h/]\n{lines}");
    let table = [
        (one("    usrs: 3\n"), "line 4 column 5 (usrs): unknown key; write `users`"),
        (one("    rate: 3/s\n    users: 3\n"), "(rate): cannot be combined with `users`"),
        (one("    spawn-rate: 3/s\n    rate: 3/s\n"), "line 4 column 5 (spawn-rate): is for a number of users"),
        (one("    max-users: 3\n"), "(max-users): is for a rate"),
        (one("    stages: [10s:1]\n    duration: 3s\n"), "(duration): cannot be combined with `stages`"),
        (
            one("    iterations: 3\n    iterations-per-user: 3\n"),
            "(iterations-per-user): cannot be combined with `iterations`",
        ),
        (one("    urls: [h/]\n"), "(urls): cannot be combined with `flow`"),
        (one("    graceful-stop: 3\n"), "(graceful-stop): `3` is missing its unit"),
        ("scenarios:\n  a: {users: 3}\n".into(), "line 2 column 3 (a): sends nothing"),
        ("scenarios:\n  - users: 3\n".into(), "has an item without a name"),
        ("urls: [h/]\nscenarios: {a: {url: h/}}\n".into(), "(scenarios): cannot be combined with `urls`"),
        ("scenarios: {a: {users: 1, url: h/}}\nurls: [h/]\n".into(), "(urls): cannot be combined with `scenarios`"),
        ("users: 3\nscenarios: {a: {url: h/}}\n".into(), "line 1 column 8 (users): is set in each scenario"),
        ("scenarios: {a: {flow: [{if: x = 1, steps: [h/]}]}}\n".into(), "(condition)"),
        (format!("start: [h/]\n{}", one("")), "line 1 column 1 (start): runs once per user; put it in the scenario"),
        (one("    rate: 3/s\n    end: [h/]\n"), "line 5 column 5 (end): runs once per user, and with a rate"),
        (format!("{}flows: {{x: [h/]}}\n", one("    start: [{call: y}]\n")), "(call): there is no flow `y`"),
    ];
    table.iter().for_each(|(text, said)| is_refused(text, &[], said));
    for (flag, value) in [("-c", "3"), ("-d", "3s"), ("-r", "5/s")] {
        is_refused(&one(""), &[flag, value], &format!("{flag}: is set in each scenario"));
    }
    is_refused(&one(""), &["--scenario", "b"], "there is no scenario `b`; use a");
}

#[test]
fn a_value_that_only_another_scenario_captures_is_told() {
    let text = "scenarios:\n  a: {flow: [{url: h/, capture: {t: status}}, 'h/{t}']}\n  b: {flow: ['h/{t}']}\n";
    let intent = with_file(text, &[]).expect("a plan");
    assert_eq!(intent.flow_remarks, ["line 3: b: `{t}` is captured only in another scenario; it is empty here"]);
}

const AROUND: &str = "\
setup:
- url: http://h/setup
  capture: {key: json $.key}
teardown: ['http://h/clean?k={key}']
flows:
  look: ['http://h/look?k={key}&for={what}']
scenarios:
  shop:
    users: 2
    start-time: 1s
    start: [{url: 'http://h/login', capture: {token: json $.token}}]
    end: ['http://h/logout?{token}']
    flow: [{call: look, with: {what: socks}}]
  store:
    users: 3
    flow: [{url: 'redis://h/0', command: GET x}, {call: look, with: {what: all}}]
";

#[test]
fn what_is_done_once_and_what_is_called_goes_with_scenarios_of_every_protocol() {
    let intent = with_file(AROUND, &[]).unwrap_or_else(|complaint| panic!("{complaint}"));
    assert_eq!(intent.flow_remarks, [""; 0]);
    let plan = intent.plan;
    let common = plan.common.as_ref().expect("what they have in common");
    assert_eq!((common.setup.len(), common.teardown.len(), common.flows.len()), (1, 1, 1));
    let [shop, store] = &plan.scenarios[..] else { panic!("two: {:?}", plan.scenarios) };
    assert_eq!((shop.start, shop.flow.start.len(), shop.flow.end.len()), (Nanos::from_secs(1), 1, 1));
    assert_eq!((shop.flow.flows.len(), store.flow.flows.len(), store.flow.start.len()), (1, 1, 0));
    assert!([&shop.flow, &store.flow, common].iter().all(|flow| flow.variables == shop.flow.variables));
    for text in [document::yaml(&plan), serde_json::to_string(&plan).expect("JSON")] {
        let again = of_file(&text, &[]);
        assert_eq!((&again.scenarios, &again.common), (&plan.scenarios, &plan.common), "{text}");
    }
}

#[test]
fn one_scenario_alone_keeps_what_is_done_once_and_sends_nothing_of_the_others() {
    let plan = of_file(AROUND, &["--scenario", "store"]);
    let urls: Vec<&str> = plan.urls.iter().map(|url| url.url.as_str()).collect();
    assert_eq!(plan.scenarios[0].flow.urls(), [0, 1], "{urls:?}");
    assert!(urls[0].starts_with("redis://") && urls.iter().all(|url| !url.contains("login")), "{urls:?}");
    assert_eq!(
        plan.common.expect("setup").setup_and_teardown_urls().iter().map(|url| urls[*url as usize]).collect::<Vec<_>>(),
        ["http://h/setup", "http://h/clean?k={key}"]
    );
}

#[test]
fn what_scenarios_leave_unused_is_told_of_each() {
    let text = "setup: [{url: h/, capture: {a: status, b: status}}]\nflows: {x: [h/]}\nscenarios:
  one: {flow: [{url: 'h/?{a}', capture: {t: status}}]}\n  two: {flow: ['h/?{b2}']}\n";
    let said = with_file(text, &[]).unwrap_or_else(|complaint| panic!("{complaint}")).flow_remarks;
    let expected = [
        "line 1: `b` is captured, but no step uses it",
        "line 2: the flow `x` is never called",
        "line 4: one: `t` is captured, but no step uses it",
        "line 5: two: `{b2}` is not a slot and no step captures it; it is sent literally",
    ];
    assert_eq!(said, expected);
}
