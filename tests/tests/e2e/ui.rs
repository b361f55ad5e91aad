//! Tests of the console's API: access, runs from start to end, and dropped files.

use brunt_tests::program::until;
use brunt_tests::{ConsoleProcess, TargetProcess, brunt, prepare};
use serde_json::{Value, json};

fn plan(target: &TargetProcess, load: &str) -> String {
    format!("urls: {}\n{load}\n", target.address)
}

fn finished(console: &ConsoleProcess, id: &str) -> Value {
    until("the run is over", || console.run(id)["state"] != "running");
    console.run(id)
}

#[test]
fn only_who_has_a_token_comes_in_and_only_from_our_own_pages() {
    let home = tempfile::tempdir().unwrap();
    let console = ConsoleProcess::start(home.path());
    let host = format!("Host: {}", console.host);
    let get = |fields: &[&str]| console.raw("GET", "/api/v1/runs", fields, b"").status;
    let bearer = format!("Authorization: Bearer {}", console.token);
    assert_eq!(get(&[&host, &bearer]), 200);
    assert_eq!(get(&[&host]), 401);
    assert_eq!(get(&[&host, "Authorization: Bearer wrong"]), 401);
    assert_eq!(get(&["Host: evil.example", &bearer]), 421);
    assert_eq!(get(&[&host, &bearer, "Origin: http://evil.example"]), 403);
    assert_eq!(get(&[&host, &bearer, "Sec-Fetch-Site: cross-site"]), 403);
    // In a browser, the link sets a cookie, and the token no longer appears in any address.
    let came = console.raw("GET", &format!("/?token={}", console.token), &[&host], b"").with(303);
    assert_eq!(came.field("location"), Some("/"));
    let set = came.field("set-cookie").unwrap().to_owned();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax") && !set.contains(&console.token), "{set}");
    let cookie = format!("Cookie: {}", set.split(';').next().unwrap());
    assert_eq!(get(&[&host, &cookie]), 200);
    // A link on another site works; other requests that such a site makes a browser send do nothing, and lock nobody
    // out.
    let foreign = "Sec-Fetch-Site: cross-site";
    assert_eq!(console.raw("GET", "/", &[&host, &cookie, foreign], b"").status, 200);
    assert_eq!(get(&[&host, &cookie, foreign]), 403);
    assert_eq!(console.raw("POST", "/logout", &[&host, &cookie, foreign], b"").status, 403);
    (0..30).for_each(|_| drop(console.raw("GET", "/?token=wrong", &[&host, foreign], b"").with(401)));
    let page = console.raw("GET", "/", &[&host, &cookie], b"").with(200);
    let policy = page.field("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let start = |fields: &[&str]| console.raw("POST", "/api/v1/runs", fields, b"{\"plan\": 7}").status;
    let (ours, json) = (format!("Origin: http://{}", console.host), "Content-Type: application/json");
    assert_eq!(start(&[&host, &cookie, &ours, json]), 422, "a plan is text");
    assert_eq!(start(&[&host, &cookie, json]), 403, "a browser says where a request comes from");
    assert_eq!(start(&[&host, &cookie, "Origin: http://evil.example", json]), 403);
    assert_eq!(start(&[&host, &cookie, &ours, foreign, json]), 403);
    assert_eq!(start(&[&host, &cookie, &ours, "Content-Type: text/plain"]), 415);
    assert_eq!(console.raw("GET", "/", &[&host], b"").status, 401);
    assert_eq!(console.raw("GET", "/?token=wrong", &[&host], b"").status, 401);
    // The viewer token does not permit control.
    assert_eq!(console.ask_as(&console.viewer_token, "GET", "/api/v1/runs", &Value::Null).status, 200);
    assert_eq!(console.ask_as(&console.viewer_token, "GET", "/api/v1", &Value::Null).json()["role"], "look");
    let refused = console.ask_as(&console.viewer_token, "POST", "/api/v1/runs", &json!({ "plan": "" })).with(403);
    assert_eq!(refused.json()["error"]["code"], "look_only");
    assert_eq!(console.get("/api/v1/nothing").with(404).json()["error"]["code"], "no_route");
    // A request that is too large is rejected before it is read completely.
    let much = json!({ "plan": "x".repeat(3 << 20) });
    assert_eq!(console.post("/api/v1/plan/check", &much).with(413).json()["error"]["code"], "too_large");
}

#[test]
fn a_password_is_asked_for_where_one_is_set() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("password");
    std::fs::write(&file, "open sesame\n").unwrap();
    let console = ConsoleProcess::with(home.path(), &["--password-file", file.to_str().unwrap()]);
    let host = format!("Host: {}", console.host);
    let door = console.raw("GET", &format!("/?token={}", console.token), &[&host], b"").with(401);
    assert!(String::from_utf8_lossy(&door.body).contains("type=password"));
    let typed = |password: &str| {
        let body = format!("token={}&password={password}", console.token);
        let fields =
            [&*host, "Content-Type: application/x-www-form-urlencoded", &format!("Origin: http://{}", console.host)];
        console.raw("POST", "/login", &fields, body.as_bytes()).status
    };
    assert_eq!((typed("open"), typed("open+sesame")), (401, 303));
    // Chromium's form submission from a page with no-referrer; any page can have the origin `null`.
    let form = "Content-Type: application/x-www-form-urlencoded";
    let body = format!("token={}&password=open+sesame", console.token);
    let from = |site: &str| console.raw("POST", "/login", &[&host, form, "Origin: null", site], body.as_bytes()).status;
    assert_eq!(
        (from("Sec-Fetch-Site: same-origin"), from("Sec-Fetch-Site: cross-site"), from("X: 1")),
        (303, 403, 403)
    );
    assert_eq!(console.get("/api/v1").with(401).json()["error"]["code"], "password");
    let both = format!("{}:open sesame", console.token);
    assert_eq!(console.ask_as(&both, "GET", "/api/v1", &Value::Null).with(200).json()["role"], "steer");
}

