//! What cannot be written is said and is no success; a reader that has gone is neither.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::process::Stdio;

use e2e::program::{brunt, prepare};
use e2e::target::{Target, text};

const SAID: &str = "brunt: standard output could not be written: No space left on device (os error 28).";

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("a full device").into()
}

#[test]
fn a_full_standard_output_is_said_and_is_no_success() {
    let target = Target::healthy();
    let directory = tempfile::tempdir().unwrap();
    let record = text(directory.path(), "run.zst");
    brunt(["-n", "20", "-c", "1", "--record", &record, &target.address]).with_code(0);
    let nobody = "127.0.0.1:1";
    let lines: [(&[&str], i32); 13] = [
        (&["--help"], 21),
        (&["-h"], 21),
        (&["--version"], 21),
        (&["completions", "bash"], 21),
        (&["explain", "N1"], 21),
        (&["plan", "-c", "1", &target.address], 21),
        (&["plan", "--check", "-c", "1", &target.address], 21),
        (&["doctor"], 21),
        (&["report", &record], 21),
        (&["report", "--format", "json", &record], 21),
        (&["--debug", &target.address], 21),
        (&["-n", "20", "-c", "1", &target.address], 21),
        // What went wrong before is graver.
        (&["--debug", nobody], 30),
    ];
    for (line, code) in lines {
        let ended = prepare(line).out(full()).run();
        assert!(ended.err.lines().any(|said| said == SAID), "{line:?}: {ended:?}");
        assert_eq!(ended.err.matches("could not be written").count(), 1, "{line:?}: {ended:?}");
        // A busy machine is doubted first.
        let doubted = line[0] == "-n" && ended.code == Some(20);
        assert!(doubted || ended.code == Some(code), "{line:?}: {ended:?}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_trouble() {
    for line in [&["--help"][..], &["completions", "bash"], &["doctor"], &["explain", "N1"]] {
        let (mut read, write) = std::io::pipe().expect("a pipe");
        let running = prepare(line).out(write).start();
        // `| head -c 1`
        assert_eq!(read.read(&mut [0]).expect("something is written"), 1);
        drop(read);
        let ended = running.end();
        assert_eq!((ended.err.as_str(), ended.code), ("", Some(0)), "{line:?}");
        let (read, write) = std::io::pipe().expect("a pipe");
        drop(read);
        let ended = prepare(line).out(write).run();
        assert_eq!((ended.err.as_str(), ended.code), ("", Some(0)), "{line:?}");
    }
}
