//! Tests of the HTTP/1.1 client: requests are sent as given, byte for byte, and every form of response is read to its
//! end.

use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, brunt};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Returns the last request that a peer received, after one run with these options.
#[track_caller]
fn sent(options: &[&str]) -> String {
    let peer = ScriptedPeer::answering(OK);
    report(&[options, &["-n", "2", "-c", "1", &peer.url()]].concat()).with_code(0);
    String::from_utf8_lossy(&peer.received().pop().expect("a request")).into_owned()
}

/// Complete responses with every kind of framing, and the size of their body.
const WHOLE: &[(&str, &str, u64)] = &[
    ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 5),
    ("no body", "HTTP/1.1 204 No Content\r\n\r\n", 0),
    ("not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 0),
    ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 5),
    (
        "chunks with extensions and trailers",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n",
        5,
    ),
    (
        "interim answers",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        1,
    ),
    ("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", 1),
];

#[test]
fn every_shape_of_answer_is_read_whole_or_byte_by_byte() {
    for (name, answer, payload) in WHOLE {
        for piece in [answer.len(), 1] {
            let peer = ScriptedPeer::new(move |mut connection| {
                while connection.request().is_some() && connection.dribble(answer.as_bytes(), piece) {}
            });
            let report = report(&["-n", "6", "-c", "2", &peer.url()]).with_code(0);
            assert_eq!(report.requests(), [6, 6, 0, 0], "{name}: {report}");
            assert_eq!(report.count("bytes.payload"), payload * 6, "{name}: {report}");
            assert_eq!(report.count("bytes.received"), answer.len() as u64 * 6, "{name}: {report}");
            assert_eq!(report.count("connections.opened"), 2, "{name} keeps its connections: {report}");
        }
    }
}

#[test]
fn answers_that_end_with_the_connection_are_whole() {
    for answer in [
        "HTTP/1.1 200 OK\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    ] {
        let peer = ScriptedPeer::answering_once(answer);
        let report = report(&["-n", "6", "-c", "2", &peer.url()]).with_code(0);
        assert_eq!(report.requests(), [6, 6, 0, 0], "{answer}: {report}");
        assert_eq!(report.count("bytes.payload"), 30, "{answer}: {report}");
        assert_eq!(report.count("connections.opened"), 6, "{answer}: {report}");
    }
}

#[test]
fn an_http_1_0_server_that_keeps_the_connection_is_believed() {
    let peer = ScriptedPeer::answering("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
    let report = report(&["-n", "6", "-c", "2", &peer.url()]).with_code(0);
    assert_eq!(report.count("connections.opened"), 2, "{report}");
}

#[test]
fn a_close_announced_in_the_middle_of_a_run_costs_no_request() {
    let peer = ScriptedPeer::new(|mut connection| {
        for n in 0.. {
            let close = if n == 4 { "Connection: close\r\n" } else { "" };
            let answer = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 2\r\n\r\nok");
            if connection.request().is_none() || !connection.send(answer.as_bytes()) || n == 4 {
                return;
            }
        }
    });
    let report = report(&["-n", "100", "-c", "4", &peer.url()]).with_code(0);
    assert_eq!(report.requests(), [100, 100, 0, 0], "{report}");
    assert_eq!(peer.requests(), 101);
}

#[test]
fn a_head_request_has_no_body_whatever_its_length_says() {
    let peer = ScriptedPeer::answering("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    let report = report(&["-X", "HEAD", "-n", "10", "-c", "2", &peer.url()]).with_code(0);
    assert_eq!(report.requests(), [10, 10, 0, 0], "{report}");
    assert!(peer.received()[0].starts_with(b"HEAD / HTTP/1.1\r\n"));
}

#[test]
fn methods_and_header_lines_leave_as_they_were_asked() {
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"] {
        assert!(sent(&["-X", method]).starts_with(&format!("{method} / HTTP/1.1\r\n")), "{method}");
    }
    let request =
        sent(&["-H", "X-One: 1", "-H", "X-Two:  two words ", "-H", "Host: other.example", "-H", "User-Agent:"]);
    assert!(request.contains("\r\nX-One: 1\r\n") && request.contains("\r\nX-Two:  two words \r\n"), "{request}");
    assert!(request.contains("\r\nHost: other.example\r\n") && request.matches("Host:").count() == 1, "{request}");
    assert!(!request.contains("User-Agent"), "{request}");
}

#[test]
fn data_is_a_form_and_several_are_joined() {
    let request = sent(&["--data", "a=1", "--data", "b=2"]);
    assert!(request.starts_with("POST / HTTP/1.1\r\n") && request.ends_with("\r\n\r\na=1&b=2"), "{request}");
    assert!(request.contains("Content-Type: application/x-www-form-urlencoded\r\n"), "{request}");
    assert!(request.contains("Content-Length: 7\r\n"), "{request}");
}

#[test]
fn a_data_file_is_sent_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let file = brunt_tests::target::text(directory.path(), "body.bin");
    let bytes: Vec<u8> = (0..100_000_u32).map(|n| (n * 7 % 256) as u8).chain(*b"\r\n\n@&=\0").collect();
    std::fs::write(&file, &bytes).unwrap();
    let peer = ScriptedPeer::answering(OK);
    report(&["--data-file", &file, "-n", "5", "-c", "1", &peer.url()]).with_code(0);
    let heard = peer.received();
    assert_eq!(heard.len(), 5);
    for request in heard {
        let head = request.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
        assert!(request[head..] == bytes[..], "another body of {} bytes", request.len() - head);
    }
}

