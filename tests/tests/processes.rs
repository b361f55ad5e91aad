//! A run in several processes is the run in threads: the same requests, merged as one, judged by the server's count.

use e2e::report::report;
use e2e::{Report, Target};

#[track_caller]
fn heard_exactly(target: &Target, report: &Report) {
    let counted = ["finished", "failed", "warmup", "probe"].map(|name| report.count(&format!("requests.{name}")));
    assert_eq!(report.count("requests.censored"), 0, "{report}");
    assert_eq!(target.heard(), counted.iter().sum::<u64>(), "the target's count, against {report}");
}

#[test]
fn a_rate_and_a_number_are_kept_over_processes() {
    let load: [&[&str]; 3] =
        [&["-r", "500/s", "-d", "1s", "--arrivals", "constant"], &["-n", "503", "-c", "7"], &["-c", "6", "-n", "60"]];
    for (load, due) in load.iter().zip([500, 503, 60]) {
        for processes in ["1", "2", "3"] {
            let target = Target::healthy();
            let report = report(&[load, &["-w", "4", "--processes", processes, &*target.address][..]].concat());
            assert_eq!(report.count("requests.due"), due, "{processes} processes: {report}");
            assert_eq!(report.count("requests.failed"), 0, "{processes} processes: {report}");
            heard_exactly(&target, &report);
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_arrivals_in_threads_and_in_processes() {
    let line = ["-r", "300/s", "-d", "1s", "--seed", "11", "-w", "2"];
    let counts = [&[][..], &["--processes", "2"][..]].map(|more| {
        let target = Target::healthy();
        let report = report(&[&line[..], more, &[&*target.address]].concat());
        heard_exactly(&target, &report);
        report.count("requests.due")
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn users_of_several_processes_start_together() {
    let target = Target::healthy();
    let report = report(&["-c", "6", "-n", "60", "--together", "-w", "2", "--processes", "2", &target.address]);
    assert_eq!(report.requests(), [60, 60, 0, 0], "{report}");
    heard_exactly(&target, &report);
}
