//! A worker on a scripted network: every path as the client sees it, the order of answers, timers, faults, and
//! consistent counts.

mod fake;
mod tongues;

use brunt_measure::Nanos;
use brunt_test_server::{Config, Stats};
use fake::{ClosedBy, WorkerScene};

fn scene() -> WorkerScene {
    let mut scene = WorkerScene::new(&Config::default());
    scene.connect(0);
    scene
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn accounted(stats: &Stats) -> bool {
    stats.heard == stats.answered + stats.spoiled + stats.withheld + stats.abandoned + stats.waiting
}

/// Returns the head (lower case) and body of one answer.
fn parts(bytes: &[u8]) -> (String, Vec<u8>) {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    (String::from_utf8_lossy(&bytes[..end]).to_lowercase(), bytes[end..].to_vec())
}

fn filler(size: usize) -> Vec<u8> {
    let block: Vec<u8> = (0..65536usize).map(|i| if i % 27 == 26 { b'\n' } else { b'a' + (i % 27) as u8 }).collect();
    block.iter().copied().cycle().take(size).collect()
}

#[test]
fn paths_are_answered_as_documented() {
    // Path, start of the head, another line of the head, body, and whether the connection is closed afterwards.
    let cases: &[(&str, &str, &str, &[u8], bool)] = &[
        ("/", "http/1.1 200 ", "content-length: 3\r\n", b"ok\n", false),
        ("/status/503", "http/1.1 503 ", "content-length: 20\r\n", b"Service Unavailable\n", false),
        ("/status/204", "http/1.1 204 ", "\r\n", b"", false),
        ("/bytes/1", "http/1.1 200 ", "content-length: 1\r\n", b"a", false),
        (
            "/chunked/5/2",
            "http/1.1 200 ",
            "transfer-encoding: chunked\r\n",
            b"2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n",
            false,
        ),
        ("/close/3", "http/1.1 200 ", "connection: close\r\n", b"abc", true),
        ("/header/x-cache/hit", "http/1.1 200 ", "x-cache: hit\r\n", b"ok\n", false),
        ("/redirect/1", "http/1.1 302 ", "location: /redirect/0\r\n", b"Found\n", false),
        ("/bytes/2?close=1", "http/1.1 200 ", "connection: close\r\n", b"ab", true),
        ("/short/5", "http/1.1 200 ", "content-length: 5\r\n", b"ab", true),
        ("/long/4", "http/1.1 200 ", "content-length: 4\r\n", b"abcdef", false),
        ("/echo", "http/1.1 200 ", "content-length: 33\r\n", b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n", false),
        (
            "/nonsense",
            "http/1.1 404 ",
            "text/plain\r\n",
            b"/nonsense is not a path of this target: see `brunt target --help`\n",
            false,
        ),
    ];
    for (path, start, line, body, closes) in cases {
        let mut scene = scene();
        scene.get(0, path);
        let (head, got) = parts(&scene.heard(0));
        if *path != "/echo" {
            assert!(head.contains(line), "{path}: {head}");
        }
        assert!(head.starts_with(start), "{path}: {head}");
        assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(body), "{path}");
        assert_eq!(scene.gone(0), closes.then_some(ClosedBy::Closed), "{path}");
        assert!(accounted(&scene.stats()), "{path}: {:?}", scene.stats());
    }
}

#[test]
fn echo_gives_head_and_body_back() {
    let mut scene = scene();
    let request = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    scene.say(0, request);
    assert_eq!(parts(&scene.heard(0)).1, request);
}

#[test]
fn faults_look_as_documented() {
    let mut garbage = scene();
    garbage.get(0, "/garbage");
    assert!(!garbage.heard(0).starts_with(b"HTTP"));
    assert_eq!(garbage.gone(0), Some(ClosedBy::Closed));

    let mut reset = scene();
    reset.get(0, "/reset");
    assert_eq!((reset.heard(0).len(), reset.gone(0)), (0, Some(ClosedBy::Aborted)));
    assert_eq!(reset.stats().withheld, 1);

    let mut hang = scene();
    hang.get(0, "/hang");
    hang.get(0, "/");
    hang.pass(Nanos::from_secs(1000));
    assert_eq!((hang.heard(0).len(), hang.gone(0), hang.stats().waiting), (0, None, 2));
    hang.hang_up(0);
    let stats = hang.stats();
    assert_eq!((stats.withheld, stats.abandoned, stats.waiting, stats.open), (1, 1, 0, 0));
}

#[test]
fn an_answer_is_cut_at_every_byte() {
    let mut whole = scene();
    whole.get(0, "/cut/100000");
    let all = whole.heard(0);
    assert!(all.ends_with(&filler(1000)));
    for keep in 0..all.len() {
        let mut scene = scene();
        scene.get(0, &format!("/cut/{keep}"));
        assert_eq!(scene.heard(0), &all[..keep], "{keep}");
        assert_eq!(scene.gone(0), Some(ClosedBy::Closed), "{keep}");
        assert_eq!(scene.stats().spoiled, 1);
    }
}

#[test]
fn everything_in_one_read_is_answered_in_one_send_and_in_order() {
    let mut scene = scene();
    let paths = ["/", "/bytes/7", "/status/404", "/chunked/4/2", "/"];
    let pipelined: String = paths.map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).concat();
    scene.say(0, pipelined.as_bytes());
    let together = scene.heard(0);
    assert_eq!(scene.sends(), 1);
    let mut one_by_one = Vec::new();
    for path in paths {
        scene.get(0, path);
        one_by_one.extend(scene.heard(0));
    }
    assert_eq!(together, one_by_one);
    assert_eq!(scene.stats().answered, 10);
}

