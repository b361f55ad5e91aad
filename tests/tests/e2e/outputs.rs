//! Tests of output errors: output that cannot be written is reported and makes the command fail,
//! but a reader that has gone does not.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use brunt_tests::program::{brunt, prepare, prepare_under};
use brunt_tests::target::{TargetProcess, text};

const SAID: &str = "brunt: standard output could not be written: No space left on device (os error 28).";

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("a full device").into()
}

#[test]
fn a_full_standard_output_is_said_and_is_no_success() {
    let target = TargetProcess::healthy();
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
        // An earlier error takes precedence.
        (&["--debug", nobody], 30),
    ];
    for (line, code) in lines {
        let ended = prepare(line).out(full()).run();
        assert!(ended.err.lines().any(|said| said == SAID), "{line:?}: {ended:?}");
        assert_eq!(ended.err.matches("could not be written").count(), 1, "{line:?}: {ended:?}");
        // Doubts caused by a busy machine take precedence.
        let doubted = line[0] == "-n" && ended.code == Some(20);
        assert!(doubted || ended.code == Some(code), "{line:?}: {ended:?}");
    }
}

#[test]
fn a_closed_standard_output_is_said_and_is_no_success() {
    const CLOSED: &str = "brunt: standard output could not be written: it is closed.";
    let target = TargetProcess::healthy();
    let directory = tempfile::tempdir().unwrap();
    let file = text(directory.path(), "report.json");
    let closed = |line: &[&str]| prepare_under(&["sh", "-c", "exec \"$0\" \"$@\" >&-"], line).run();
    for line in [&["--version"][..], &["-n", "20", "-c", "1", &target.address]] {
        let ended = closed(line);
        assert!(ended.err.lines().any(|said| said == CLOSED), "{line:?}: {ended:?}");
        assert!(matches!(ended.code, Some(20 | 21)), "{line:?}: {ended:?}");
    }
    // A run that prints nothing there needs none.
    let ended = closed(&["-n", "20", "-c", "1", "--quiet", "--format", "json", "-o", &file, &target.address]);
    assert!(!ended.err.contains("closed") && std::fs::metadata(&file).is_ok_and(|file| file.len() > 0), "{ended:?}");
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

#[test]
fn the_time_of_a_run_ends_it_though_nobody_reads_what_it_writes() {
    let target = TargetProcess::healthy();
    let filled = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        rustix::io::ioctl_fionbio(&writer, true).expect("told");
        while rustix::io::write(&writer, &[b'x'; 4096]).is_ok() {}
        rustix::io::ioctl_fionbio(&writer, false).expect("told");
        (reader, writer)
    };
    let line = ["-c", "1", "-d", "1h", "--run-timeout", "1s", &target.address];
    let (_reader, writer) = filled();
    prepare(line).out(writer).run().with_code(21).containing("stopped after 1 s by --run-timeout");
    // Room for the first line only.
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).expect("a small one");
    let ended = prepare(line).out(writer).run().with_code(21);
    let said = "brunt: standard output could not be written: nothing reads it, and the run is over.";
    assert!(ended.err.contains(said), "{ended:?}");
    // Standard error alone, then both streams, then a document.
    let ((_reader, err), (_other, out)) = (filled(), filled());
    prepare(line).err(err.try_clone().expect("another")).run().with_code(21);
    prepare(line).out(out.try_clone().expect("another")).err(err).run().with_code(21);
    let document = [&line[..], &["--format", "json"]].concat();
    prepare(document).out(out).run().with_code(21);
}

#[test]
fn pipes_are_files_to_read_and_none_is_waited_for_without_an_end() {
    let target = TargetProcess::healthy();
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    brunt(["-n", "10", "-c", "1", "--urls", &pipe])
        .with_code(64)
        .containing("--urls: ")
        .containing("cannot be read (nothing writes to this pipe for 5 s); write the path of a readable file");
    brunt(["report", &pipe])
        .with_code(64)
        .containing("is a named pipe, and records cannot be read from one; name a file");
    brunt(["-n", "10", "-c", "1", "-o", &pipe, &target.address])
        .with_code(64)
        .containing("-o: ")
        .containing("cannot be written (nothing reads from this pipe); use a path that can be written");
    // A writer that comes later, and process substitution in a shell.
    let writer = std::thread::spawn({
        let (pipe, url) = (pipe.clone(), format!("{}?named\n", target.address));
        move || std::fs::write(pipe, url)
    });
    brunt(["-n", "10", "-c", "1", "--urls", &pipe]).with_code(0).containing("?named");
    writer.join().expect("no panic").expect("written");
    for stdin in ["/dev/stdin", "/proc/self/fd/0"] {
        let (read, mut write) = std::io::pipe().expect("a pipe");
        writeln!(write, "{}?nameless", target.address).expect("written");
        drop(write);
        prepare(["-n", "10", "-c", "1", "--urls", stdin]).input(read).run().with_code(0).containing("?nameless");
    }
}
