//! Tests of closed and open load: the server sees the load that was requested, and every request has an outcome.

use brunt_tests::report::{assert_exact_count, report};
use brunt_tests::{ScriptedPeer, TargetProcess};

#[test]
fn a_number_of_requests_is_kept_exactly_by_users_and_workers_of_any_number() {
    for (users, workers) in [("1", "1"), ("3", "2"), ("7", "2"), ("10", "4")] {
        let target = TargetProcess::healthy();
        let report = report(&["-n", "503", "-c", users, "-w", workers, &target.address]).with_code(0);
        assert_eq!(report.requests(), [503, 503, 0, 0], "{report}");
        assert_eq!(report.json["status"]["200"], 503);
        assert_exact_count(&target, &report);
    }
}

#[test]
fn a_duration_counts_every_request_that_began_in_it() {
    let target = TargetProcess::healthy();
    let report = report(&["-d", "400ms", "-c", "5", "-w", "2", &target.address]).with_code(0);
    assert!(report.count("requests.succeeded") > 0, "{report}");
    assert_eq!(report.json["mode"], "closed");
    assert!(report.at("latency.response").is_null(), "closed load has no response time");
    assert!((report.number("window_s") - 0.4).abs() < 1e-9, "{report}");
    assert_exact_count(&target, &report);
}

#[test]
fn a_rate_is_the_rate_of_the_run_whatever_the_number_of_workers() {
    for (arrivals, workers) in [("constant", "1"), ("constant", "2"), ("constant", "3")] {
        let target = TargetProcess::healthy();
        let line = ["-r", "500/s", "-d", "1s", "--arrivals", arrivals, "-w", workers, &target.address];
        let report = report(&line);
        assert_eq!(report.count("requests.scheduled"), 500, "{report}");
        assert_eq!(report.json["mode"], "open");
        assert_exact_count(&target, &report);
    }
}

#[test]
fn the_same_seed_makes_the_same_poisson_arrivals() {
    let target = TargetProcess::healthy();
    let due = |seed: &str, workers: &str| {
        let line = ["-r", "700/s", "-d", "700ms", "--seed", seed, "-w", workers, &target.address];
        report(&line).count("requests.scheduled")
    };
    assert_eq!(due("11", "1"), due("11", "1"));
    assert_eq!(due("12", "2"), due("12", "2"));
}

#[test]
fn an_open_run_by_number_sends_that_many() {
    let target = TargetProcess::healthy();
    for arrivals in ["poisson", "constant", "burst"] {
        let report = report(&["-r", "900/s", "-n", "333", "--arrivals", arrivals, "-w", "2", &target.address]);
        assert_eq!(report.count("requests.scheduled"), 333, "{arrivals}: {report}");
        assert_eq!(report.count("requests.succeeded"), 333, "{arrivals}: {report}");
    }
}

#[test]
fn a_burst_comes_at_once_every_second() {
    let target = TargetProcess::healthy();
    let report = report(&["-r", "200/s", "-d", "2s", "--arrivals", "burst", "-w", "2", &target.address]);
    let seconds = report.json["seconds"].as_array().unwrap();
    let due: Vec<u64> =
        seconds.iter().filter(|s| s["part"] == "window").map(|s| s["scheduled"].as_u64().unwrap()).collect();
    assert_eq!(due, [200, 200], "{report}");
    assert_exact_count(&target, &report);
}

#[test]
fn rates_may_be_fractions_and_per_minute() {
    let target = TargetProcess::healthy();
    for (rate, due) in [("300/min", 5), ("4.0/s", 4), ("0.002k/s", 2)] {
        let report = report(&["-r", rate, "-d", "1s", "--arrivals", "constant", &target.address]);
        assert_eq!(report.count("requests.scheduled"), due, "{rate}: {report}");
    }
}

#[test]
fn the_warm_up_is_counted_apart() {
    let target = TargetProcess::healthy();
    let open = report(&["-r", "500/s", "--arrivals", "constant", "--warmup", "400ms", "-d", "600ms", &target.address]);
    assert_eq!([open.count("requests.warmup"), open.count("requests.scheduled")], [200, 300], "{open}");
    assert_exact_count(&target, &open);
    let other = TargetProcess::healthy();
    let closed = report(&["-c", "4", "--warmup", "200ms", "-d", "200ms", &other.address]).with_code(0);
    assert!(closed.count("requests.warmup") > 0 && closed.count("requests.succeeded") > 0, "{closed}");
    assert_exact_count(&other, &closed);
}

#[test]
fn stages_of_a_rate_add_up() {
    let target = TargetProcess::healthy();
    let line =
        ["--stage", "500ms:200/s", "--stage", "1s:200/s..600/s", "--arrivals", "constant", "-w", "2", &target.address];
    let report = report(&line);
    // 100 in the first half second, (200 + 600) / 2 in the second after it.
    assert_eq!(report.count("requests.scheduled"), 500, "{report}");
    assert_exact_count(&target, &report);
}

#[test]
fn stages_of_users_change_how_many_there_are() {
    let peer = ScriptedPeer::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let report = report(&["--stage", "300ms:2", "--stage", "300ms:6", "-w", "2", &peer.url()]).with_code(0);
    let [due, finished, failed, _] = report.requests();
    assert_eq!((due, failed), (finished, 0), "{report}");
    // One of them is the pre-flight request.
    assert_eq!(peer.connections(), 6 + 1, "{report}");
    assert_eq!(peer.requests(), finished + 1, "{report}");
}