#[test]
fn beyond_loopback_the_console_wants_tls_and_a_password() {
    let said = brunt(["ui", "--listen", "0.0.0.0:0"]).with_code(64);
    assert!(said.err.contains("--listen: 0.0.0.0:0 can be reached from other machines"), "{}", said.err);
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("file"), "").unwrap();
    let nowhere = home.path().join("file/library");
    let said = brunt(["ui", "--no-open", "--library", nowhere.to_str().unwrap()]).with_code(64);
    assert!(said.err.contains("--library: "), "{}", said.err);
}

#[test]
fn scenarios_are_paused_and_have_no_one_load_to_change() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    let flow = format!("[{{url: '{}'}}]", target.url(""));
    let text = format!("scenarios:\n  a: {{rate: 50/s, duration: 60s, flow: {flow}}}\n");
    let asked = json!({ "plan": text });
    let id = console.post("/api/v1/runs", &asked).with(201).json()["id"].as_str().unwrap().to_owned();
    let change = |change: Value| console.post(&format!("/api/v1/runs/{id}/change"), &change);
    until("the run goes on", || target.requests() > 20);
    until("it takes orders", || change(json!("pause")).status == 202);
    for part in [json!({ "by_percent": 100.0 }), json!({ "rate": 50.0 }), json!({ "users": 5 })] {
        let said = change(part.clone()).with(422).json().to_string();
        assert!(said.contains("a run of scenarios has no single load to change"), "{part}: {said}");
    }
    assert_eq!(change(json!("resume")).status, 202);
    assert_eq!(console.post(&format!("/api/v1/runs/{id}/stop"), &json!({ "drain": true })).status, 202);
    finished(&console, &id);
}

