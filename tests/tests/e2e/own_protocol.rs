//! The example of a protocol of one's own, run as its readers will run it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};

use e2e::Ended;

/// The example, built beside brunt where a test run has built it already; otherwise it is built here.
fn built() -> PathBuf {
    let program = e2e::program::path().with_file_name("own-protocol");
    if std::env::var_os("BRUNT").is_none() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "-p", "own-protocol"]).current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().expect("cargo starts").success(), "the example does not build");
    }
    assert!(program.is_file(), "{} is not there: cargo build --workspace --bins", program.display());
    program
}

/// A server that answers each line in capitals.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut answers = stream.try_clone().expect("a second handle");
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if answers.write_all(format!("{}\n", line.to_uppercase()).as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn the_example_speaks_its_own_protocol_with_its_flags_keys_and_help() {
    let program = built();
    let home = tempfile::tempdir().expect("a folder");
    let ended = |arguments: &[&str]| -> Ended {
        let Output { status, stdout, stderr } = Command::new(&program)
            .args(arguments)
            .env("XDG_STATE_HOME", home.path())
            .env("LC_ALL", "C")
            .output()
            .expect("the example starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ended { code: status.code(), out: text(stdout), err: text(stderr), peak: 0 }
    };
    let run = |arguments: &[&str]| -> (Option<i32>, String) {
        let Ended { code, out, err, .. } = ended(arguments);
        (code, out + &err)
    };
    let url = format!("lines://127.0.0.1:{}", server());
    ended(&["-n", "1000", "-c", "4", "--line", "abc", "--expect-line", "ABC", &url]).with_code(0);
    let (code, said) = run(&["-n", "20", "-c", "2", "--expect-line", "hello", "--format", "json", &url]);
    // Not one answer is the expected one: nothing finished, so nothing is trusted.
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