#[test]
fn a_form_carries_its_file_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let file = brunt_tests::target::text(directory.path(), "picture.bin");
    let bytes: Vec<u8> = (0..=255).chain(*b"\r\n--\r\n").collect();
    std::fs::write(&file, &bytes).unwrap();
    let peer = ScriptedPeer::answering(OK);
    let field = format!("file=@{file};type=image/x-test");
    report(&["--form", "name=value", "--form", &field, "-n", "1", "-c", "1", &peer.url()]).with_code(0);
    let request = peer.received().pop().unwrap();
    let at = request.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&request[..at]).into_owned();
    let boundary = head.split("boundary=").nth(1).expect(&head).lines().next().unwrap().trim_matches('"');
    let mut wanted = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nvalue\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"picture.bin\"\r\nContent-Type: image/x-test\r\n\r\n"
    )
    .into_bytes();
    wanted.extend_from_slice(&bytes);
    wanted.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert_eq!(String::from_utf8_lossy(&request[at..]), String::from_utf8_lossy(&wanted));
    assert!(request[at..] == wanted[..]);
}

#[test]
fn basic_authentication_by_option_and_by_url() {
    // base64("me:open sesame")
    let wanted = "\r\nAuthorization: Basic bWU6b3BlbiBzZXNhbWU=\r\n";
    assert!(sent(&["--user", "me:open sesame"]).contains(wanted));
    let peer = ScriptedPeer::answering(OK);
    let url = format!("http://me:open%20sesame@{}/", peer.host());
    report(&["-n", "1", "-c", "1", &url]).with_code(0);
    let request = String::from_utf8_lossy(&peer.received()[0]).into_owned();
    assert!(request.contains(wanted) && request.starts_with("GET / "), "{request}");
}

#[test]
fn without_keep_alive_every_request_has_its_connection() {
    let target = TargetProcess::healthy();
    let report = report(&["--no-keepalive", "-n", "40", "-c", "4", &target.address]).with_code(0);
    assert_eq!(report.count("connections.opened"), 40, "{report}");
    assert_eq!(report.count("connections.reused"), 0, "{report}");
    assert!(report.notices().contains(&"no_keepalive".to_string()), "{report}");
    assert_eq!(report.count("phases.connect.count"), 40, "{report}");
    // The pre-flight request is one more, and the stats are read on a separate connection.
    assert_eq!(target.stats()["connections"]["accepted"].as_u64(), Some(40 + 1 + 1));
    let request = sent(&["--no-keepalive"]);
    assert!(request.to_lowercase().contains("\r\nconnection: close\r\n"), "{request}");
}

