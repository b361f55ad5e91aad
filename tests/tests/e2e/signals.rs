//! Tests of interrupted runs: the results so far are reported and saved, and a second signal ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use brunt_tests::program::{prepare_under, until};
use brunt_tests::{ScriptedPeer, TargetProcess, TestReport, prepare, start};
use rustix::process::Signal;

#[test]
fn an_interrupted_run_writes_its_document_and_counts_every_request() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        for load in [&["-c", "8"][..], &["-r", "2000/s"]] {
            let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
            let file = directory.path().join("run.json");
            let line = ["-d", "60s", "--format", "json", "-o", file.to_str().unwrap(), &target.address];
            // The tester's shell may ignore hang-ups, which child processes inherit.
            let running = prepare_under(&["env", "--default-signal=HUP"], load.iter().chain(&line)).start();
            until("the run has begun", || target.requests() > 100);
            running.signal(signal);
            let ended = running.end().with_code(21);
            assert!(ended.out.contains("interrupted"), "{}", ended.out);
            let report = TestReport::in_file(&file);
            assert_eq!(report.at("ended"), "interrupted", "{report}");
            let [due, finished, failed, censored] = report.requests();
            let heard = target.requests() - report.count("requests.probe");
            assert!(finished > 0 && finished <= heard && heard <= finished + failed + censored, "{heard} {report}");
            assert!(due < 2000 * 59, "{report}");
        }
    }
}

#[test]
fn a_hang_up_that_was_to_be_ignored_is() {
    let target = TargetProcess::healthy();
    let running = prepare_under(&["nohup"], ["-c", "2", "-d", "60s", &target.address]).start();
    until("the run has begun", || target.requests() > 100);
    running.signal(Signal::HUP);
    let heard = target.requests();
    until("it goes on", || target.requests() > heard + 1000);
    running.signal(Signal::INT);
    running.end().with_code(21);
}

#[test]
fn a_file_that_may_not_grow_costs_the_document_and_no_figures() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = directory.path().join("run.json");
    for old in [None, Some("the report of yesterday")] {
        old.iter().for_each(|old| std::fs::write(&file, old).unwrap());
        let line = ["-n", "200", "-c", "2", "-o", file.to_str().unwrap(), &target.address];
        let ended = brunt_tests::program::prepare_under(&["prlimit", "--fsize=2000", "--"], line).run().with_code(21);
        assert!(ended.err.contains("was not written"), "{ended:?}");
        // The screen shows the exit code of the process.
        assert!(ended.out.contains("Exit code 21: an output file could not be written"), "{}", ended.out);
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), old);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), usize::from(old.is_some()));
    }
}

#[test]
fn a_signal_before_the_first_answer_ends_with_a_sentence() {
    let target = TargetProcess::healthy();
    let mut running = start(["-c", "2", "-d", "60s", "-t", "60s", &target.url("delay/1h?status=200")]);
    until("the first answer is waited for", || target.requests() >= 1);
    running.signal(Signal::INT);
    until("it ends", || !running.runs());
    let ended = running.end().with_code(21);
    assert_eq!(
        ended.err.lines().filter(|line| line.starts_with("brunt: interrupted before")).count(),
        1,
        "{}",
        ended.err
    );
}

/// Starts a server that answers only the pre-flight request.
fn hanging() -> ScriptedPeer {
    let answered = AtomicBool::new(false);
    ScriptedPeer::new(move |mut connection| {
        while connection.request().is_some() {
            if answered.swap(true, Ordering::SeqCst) {
                return connection.wait_for_close();
            }
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    })
}

#[test]
fn two_signals_end_a_run_whose_answers_hang() {
    let peer = hanging();
    let mut running = start(["-c", "2", "-d", "60s", "-t", "60s", "--drain", "60s", &peer.url()]);
    until("both users wait", || peer.requests() == 3);
    running.signal(Signal::INT);
    // It cannot be seen from outside when the first signal has been handled; further signals do no
    // harm.
    until("it ends", || {
        running.signal(Signal::TERM);
        !running.runs()
    });
    assert_eq!(running.end().code, Some(130));
}

#[test]
fn one_signal_ends_a_run_whose_answers_hang_and_counts_them_as_open() {
    let peer = hanging();
    let line = ["-c", "3", "-d", "60s", "--drain", "200ms", "--quiet", "--format", "json", &peer.url()];
    let running = prepare(line).start();
    until("all users wait", || peer.requests() == 4);
    running.signal(Signal::INT);
    let report = TestReport::of(running.end()).with_code(21);
    assert_eq!(report.requests(), [3, 0, 0, 3], "{report}");
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let target = TargetProcess::healthy();
    let line = format!("{} -c 2 -d 10s {} 2>err | head -n 2", brunt_tests::program::path().display(), target.address);
    let directory = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(directory.path())
        .env("XDG_STATE_HOME", directory.path())
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
    let err = std::fs::read_to_string(directory.path().join("err")).unwrap();
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn a_debug_that_is_interrupted_ends_as_a_run_does() {
    let target = TargetProcess::healthy();
    let mut running = start(["--debug", "-t", "60s", &target.url("hang")]);
    until("the answer is waited for", || target.requests() >= 1);
    running.signal(Signal::INT);
    until("it ends", || !running.runs());
    running.end().with_code(21);
}

#[test]
fn what_comes_after_a_run_and_is_interrupted_is_said_and_is_no_success() {
    // All commands except the last are answered.
    let peer = ScriptedPeer::new(|mut connection| {
        while let Some(asked) = connection.bytes() {
            if asked.windows(4).any(|four| four == b"LAST") {
                return connection.wait_for_close();
            }
            connection.send(b"+PONG\r\n");
        }
    });
    let url = format!("redis://{}", peer.host());
    let line = ["-n", "3", "-c", "1", "--command", "PING", "--after", "GET LAST", &url];
    let running = start(line);
    // One connection each for the pre-flight request, the user, and the requests after the load.
    until("the last command is waited for", || peer.connections() >= 3);
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.signal(Signal::INT);
    let ended = running.end().with_code(21);
    assert!(ended.out.contains("--after was interrupted"), "{ended:?}");
}