#[test]
fn users_who_think_send_less() {
    let target = TargetProcess::healthy();
    let report = report(&["-c", "5", "--think", "10s", "-d", "300ms", &target.address]).with_code(0);
    // Each user sends its first request, and is still thinking at the end.
    assert_eq!(report.requests(), [5, 5, 0, 0], "{report}");
    assert_exact_count(&target, &report);
    let often =
        brunt_tests::report::report(&["-c", "2", "--think", "1ms..20ms", "-n", "50", &target.address]).with_code(0);
    assert_eq!(often.count("requests.succeeded"), 50, "{often}");
}

#[test]
fn users_together_start_once_every_connection_stands() {
    let standing = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&standing);
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&count);
    let peer = ScriptedPeer::new(move |mut connection| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        while connection.request().is_some() {
            seen.lock().unwrap().push(counted.load(std::sync::atomic::Ordering::SeqCst));
            connection.send(b"HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    report(&["-c", "12", "-n", "24", "-w", "2", "--together", &peer.url()]).with_code(0);
    let standing = standing.lock().unwrap();
    assert_eq!(standing.len(), 25);
    // The pre-flight request had its own connection. The barrier waits for the sockets and not for our threads to
    // notice them, so the last few may not have been counted yet when the first request arrives.
    assert!(standing[1] > 2, "requests began while {} connections stood", standing[1]);
}

#[test]
fn several_urls_share_the_load_by_their_weights() {
    let peer = ScriptedPeer::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let directory = tempfile::tempdir().unwrap();
    let file = brunt_tests::target::text(directory.path(), "urls.txt");
    let url = peer.url();
    std::fs::write(&file, format!("# what people look at\n{url}often 3\n\n{url}seldom 1\n{url}never 0\n")).unwrap();
    brunt_tests::brunt(["--urls", &file, "-n", "100"]).with_code(64).containing("line 5: `0` is not a weight");
    assert_eq!(peer.requests(), 0);
    std::fs::write(&file, format!("# what people look at\n{url}often 3\n\n{url}seldom 1\n")).unwrap();
    report(&["--urls", &file, "-n", "400"]).with_code(0);
    let heard = peer.received();
    let of = |path: &str| heard.iter().filter(|r| r.starts_with(format!("GET {path} ").as_bytes())).count();
    assert!(of("/often") > of("/seldom") && of("/seldom") > 0, "{} {}", of("/often"), of("/seldom"));
    assert_eq!(of("/often") + of("/seldom"), heard.len());
}

#[test]
fn urls_named_beside_each_other_are_all_sent() {
    let target = TargetProcess::healthy();
    let (a, b, c) = (target.url("bytes/10"), target.url("status/201"), target.url("chunked/100"));
    let report = report(&[&a, &b, "-u", &c, "-n", "300"]).with_code(0);
    assert_eq!(report.requests(), [300, 300, 0, 0], "{report}");
    let paths = &target.stats()["paths"];
    for path in ["/bytes", "/status", "/chunked"] {
        assert!(paths[path].as_u64().is_some_and(|n| n > 0), "{paths}");
    }
}

#[test]
fn an_arrival_that_finds_no_connection_waits_and_its_wait_is_measured() {
    let target = TargetProcess::with(&["--delay", "50ms"]);
    let line = ["-r", "100/s", "--arrivals", "constant", "-d", "500ms", "--max-connections", "1", &target.address];
    let report = report(&line);
    assert_eq!(report.requests()[0], 50, "{report}");
    // One connection serves 20 requests a second. The others wait, which is part of the response time but not of the
    // service time.
    let (response, service) = (report.number("latency.response.mean_us"), report.number("latency.service.mean_us"));
    assert!(response > 2.0 * service, "{response} {service} {report}");
    assert!(report.number("latency.wait_conn.mean_us") > service, "{report}");
    assert_eq!(report.count("connections.opened"), 1, "{report}");
}

#[test]
fn two_workers_share_the_users_and_their_counts_add_up() {
    let target = TargetProcess::with(&["-w", "2"]);
    let report = report(&["-c", "9", "-d", "300ms", "-w", "2", "--pin", &target.address]).with_code(0);
    assert_eq!(report.count("connections.opened"), 9, "{report}");
    assert_eq!(report.at("generator.workers"), 2, "{report}");
    assert_exact_count(&target, &report);
}

#[test]
fn a_run_ends_after_its_whole_timeout_and_says_so() {
    let target = TargetProcess::healthy();
    let report = report(&["-c", "2", "-d", "60s", "--run-timeout", "2s", &target.address]).with_code(21);
    assert!(report.notices().contains(&"run_timeout".to_string()), "{report}");
    assert!(report.count("requests.succeeded") > 0, "{report}");
}

#[test]
fn both_networks_count_alike() {
    let target = TargetProcess::healthy();
    let before = target.requests();
    let report = report(&["-n", "500", "-c", "20", "--net", "epoll", &target.address]).with_code(0);
    assert_eq!(report.at("generator.net"), "epoll", "{report}");
    assert_eq!(target.requests() - before, 501);
    let uring = brunt_tests::report::report_if_possible(&["-n", "500", "-c", "20", "--net", "uring", &target.address]);
    match uring {
        Some(uring) => assert_eq!(uring.requests(), [500, 500, 0, 0], "{uring}"),
        None => brunt_tests::skip("io_uring is not available here"),
    }
}
