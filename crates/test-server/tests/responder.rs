//! The responder alone: the answer to each path, and when it is due.

use brunt_contract::{BodyFraming, ServerRequest};
use brunt_measure::Nanos;
use brunt_test_server::{AnswerBody, AnswerPlan, Config, PathKind, Responder, WithheldAnswer};
use proptest::prelude::*;

fn hear(responder: &mut Responder, now: Nanos, path: &str) -> AnswerPlan {
    responder.respond(now, &ServerRequest { method: "GET", path, head: b"GET", ..ServerRequest::default() })
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

type PathCase = (&'static str, PathKind, u16, &'static str, Result<&'static str, usize>, BodyFraming, bool);

/// Path → kind, status, header lines, body (filler as its size), shape, and whether it closes.
#[test]
fn every_path_is_understood() {
    let ok = "ok\n";
    let text = "content-type: text/plain\r\n";
    let length = BodyFraming::Length;
    let cases: &[PathCase] = &[
        ("/", PathKind::Root, 200, "", Ok(ok), length, false),
        ("/?anything=1&cache=buster", PathKind::Root, 200, "", Ok(ok), length, false),
        ("/?status=503", PathKind::Root, 503, "", Ok("Service Unavailable\n"), length, false),
        ("/status/404?size=7", PathKind::Status, 404, "", Err(7), length, false),
        ("/status/204", PathKind::Status, 204, "", Err(0), length, false),
        ("/bytes/0", PathKind::Bytes, 200, "", Err(0), length, false),
        ("/bytes/1", PathKind::Bytes, 200, "", Err(1), length, false),
        ("/bytes/65536", PathKind::Bytes, 200, "", Err(65536), length, false),
        ("/bytes/10?size=20", PathKind::Bytes, 200, "", Err(20), length, false),
        ("/bytes/10?close", PathKind::Bytes, 200, "", Err(10), length, true),
        ("/chunked/10", PathKind::Chunked, 200, "", Err(10), BodyFraming::Chunked(8192), false),
        ("/chunked/10/3", PathKind::Chunked, 200, "", Err(10), BodyFraming::Chunked(3), false),
        ("/close/5", PathKind::Close, 200, "", Err(5), BodyFraming::UntilClose, true),
        ("/header/x-a/b/c", PathKind::Header, 200, "x-a: b/c\r\n", Ok(ok), length, false),
        ("/?header=x-a:1&header=x-b:%202", PathKind::Root, 200, "x-a: 1\r\nx-b: 2\r\n", Ok(ok), length, false),
        ("/redirect/2", PathKind::Redirect, 302, "location: /redirect/1\r\n", Ok("Found\n"), length, false),
        ("/redirect/1?x=1", PathKind::Redirect, 302, "location: /redirect/0?x=1\r\n", Ok("Found\n"), length, false),
        ("/redirect/0", PathKind::Redirect, 200, "", Ok(ok), length, false),
        (
            "/nothing/here",
            PathKind::Unknown,
            404,
            text,
            Ok("/nothing/here is not a path of this target"),
            length,
            false,
        ),
        (
            "/status/99",
            PathKind::Status,
            400,
            text,
            Ok("status: \"99\" is not a number from 200 to 999\n"),
            length,
            false,
        ),
        ("/status", PathKind::Status, 400, text, Ok("status: write the code, as in /status/503\n"), length, false),
        ("/bytes/1073741825", PathKind::Bytes, 400, text, Ok("size: \"1073741825\" is not a number"), length, false),
        ("/chunked/1/0", PathKind::Chunked, 400, text, Ok("chunked: \"0\" is not a number from 1"), length, false),
        ("/delay/fast", PathKind::Delay, 400, text, Ok("delay: "), length, false),
        ("/short/0", PathKind::Short, 400, text, Ok("short: nothing is shorter"), length, false),
        ("/?station=1", PathKind::Root, 400, text, Ok("station: write the service time too"), length, false),
        ("/header/a%0db/c", PathKind::Header, 400, text, Ok("header: "), length, false),
        ("/echo?cut=3", PathKind::Echo, 400, text, Ok("cut: only responses of a known size"), length, false),
    ];
    let mut responder = Responder::alone(&Config::default());
    for (path, kind, status, headers, body, shape, close) in cases {
        let plan = hear(&mut responder, ms(1), path);
        let spec = plan.spec();
        assert_eq!((spec.kind, spec.status, spec.shape, spec.close), (*kind, *status, *shape, *close), "{path}");
        assert_eq!(String::from_utf8_lossy(&spec.headers), *headers, "{path}");
        assert_eq!(plan.due, ms(1), "{path}");
        match (&spec.body, body) {
            (AnswerBody::Filler(size), Err(wanted)) => assert_eq!(size, wanted, "{path}"),
            (AnswerBody::Text(text), Ok(start)) => {
                assert!(text.starts_with(start.as_bytes()), "{path}: {}", String::from_utf8_lossy(text));
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn delays_are_drawn_from_the_path_before_the_configuration() {
    let config = Config { delay: Some("5ms".parse().unwrap()), ..Config::default() };
    let mut responder = Responder::alone(&config);
    for (path, at) in [
        ("/", 15),
        ("/delay/7ms", 17),
        ("/delay/constant:7ms", 17),
        ("/bytes/10?delay=1ms", 11),
        ("/delay/7ms?delay=1ms", 11),
        ("/delay/0s", 10),
        ("/-/stats", 10),
    ] {
        assert_eq!(hear(&mut responder, ms(10), path).due, ms(at), "{path}");
    }
    assert_eq!(hear(&mut responder, ms(10), "/hang").due, Nanos::MAX);
    assert_eq!(hear(&mut responder, ms(10), "/reset").due, ms(15));
}

#[test]
fn a_seed_determines_every_delay_and_its_worker_number_too() {
    let draws = |seed, worker| {
        let config = Config { delay: Some("lognormal:10ms,0.5".parse().unwrap()), seed, ..Config::default() };
        let mut responder = Responder::new(&config, &brunt_test_server::SharedState::new(&config), worker);
        (0..50).map(|_| hear(&mut responder, ms(0), "/").due).collect::<Vec<_>>()
    };
    assert_eq!(draws(1, 0), draws(1, 0));
    assert_ne!(draws(1, 0), draws(2, 0));
    assert_ne!(draws(1, 0), draws(1, 1));
}

#[test]
fn rates_are_kept_within_five_deviations() {
    let config = Config { error_rate: 0.05, close_rate: 0.1, seed: 3, ..Config::default() };
    let mut responder = Responder::alone(&config);
    let (mut errors, mut closes) = (0u32, 0u32);
    let n = 100_000;
    for _ in 0..n {
        let plan = hear(&mut responder, ms(0), "/");
        match plan.spec().withheld {
            Some(WithheldAnswer::Close) => closes += 1,
            None if plan.spec().status == 500 => errors += 1,
            _ => assert_eq!(plan.spec().status, 200),
        }
    }
    for (counted, share) in [(closes, 0.1), (errors, 0.9 * 0.05)] {
        let bound = 5.0 * (f64::from(n) * share * (1.0 - share)).sqrt();
        assert!((f64::from(counted) - f64::from(n) * share).abs() < bound, "{counted} for {share}");
    }
    // Faults never affect requests that observe the server.
    assert!((0..1000).all(|_| hear(&mut responder, ms(0), "/-/stats").instead.is_none()));
}

#[test]
fn a_station_serves_all_workers_first_come_first_served() {
    let config = Config { seed: 4, ..Config::default() };
    let shop = brunt_test_server::SharedState::new(&config);
    let mut brains = [0, 1].map(|worker| Responder::new(&config, &shop, worker));
    let paths = ["/?station=1&service=3ms", "/bytes/5?service=constant:3ms&station=1"];
    let done: Vec<Nanos> = (0..4).map(|i| hear(&mut brains[i % 2], ms(i as u64), paths[i % 2]).due).collect();
    assert_eq!(done, [3, 6, 9, 12].map(ms));
    // Another number of servers or another service time is another queue.
    assert_eq!(hear(&mut brains[0], ms(4), "/?station=2&service=3ms").due, ms(7));
    assert_eq!(hear(&mut brains[0], ms(4), "/?station=1&service=2ms").due, ms(6));
    // The request leaves the station at 15 ms, and the delay is added.
    assert_eq!(hear(&mut brains[0], ms(5), "/?station=1&service=3ms&delay=10ms").due, ms(25));
}

#[test]
fn a_stall_counts_from_the_first_request_and_holds_all_workers() {
    let config = Config { stalls: vec!["5s+1s".parse().unwrap()], ..Config::default() };
    let shop = brunt_test_server::SharedState::new(&config);
    let mut brains = [0, 1].map(|worker| Responder::new(&config, &shop, worker));
    // Observing the server starts no clock.
    assert_eq!(hear(&mut brains[0], ms(50_000), "/-/stats").due, ms(50_000));
    for (worker, now, path, at) in [
        (0, 100_000, "/", 100_000),
        (1, 104_999, "/", 104_999),
        (1, 105_000, "/", 106_000),
        (0, 105_500, "/delay/100ms", 106_100),
        (0, 104_950, "/delay/100ms", 106_000),
        (1, 105_200, "/-/stats", 105_200),
        (1, 104_990, "/?station=1&service=20ms", 106_010),
        (1, 106_000, "/", 106_000),
    ] {
        assert_eq!(hear(&mut brains[worker], ms(now), path).due, ms(at), "{path} at {now} ms");
    }
}

proptest! {
    /// No path makes the responder fail, or answer with a status that is not between 200 and 999.
    #[test]
    fn any_path_gets_an_answer(path in "/[a-z0-9/?=&:%.,-]{0,60}") {
        let mut responder = Responder::alone(&Config::default());
        let plan = hear(&mut responder, ms(1), &path);
        prop_assert!((200..1000).contains(&plan.spec().status));
        prop_assert!(plan.due >= ms(1));
    }

    #[test]
    fn any_parameter_gets_an_answer(name in "status|size|delay|cut|header|station|service|close", value in "[a-z0-9:%.,~-]{0,20}") {
        let mut responder = Responder::alone(&Config::default());
        let path = format!("/?{name}={value}");
        prop_assert!(hear(&mut responder, ms(1), &path).due >= ms(1));
    }
}
