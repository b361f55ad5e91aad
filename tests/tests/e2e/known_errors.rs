//! Tests of mistakes that other load generators make, one small test for each.

use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn slow_answers_at_the_end_are_not_dropped_as_wrk_does() {
    // The last responses come after the end of the duration; wrk forgets them.
    let target = TargetProcess::with(&["--delay", "700ms"]);
    let report = report(&["-c", "6", "-d", "500ms", &target.address]).with_code(0);
    assert_eq!(report.requests(), [6, 6, 0, 0], "{report}");
    assert!(report.number("latency.service.min_us") >= 700_000.0, "{report}");
    // They finished during the drain, so none of them counts towards the throughput.
    assert!(report.number("throughput_per_s").abs() < 1e-9, "{report}");
}

#[test]
fn the_histogram_goes_on_after_any_number_of_requests() {
    // hey silently stops recording latencies after a million. Here the slow responses are the last ones.
    let peer = ScriptedPeer::new(|mut connection| {
        for n in 0.. {
            if connection.request().is_none() {
                return;
            }
            if n >= 3_000 {
                std::thread::sleep(std::time::Duration::from_millis(30));
            }
            connection.send(OK);
        }
    });
    let report = report(&["-n", "6020", "-c", "2", "-w", "1", &peer.url()]).with_code(0);
    assert_eq!(report.count("latency.service.count"), 6020, "{report}");
    assert!(report.number("latency.service.max_us") >= 30_000.0, "{report}");
}

#[test]
fn throughput_is_completions_by_time_and_not_users_by_mean_latency() {
    // go-stress-testing prints c ÷ mean latency, which is far too high if users pause.
    let target = TargetProcess::healthy();
    let report = report(&["-c", "5", "--think", "100ms", "-d", "1s", &target.address]).with_code(0);
    let lie = 5.0 / (report.number("latency.service.mean_us") / 1e6);
    let truth = report.number("throughput_per_s");
    let inside: u64 = report.json["seconds"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|second| second["part"] == "window")
        .map(|second| second["succeeded"].as_u64().unwrap())
        .sum();
    assert!((truth * report.number("window_s") - inside as f64).abs() < 0.5, "{report}");
    assert!(truth <= 55.0, "five users who pause for 100 ms cannot make {truth}/s");
    assert!(lie > 2.0 * truth, "{lie} {truth}");
}

#[test]
fn quantiles_below_a_millisecond_are_not_zero() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "1000", "-c", "1", &target.address]).with_code(0);
    for name in ["min_us", "p50_us", "p90_us", "p99_us", "max_us"] {
        assert!(report.number(&format!("latency.service.{name}")) > 0.0, "{name}: {report}");
    }
    let order = ["min_us", "p50_us", "p90_us", "p95_us", "p99_us", "max_us"];
    let values = order.map(|name| report.number(&format!("latency.service.{name}")));
    assert!(values.is_sorted(), "{values:?}");
}

#[test]
fn a_stall_is_in_the_figures_of_a_rate_and_said_of_users() {
    let target = TargetProcess::with(&["--stall", "500ms+500ms/1s"]);
    let open = report(&["-r", "400/s", "--arrivals", "constant", "-d", "1500ms", &target.address]);
    assert_eq!(open.requests(), [600, 600, 0, 0], "{open}");
    // Any second and a half contains a whole stall: a third of the arrivals came during one, and their median wait is
    // half the stall.
    assert!(open.number("latency.response.p95_us") > 300_000.0, "{open}");
    let users = brunt_tests::brunt(["-c", "2", "-n", "500", &target.address]).with_code(0);
    users.containing("a 1 s stall would hide about");
}

#[test]
fn quantiles_without_enough_requests_are_withheld() {
    let target = TargetProcess::healthy();
    let report = report(&["-n", "200", "-c", "2", &target.address]).with_code(0);
    assert!(report.number("latency.service.p95_us") > 0.0, "{report}");
    // 299 requests support a p99, 2995 a p99.9.
    for name in ["p99_us", "p99_9_us"] {
        assert!(report.at(&format!("latency.service.{name}")).is_null(), "{name}: {report}");
    }
}

#[test]
fn failures_sweeten_no_figure() {
    // Half of the responses are errors, and far faster than the good ones.
    let peer = ScriptedPeer::new(|mut connection| {
        for n in 0.. {
            if connection.request().is_none() {
                return;
            }
            if n % 2 == 0 {
                connection.send(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
            } else {
                std::thread::sleep(std::time::Duration::from_millis(20));
                connection.send(OK);
            }
        }
    });
    let report = report(&["-n", "40", "-c", "2", "--objective", "p90<15ms", &peer.url()]).with_code(10);
    assert_eq!(report.requests(), [40, 20, 20, 0], "{report}");
    assert!(report.number("latency.service.min_us") >= 20_000.0, "{report}");
    assert_eq!(report.count("latency.failed.count"), 20, "{report}");
}
