//! Tests of a run in several processes: it sends the same requests as with threads and is reported
//! as one run; the server's count verifies this.

use brunt_tests::program::until;
use brunt_tests::report::{assert_exact_count, report};
use brunt_tests::{TargetProcess, TestReport, brunt, start};

#[test]
fn a_rate_and_a_number_are_kept_over_processes() {
    let load: [&[&str]; 3] =
        [&["-r", "500/s", "-d", "1s", "--arrivals", "constant"], &["-n", "503", "-c", "7"], &["-c", "6", "-n", "60"]];
    for (load, due) in load.iter().zip([500, 503, 60]) {
        for processes in ["1", "2", "3"] {
            let target = TargetProcess::healthy();
            let report = report(&[load, &["-w", "4", "--processes", processes, &*target.address][..]].concat());
            assert_eq!(report.count("requests.scheduled"), due, "{processes} processes: {report}");
            assert_eq!(report.count("requests.failed"), 0, "{processes} processes: {report}");
            assert_exact_count(&target, &report);
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_arrivals_in_threads_and_in_processes() {
    let line = ["-r", "300/s", "-d", "1s", "--seed", "11", "-w", "2"];
    let counts = [&[][..], &["--processes", "2"][..]].map(|more| {
        let target = TargetProcess::healthy();
        let report = report(&[&line[..], more, &[&*target.address]].concat());
        assert_exact_count(&target, &report);
        report.count("requests.scheduled")
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn users_of_several_processes_start_together() {
    let target = TargetProcess::healthy();
    let report = report(&["-c", "6", "-n", "60", "--together", "-w", "2", "--processes", "2", &target.address]);
    assert_eq!(report.requests(), [60, 60, 0, 0], "{report}");
    assert_eq!(report.count("requests.warmup"), 0, "nobody starts before the others: {report}");
    assert_exact_count(&target, &report);
}

/// Returns the child processes of a process, according to `/proc`.
fn children(of: u32) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").expect("there is /proc").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parent = |id: &i32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // State and parent come after the name, which may contain anything.
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    ids.filter(|id| parent(id) == Some(of)).collect()
}

#[test]
fn a_process_that_is_killed_costs_only_what_it_had_not_told() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = brunt_tests::target::text(directory.path(), "run.zst");
    let load = ["-r", "200/s", "-d", "5s", "--arrivals", "constant", "-w", "2", "--processes", "2"];
    let output = ["--record", &file, "--quiet", "--format", "json", &target.address];
    let running = start(load.iter().chain(&output));
    until("the run is in its third second", || target.requests() > 500);
    let processes = children(running.id());
    assert_eq!(processes.len(), 2, "{processes:?}");
    let victim = rustix::process::Pid::from_raw(processes[1]).unwrap();
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
    let told = TestReport::of(running.end()).with_code(21);
    assert_eq!((told.at("ended"), told.notices()), (&"partial".into(), vec!["process_lost".into()]), "{told}");
    assert_eq!(told.at("notices.0.facts.how"), "killed by SIGKILL", "{told}");
    let [due, finished, failed, censored] = told.requests();
    // One process sends a hundred requests a second for five seconds, the other for at least two.
    assert!((695..1000).contains(&due) && finished >= 690 && failed == 0 && censored < 50, "{told}");
    let heard = target.requests() - told.count("requests.probe");
    assert!(finished <= heard, "the target's count: {heard} {told}");
    let again = TestReport::of(brunt(["report", &file, "--format", "json"]));
    assert_eq!((again.requests(), again.code), (told.requests(), 21), "the record says the same");
    brunt(["report", &file]).with_code(21).containing("part of the run was lost").containing("killed by SIGKILL");
}

#[test]
fn a_process_that_is_stopped_does_not_keep_a_run_whose_time_is_over() {
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "300s", "-w", "2", "--processes", "2", "--run-timeout", "6s"];
    let running = start(load.iter().chain(&["--quiet", "--format", "json", &target.address]));
    until("both processes are at work", || target.requests() > 100);
    let processes = children(running.id());
    let victim = rustix::process::Pid::from_raw(processes[1]).unwrap();
    rustix::process::kill_process(victim, rustix::process::Signal::STOP).unwrap();
    let told = TestReport::of(running.end());
    assert!(told.notices().contains(&"process_lost".to_owned()), "{told}");
    assert_eq!(told.at("notices.0.facts.how"), "it did not end with the run, and was killed", "{told}");
    assert!(told.requests()[1] > 0, "{told}");
}
