//! Flows of plan files: parsed steps, positions of mistakes, and the round trip through YAML.

use brunt_plan::flow::{Flow, OnFailure, Pause, Step};
use brunt_plan::{Plan, document};

use super::file_tests::{is_refused, of_file, with_file};

const SHOP: &str = "\
users: 3
duration: 2s
flow:
  - url: http://h/login
    name: login
    data: a=b
    capture:
      token: json $.token
      id: 'regex id=(\\d+) | last'
    on-failure: stop-user
  - pause: 1s..3s
  - h/plain
  - group: browse
    steps:
      - repeat: 3
        steps:
          - url: http://h/item?t={token}
          - pause: normal 2s 500ms
  - choose:
      - weight: 3
        steps: [h/a]
      - steps: [{pause: exponential 1s}, h/b]
  - if: token == 'x' and id > 3
    steps: [h/c]
    else: [{while: not id, steps: [h/d]}]
  - once: [h/welcome]
  - for-each: one
    in: id
    steps: [{call: show, with: {what: 'x{one}', n: 3}}]
  - for-each: two
    in: [a b, '{token}', 7, 'null', '- x', '#']
    steps: [{call: show}, 'h/{two}']
  - batch:
      at-most: 3
      on-failure: go-on
      requests: [h/x, {url: h/y, capture: {y: status}, expect-status: 201, on-failure: next-iteration}]
  - batch: [h/z]
  - pace: 10s
  - close: all
  - close: http://h/x
  - close: [h, http://H]
setup: [{url: h/setup, capture: {all: status}}]
teardown: [{url: h/teardown, method: DELETE}]
start: [h/start]
end: [h/end]
flows:
  show:
    - url: h/show?{what}
      on-failure: stop-run
    - call: inner
  inner: [h/inner]
";

/// Parses a plan and checks that its YAML output has the same flow.
fn flow(text: &str) -> Flow {
    let plan = of_file(text, &[]);
    let flow = plan.flow.clone().expect("a flow");
    assert_eq!(of_file(&document::yaml(&plan), &[]).flow.as_ref(), Some(&flow), "{text}");
    flow
}

#[test]
fn a_flow_is_read_into_steps_over_the_urls_of_the_plan() {
    let plan = of_file(SHOP, &[]);
    let urls: Vec<&str> = plan.urls.iter().map(|url| url.url.as_str()).collect();
    let expected = [
        "http://h/login",
        "http://h/plain",
        "http://h/item?t={token}",
        "http://h/a",
        "http://h/b",
        "http://h/c",
        "http://h/d",
        "http://h/welcome",
        "http://h/{two}",
        "http://h/x",
        "http://h/y",
        "http://h/z",
        "http://h/show?{what}",
        "http://h/inner",
        "http://h/start",
        "http://h/end",
        "http://h/setup",
        "http://h/teardown",
    ];
    assert_eq!(urls, expected);
    assert_eq!(plan.urls[0].options["capture"], ["token json $.token", "id regex id=(\\d+) | last"]);
    let flow = plan.flow.expect("a flow");
    assert_eq!((flow.groups(), flow.urls()), (vec!["browse"], (0..18).collect()));
    assert_eq!((flow.max_in_flight(), flow.start.len(), flow.end.len()), (2, 1, 1));
    assert_eq!(flow.variables, ["token", "id", "y", "all", "one", "n", "what", "two"]);
    assert_eq!(flow.steps[0], Step::Request { url: 0, on_failure: OnFailure::StopUser });
    let of_batches = flow.steps.iter().filter(|step| matches!(step, Step::Batch { .. }));
    let sent: Vec<(u32, OnFailure)> = of_batches.flat_map(Step::requests).collect();
    assert_eq!(sent, [(9, OnFailure::GoOn), (10, OnFailure::NextIteration), (11, OnFailure::NextIteration)]);
    let [from, to] = [1, 3].map(brunt_measure::Nanos::from_secs);
    assert_eq!(flow.steps[1], Step::Pause(Pause::Uniform { from, to }));
}

#[test]
fn a_flow_that_is_written_down_reads_as_itself_and_so_does_that_of_a_report() {
    let plan = of_file(SHOP, &["--iterations", "7"]);
    assert_eq!(plan.requests, Some(7));
    let text = document::yaml(&plan);
    assert_eq!(Plan { seed: plan.seed, ..of_file(&text, &[]) }, plan, "{text}");
    let json = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(Plan { seed: plan.seed, ..of_file(&json, &[]) }, plan, "{json}");
}

/// Plan texts, with the position and a part of the error.
const MISTAKES: [(&str, &str, &str); 56] = [
    ("flow: []", "p.yaml line 1 column 1 (flow)", "sends nothing"),
    ("flow: 3", "p.yaml line 1 column 7 (steps)", "must be a list"),
    ("urls: [h]\nflow: [h]", "p.yaml line 2 column 1 (flow)", "cannot be combined with `urls`"),
    ("flow: [h]\nurls: [h]", "p.yaml line 2 column 1 (urls)", "cannot be combined with `flow`"),
    ("flow: [h]\ncurl: curl h", "p.yaml line 2 column 7 (curl)", "cannot be combined with the `urls`, `flow`"),
    ("flow:\n - paus: 1s", "p.yaml line 2 column 4 (paus)", "write `pause` if you meant that"),
    (
        "flow:\n - method: GET",
        "p.yaml line 2 column 4 (method)",
        "is for a request, and this step has no `url`; write `- url: …`",
    ),
    ("flow:\n - get: h", "p.yaml line 2 column 4 (get)", "is not a kind of step; a step has one of url, batch, pause,"),
    (
        "flow:\n - url: h\n   captuer: {a: status}",
        "p.yaml line 3 column 4 (captuer)",
        "write `capture` if you meant that",
    ),
    ("flow:\n - h\n - repeat: 3\n   steps: []", "p.yaml line 4 column 4 (steps)", "is empty; write a step below it"),
    (
        "flow:\n - batch:\n   - h\n   - pause: 1s",
        "p.yaml line 4 column 6 (pause)",
        "is not a request, and a batch has only requests",
    ),
    (
        "flow:\n - h/a\n - close: http://g",
        "p.yaml line 3 column 11 (close)",
        "no step sends anything to `http://g`; write all, or http://h",
    ),
    ("flow:\n - h/a\n - close: [all, h]", "p.yaml line 3 column 12 (close)", "lists `all` together with others"),
    ("vus: 3\nflow: [h]", "p.yaml line 1 column 1 (vus)", "has a different name here; use `users: 10`"),
    (
        "clear-cookies: true\nflow: [h]",
        "p.yaml line 1 column 1 (clear-cookies)",
        "has no cookies to clear; add `cookie-jar: true`",
    ),
    ("flow:\n - url: h\n   pause: 1s", "p.yaml line 3 column 4 (pause)", "starts another step"),
    ("flow:\n - pause: 3s..1s", "p.yaml line 2 column 11 (pause)", "3s..1s"),
    ("flow:\n - pause: normal 1s", "p.yaml line 2 column 11 (pause)", "is not a pause; use 2s, 1s..3s,"),
    ("flow:\n - repeat: x\n   steps: [h]", "p.yaml line 2 column 4 (repeat)", "x"),
    ("flow:\n - group: g", "p.yaml line 2 column 4 (group)", "needs `steps`"),
    (
        "flow:\n - group: g\n   steps: [{group: g, steps: [h]}]",
        "p.yaml line 3 column 13 (group)",
        "is inside a group of the same name",
    ),
    ("flow:\n - if: tokn\n   steps: [h]", "p.yaml line 2 column 8 (condition)", "tokn"),
    ("flow:\n - if: a\n   else: [h]", "p.yaml line 2 column 4 (if)", "needs `steps`"),
    ("flow:\n - choose: []", "p.yaml line 2 column 12 (choose)", "has no branches"),
    ("flow:\n - url: h\n   weight: 2", "p.yaml line 3 column 4 (weight)", "in a flow, use `choose`"),
    ("flow:\n - url: h\n   timeuot: 2", "p.yaml line 3 column 4 (timeuot)", "unknown key"),
    ("flow:\n - url: h\n   capture: x", "p.yaml line 3 column 4 (capture)", "must be a map"),
    ("flow:\n - url: h\n   capture: {user: status}", "p.yaml line 3 column 14 (user)", "is the name of a slot"),
    ("flow:\n - url: h\n   capture: {a: stat}", "p.yaml line 3 column 17 (a)", "is not a source of a value"),
    (
        "flow:\n - url: h\n   on-failure: no",
        "p.yaml line 3 column 4 (on-failure)",
        "is not one of next-iteration, go-on, stop-user, stop-run",
    ),
    ("flow:\n - for-each: x\n   steps: [h]", "p.yaml line 2 column 4 (for-each)", "needs `in`"),
    ("flow:\n - for-each: 1x\n   in: [a]", "p.yaml line 2 column 14 (for-each)", "cannot be the name of a value"),
    ("flow:\n - for-each: x\n   in: y\n   steps: [h]", "p.yaml line 3 column 8 (in)", "no step captures `y`"),
    ("flow:\n - for-each: x\n   in: [a]", "p.yaml line 2 column 4 (for-each)", "needs `steps`"),
    (
        "flow:\n - for-each: x\n   in: [a, '{uuid}']\n   steps: [h]",
        "p.yaml line 3 column 12 (with)",
        "differs in each request",
    ),
    ("flow:\n - call: x\n - h", "p.yaml line 2 column 10 (call)", "there is no flow `x`; write it below `flows:`"),
    ("flow: [{call: shw}]\nflows: {show: [h]}", "p.yaml line 1 column 15 (call)", "write `show` if you meant that"),
    ("flow: [{call: x, wit: 3}]\nflows: {x: [h]}", "p.yaml line 1 column 18 (wit)", "it takes only `with:"),
    ("flow: [{call: x, with: {user: 3}}]\nflows: {x: [h]}", "p.yaml line 1 column 25 (user)", "is the name of a slot"),
    ("flow:\n - batch: 3", "p.yaml line 2 column 11 (batch)", "needs a list of requests"),
    ("flow:\n - batch: ['redis://h']", "p.yaml line 2 column 12 (batch)", "takes only HTTP requests"),
    ("flow:\n - batch: {requests: []}", "p.yaml line 2 column 22 (batch)", "has no requests"),
    ("flow:\n - batch: {at-most: 0, requests: [h]}", "p.yaml line 2 column 21 (at-most)", "use 1 or more"),
    (
        "flow:\n - batch: {most: 2, requests: [h]}",
        "p.yaml line 2 column 12 (most)",
        "is not a key of a batch; write `requests`,",
    ),
    (
        "flow:\n - batch: [{url: h, on-failure: no}]",
        "p.yaml line 2 column 21 (on-failure)",
        "`no` is not one of next-iteration, go-on,",
    ),
    ("urls: [h]\nsetup: [h]", "p.yaml line 2 column 1 (setup)", "needs a `flow` or `scenarios`"),
    ("flow: [{pause: 1s}]\nsetup: [h]", "p.yaml line 1 column 1 (flow)", "sends nothing"),
    ("flow: [h]\nstart: [h]\nrate: 5/s", "start", "put it first in `flow`"),
    ("flow: [h]\nflows: 3", "p.yaml line 2 column 8 (flows)", "must be a map"),
    ("urls: [h]\nflows: {x: [h]}", "p.yaml line 2 column 1 (flows)", "needs a `flow` or `scenarios`"),
    ("flow: [{call: x}]\nflows: {x: [h, {call: y}], y: [{call: x}]}", "p.yaml line 2 column 9 (x)", "calls itself"),
    (
        "flow: [{call: x, with: {a: 1}}]\nflows: {x: [{call: y, with: {a: 1}}], y: [h]}",
        "p.yaml line 2 column 9 (x)",
        "takes `a`, and so does a flow that it calls",
    ),
    (
        "flow: [{group: g, steps: [{call: x}]}]\nflows: {x: [{group: g, steps: [h]}]}",
        "p.yaml line 2 column 9 (x)",
        "is called inside the group `g`",
    ),
    ("flow: [h]\nrequests: 5", "p.yaml line 2 column 11 (requests)", "with a flow, use --iterations"),
    ("flow: [h]\nthink: 1s", "p.yaml line 2 column 8 (think)", "in a flow, add `pause` steps"),
    ("urls: [h]\niterations: 5", "p.yaml line 2 column 13 (iterations)", "needs a flow; for requests, use -n"),
];

#[test]
fn mistakes_are_named_where_they_stand() {
    for (text, place, trouble) in MISTAKES {
        let complaint = with_file(text, &[]).expect_err(text);
        assert!(complaint.location == place && complaint.problem.contains(trouble), "{text}: {complaint}");
    }
    let deep = format!("flow: {}h{}", "[{repeat: 2, steps: ".repeat(40), "}]".repeat(40));
    is_refused(&deep, &[], "deep");
    // The error is about the URL on the command line, not one in the file.
    is_refused("flow: [h]", &["http://other/"], "URL: cannot be combined with a flow");
    is_refused("flow: [h]", &["-u", "ftp://h"], "-u: `ftp://` is not supported");
}

#[test]
fn curl_commands_are_a_flow_in_their_order_whose_users_keep_cookies() {
    let commands = "curl http://h/login -d a=b -c jar\ncurl http://h/page -b jar\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flow.sh");
    std::fs::write(&path, commands).expect("written");
    let path = path.display().to_string();
    let read_line = |words: &[&str]| {
        let line: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match super::read(&line, &super::tests::protocols(), &super::tests::DEFAULTS) {
            Ok(super::Command::Run(intent)) => Ok(intent),
            Ok(other) => panic!("{other:?}"),
            Err(complaint) => Err(complaint.to_string()),
        }
    };
    let intent = read_line(&["--curl-file", &path, "--as-flow", "--iterations", "9"]).expect("a good line");
    let requests = [0, 1].map(|url| Step::Request { url, on_failure: OnFailure::NextIteration });
    assert_eq!(intent.plan.flow.as_ref().expect("a flow").steps, requests);
    assert_eq!((intent.plan.requests, intent.plan.options.contains_key("cookie-jar")), (Some(9), true));
    assert!(!format!("{:?}{:?}", intent.notes, intent.remarks).contains("not kept"), "{intent:?}");
    let shown = document::yaml(&intent.plan);
    assert_eq!(of_file(&shown, &[]).flow, intent.plan.flow, "{shown}");
    let alone = read_line(&["--as-flow", "http://h/"]).expect_err("no commands");
    assert!(alone.starts_with("--as-flow: needs curl commands"), "{alone}");
}

