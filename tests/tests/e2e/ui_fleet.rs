//! The fleet in the console: who is there, and runs and experiments on agents.

use brunt_tests::program::until;
use brunt_tests::{ConsoleProcess, TargetProcess, TestFleet, prepare};
use serde_json::{Value, json};

/// Starts a console for a fleet, with this state of its own.
fn console(fleet: &TestFleet) -> ConsoleProcess {
    let directory = fleet.home().join("config/brunt/fleet");
    ConsoleProcess::with(&fleet.home().join("state"), &["--fleet", directory.to_str().unwrap()])
}

fn seen(console: &ConsoleProcess) -> Value {
    console.ask_as(&console.viewer_token, "GET", "/api/v1/fleet", &Value::Null).with(200).json()
}

/// Waits until this many agents are idle.
fn until_idle(console: &ConsoleProcess, agents: usize) {
    until("the agents are there, and idle", || {
        let told = seen(console);
        told["agents"].as_array().is_some_and(|all| all.iter().filter(|one| one["state"] == "idle").count() == agents)
    });
}

#[test]
fn a_run_is_started_on_agents_and_its_record_has_them() {
    let (fleet, target) = (TestFleet::with(2, &["--label", "eu", "--max-rate", "5000/s"]), TargetProcess::healthy());
    let console = console(&fleet);
    assert_eq!(console.get("/api/v1").with(200).json()["fleet"], true);
    until_idle(&console, 2);
    let told = seen(&console);
    let agent = &told["agents"][0];
    assert_eq!((&agent["name"], &agent["labels"]), (&json!("a1"), &json!(["eu"])), "{told}");
    assert_eq!(agent["terms"]["max_rate"], 5000.0, "{told}");
    assert!(agent["cores"].as_f64() > Some(0.0) && agent["round_trip_us"].as_f64() > Some(0.0), "{told}");
    assert_eq!((&told["absent"], &told["trouble"]), (&json!([]), &Value::Null), "{told}");
    let plan = format!("urls: {}\nrate: 200/s\nduration: 4s\narrivals: constant\nworkers: 2\n", target.address);
    let asked = json!({ "plan": plan, "agents": "label=eu" });
    console.ask_as(&console.viewer_token, "POST", "/api/v1/runs", &asked).with(403);
    let id = console.post("/api/v1/runs", &asked).with(201).json()["id"].as_str().unwrap().to_owned();
    until("the fleet shows what they run", || {
        let told = seen(&console);
        (0..2).all(|agent| told["agents"][agent]["run"] == id && told["agents"][agent]["state"] == "runs")
    });
    let events = console.events(&id);
    let of_agents = events.iter().filter(|(name, data)| name == "agent" && data["ended"] == "completed").count();
    assert_eq!(of_agents, 2, "{events:?}");
    assert!(events.iter().any(|(name, data)| name == "block" && data["g"].is_number()), "{events:?}");
    until("the run is over", || console.run(&id)["state"] == "over");
    let report = console.get(&format!("/api/v1/runs/{id}/report?format=json")).with(200).json();
    assert_eq!(report["requests"]["scheduled"], 800, "{report}");
    let names: Vec<&Value> = report["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, ["a1", "a2"]);
    assert_eq!(target.requests(), 801, "and the pre-flight request");
    until_idle(&console, 2);
}

#[test]
fn agents_that_cannot_be_had_are_refused_with_the_reason_and_nothing_is_kept() {
    let (fleet, target) = (TestFleet::with(1, &[]), TargetProcess::healthy());
    let console = console(&fleet);
    until_idle(&console, 1);
    let plan = format!("urls: {}\nrate: 20/s\nduration: 1s\n", target.address);
    let checked = |agents: &str| {
        let asked = json!({ "plan": plan, "agents": agents, "lang": "zh" });
        console.post("/api/v1/plan/check", &asked).with(200).json()
    };
    assert_eq!(checked("all")["ok"], true);
    let wrong = checked("two!");
    assert_eq!((&wrong["ok"], &wrong["place"]), (&json!(false), &json!("--agents")), "{wrong}");
    assert!(wrong["trouble"].as_str().unwrap().contains("而不是“two!”"), "{wrong}");
    for (agents, said) in [("2", "1 can take a share now"), ("-x", "not `-x`"), ("label=us", "us")] {
        let refused = console.post("/api/v1/runs", &json!({ "plan": plan, "agents": agents })).with(422).json();
        let error = &refused["error"];
        assert!(error["code"] == "agents" && error["sentence"].as_str().unwrap().contains(said), "{refused}");
    }
    assert_eq!(console.get("/api/v1/runs").with(200).json()["total"], 0);
    assert_eq!(target.requests(), 0);
}

#[test]
fn one_token_on_two_machines_is_told() {
    let mut fleet = TestFleet::with(1, &[]);
    let console = console(&fleet);
    until_idle(&console, 1);
    fleet.start_twin(0);
    until("it is told", || {
        let told = seen(&console);
        told["agents"][0]["remarks"][0].as_str().is_some_and(|said| said.contains("agent a1 is there 2 times"))
    });
}

#[test]
fn an_experiment_runs_on_agents() {
    let (fleet, target) = (TestFleet::with(1, &[]), TargetProcess::healthy());
    let console = console(&fleet);
    until_idle(&console, 1);
    let command = format!("sweep --agents=a1 -c 1,2 -d 500ms --repeat 2 {}", target.address);
    let begun = console.post("/api/v1/experiments", &json!({ "command": command })).with(201).json();
    let path = format!("/api/v1/experiments/{}", begun["id"].as_str().unwrap());
    until("the experiment is over", || console.get(&path).with(200).json()["state"] != "running");
    let told = console.get(&path).with(200).json();
    assert_eq!((&told["state"], &told["fault"]), (&json!("over"), &Value::Null), "{told}");
    assert!(target.requests() > 50);
}

#[test]
fn without_a_fleet_the_console_says_how_to_make_one_and_finds_one_that_is_made() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("fleet").display().to_string();
    let console = ConsoleProcess::with(home.path(), &["--fleet", &directory]);
    assert_eq!(console.get("/api/v1").with(200).json()["fleet"], false);
    let told = console.get("/api/v1/fleet?lang=zh").with(200).json();
    assert_eq!((&told["exists"], &told["place"], &told["agents"]), (&json!(false), &json!(directory), &json!([])));
    assert!(told["trouble"].as_str().unwrap().contains("没有机群"), "{told}");
    console.get("/api/v1/fleet?what=all").with(400);
    let port = brunt_tests::daemon::free_datagram_port().to_string();
    let made = ["fleet", "init", "--fleet", &directory, "--host", "127.0.0.1", "--port", &port, "a1"];
    prepare(made).run().with_code(0);
    until("it is found", || seen(&console)["absent"] == json!(["a1"]));
    assert_eq!(seen(&console)["exists"], true);
}
