//! Tests of experiments in the console's API: started, watched, stopped, gone on with, found by the next console.

use brunt_tests::program::until;
use brunt_tests::{ConsoleProcess, TargetProcess, brunt, prepare};
use serde_json::{Value, json};

/// A search that takes some seconds: trials of one second, up to a load that is soon reached.
fn search(target: &TargetProcess) -> String {
    format!("find 'p90<5s' -r 20/s --up-to 40/s -d 1s {}", target.address)
}

fn started(console: &ConsoleProcess, command: &str) -> String {
    let id = console.post("/api/v1/experiments", &json!({ "command": command, "name": "n" })).with(201).json();
    id["id"].as_str().expect("an id").to_owned()
}

fn one(console: &ConsoleProcess, id: &str) -> Value {
    console.get(&format!("/api/v1/experiments/{id}")).with(200).json()
}

fn finished(console: &ConsoleProcess, id: &str) -> Value {
    until("the experiment is over", || one(console, id)["state"] != "running");
    one(console, id)
}

fn page(console: &ConsoleProcess, id: &str) -> Value {
    let answer = console.get(&format!("/api/v1/experiments/{id}/lines")).with(200);
    serde_json::from_slice(&answer.body).expect("a line of JSON")
}

#[test]
fn an_experiment_is_watched_stopped_gone_on_with_and_kept() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    let id = started(&console, &search(&target));
    until("a trial is in its page", || {
        let found = console.get(&format!("/api/v1/experiments/{id}/lines"));
        found.status == 200 && found.json()["experiment"]["text"]["en"]["blocks"].to_string().contains("20.0/s")
    });
    let live = page(&console, &id);
    assert_eq!(live["experiment"]["live"], true);
    assert_eq!(live["experiment"]["kind"], "find");
    let second = console.post("/api/v1/experiments", &json!({ "command": search(&target) })).with(409);
    assert_eq!(second.json()["error"]["code"], "too_many_experiments");
    console.ask_as(&console.token, "DELETE", &format!("/api/v1/experiments/{id}"), &Value::Null).with(409);
    console.post(&format!("/api/v1/experiments/{id}/stop"), &Value::Null).with(202);
    let stopped = finished(&console, &id);
    assert_eq!(
        (&stopped["exit"], &stopped["can_go_on"], &stopped["state"]),
        (&21.into(), &true.into(), &"over".into())
    );

    until("no process is left", || {
        console.post(&format!("/api/v1/experiments/{id}/go-on"), &json!({ "lang": "zh" })).status == 202
    });
    let whole = finished(&console, &id);
    assert_eq!((&whole["exit"], &whole["can_go_on"]), (&0.into(), &false.into()), "{whole}");
    assert!(whole["bytes"].as_u64() > stopped["bytes"].as_u64());
    assert_eq!(whole["answer"]["tone"], "good");
    let shown = page(&console, &id);
    assert_eq!(shown["experiment"]["text"]["zh"]["blocks"][0]["sentence"], whole["answer"]["zh"]);
    // What the console added is not shown, and the document is that of the command line.
    let command: Vec<&str> =
        shown["experiment"]["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(command[..4], ["brunt", "find", "p90<5s", "-r"]);
    let record = home.path().join("brunt/library/experiments").join(format!("{id}.bruntexp"));
    let told = brunt(["report", record.to_str().unwrap(), "--format", "json"]);
    let document = console.get(&format!("/api/v1/experiments/{id}/report?format=json")).with(200);
    assert_eq!(document.json(), serde_json::from_str::<Value>(&told.out).unwrap());
    let html = console.get(&format!("/api/v1/experiments/{id}/report?format=html&show=true")).with(200);
    assert!(html.field("content-security-policy").unwrap().starts_with("sandbox"), "{}", html.head);
    console.get(&format!("/api/v1/experiments/{id}/report?format=docx")).with(400);
    let file = console.get(&format!("/api/v1/experiments/{id}/record")).with(200);
    assert_eq!(file.body, std::fs::read(&record).unwrap());

    console.ask_as(&console.token, "DELETE", &format!("/api/v1/experiments/{id}"), &Value::Null).with(204);
    console.get(&format!("/api/v1/experiments/{id}")).with(404);
    assert!(!record.exists());

    // Its record comes back as that of another machine would.
    let (host, bearer) = (format!("Host: {}", console.host), format!("Authorization: Bearer {}", console.token));
    let taken = console.raw("POST", "/api/v1/records?name=back", &[&host, &bearer], &file.body).with(201).json();
    assert_eq!(taken["experiment"], true);
    let back = one(&console, taken["id"].as_str().unwrap());
    assert_eq!(
        (&back["origin"], &back["name"], &back["answer"]),
        (&"dropped".into(), &"back".into(), &whole["answer"])
    );
    assert_eq!(back["can_go_on"], false);
}

