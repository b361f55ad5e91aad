//! Rows of data files that are used once: each by one request or iteration, regardless of the number of workers and the
//! distribution of users.

use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, OnFailure, Pause, Step};
use brunt_plan::scenarios::{ScenarioPlan, total_load};
use brunt_plan::{Arrivals, Load, Stage, WeightedUrl};

use super::harness::{MS, SECOND, SimPlan, after};
use super::sim_result::SimResult;

/// Numbers of users and of rows: with several workers, the users are unevenly distributed, or the rows do not divide
/// evenly, or there are fewer rows than users.
const TABLE: [(u32, u64); 6] = [(3, 100), (5, 31), (10, 100), (7, 3), (1, 9), (4, 40)];

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

/// Creates a file with this many rows (`u0` and so on) in a temporary directory.
fn file(rows: u64) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("users.csv");
    std::fs::write(&path, (0..rows).fold("name\n".to_owned(), |all, n| all + &format!("u{n}\n"))).expect("written");
    (folder, path.display().to_string())
}

fn url(path: &str, file: &str, words: &str) -> WeightedUrl {
    WeightedUrl::plain(format!("http://test/{path}?u={{csv {file}.name {words}}}"))
}

/// Returns the rows used in requests to this path, in file order.
fn taken(played: &SimResult, path: &str) -> Vec<u64> {
    let rows = played.asks.iter().filter_map(|(_, asked)| asked.strip_prefix(path)?.strip_prefix("?u=u"));
    let mut rows: Vec<u64> = rows.map(|row| row.parse().expect("a row")).collect();
    rows.sort_unstable();
    rows
}

fn each(rows: u64, times: u64) -> Vec<u64> {
    (0..rows).flat_map(|row| (0..times).map(move |_| row)).collect()
}

#[test]
fn each_request_takes_another_row_until_all_are_taken() {
    for ((users, rows), words) in TABLE.into_iter().flat_map(|t| ["", "unique", "shuffle stop"].map(|w| (t, w))) {
        let (_folder, file) = file(rows);
        for workers in 1..=4 {
            let scene = SimPlan::closed(users, Nanos::from_secs(3600)).with(|plan| {
                plan.urls = vec![url("a", &file, words)].into();
                (plan.requests, plan.duration, plan.workers) = (Some(rows), None, workers);
            });
            let played = scene.play(|| after(MS));
            assert_eq!(taken(&played, "/a"), each(rows, 1), "{words} {users} users, {workers} workers");
        }
    }
}

#[test]
fn each_iteration_takes_another_row_for_all_of_its_requests() {
    for ((users, rows), ahead) in TABLE.into_iter().flat_map(|t| [false, true].map(|ahead| (t, ahead))) {
        let (_folder, file) = file(rows);
        for workers in 1..=3 {
            let scene = SimPlan::closed(users, Nanos::from_secs(3600)).with(|plan| {
                plan.urls = ["a", "b", "once"].map(|path| url(path, &file, "unique")).into_iter().collect();
                let start = if ahead { vec![send(2)] } else { Vec::new() };
                plan.flow = Some(Flow { steps: vec![send(0), send(1)], start, ..Flow::default() });
                (plan.requests, plan.duration, plan.workers) = (Some(rows), None, workers);
            });
            let played = scene.play(|| after(MS));
            let found = ["/a", "/b"].map(|path| taken(&played, path));
            assert_eq!(found, [each(rows, 1), each(rows, 1)], "{users} users, {workers} workers, {ahead}");
            // Steps before a user's first iteration use that iteration's row; a user without an iteration does nothing.
            let before = taken(&played, "/once");
            assert_eq!(before.len() as u64, if ahead { rows.min(u64::from(users)) } else { 0 }, "{before:?}");
        }
    }
}

#[test]
fn each_scenario_takes_its_own_rows_once() {
    let (_folder, file) = file(30);
    let load = |open: Option<Arrivals>| {
        let stages = |level| vec![Stage { lasts: Nanos::from_secs(20), from: level, to: level }];
        match open {
            Some(arrivals) => Load::Open { stages: stages(50.0), arrivals },
            None => Load::Closed { stages: stages(5.0), think: None, together: false },
        }
    };
    let scenario = |name: &str, open, iterations, url| ScenarioPlan {
        name: name.into(),
        load: load(open),
        start: Nanos::ZERO,
        duration: Some(Nanos::from_secs(20)),
        iterations: Some(iterations),
        iterations_per_user: None,
        graceful_stop: SECOND,
        spawn_rate: None,
        max_users: None,
        max_connections: 100,
        flow: Flow { steps: vec![send(url), Step::Pause(Pause::Uniform { from: MS, to: MS })], ..Flow::default() },
    };
    for workers in 1..=4 {
        let scene = SimPlan::closed(1, SECOND).with(|plan| {
            let all = vec![
                scenario("users", None, 30, 0),
                scenario("poisson", Some(Arrivals::Poisson), 29, 1),
                scenario("constant", Some(Arrivals::Constant), 30, 2),
            ];
            plan.urls = ["a", "b", "c"].map(|path| url(path, &file, "unique")).into_iter().collect();
            (plan.load, plan.duration, plan.workers) = (total_load(&all), None, workers);
            plan.scenarios = all;
        });
        let played = scene.play(|| after(MS));
        let found = ["/a", "/b", "/c"].map(|path| taken(&played, path));
        assert_eq!(found, [each(30, 1), each(29, 1), each(30, 1)], "{workers} workers");
    }
}
