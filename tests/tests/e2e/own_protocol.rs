//! Tests of the example of a custom protocol, run as its readers will run it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_tests::ProgramOutput;
use brunt_tests::target::TargetProcess;
use serde_json::Value;

/// Returns the example's program, built next to brunt by the test run, or else here.
fn built() -> PathBuf {
    let program = brunt_tests::program::path().with_file_name("own-protocol");
    if std::env::var_os("BRUNT").is_none() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "-p", "own-protocol"]).current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().expect("cargo starts").success(), "the example does not build");
    }
    assert!(program.is_file(), "{} is not there: cargo build --workspace --bins", program.display());
    program
}

/// Starts a server that answers each line in capitals. Returns its port and its count of answers.
fn server() -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answered = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&answered);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || {
                let mut answers = stream.try_clone().expect("a second handle");
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    if answers.write_all(format!("{}\n", line.to_uppercase()).as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    (port, answered)
}

/// Runs the example with these arguments; its files go to its own folder.
fn ended(home: &Path, arguments: &[&str]) -> ProgramOutput {
    let output = Command::new(built())
        .args(arguments)
        .env("XDG_STATE_HOME", home)
        .env("LC_ALL", "C")
        .output()
        .expect("the example starts");
    ProgramOutput::of(&output, home)
}

#[test]
fn a_protocol_from_outside_stands_in_a_flow_beside_http_and_both_servers_count_the_same() {
    let (target, (port, answered)) = (TargetProcess::healthy(), server());
    let home = tempfile::tempdir().expect("a folder");
    let plan = home.path().join("flow.yaml");
    let page = &target.address;
    let text = format!(
        "users: 3\niterations: 30\nline: abc\nexpect-line: ABC\nflow:\n- {{url: '{page}', name: page}}\n\
         - {{url: 'lines://127.0.0.1:{port}', name: line}}\n\
         - {{url: 'lines://127.0.0.1:{port}', name: other, line: xyz, expect-line: XYZ}}\n"
    );
    std::fs::write(&plan, text).expect("written");
    let said = ended(home.path(), &["--format", "json", &plan.display().to_string()]).with_code(0).out;
    let report: Value = serde_json::from_str(&said).expect("JSON");
    let rows = report["by_name"].as_array().expect("names");
    for name in ["page", "line", "other"] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {said}"));
        assert_eq!((&row["scheduled"], &row["succeeded"]), (&30.into(), &30.into()), "{name}: {said}");
    }
    // The pre-flight request is that of the first step.
    assert_eq!((target.requests(), answered.load(Ordering::SeqCst)), (31, 60));
}

#[test]
fn the_example_speaks_its_own_protocol_with_its_flags_keys_and_help() {
    let home = tempfile::tempdir().expect("a folder");
    let ended = |arguments: &[&str]| ended(home.path(), arguments);
    let run = |arguments: &[&str]| -> (Option<i32>, String) {
        let ProgramOutput { code, out, err, .. } = ended(arguments);
        (code, out + &err)
    };
    let url = format!("lines://127.0.0.1:{}", server().0);
    ended(&["-n", "1000", "-c", "4", "--line", "abc", "--expect-line", "ABC", &url]).with_code(0);
    let (code, said) = run(&["-n", "20", "-c", "2", "--expect-line", "hello", "--format", "json", &url]);
    // No answer is the expected one, so nothing finished and the results are not trusted.
    assert_eq!(code, Some(20), "{said}");
    assert!(said.contains("\"wrong_body\""), "{said}");
    let (_, help) = run(&["--help"]);
    assert!(help.contains("--expect-line <TEXT>"), "{help}");
    let plan = home.path().join("plan.yaml");
    let write = |text: String| std::fs::write(&plan, text).expect("written");
    write(format!("urls: ['{url}']\nline: abc\nexpect-line: ABC\nusers: 4\nrequests: 1000\n"));
    let path = plan.display().to_string();
    ended(&[&path]).with_code(0);
    write(format!("urls: ['{url}']\nexpect-lien: ABC\n"));
    let (code, said) = run(&["plan", "--check", &path]);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("line 2 column 1 (expect-lien): unknown key; write `expect-line`"), "{said}");
}