#[test]
fn cookies_last_for_one_iteration_where_asked() {
    assert!(!flow("flow: [h/]\n").clear_cookies);
    assert!(flow("clear-cookies: true\ncookie-jar: true\nflow: [h/]\n").clear_cookies);
    is_refused("clear-cookies: true\nurls: [h/]\n", &[], "needs a flow");
    is_refused("urls: [h/]\n", &["--clear-cookies"], "--clear-cookies: needs a flow");
    // `cookie-jar` may be in the file or on the command line.
    let beside = with_file("clear-cookies: true\nflow: [h/]\n", &["--cookie-jar"]).expect("a plan").plan;
    assert!(beside.flow.expect("a flow").clear_cookies);
}

#[test]
fn pages_are_groups_and_are_asked_for_where_a_flow_loads_them() {
    let text = "resources: 3 at once\nflow: [{url: 'http://h/x?y', resources-may-fail: true}, {url: http://h/z, resources: 0}]\n";
    assert_eq!(flow(text).groups(), ["page /x"]);
    for (text, expected) in [
        ("url: http://h/\nresources: 6\n", "line 2 column 12 (resources): only works in a flow"),
        ("resources-from: x\nflow: [http://h/]\n", "(resources-from): needs `resources`"),
        (
            "flow:\n - batch:\n   - url: http://h/\n     resources: 6\n",
            "cannot fetch the resources of `http://h/`, which is in a batch",
        ),
    ] {
        is_refused(text, &[], expected);
    }
}