#[test]
fn redirects_are_not_followed_unless_asked_and_a_run_of_them_says_so() {
    let target = TargetProcess::healthy();
    let plain = report(&["-n", "10", "-c", "2", &target.url("redirect/2")]);
    assert!(plain.notices().contains(&"only_redirects".to_string()), "{plain}");
    assert_eq!(plain.json["status"]["302"], 10, "{plain}");
    let before = target.requests();
    let followed = report(&["-n", "30", "-c", "2", "--redirects", "2", &target.url("redirect/2")]).with_code(0);
    assert!(!followed.notices().contains(&"only_redirects".to_string()), "{followed}");
    // A request and its hops are one for us; the server counts each.
    assert_eq!(followed.requests(), [30, 30, 0, 0], "{followed}");
    let (hops, probe) = (followed.count("requests.hops"), followed.count("requests.probe"));
    assert_eq!((hops, target.requests() - before), (60, 30 + hops + probe), "{followed}");
    assert_eq!(followed.json["status"], serde_json::json!({"200": 30}), "{followed}");
}

#[test]
fn more_redirects_than_allowed_are_failures() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "6", "-c", "2", "--redirects", "1", &target.url("redirect/3")]);
    // In each chain the first redirect is followed and the second is over the limit.
    assert_eq!((report.requests(), report.count("requests.hops")), ([6, 0, 6, 0], 6), "{report}");
    assert_eq!(report.failures()["too_many_redirects"], 6, "{report}");
}

#[test]
fn requests_that_end_in_a_redirect_loop_have_all_failed_and_miss_their_objective() {
    for load in [&["-c", "2"][..], &["-r", "200/s"]] {
        let peer = ScriptedPeer::answering("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
        let report =
            report(&[load, &["-n", "50", "-L", "--objective", "failed<10%", &peer.url()]].concat()).with_code(10);
        assert_eq!((report.requests(), report.count("requests.hops")), ([50, 0, 50, 0], 500), "{report}");
    }
}

#[test]
fn expected_statuses_decide_what_is_a_success() {
    let target = TargetProcess::healthy();
    let table = [
        ("status/404", "404", true),
        ("status/404", "200,404", true),
        ("status/503", "5xx", true),
        ("status/200", "201-299", false),
        ("status/404", "200", false),
    ];
    for (path, expected, good) in table {
        let report = report(&["-n", "8", "-c", "2", "--expect-status", expected, &target.url(path)]);
        let wanted = if good { [8, 8, 0, 0] } else { [8, 0, 8, 0] };
        assert_eq!(report.requests(), wanted, "{path} {expected}: {report}");
        assert_eq!(report.code == 0, good, "{path} {expected}: {report}");
        if !good {
            assert_eq!(report.failures()["wrong_status"], 8, "{report}");
        }
    }
}

#[test]
fn an_expected_text_is_found_across_pieces_or_missed() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nall \r\n7\r\nis well\r\n0\r\n\r\n";
    let peer = ScriptedPeer::new(
        move |mut connection| {
            while connection.request().is_some() && connection.dribble(answer.as_bytes(), 3) {}
        },
    );
    report(&["-n", "6", "-c", "2", "--expect-body", "all is well", &peer.url()]).with_code(0);
    let missed = report(&["-n", "6", "-c", "2", "--expect-body", "all is lost", &peer.url()]);
    assert_ne!(missed.code, 0, "{missed}");
    assert_eq!(missed.failures()["wrong_body"], 6, "{missed}");
    let example = missed.at("failures.0.example.received").as_str().unwrap();
    assert!(example.contains("is well"), "{missed}");
}

#[test]
fn bytes_on_the_wire_are_counted_as_the_server_counts_them() {
    let target = TargetProcess::healthy();
    let url = target.url("bytes/1234");
    let report = report(&["-n", "100", "-c", "4", &url]).with_code(0);
    let stats = target.stats();
    // The pre-flight request is as long as the others; the target does not count the request for the stats.
    let per = |name: &str| stats["bytes"][name].as_u64().unwrap();
    assert_eq!(report.count("bytes.payload"), 123_400, "{report}");
    assert_eq!(report.count("bytes.received") * 101 / 100, per("sent"), "{stats} {report}");
}

