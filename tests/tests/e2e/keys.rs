//! Tests of keys on a terminal: more load, less load, pause and end; afterwards the terminal is restored.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brunt_tests::program::until;
use brunt_tests::{TargetProcess, TestReport, brunt};

/// A shell on its own terminal.
struct TestTerminal {
    child: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl TestTerminal {
    /// Runs a shell command. Returns `None` without script(1), which creates terminals.
    fn run(line: &str, home: &std::path::Path) -> Option<TestTerminal> {
        Command::new("script").arg("--version").output().ok()?;
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-c", line, "/dev/null"]).env("XDG_STATE_HOME", home).env("LC_ALL", "C");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script(1) starts");
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let shown = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                kept.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Some(TestTerminal { child, keys, shown })
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("the terminal takes keys");
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        until(&format!("the terminal shows `{text}`"), || self.shown().contains(text));
    }

    /// Waits for the shell to exit. Returns the exit code and the output.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.keys);
        let code = self.child.wait().expect("it ends").code();
        let shown = String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned();
        (code, shown)
    }
}

/// Waits until no more requests arrive.
fn rests(target: &TargetProcess) {
    until("nothing comes", || {
        let heard = target.requests();
        std::thread::sleep(Duration::from_millis(300));
        target.requests() == heard
    });
}

#[test]
fn keys_change_a_rate_pause_it_and_end_it_in_threads_and_processes() {
    for processes in ["", "--processes 2"] {
        let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
        let record = brunt_tests::target::text(directory.path(), "run.zst");
        let program = brunt_tests::program::path().display();
        let line = format!(
            "stty cols 150; {program} -r 200/s --arrivals constant -d 60s -w 2 {processes} --record {record} {}; echo code $?; stty -a",
            target.address
        );
        let Some(mut terminal) = TestTerminal::run(&line, directory.path()) else {
            return brunt_tests::skip("script(1), which makes a terminal, is not installed");
        };
        terminal.shows("Keys: + more load, - less, p pause and resume, q end the run");
        until("the run has begun", || target.requests() > 100);
        terminal.press("+");
        terminal.shows("→ 220/s from ");
        terminal.press("x-");
        terminal.shows("→ 200/s from ");
        terminal.press("p");
        terminal.shows("→ paused from ");
        rests(&target);
        let heard = target.requests();
        terminal.press("p");
        terminal.shows("→ resumed at ");
        until("the load goes on", || target.requests() > heard + 100);
        terminal.press("q");
        terminal.shows("code ");
        let (_, shown) = terminal.end();
        assert!(shown.contains("code 21"), "{shown}");
        // The notice is repeated in the summary, and the terminal echoes and is line-buffered again.
        assert!(shown.contains("load changed: 220/s from "), "{shown}");
        assert!(shown.contains(" icanon") && shown.contains(" echo ") && !shown.contains("-icanon"), "{shown}");
        let report = TestReport::of(brunt(["report", &record, "--format", "json"]));
        let rates = [0, 1].map(|at| report.at(&format!("changes.{at}.change.rate")).as_f64());
        assert_eq!(rates, [Some(220.0), Some(200.0)], "{report}");
        assert_eq!([report.at("changes.2.change"), report.at("changes.3.change")], ["pause", "resume"], "{report}");
        let [due, finished, failed, censored] = report.requests();
        assert_eq!(due, finished + failed + censored, "{report}");
        let heard = target.requests() - report.count("requests.probe");
        assert!(failed == 0 && finished <= heard && heard <= due, "the target's count: {heard} {report}");
    }
}

#[test]
fn keys_change_users_too_and_speak_chinese() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let line = format!(
        "{} --lang zh -c 10 --think 10ms..20ms -d 60s {}",
        brunt_tests::program::path().display(),
        target.address
    );
    let Some(mut terminal) = TestTerminal::run(&line, directory.path()) else {
        return brunt_tests::skip("script(1), which makes a terminal, is not installed");
    };
    terminal.shows("按键：");
    until("the run has begun", || target.requests() > 100);
    terminal.press("+");
    terminal.shows("起为 11 个用户");
    terminal.press("p");
    terminal.shows("起暂停");
    rests(&target);
    terminal.press("q");
    let (code, shown) = terminal.end();
    let summary = shown.rsplit("brunt 0.").next().unwrap_or_default();
    assert!(code == Some(21) && summary.contains("11 个用户"), "the change is told: {code:?} {shown}");
}

#[test]
fn a_signal_from_the_keyboard_leaves_the_terminal_as_it_was() {
    // The shell ignores the signals, so that it survives and can report. Programs inherit ignored signals, also from
    // the tester's shell.
    for (signal, key, code) in [("INT", "\x03", "code 21"), ("QUIT", "\x1c", "code 131")] {
        let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
        let program = brunt_tests::program::path().display();
        let under = format!("ulimit -c 0; trap '' {signal}; env --default-signal={signal}");
        let line = format!("{under} {program} -c 2 -d 60s {}; echo code $?; stty -a", target.address);
        let Some(mut terminal) = TestTerminal::run(&line, directory.path()) else {
            return brunt_tests::skip("script(1), which makes a terminal, is not installed");
        };
        terminal.shows("Keys: ");
        until("the run has begun", || target.requests() > 100);
        terminal.press(key);
        terminal.shows("code ");
        let (_, shown) = terminal.end();
        assert!(shown.contains(code) && shown.contains(" icanon") && shown.contains(" echo "), "{shown}");
    }
}

#[test]
fn where_nobody_sits_at_a_terminal_there_are_no_keys() {
    let target = TargetProcess::healthy();
    let ended = brunt(["-n", "20", "-c", "2", &target.address]).with_code(0);
    assert!(!ended.out.contains("Keys:"), "{}", ended.out);
    let directory = tempfile::tempdir().unwrap();
    // The screen of a pipeline belongs to another program, which may have its own keys.
    let line = format!("{} -n 20 -c 2 {} | cat", brunt_tests::program::path().display(), target.address);
    let Some(terminal) = TestTerminal::run(&line, directory.path()) else {
        return brunt_tests::skip("script(1), which makes a terminal, is not installed");
    };
    let (_, shown) = terminal.end();
    assert!(shown.contains("Service time") && !shown.contains("Keys:"), "{shown}");
}