#[test]
fn requests_split_at_every_byte_are_answered_the_same() {
    let request =
        b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /bytes/3 HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut whole = scene();
    whole.say(0, request);
    let answer = whole.heard(0);
    for at in 1..request.len() {
        let mut scene = scene();
        scene.say(0, &request[..at]);
        scene.say(0, &request[at..]);
        assert_eq!(scene.heard(0), answer, "split at {at}");
    }
}

#[test]
fn delayed_answers_come_at_their_nanosecond_and_the_wait_ends_there() {
    let mut scene = scene();
    scene.get(0, "/delay/1500us");
    scene.turn();
    assert_eq!(scene.waited_for(), Nanos(1_500_000));
    scene.pass(Nanos(1_499_999));
    assert_eq!(scene.heard(0).len(), 0);
    assert_eq!(scene.stats().waiting, 1);
    scene.pass(Nanos(1));
    assert!(scene.heard_text(0).ends_with("ok\n"));
    assert_eq!(scene.stats().waiting, 0);
}

#[test]
fn a_quick_answer_waits_behind_a_slow_one_of_its_connection_only() {
    let mut scene = scene();
    scene.connect(1);
    scene.say(0, b"GET /delay/10ms HTTP/1.1\r\nHost: a\r\n\r\nGET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n");
    scene.get(1, "/bytes/2");
    assert_eq!((scene.heard(0).len(), parts(&scene.heard(1)).1), (0, b"ab".to_vec()));
    scene.pass(ms(10));
    let both = scene.heard_text(0);
    assert!(both.find("ok\n").unwrap() < both.rfind("\r\n\r\na").unwrap(), "{both}");
}

#[test]
fn a_timer_of_an_earlier_connection_in_the_slot_is_ignored() {
    let mut scene = scene();
    scene.get(0, "/delay/10ms");
    scene.hang_up(0);
    scene.connect(0);
    scene.get(0, "/delay/30ms");
    scene.pass(ms(10));
    assert_eq!(scene.heard(0).len(), 0);
    scene.pass(ms(20));
    assert!(!scene.heard(0).is_empty());
    let stats = scene.finish();
    assert_eq!((stats.answered, stats.abandoned, stats.accepted, stats.open), (1, 1, 2, 0));
}

#[test]
fn large_bodies_flow_as_the_client_reads_them() {
    for (path, body) in
        [("/bytes/300000", filler(300_000)), ("/close/300000", filler(300_000)), ("/bytes/65537", filler(65_537))]
    {
        let mut scene = scene();
        scene.reads_only(0, 1000);
        scene.get(0, path);
        scene.turn();
        // At most a block and a head are held back for a client that does not read.
        assert!(scene.unsent(0) <= 65_536 + 200, "{path}: {}", scene.unsent(0));
        // Head, the only block and the byte after it are sent together.
        assert_eq!(scene.stats().answered, u64::from(path == "/bytes/65537"), "{path}");

        let mut scene = self::scene();
        scene.get(0, path);
        (0..4).for_each(|_| scene.turn());
        assert!(parts(&scene.heard(0)).1 == body, "{path}");
        assert_eq!(scene.stats().answered, 1, "{path}");
        assert_eq!(scene.gone(0).is_some(), path.starts_with("/close"), "{path}");
    }
}