#[test]
fn a_unix_socket_is_a_target_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("target.sock");
    let _target = TargetProcess::on_unix_socket(&path);
    let line = ["-n", "50", "-c", "4", "--unix-socket", path.to_str().unwrap(), "http://somewhere.invalid/bytes/10"];
    let report = report(&line).with_code(0);
    assert_eq!(report.requests(), [50, 50, 0, 0], "{report}");
    let nobody = directory.path().join("nobody.sock");
    brunt(["-n", "5", "-c", "1", "--unix-socket", nobody.to_str().unwrap(), "http://a/"])
        .with_code(30)
        .containing("nobody.sock");
}

#[test]
fn ipv6_is_spoken() {
    let peer = ScriptedPeer::at(
        "[::1]:0",
        |mut connection| while connection.request().is_some() && connection.send(OK.as_bytes()) {},
    );
    let report = report(&["-n", "20", "-c", "2", &peer.url()]).with_code(0);
    assert_eq!(report.requests(), [20, 20, 0, 0], "{report}");
    let request = String::from_utf8_lossy(&peer.received()[0]).into_owned();
    assert!(request.contains(&format!("\r\nHost: [::1]:{}\r\n", peer.port())), "{request}");
}

#[test]
fn connections_go_elsewhere_and_over_a_range_of_ports() {
    // Two adjacent free ports.
    let (first, second) = (0..200)
        .find_map(|_| {
            let port = brunt_tests::target::free_port();
            let free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
            (port < u16::MAX && free(port) && free(port + 1)).then(|| {
                let script = |mut connection: brunt_tests::peer::PeerConnection| {
                    while connection.request().is_some() && connection.send(OK.as_bytes()) {}
                };
                let at = |port: u16| ScriptedPeer::at(&format!("127.0.0.1:{port}"), script);
                (at(port), at(port + 1))
            })
        })
        .expect("two neighbouring ports");
    let rule = format!("shop.example:80:127.0.0.1:{}-{}", first.port(), second.port());
    let report =
        report(&["-n", "40", "-c", "8", "-w", "2", "--connect-to", &rule, "http://shop.example/"]).with_code(0);
    assert_eq!(report.requests(), [40, 40, 0, 0], "{report}");
    assert_eq!(first.requests() + second.requests(), 41, "{report}");
    assert!(first.connections() >= 3 && second.connections() >= 3, "{} {}", first.connections(), second.connections());
    let request = String::from_utf8_lossy(&first.received()[0]).into_owned();
    assert!(request.contains("\r\nHost: shop.example\r\n"), "{request}");
}

#[test]
fn source_addresses_take_turns() {
    let peer = ScriptedPeer::answering(OK);
    let line = ["-n", "64", "-c", "16", "-w", "2", "--source", "127.0.0.2-127.0.0.8,127.0.0.9", &peer.url()];
    report(&line).with_code(0);
    let mut from: Vec<String> = peer.from().iter().map(|address| address.ip().to_string()).collect();
    from.sort();
    from.dedup();
    assert_eq!(from, (2..=9).map(|n| format!("127.0.0.{n}")).collect::<Vec<_>>());
}

#[test]
fn debug_shows_the_exchange_as_sent_and_received() {
    let peer =
        ScriptedPeer::answering("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 5\r\nSet-Cookie: secret=1\r\n\r\nshort");
    let url = format!("{}tea?cups=2", peer.url());
    let line = ["--debug", "-H", "Authorization: Bearer abc", "--data", "x=y", &url];
    let ended = brunt(line).with_code(20).containing("a run would count this exchange as failed: wrong_status (418)");
    for text in ["POST /tea?cups=2 HTTP/1.1", "x=y", "HTTP/1.1 418 I'm a teapot", "short", "Authorization: Bearer ***"]
    {
        assert!(ended.out.contains(text), "{text} in\n{}", ended.out);
    }
    assert!(!ended.out.contains("abc") && !ended.out.contains("secret=1"), "{}", ended.out);
    assert_eq!(peer.requests(), 1);
    let open = brunt(["--debug", "--keep-secrets", "-H", "Authorization: Bearer abc", &peer.url()]).with_code(20);
    assert!(open.out.contains("Bearer abc") && open.out.contains("secret=1"), "{}", open.out);
}