#[test]
fn a_run_is_started_watched_steered_and_kept() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    let text = plan(&target, "rate: 100/s\nduration: 60s\narrivals: constant");
    let checked = console.post("/api/v1/plan/check", &json!({ "plan": text })).with(200).json();
    assert_eq!((&checked["ok"], &checked["heavy"]), (&json!(true), &json!(false)), "{checked}");
    assert!(checked["said"].as_str().unwrap().contains("100/s"), "{checked}");
    let users = |more: &str| {
        let text = plan(&target, &format!("users: 10\nduration: 1s{more}"));
        console.post("/api/v1/plan/check", &json!({ "plan": text })).with(200).json()
    };
    assert_eq!(users("")["heavy"], json!(false), "a load on this machine needs no word of anyone else's");
    assert_eq!(users("\nproxy: http://127.0.0.1:9/")["heavy"], json!(true), "a proxy may lead anywhere");
    let asked = json!({ "plan": text, "name": "first", "tags": ["e2e"] });
    let id = console.post("/api/v1/runs", &asked).with(201).json()["id"].as_str().unwrap().to_owned();
    let change = |change: Value| console.post(&format!("/api/v1/runs/{id}/change"), &change).status;
    until("the run goes on", || target.requests() > 20);
    until("it takes orders", || change(json!({ "rate": 150.0 })) == 202);
    assert_eq!(change(json!({ "by_percent": 10.0 })), 202);
    assert_eq!(
        (change(json!({ "users": 7 })), change(json!({ "rate": 0.0 })), change(json!({ "by_percent": 1e9 }))),
        (422, 422, 422)
    );
    assert_eq!((change(json!({ "rate": 1e308 })), change(json!({ "rate": 1.1e9 }))), (422, 422));
    assert_eq!(change(json!("pause")), 202);
    assert_eq!(change(json!("resume")), 202);
    let run = console.run(&id);
    assert_eq!(
        (&run["state"], &run["takes_orders"], &run["origin"], &run["name"]),
        (&json!("running"), &json!(true), &json!("console"), &json!("first"))
    );
    assert_eq!(console.ask_as(&console.token, "DELETE", &format!("/api/v1/runs/{id}"), &Value::Null).status, 409);
    // Two clients follow the events; one of them is only a viewer.
    let told = std::thread::scope(|scope| {
        let watching = scope.spawn(|| console.events(&id));
        until("the changes hold", || {
            let record = console.get(&format!("/api/v1/runs/{id}/record")).with(200);
            record.body.len() > 100 && console.run(&id)["state"] == "running" && target.requests() > 200
        });
        assert_eq!(console.post(&format!("/api/v1/runs/{id}/stop"), &json!({ "drain": true })).status, 202);
        watching.join().unwrap()
    });
    let run = finished(&console, &id);
    let figures = &run["figures"];
    assert_eq!(
        (&run["state"], &figures["ended"], &figures["mode"]),
        (&json!("over"), &json!("drained"), &json!("open")),
        "{run}"
    );
    let count = |name: &str| figures[name].as_u64().unwrap();
    assert_eq!(count("scheduled"), count("succeeded") + count("failed") + count("unfinished"));
    assert_eq!((count("unfinished"), count("failed")), (0, 0), "it was drained: {run}");
    // The target also counts the pre-flight request.
    assert_eq!(target.requests(), count("succeeded") + 1);
    assert_eq!(told.last().map(|(name, _)| name.as_str()), Some("over"));
    assert_eq!(console.events(&id), told, "whoever comes late hears the same");
    let lines = told.iter().filter(|(name, _)| name == "line").count();
    let report = console.get(&format!("/api/v1/runs/{id}/report?format=json")).with(200).json();
    assert_eq!(report["seconds"].as_array().map(Vec::len), Some(lines));
    assert_eq!(report["requests"]["scheduled"], figures["scheduled"]);
    assert_ne!(report["exit"], 21, "its operator ended it, and nothing was cut: {report}");
    let changes: Vec<&Value> = report["changes"].as_array().unwrap().iter().map(|changed| &changed["change"]).collect();
    assert_eq!(
        changes,
        [&json!({ "rate": 150.0 }), &json!({ "rate": 165.0 }), &json!("pause"), &json!("resume"), &json!("drain")]
    );
    assert_eq!(change(json!("pause")), 409, "it is over");
    // The output of the command line for the same record.
    let file = home.path().join("run.brunt.zst");
    std::fs::write(&file, console.get(&format!("/api/v1/runs/{id}/record")).body).unwrap();
    let said = prepare(["report", file.to_str().unwrap(), "--format", "json"]).run();
    let theirs: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(theirs["requests"], report["requests"]);
    assert_eq!(console.get(&format!("/api/v1/runs/{id}/plan")).with(200).body, text.as_bytes());
    let refused =
        console.ask_as(&console.viewer_token, "GET", &format!("/api/v1/runs/{id}/plan"), &Value::Null).with(403).json();
    assert_eq!(refused["error"]["code"], "look_only", "passwords may stand in it");
    assert!(!home.path().join("brunt/runs").exists(), "it is kept once");
}