#[test]
fn scenarios_load_pages_too() {
    let text = "scenarios:\n  a: {users: 2, flow: [{url: http://h/x, resources: 6}]}\n  b: {users: 2, flow: [{call: f}]}\n\
                flows: {f: ['http://h/y', {url: http://h/z, resources: 2}]}\nobjectives: ['p95{page /z}<1s']\n";
    let groups = |plan: &brunt_plan::Plan| -> Vec<String> {
        plan.spans().iter().filter_map(|span| span.group).map(str::to_owned).collect()
    };
    assert_eq!(groups(&of_file(text, &[])), ["page /x", "page /z"]);
    let alone = of_file(text, &["--scenario", "a"]);
    assert_eq!((groups(&alone), alone.objectives.len()), (vec!["page /x".to_owned()], 0));
}

#[test]
fn checks_have_names_where_a_plan_gives_them() {
    let text = "flow:\n- url: h/\n  expect-status: {signed in: 201}\n  expect-json:\n    has a token: $.token\n    is ours: '$.n == 1'\n  expect-body: hi\n";
    let plan = of_file(text, &[]);
    let names = ["expect-json 0 has a token", "expect-json 1 is ours", "expect-status 0 signed in"];
    assert_eq!(plan.urls[0].options["check-names"], names);
    assert_eq!(plan.urls[0].options["expect-json"], ["$.token", "$.n == 1"]);
    for text in [document::yaml(&plan), serde_json::to_string(&plan).expect("JSON")] {
        assert_eq!(of_file(&text, &[]).urls, plan.urls, "{text}");
    }
    let two = "flow:\n- url: h/\n  expect-body: {a: x, b: y}\n";
    is_refused(two, &[], "line 3 column 3 (expect-body): takes a single value");
}