#[test]
fn debug_judges_the_exchange_as_a_run_would_and_decodes_its_body() {
    let target = TargetProcess::healthy();
    let url = target.url("");
    let good = brunt(["--debug", "--expect-body", "ok", &url]).with_code(0);
    good.containing("--- a run would count this exchange as a success").containing("--- check passed: contains ok");
    for version in ["--http=1.1", "--http=2"] {
        let bad = brunt(["--debug", version, "--expect-body", "missing", &url]).with_code(20);
        bad.containing("as failed: wrong_body: expected body to contain \"missing\", found \"ok\\n\" (3 B)")
            .containing("--- check failed: contains missing");
    }
    let status = brunt(["--debug", "--expect-status", "404", &url]).with_code(20);
    status.containing("as failed: wrong_status (200)");
    brunt(["--debug", "--expect-json", "$.code = 200", &url])
        .with_code(64)
        .containing("write == to compare: $.code == 200");
    // `plain text` in gzip, stored.
    let coded = "1f8b08000000000000ff010a00f5ff706c61696e2074657874";
    let mut body: Vec<u8> =
        (0..coded.len()).step_by(2).filter_map(|at| u8::from_str_radix(&coded[at..at + 2], 16).ok()).collect();
    body.extend([0xb8, 0x0f, 0x0b, 0x44, 10, 0, 0, 0]);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len());
    let answer = [head.as_bytes(), &body].concat();
    let peer =
        ScriptedPeer::new(move |mut connection| while connection.request().is_some() && connection.send(&answer) {});
    let shown = brunt(["--debug", "--expect-body", "plain text", &peer.url()]).with_code(0);
    shown.containing("bytes of gzip, decoded to 10:\nplain text\n");
}

#[test]
fn a_wrong_body_says_what_was_expected_and_what_was_found() {
    let target = TargetProcess::healthy();
    let run = report(&["-n", "3", "-c", "1", "--expect-body", "missing", &target.url("bytes/2000")]).with_code(20);
    let detail = run.at("failures.0.example.detail").as_str().unwrap_or_default().to_owned();
    assert!(detail.starts_with("expected body to contain \"missing\", found \""), "{run}");
    assert!(detail.ends_with("…\" (2.00 kB)"), "{run}");
    let line = ["-n", "3", "-c", "1", "--data", "{\"code\": 500}", "--expect-json", "$.code == 200"];
    let run = report(&[&line[..], &[&target.url("echo")]].concat()).with_code(20);
    assert!(run.to_string().contains("expected JSON, found"), "the echo has a head before it: {run}");
}

#[test]
fn json_bearer_cookies_and_files_are_spelled_out_as_curl_sends_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("@{}", path.display())
    };
    let json = sent(&["--json", "{\"a\":1}"]);
    assert!(json.starts_with("POST / ") && json.ends_with("\r\n\r\n{\"a\":1}"), "{json}");
    assert!(
        json.contains("\r\nContent-Type: application/json\r\n") && json.contains("Accept: application/json"),
        "{json}"
    );
    let token = file("token", "t0p-s3cr3t\n");
    let signed = sent(&["--bearer", &token, "--cookie", "a=1", "--cookie", "b=2"]);
    assert!(signed.contains("\r\nAuthorization: Bearer t0p-s3cr3t\r\n"), "{signed}");
    assert!(signed.contains("\r\nCookie: a=1; b=2\r\n"), "{signed}");
    let form = sent(&["--data", &file("form", "a=1\n&b=2\n")]);
    assert!(form.contains("application/x-www-form-urlencoded") && form.ends_with("\r\n\r\na=1&b=2"), "{form}");
}

#[test]
fn redirects_are_followed_for_a_habit_of_curl() {
    let target = TargetProcess::healthy();
    let url = format!("{}redirect/3", target.address);
    let report = report(&["-L", "-n", "5", "-c", "1", &url]).with_code(0);
    assert_eq!(report.json["status"]["200"], 5, "{report}");
}