/// Returns a plan with a secret in each possible place, one of whose requests fails, so that its exchange is kept.
fn secretive(target: &TargetProcess) -> String {
    let there = target.address.trim_start_matches("http://");
    format!(
        r#"users: 1
iterations: 3
flow:
  - url: "http://ann:hunter-userinfo@{there}echo?api_key=hunter-query"
    name: login
    header: "X-Api-Key: hunter-header"
    data: "password=hunter-body&token=hunter-captured"
    capture: {{token: "regex token=([a-z-]+)"}}
  - url: "http://{there}echo"
    name: use
    header: ["Authorization: Bearer {{token}}", "Cookie: session=hunter-cookie"]
    data: "token={{token}}"
    expect-status: 418
"#
    )
}

#[test]
fn who_may_only_look_meets_no_secret_of_a_plan() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    let asked = json!({ "plan": secretive(&target), "name": "secretive" });
    let id = console.post("/api/v1/runs", &asked).with(201).json()["id"].as_str().unwrap().to_owned();
    let again = console.post("/api/v1/runs", &asked).with(201).json()["id"].as_str().unwrap().to_owned();
    for id in [&id, &again] {
        finished(&console, id);
    }
    let look = |path: &str| console.ask_as(&console.viewer_token, "GET", path, &Value::Null);
    let run = format!("/api/v1/runs/{id}");
    let mut routes = vec![
        "/api/v1/runs".to_owned(),
        run.clone(),
        format!("{run}/events"),
        format!("{run}/lines"),
        format!("/api/v1/compare?runs={id},{again}"),
    ];
    routes.extend(["text", "json", "csv", "markdown", "junit"].map(|format| format!("{run}/report?format={format}")));
    let mut told: Vec<(String, String)> = Vec::new();
    for route in routes {
        let body = look(&route).with(200).body;
        told.push((route, String::from_utf8_lossy(&body).into_owned()));
    }
    let events = &told[2].1;
    assert!(events.contains("event: example") && events.contains("/echo"), "an exchange is told: {events}");
    let record = look(&format!("{run}/record")).with(200).body;
    let file = home.path().join("looked.zst");
    std::fs::write(&file, record).unwrap();
    match std::process::Command::new("zstdcat").arg(&file).output() {
        Ok(plain) => told.push(("the record".into(), String::from_utf8(plain.stdout).unwrap())),
        Err(_) => brunt_tests::skip("zstd is not installed: the record itself is not looked at"),
    }
    for (route, text) in &told {
        let said = text.lines().find(|line| line.contains("hunter-")).map(|line| {
            let at = line.find("hunter-").unwrap_or_default();
            &line[line.floor_char_boundary(at.saturating_sub(60))..line.floor_char_boundary(at + 40)]
        });
        assert_eq!(said, None, "{route}");
    }
    assert_eq!(look(&format!("{run}/plan")).with(403).json()["error"]["code"], "look_only");
}