#[test]
fn a_gibibyte_is_announced_and_poured_without_being_held() {
    let mut scene = scene();
    scene.get(0, "/bytes/1073741824");
    let mut received = 0;
    while scene.stats().answered == 0 {
        scene.turn();
        received += scene.heard(0).len();
    }
    assert!(received > 1 << 30 && received < (1 << 30) + 200, "{received}");
}

#[test]
fn endless_headers_do_not_end() {
    let mut scene = scene();
    scene.get(0, "/endless-headers");
    (0..20).for_each(|_| scene.turn());
    let all = scene.heard_text(0);
    assert!(all.len() > 1 << 20 && !all.contains("\r\n\r\n"));
    scene.hang_up(0);
    assert!(accounted(&scene.stats()));
}

#[test]
fn head_gets_no_body() {
    for path in ["/", "/bytes/10", "/bytes/1000000", "/chunked/1000000"] {
        let mut scene = scene();
        scene.say(0, format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let (head, body) = parts(&scene.heard(0));
        assert!(body.is_empty(), "{path}");
        assert!(head.contains("content-length: ") || head.contains("transfer-encoding"), "{path}: {head}");
    }
}

#[test]
fn a_client_that_never_reads_is_held_within_bounds() {
    let mut scene = scene();
    scene.reads_only(0, 0);
    let requests = "GET /bytes/60000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000);
    scene.say(0, requests.as_bytes());
    assert!(scene.unsent(0) <= (1 << 20) + 61_000, "{}", scene.unsent(0));
    let stats = scene.stats();
    assert!(stats.waiting > 900 && accounted(&stats));
    // Polling does not spin: the interval grows to a millisecond.
    (0..20).for_each(|_| scene.turn());
    assert_eq!(scene.waited_for(), ms(1));
    (0..70).for_each(|_| scene.say(0, requests.as_bytes()));
    assert_eq!(scene.gone(0), Some(ClosedBy::Aborted));
    assert!(accounted(&scene.stats()));
}

#[test]
fn what_is_no_request_is_refused() {
    let mut scene = scene();
    scene.say(0, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\x00\x01nonsense\r\n\r\n");
    let all = scene.heard_text(0);
    assert!(all.starts_with("HTTP/1.1 200") && all.contains("HTTP/1.1 400"), "{all}");
    assert_eq!(scene.gone(0), Some(ClosedBy::Closed));
    assert_eq!(scene.stats().malformed, 1);
}

#[test]
fn the_connection_limit_stops_and_resumes_accepting() {
    let mut scene = WorkerScene::new(&Config { max_connections: Some(2), ..Config::default() });
    scene.connect(0);
    assert!(scene.accepting());
    scene.connect(1);
    assert!(!scene.accepting());
    scene.hang_up(0);
    assert!(scene.accepting());
}

#[test]
fn stats_count_what_was_done_and_not_the_watching() {
    let mut scene = scene();
    for path in ["/", "/", "/status/503", "/bytes/5", "/nope", "/-/stats"] {
        scene.get(0, path);
    }
    scene.heard(0);
    scene.get(0, "/-/stats");
    let json: serde_json::Value = serde_json::from_slice(&parts(&scene.heard(0)).1).unwrap();
    assert_eq!(json["requests"]["heard"], 5);
    assert_eq!(json["requests"]["answered"], 5);
    assert_eq!(json["requests"]["watching"], 1);
    assert_eq!(json["status"], serde_json::json!({"200": 3, "404": 1, "503": 1}));
    assert_eq!(json["paths"], serde_json::json!({"/": 2, "/status": 1, "/bytes": 1, "unknown": 1}));
    assert_eq!(json["connections"]["open"], 1);

    scene.get(0, "/-/reset-stats");
    scene.get(0, "/bytes/5");
    let stats = scene.stats();
    assert_eq!((stats.heard, stats.answered, stats.by_status[&200], stats.open), (1, 1, 1, 1));
    assert_eq!(stats.by_path.len(), 1);
}

#[test]
fn errors_and_closes_by_chance_are_counted_as_what_they_are() {
    let config = Config { error_rate: 0.3, close_rate: 0.2, seed: 8, ..Config::default() };
    let mut scene = WorkerScene::new(&config);
    for _ in 0..500 {
        scene.connect(0);
        scene.get(0, "/");
        if scene.gone(0).is_none() {
            scene.hang_up(0);
        }
    }
    let stats = scene.finish();
    assert_eq!(stats.heard, 500);
    assert!(accounted(&stats));
    assert_eq!(stats.answered, stats.by_status[&200] + stats.by_status[&500]);
    assert!((60..140).contains(&stats.withheld), "{stats:?}");
}