#[test]
fn a_command_line_is_checked_and_may_do_no_more_than_an_experiment() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    let url = &target.address;
    let checked = console.post("/api/v1/experiments/check", &json!({ "command": search(&target) })).with(200).json();
    assert_eq!(checked["kind"], "find");
    assert!(checked["outlook"].as_str().unwrap().contains("p90<5s"), "{checked}");
    let never = home.path().join("never");
    let never = never.to_str().unwrap();
    for (command, names) in [
        (format!("find 'p90<5s' -r often {url}"), "-r: `often`"),
        (format!("find 'p90<5s' --record {never} {url}"), "--record"),
        (format!("find 'p90<5s' --resume={never} {url}"), "--resume"),
        (format!("find 'p90<5s' -o {never} {url}"), "-o"),
        (format!("sweep -c 1,2 --lang zh {url}"), "--lang"),
        (format!("compare --before-b 'touch {never}' {url} {url}"), "--before"),
        (format!("compare '-o {never} {url}' {url}"), "-o"),
        (format!("demo --record {never}"), "--record"),
        ("calibrate".to_owned(), "find, compare, sweep or ladder"),
        ("find 'p90<5s".to_owned(), "command"),
    ] {
        let refused = console.post("/api/v1/experiments", &json!({ "command": command })).with(422).json();
        let sentence = refused["error"]["sentence"].as_str().unwrap();
        assert!(sentence.contains(names), "{command}: {sentence}");
    }
    assert!(!std::path::Path::new(never).exists());
    assert_eq!(console.get("/api/v1/experiments").with(200).json()["experiments"], json!([]));
    assert_eq!(target.requests(), 0, "nothing was sent");

    // What was typed may contain secrets.
    let id = started(&console, &format!("sweep -c 1,2 -n 20 -H 'Authorization: Bearer sesame' {url}"));
    let whole = finished(&console, &id);
    assert_eq!(whole["exit"], 0, "{whole}");
    assert!(whole["words"].to_string().contains("sesame") && !whole["command"].to_string().contains("sesame"));
    let path = format!("/api/v1/experiments/{id}");
    let viewed = console.ask_as(&console.viewer_token, "GET", &path, &Value::Null).with(200).json();
    assert!(viewed["words"].is_null() && !viewed.to_string().contains("sesame"), "{viewed}");
    let lines = console.ask_as(&console.viewer_token, "GET", &format!("{path}/lines"), &Value::Null).with(200);
    assert!(!String::from_utf8_lossy(&lines.body).contains("sesame"));
    console.ask_as(&console.viewer_token, "POST", &format!("{path}/stop"), &Value::Null).with(403);
    console.ask_as(&console.viewer_token, "DELETE", &path, &Value::Null).with(403);
}

#[test]
fn the_next_console_finds_what_was_left_and_what_the_command_line_kept() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let mut console = ConsoleProcess::start(home.path());
    let id = started(&console, &search(&target));
    until("its record has begun", || one(&console, &id)["bytes"].as_u64() > Some(0));
    console.signal(rustix::process::Signal::KILL);
    console.end();
    let line = prepare(["sweep", "-c", "1,2", "-n", "20", "--quiet", &target.address]);
    let line = line.env("XDG_STATE_HOME", home.path()).run();
    assert_eq!(line.code, Some(0), "{}", line.err);
    let mut next = ConsoleProcess::start(home.path());
    let listed = next.get("/api/v1/experiments").with(200).json()["experiments"].clone();
    let kinds: Vec<_> = listed.as_array().unwrap().iter().map(|one| (&one["kind"], &one["origin"])).collect();
    assert_eq!(kinds, [(&"sweep".into(), &"command_line".into()), (&"find".into(), &"console".into())]);
    // It goes on, and may be stopped although another console started it.
    if one(&next, &id)["state"] == "running" {
        next.post(&format!("/api/v1/experiments/{id}/stop"), &Value::Null).with(202);
    }
    let over = finished(&next, &id);
    assert_eq!(over["state"], "over", "{over}");

    // A console that exits normally ends what it started, with what is known.
    let last = started(&next, &search(&target));
    until("its record has begun", || one(&next, &last)["bytes"].as_u64() > Some(0));
    next.signal(rustix::process::Signal::TERM);
    next.end();
    let again = ConsoleProcess::start(home.path());
    let ended = one(&again, &last);
    assert_eq!((&ended["state"], &ended["can_go_on"]), (&"over".into(), &true.into()), "{ended}");
}