#[test]
fn what_cannot_be_run_is_said_with_its_line() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    let text = plan(&target, "rate: fast\nduration: 1s");
    let checked = console.post("/api/v1/plan/check", &json!({ "plan": text })).with(200).json();
    assert_eq!((&checked["ok"], &checked["line"]), (&json!(false), &json!(2)), "{checked}");
    let refused = console.post("/api/v1/runs", &json!({ "plan": text })).with(422).json();
    assert!(refused["error"]["sentence"].as_str().unwrap().contains("fast"), "{refused}");
    assert_eq!(console.get("/api/v1/runs").json()["total"], 0, "nothing is kept of it");
    // Plans run by the console must not write files.
    for line in ["output: /tmp/x.json", "record: /tmp/x"] {
        let text = plan(&target, &format!("duration: 1s\n{line}"));
        let refused = console.post("/api/v1/runs", &json!({ "plan": text })).with(422).json();
        assert!(refused["error"]["sentence"].as_str().unwrap().contains("is for the command line"), "{refused}");
    }
    let nobody = "urls: http://127.0.0.1:1/\nduration: 1s\n";
    let id =
        console.post("/api/v1/runs", &json!({ "plan": nobody })).with(201).json()["id"].as_str().unwrap().to_owned();
    let run = finished(&console, &id);
    assert_eq!((&run["figures"]["exit"], &run["figures"]["ended"]), (&json!(30), &json!("aborted")), "{run}");
    let tried = console.post("/api/v1/plan/try", &json!({ "plan": plan(&target, "") })).with(200).json();
    assert!(tried["exit"] == 0 && tried["said"].as_str().unwrap().contains("HTTP/1.1 200"), "{tried}");
    let doctor = console.post("/api/v1/plan/doctor", &json!({ "plan": plan(&target, "users: 5") })).with(200).json();
    assert!(doctor["said"].as_str().unwrap().contains("This run"), "{doctor}");
    let curl = format!("curl -X POST -H 'Authorization: Bearer s3cr3t' {}", target.address);
    let made = console.post("/api/v1/plan/from-curl", &json!({ "curl": curl })).with(200).json();
    let made = made["plan"].as_str().unwrap();
    assert!(made.contains("POST") && made.contains("s3cr3t"), "{made}");
    assert_eq!(console.post("/api/v1/plan/check", &json!({ "plan": made })).json()["ok"], true, "{made}");
    assert_eq!(console.post("/api/v1/plan/from-curl", &json!({ "curl": "curl --nonsense x" })).status, 422);
    let wrong = json!({ "curl": "curl http://h/\ncurl --digest x", "lang": "zh" });
    let said = console.post("/api/v1/plan/from-curl", &wrong).with(422).json().to_string();
    assert!(said.contains("第 2 行") && said.contains("--digest 需要") && !said.contains("plan"), "{said}");
    assert!(console.get("/api/v1/plan/schema").with(200).json()["properties"].is_object());
}

/// Returns a connection on which the beginning of a record has been sent.
fn half_an_upload(console: &ConsoleProcess) -> std::net::TcpStream {
    let mut socket = std::net::TcpStream::connect(&console.host).unwrap();
    let (host, token) = (&console.host, &console.token);
    let head = format!("POST /api/v1/records HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n");
    std::io::Write::write_all(&mut socket, format!("{head}Content-Length: 1000\r\n\r\nx").as_bytes()).unwrap();
    socket
}

