//! Tests of peers that send endlessly, as fast as they can: all timers of a run keep working, on either network
//! backend.

use brunt_tests::program::until;
use brunt_tests::report::report_if_possible;
use brunt_tests::{ScriptedPeer, TargetProcess, TestReport, brunt, start};
use rustix::process::Signal;

const NETWORKS: [&str; 2] = ["epoll", "uring"];

/// Starts a server that sends one-byte chunks on every second connection until it is closed, and answers on the others.
fn endless() -> ScriptedPeer {
    let chunks = b"1\r\nx\r\n".repeat(40_000);
    ScriptedPeer::new(move |mut connection| {
        while connection.request().is_some() {
            if connection.number % 2 == 1 {
                connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                while connection.send(&chunks) {}
                return;
            }
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        }
    })
}

/// Checks that users with an endless response timed out repeatedly, others went on, and the run ended in time.
#[track_caller]
fn time_was_kept(report: &TestReport) {
    let [_, finished, failed, _] = report.requests();
    let failures = report.failures();
    assert_eq!(failures.keys().collect::<Vec<_>>(), ["timeout"], "{report}");
    assert!(failed >= 2 && finished > 0, "{report}");
    assert_eq!(report.at("ended"), "completed", "{report}");
}

#[test]
fn an_endless_answer_times_out_and_the_run_ends_in_time() {
    for net in NETWORKS {
        let peer = endless();
        let line = ["-c", "2", "-w", "1", "-d", "2s", "-t", "300ms", "--drain", "300ms", "--run-timeout", "40s"];
        let Some(report) = report_if_possible(&[&line[..], &["--net", net, &peer.url()]].concat()) else { continue };
        time_was_kept(&report);
    }
}

#[test]
fn an_answer_that_is_not_all_there_in_time_is_not_called_none() {
    let peer = ScriptedPeer::new(|mut connection| {
        if connection.request().is_some() && connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx") {
            connection.wait_for_close();
        }
    });
    let ended = brunt(["--debug", "-t", "300ms", &peer.url()]).with_code(30);
    ended.containing("sent part of a response, but not all of it within 300 ms");
    let silent = ScriptedPeer::new(|mut connection| {
        connection.request();
        connection.wait_for_close();
    });
    brunt(["--debug", "-t", "300ms", &silent.url()]).with_code(30).containing("did not respond within 300 ms");
}

#[test]
fn an_endless_answer_through_tls_times_out_and_the_run_ends_in_time() {
    for net in NETWORKS {
        let target = TargetProcess::with(&["--tls"]);
        let (endless, healthy) = (target.url("chunked/1073741824/3"), target.url("bytes/10"));
        let line = ["-k", "-c", "3", "-w", "1", "-d", "3s", "-t", "300ms", "--drain", "300ms", "--run-timeout", "40s"];
        let line = [&line[..], &["--net", net, &healthy, &endless]].concat();
        let Some(report) = report_if_possible(&line) else { continue };
        time_was_kept(&report);
    }
}

#[test]
fn neither_the_time_of_a_run_nor_a_signal_waits_for_an_endless_answer() {
    for net in NETWORKS {
        let line = ["-c", "2", "-w", "1", "-d", "300s", "-t", "300s", "--net", net];
        let run = |more: &[&str], signal: bool| {
            let peer = endless();
            let url = peer.url();
            let running = start([&line[..], more, &["--quiet", "--format", "json", &url]].concat());
            let before = peer.requests();
            if signal {
                until("the load has begun", || peer.requests() > before + 100);
                running.signal(Signal::INT);
            }
            TestReport::of(running.end())
        };
        let stopped = run(&["--run-timeout", "3s"], false);
        assert!(stopped.notices().contains(&"run_timeout".to_owned()), "{stopped}");
        let interrupted = run(&[], true);
        assert_eq!(interrupted.at("ended"), "interrupted", "{interrupted}");
    }
}

/// Checks that everything before the load, including the pre-flight request, takes no longer than the run may.
#[test]
fn the_time_of_a_run_is_kept_before_its_load_too() {
    let endless = ScriptedPeer::new(|mut connection| {
        while connection.request().is_some() {
            connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            while connection.send(&b"1\r\nx\r\n".repeat(1000)) {}
        }
    });
    let said = "by --run-timeout";
    brunt_tests::brunt(["-c", "1", "-d", "1s", "-t", "300s", "--run-timeout", "1s", &endless.url()])
        .with_code(21)
        .containing(said);
    let silent = ScriptedPeer::new(|mut connection| connection.wait_for_close());
    let redis = format!("redis://{}", silent.host());
    let line = ["--before", "PING", "-c", "1", "-d", "1s", "--connect-timeout", "300s", "--run-timeout", "1s", &redis];
    brunt_tests::brunt(line).with_code(21).containing(said);
    // Reflection is queried before there is anything that needs an orderly end.
    let grpc = format!("grpc://{}/a.B/C", silent.host());
    brunt_tests::brunt([
        "-c",
        "1",
        "-d",
        "1s",
        "-t",
        "300s",
        "--connect-timeout",
        "300s",
        "--run-timeout",
        "1s",
        &grpc,
    ])
    .with_code(21)
    .containing(said);
}
