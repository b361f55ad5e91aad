//! Values captured from responses: where they go, how they are encoded there, what they are checked against, and what
//! happens if they do not fit or cannot be found in reasonable time.

use brunt_tests::ScriptedPeer;
use brunt_tests::program::{brunt, prepare};
use brunt_tests::report::report;

/// Writes a plan file; `HOST` is the server. Returns its folder and its path.
fn plan(text: &str, server: &ScriptedPeer) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("flow.yaml");
    std::fs::write(&path, text.replace("HOST", &server.host())).expect("written");
    let path = path.display().to_string();
    (folder, path)
}

/// Starts a server whose answers are made from the target and the body of a request; `HOST` in them is the server.
fn server(answer: fn(&str, &str) -> (&'static str, String)) -> ScriptedPeer {
    ScriptedPeer::new(move |mut connection| {
        while let Some(request) = connection.request() {
            let request = String::from_utf8_lossy(&request).into_owned();
            let (head, body) = request.split_once("\r\n\r\n").expect("a head");
            let target = head.split(' ').nth(1).expect("a target");
            let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).expect("a host");
            let (fields, body) = answer(target, body);
            let (fields, body) = (fields.replace("HOST", host), body.replace("HOST", host));
            let status = if fields.contains("Location") { "302 Found" } else { "200 OK" };
            let length = body.len();
            connection.send(format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}").as_bytes());
        }
    })
}

/// Returns the request lines that a server received, without the pre-flight request.
fn targets(server: &ScriptedPeer) -> Vec<String> {
    let lines = server.received().into_iter().skip(1);
    let target = |request: Vec<u8>| String::from_utf8_lossy(&request).split(' ').nth(1).unwrap_or_default().to_owned();
    lines.map(target).collect()
}

#[test]
fn links_are_followed_and_values_are_encoded_where_they_stand() {
    let server = server(|_, _| {
        let body = r#"{"link": "http://HOST/items?x=a+b&y=%20", "path": "/next?p=2&q=1", "host": "HOST",
            "token": "a+b&c=%41 %z", "id": "x/y?z#w%"}"#;
        ("", body.to_owned())
    });
    for http in ["", "workers: 1\n"] {
        let text = format!(
            r#"{http}users: 1
iterations: 1
flow:
  - url: http://HOST/start
    capture: {{link: json $.link, path: json $.path, host: json $.host, token: json $.token, id: json $.id}}
  - "{{link}}"
  - url: "{{path}}"
  - http://HOST{{path}}
  - http://{{host}}/of/{{id}}
  - http://HOST/items/{{id}}/parts?q={{token}}&all
  - http://HOST/search?{{token}}
  - http://HOST/url?q={{token | url}}
"#
        );
        let (_folder, path) = plan(&text, &server);
        let before = server.received().len();
        let report = report(&[&path]).with_code(0);
        assert_eq!(report.requests()[..2], [8, 8], "{report}");
        let all = targets(&server);
        assert_eq!(
            all[before..],
            [
                "/start",
                "/items?x=a+b&y=%20",
                "/next?p=2&q=1",
                "/next?p=2&q=1",
                "/of/x/y%3Fz%23w%25",
                "/items/x/y%3Fz%23w%25/parts?q=a%2Bb%26c%3D%41%20%25z&all",
                "/search?a+b&c=%41%20%z",
                "/url?q=a%2Bb%26c%3D%2541%20%25z",
            ]
        );
        let debugged = brunt(["--debug", &path]).with_code(0);
        assert!(debugged.out.contains("GET /items?x=a+b&y=%20"), "{debugged:?}");
    }
}