#[test]
fn records_from_elsewhere_are_taken_or_refused_in_a_sentence() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    let file = home.path().join("ci.brunt.zst");
    // A run of the command line is found automatically; the same record, dropped in, adds another row.
    let run = prepare(["-n", "20", "-c", "2", "--quiet", "--record", file.to_str().unwrap(), &target.address]);
    run.env("XDG_STATE_HOME", home.path()).run();
    let page = console.get("/api/v1/runs").with(200).json();
    assert_eq!((&page["total"], &page["runs"][0]["origin"]), (&json!(1), &json!("command_line")), "{page}");
    let drop = |bytes: &[u8]| {
        let fields = [format!("Host: {}", console.host), format!("Authorization: Bearer {}", console.token)];
        console.raw("POST", "/api/v1/records?name=from%20CI", &fields.each_ref().map(String::as_str), bytes)
    };
    let bytes = std::fs::read(&file).unwrap();
    let id = drop(&bytes).with(201).json()["id"].as_str().unwrap().to_owned();
    let run = console.run(&id);
    assert_eq!(
        (&run["origin"], &run["name"], &run["figures"]["scheduled"]),
        (&json!("dropped"), &json!("from CI"), &json!(20))
    );
    for (bytes, said) in [
        (&b""[..], "the file is empty"),
        (b"<script>alert(1)</script>", "this is not a brunt record"),
        (&bytes[..40], "before the event that marks the start of the run"),
        (&[&bytes[..], &bytes[..]].concat(), "another run starts here"),
    ] {
        let refused = drop(bytes).with(422).json();
        assert!(refused["error"]["sentence"].as_str().unwrap().contains(said), "{refused}");
    }
    let left = std::fs::read_dir(home.path().join("brunt/library/records")).unwrap().count();
    assert_eq!(left, 2, "nothing is left of what was refused");
    // Slow uploads do not block readers.
    let slow: Vec<std::net::TcpStream> = (0..3).map(|_| half_an_upload(&console)).collect();
    for format in ["text", "json", "csv", "markdown", "junit"] {
        let report = console.get(&format!("/api/v1/runs/{id}/report?format={format}&lang=zh")).with(200);
        assert!(!report.body.is_empty() && report.field("content-disposition").is_some(), "{format}");
        assert!(report.field("content-security-policy").unwrap().starts_with("sandbox"), "{format}");
    }
    std::mem::drop(slow);
    let ours = console.get("/api/v1/runs?q=from%20ci").json();
    assert_eq!(ours["total"], 1);
    let page = console.get("/api/v1/runs").json();
    let ids: Vec<&str> = page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    let compared = console.get(&format!("/api/v1/compare?runs={}", ids.join(","))).with(200).json();
    assert_eq!((&compared["base"], &compared["compared"][0]["differs"]), (&json!(ids[0]), &json!([])), "{compared}");
    assert_eq!(compared["compared"][0]["figures"][0]["change"], 1.0, "it is the same record: {compared}");
    assert_eq!(console.get(&format!("/api/v1/compare?runs={id}")).status, 400);
    assert_eq!(console.get(&format!("/api/v1/compare?runs={id},{id}")).status, 400, "with itself");
    assert_eq!(console.get("/api/v1/runs?after=zz").status, 400);
    assert_eq!(console.get(&format!("/api/v1/runs/{id}/report?format=exe")).status, 400);
    assert_eq!(console.get("/api/v1/runs/..%2F..%2Fetc/record").status, 404);
    let marked = console.ask_as(
        &console.token,
        "PATCH",
        &format!("/api/v1/runs/{id}"),
        &json!({ "favourite": true, "tags": ["ci"] }),
    );
    assert_eq!(marked.with(200).json()["tags"], json!(["ci"]));
    assert_eq!(console.get("/api/v1/runs?q=from%20ci&tag=ci&favourite=true").json()["total"], 1);
    assert_eq!(console.ask_as(&console.token, "DELETE", &format!("/api/v1/runs/{id}"), &Value::Null).status, 204);
    assert_eq!(console.get(&format!("/api/v1/runs/{id}")).status, 404);
}

