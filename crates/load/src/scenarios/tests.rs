use brunt_plan::flow::Flow;
use brunt_plan::{Arrivals, Load, Stage, scenarios};

use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

fn scenario(load: Load, start: u64, duration: Option<u64>) -> ScenarioPlan {
    ScenarioPlan {
        name: "s".into(),
        load,
        start: Nanos::from_secs(start),
        duration: duration.map(Nanos::from_secs),
        iterations: None,
        iterations_per_user: None,
        graceful_stop: SECOND,
        spawn_rate: None,
        max_users: None,
        max_connections: 10,
        flow: Flow::default(),
    }
}

fn stages(levels: &[(u64, f64, f64)]) -> Vec<Stage> {
    levels.iter().map(|&(s, from, to)| Stage { lasts: Nanos::from_secs(s), from, to }).collect()
}

fn users(level: f64, lasts: u64) -> Load {
    Load::Closed { stages: stages(&[(lasts, level, level)]), think: None, together: false }
}

fn rate(level: f64, lasts: u64) -> Load {
    Load::Open { stages: stages(&[(lasts, level, level)]), arrivals: Arrivals::Constant }
}

/// Creates a plan with these scenarios and two seconds of warm-up.
fn plan(all: Vec<ScenarioPlan>) -> Plan {
    let load = scenarios::total_load(&all);
    let json = serde_json::json!({"protocol": "http", "urls": [], "options": {}, "load": load, "requests": null, "duration": null,
        "warmup": 2 * SECOND.0, "drain": 0, "timeout": 1, "connect_timeout": 1, "max_connections": 1, "workers": 1, "pin": false,
        "net": "auto", "sources": [], "connect_to": [], "unix_socket": null, "objectives": [], "seed": 1,
        "tls": {"insecure": false, "cacert": null, "cert": null, "key": null, "resume": true}});
    Plan { scenarios: all, ..serde_json::from_value(json).expect("a plan") }
}

#[test]
fn a_scenario_that_begins_later_has_no_warm_up_and_nobody_before_and_after() {
    let plan = plan(vec![scenario(users(4.0, 10), 0, Some(10)), scenario(users(3.0, 5), 4, Some(5))]);
    let at = |number, seconds| {
        let course = ScenarioCourse::of(&plan, number, Share::WHOLE).expect("one");
        course.users().expect("users").at(Nanos::from_secs(seconds))
    };
    assert_eq!([0, 2, 11, 12, 100].map(|s| at(0, s)), [4, 4, 4, 0, 0]);
    assert_eq!([0, 5, 6, 10, 11, 100].map(|s| at(1, s)), [0, 0, 3, 3, 0, 0]);
    assert_eq!(crate::run_ends(&plan), Some(Nanos::from_secs(12)));
}

#[test]
fn arrivals_of_all_workers_are_those_of_the_scenario_in_its_time() {
    let plan = plan(vec![scenario(users(1.0, 9), 0, Some(9)), scenario(rate(10.0, 3), 5, Some(3))]);
    for of in [1, 4] {
        let mut due = Vec::new();
        for index in 0..of {
            let mut its =
                ScenarioCourse::of(&plan, 1, Share { index, of }).and_then(|course| course.arrivals()).expect("a rate");
            due.extend(std::iter::from_fn(|| its.next_due()));
        }
        due.sort_unstable();
        assert_eq!(due.len(), 30, "{of} workers");
        assert_eq!((due[0], due[29]), (Nanos::from_secs(7), Nanos::from_millis(9900)));
    }
}

#[test]
fn users_of_many_small_scenarios_are_spread_over_the_workers() {
    let plan = plan((0..8).map(|_| scenario(users(1.0, 9), 0, Some(9))).collect());
    let of = 4;
    let of_worker = |index| -> u32 {
        let courses = (0..8).filter_map(|number| ScenarioCourse::of(&plan, number, Share { index, of }));
        courses.map(|course| course.users().expect("users").peak()).sum()
    };
    assert_eq!((0..of).map(of_worker).collect::<Vec<_>>(), [2, 2, 2, 2]);
}

#[test]
fn one_that_lasts_until_its_iterations_are_done_leaves_the_end_of_the_run_open() {
    let counted = ScenarioPlan { iterations: Some(10), ..scenario(users(2.0, 86_400), 0, None) };
    let plan = plan(vec![scenario(users(4.0, 10), 0, Some(10)), counted]);
    assert_eq!(crate::run_ends(&plan), None);
    let share = |index| ScenarioCourse::of(&plan, 1, Share { index, of: 2 }).and_then(|course| course.iterations());
    assert_eq!(share(0).into_iter().chain(share(1)).sum::<u64>(), 10);
}

#[test]
fn together_they_ask_for_the_sum_of_what_each_does() {
    let all = [
        scenario(Load::Closed { stages: stages(&[(10, 0.0, 10.0)]), think: None, together: false }, 0, Some(10)),
        scenario(users(4.0, 5), 5, Some(5)),
    ];
    let load = scenarios::total_load(&all);
    assert_eq!(load.stages(), stages(&[(5, 0.0, 5.0), (5, 9.0, 14.0)]));
    let mixed = [all[0].clone(), scenario(rate(50.0, 3), 1, Some(3))];
    let load = scenarios::total_load(&mixed);
    assert_eq!((load.is_open(), load.stages()), (true, &stages(&[(1, 0.0, 0.0), (3, 50.0, 50.0)])[..]));
}