#[test]
fn a_link_that_leads_nowhere_is_a_failure_that_says_so() {
    for (link, why) in [
        ("ftp://h/", "\"ftp://h/\" is not an HTTP URL"),
        ("http://", "is not a URL"),
        ("", "the URL is a value that no step has captured"),
    ] {
        let server =
            ScriptedPeer::answering(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n<{link}>", link.len() + 2));
        let text = "users: 1\niterations: 2\nflow:\n  - url: http://HOST/\n    capture: {link: between '<' '>'}\n\
            \x20 - url: '{link}'\n    name: follow\n";
        let text = if link.is_empty() { text.replace("between '<' '>'", "regex <(.*)>") } else { text.to_owned() };
        let (_folder, path) = plan(&text, &server);
        let report = report(&[&path]);
        assert_eq!(report.failures().get("bad_value"), Some(&2), "{link}: {report}");
        assert!(report.json.to_string().contains(&why.replace('"', "\\\"")), "{link}: {report}");
        assert_eq!(server.requests(), 3, "nothing was sent for the second step");
    }
}

#[test]
fn checks_have_the_values_of_their_request_through_redirects_too() {
    let server = server(|target, body| match target {
        "/go" => ("Location: /who\r\n", String::new()),
        "/who" => ("X-User: u0\r\n", r#"{"u": "u0", "n": 0, "text": "hello u0"}"#.to_owned()),
        _ => ("", body.to_owned()),
    });
    let text = r#"users: 1
iterations: 3
flow:
  - url: http://HOST/go
    redirects: 1
    expect-json: ['$.u == "u{user}"', '$.n == {user}']
    expect-body: "hello u{user}"
    expect-header: "X-User: u{user}"
    capture: {who: json $.u}
  - url: http://HOST/echo
    data: '{"who": "{who}", "id": "{id={uuid}}"}'
    expect-json: {mine: '$.who == "{who}"', same: '$.id == "{id}"'}
  - url: http://HOST/go
    name: wrong
    redirects: 1
    expect-json: $.u == "{who}x"
"#;
    let (_folder, path) = plan(text, &server);
    let report = report(&[&path]);
    assert_eq!(report.requests()[..3], [9, 6, 3], "{report}");
    let said = report.json.to_string();
    assert!(said.contains(r#"expected $.u == \"u0x\", found \"u0\""#), "{report}");
    let random = plan("users: 1\nflow:\n  - {url: http://HOST/, expect-json: '$.id == \"{uuid}\"'}\n", &server);
    brunt([&random.1]).with_code(64).containing("{uuid} differs here from the one in the request");
}

#[test]
fn for_each_runs_once_for_each_item_of_an_array() {
    let server = server(|_, _| ("", r#"{"ids": ["a b", 2, "c&d"]}"#.to_owned()));
    for source in ["json $.ids", "json $.ids | all", "json $.ids[*] | all"] {
        let text = format!(
            "users: 1\niterations: 1\nflow:\n  - url: http://HOST/list\n    capture: {{ids: '{source}'}}\n\
            \x20 - for-each: id\n    in: ids\n    steps: ['http://HOST/one?id={{id}}']\n"
        );
        let (_folder, path) = plan(&text, &server);
        let from = server.received().len();
        assert_eq!(report(&[&path]).with_code(0).requests()[1], 4, "{source}");
        let all: Vec<String> = targets(&server)[from..].to_vec();
        assert_eq!(all, ["/list", "/one?id=a%20b", "/one?id=2", "/one?id=c%26d"], "{source}");
        let checked = brunt(["plan", "--check", &path]).with_code(0);
        assert!(!checked.err.contains("runs once") && !checked.out.contains("runs once"), "{checked:?}");
    }
}

/// A pattern and a body that would take half a minute on a worker that others share.
#[test]
fn a_capture_that_takes_too_long_is_given_up_and_is_no_fault_of_the_server() {
    let body = "a".repeat(900_000);
    let server = ScriptedPeer::answering(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    let text = "users: 2\nworkers: 1\niterations: 4\nrun-timeout: 60s\nflow:\n  - url: http://HOST/\n    name: heavy\n\
        \x20   capture: {x: 'regex (?s)a(.*b)? | count'}\n";
    let (_folder, path) = plan(text, &server);
    let report = report(&[&path]);
    assert_eq!(report.failures().get("unchecked"), Some(&4), "{report}");
    let said = report.json.to_string();
    assert!(said.contains("takes too long, so brunt gave up"), "{report}");
    let findings = report.json["trust"]["reasons"].as_array();
    assert!(findings.is_some_and(|all| all.iter().any(|found| found["code"] == "unchecked")), "{report}");
    let shown = prepare(["--lang", "zh", "--format", "text", "--force", &path]).run();
    assert!(shown.out.contains("未能检查") && shown.out.contains("brunt 已放弃"), "{shown:?}");
}

#[test]
fn brackets_without_quotes_are_told_where_they_stand() {
    let server = ScriptedPeer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let text = "flow:\n  - url: http://HOST/\n    capture: {csrf: css input[name=csrf] @value}\n";
    let (_folder, path) = plan(text, &server);
    let said = brunt(["plan", "--check", &path]).with_code(64);
    assert!(said.err.contains("line 3 column 21: `css input[name=csrf] @value` has a bracket"), "{said:?}");
}