#[test]
fn runs_end_with_the_console_in_good_order_and_outlive_its_crash() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let start = |console: &ConsoleProcess, load: &str| {
        let asked = json!({ "plan": plan(&target, load) });
        let id = console.post("/api/v1/runs", &asked).with(201).json()["id"].as_str().unwrap().to_owned();
        let heard = target.requests();
        until("the run goes on", || target.requests() > heard + 20);
        id
    };
    let mut console = ConsoleProcess::start(home.path());
    let ended = start(&console, "users: 1\nduration: 60s\nthink: 5ms");
    console.signal(rustix::process::Signal::TERM);
    assert_eq!(console.end(), Some(0));
    let mut console = ConsoleProcess::start(home.path());
    assert_eq!(console.run(&ended)["figures"]["ended"], "interrupted");
    let left = start(&console, "users: 1\nduration: 60s\nthink: 5ms");
    until("it takes orders", || console.run(&left)["takes_orders"] == true);
    console.signal(rustix::process::Signal::KILL);
    assert_eq!(console.end(), None);
    // The next console finds it, controls it and sees its end.
    let console = ConsoleProcess::start(home.path());
    let run = console.run(&left);
    assert_eq!((&run["state"], &run["takes_orders"]), (&json!("running"), &json!(true)), "{run}");
    assert_eq!(console.post(&format!("/api/v1/runs/{left}/stop"), &json!({})).status, 202);
    let run = finished(&console, &left);
    assert_eq!(run["figures"]["ended"], "interrupted", "{run}");
}

#[test]
fn the_most_that_can_be_asked_is_obeyed_beyond_it_is_refused_and_the_run_lives_to_its_end() {
    let (home, target) = (tempfile::tempdir().unwrap(), TargetProcess::healthy());
    let console = ConsoleProcess::start(home.path());
    for (load, most, beyond) in [
        ("users: 2", json!({ "users": 10_000_000 }), json!({ "users": 10_000_001 })),
        ("rate: 50/s", json!({ "rate": 1e9 }), json!({ "rate": 1.001e9 })),
    ] {
        let text = plan(&target, &format!("{load}\nduration: 2s\ndrain: 100ms"));
        let id =
            console.post("/api/v1/runs", &json!({ "plan": text })).with(201).json()["id"].as_str().unwrap().to_owned();
        let change = |change: &Value| console.post(&format!("/api/v1/runs/{id}/change"), change);
        until("it takes orders", || change(&most).status == 202);
        let refused = change(&beyond).with(422).json();
        let said = refused["error"]["sentence"].as_str().unwrap_or_default();
        assert!(said.contains("more than brunt can") && said.contains("choose"), "{refused}");
        let figures = finished(&console, &id)["figures"].clone();
        assert_eq!(figures["ended"], "completed", "{figures}");
        let count = |name: &str| figures[name].as_u64().unwrap();
        assert_eq!(count("scheduled"), count("succeeded") + count("failed") + count("unfinished"), "{figures}");
        let report = console.get(&format!("/api/v1/runs/{id}/report?format=json")).with(200).json();
        assert_eq!(report["changes"][0]["change"], most, "{}", report["changes"]);
    }
}

#[test]
fn links_and_sessions_outlast_the_console_until_they_are_renewed() {
    let home = tempfile::tempdir().unwrap();
    let first = ConsoleProcess::start(home.path());
    let (host, token, look) = (first.host.clone(), first.token.clone(), first.viewer_token.clone());
    let named = format!("Host: {host}");
    // A link leads where it says, without its token, and never to another site.
    for (link, place) in
        [("/runs/1-a", "/runs/1-a"), ("/compare?runs=a,b", "/compare?runs=a,b"), ("//evil/runs", "/evil/runs")]
    {
        let sign = if link.contains('?') { '&' } else { '?' };
        let came = first.raw("GET", &format!("{link}{sign}token={look}"), &[&named], b"").with(303);
        assert_eq!(came.field("location"), Some(place));
    }
    let came = first.raw("GET", &format!("/?token={token}"), &[&named], b"").with(303);
    let cookie = format!("Cookie: {}", came.field("set-cookie").unwrap().split(';').next().unwrap());
    drop(first);
    let second = ConsoleProcess::start(home.path());
    assert_eq!((&second.host, &second.token, &second.viewer_token), (&host, &token, &look));
    second.raw("GET", "/api/v1/runs", &[&named, &cookie], b"").with(200);
    drop(second);
    let third = ConsoleProcess::with(home.path(), &["--new-links"]);
    assert!(third.token != token && third.viewer_token != look);
    third.raw("GET", "/api/v1/runs", &[&format!("Host: {}", third.host), &cookie], b"").with(401);
}
