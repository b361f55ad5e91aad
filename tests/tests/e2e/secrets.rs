//! Tests that no password, token or key appears in any output of the program, even if the server repeats it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use brunt_tests::program::until;
use brunt_tests::{ScriptedPeer, brunt, prepare, start};
use tempfile::TempDir;

/// A secret unlike any other word, and too short to be masked inside a longer one.
const SECRET: &str = "hUnter2";
/// A longer secret, with characters that URLs and JSON escape.
const LONG: &str = "s3cr3t-t0ken/9+Zq";

const FORMATS: [&str; 5] = ["text", "json", "csv", "markdown", "junit"];

/// All outputs of one way to start a run: screens, documents, records, kept runs, plans.
struct RunOutputs {
    directory: TempDir,
    all: Vec<(String, String)>,
}

impl RunOutputs {
    fn of(line: &[&str]) -> RunOutputs {
        let mut outputs = RunOutputs { directory: tempfile::tempdir().unwrap(), all: Vec::new() };
        let record = outputs.path("run.zst");
        outputs.run(&[&["-n", "3", "-c", "1", "-t", "2s", "--record", &record], line].concat());
        let json = outputs.path("run.json");
        outputs.run(&[&["-n", "3", "-c", "1", "-t", "2s", "--quiet", "-o", &json], line].concat());
        outputs.run(&[&["--debug", "-t", "2s"], line].concat());
        outputs.run(&[&["--debug", "--lang", "zh", "-t", "2s"], line].concat());
        outputs.run(&[&["plan"], line].concat());
        outputs.run(&[&["plan", "--check"], line].concat());
        // An invalid option is reported before anything else on the command line is known.
        outputs.run(&[&["-c", "0"], line].concat());
        outputs.run(&[&["--nosuch"], line].concat());
        for format in FORMATS {
            outputs.run(&["report", &record, "--format", format]);
        }
        outputs.files();
        outputs
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn run(&mut self, line: &[&str]) {
        let ended = prepare(line).env("XDG_STATE_HOME", self.directory.path()).run();
        assert!(!ended.err.contains("panicked"), "{line:?}\n{}", ended.err);
        self.all.push((format!("the screen of {line:?}"), ended.out + &ended.err));
    }

    /// Collects every file that was written, with records decompressed.
    fn files(&mut self) {
        for path in files(self.directory.path()) {
            let packed = path.extension().is_some_and(|ending| ending == "zst");
            let text = match packed.then(|| Command::new("zstdcat").arg(&path).output()) {
                None => std::fs::read_to_string(&path).unwrap(),
                Some(Ok(unpacked)) => String::from_utf8(unpacked.stdout).unwrap(),
                Some(Err(_)) => return brunt_tests::skip("zstd is not installed"),
            };
            self.all.push((path.display().to_string(), text));
        }
    }

    /// Checks that no secret occurs anywhere, and that each text in `hold` occurs somewhere.
    #[track_caller]
    fn hide(&self, secrets: &[&str], hold: &[&str]) {
        for (place, text) in &self.all {
            for secret in secrets {
                assert!(!text.contains(secret), "`{secret}` in {place}:\n{text}");
            }
        }
        for word in hold {
            assert!(self.all.iter().any(|(_, text)| text.contains(word)), "`{word}` nowhere in {:#?}", self.all);
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Starts an HTTP server that rejects requests and repeats everything it received, as debugging servers do.
fn repeating() -> ScriptedPeer {
    ScriptedPeer::new(|mut connection| {
        while let Some(request) = connection.request() {
            let said = String::from_utf8_lossy(&request).replace("\r\n", " | ");
            let head = format!(
                "HTTP/1.1 403 No\r\nX-Echo: {said}\r\nSet-Cookie: sid={LONG}\r\nContent-Length: {}\r\n\r\n",
                said.len()
            );
            if !connection.send(format!("{head}{said}").as_bytes()) {
                return;
            }
        }
    })
}

/// Starts a server that answers anything with these bytes.
fn saying(answer: impl Into<Vec<u8>>) -> ScriptedPeer {
    let answer = answer.into();
    ScriptedPeer::new(move |mut connection| while connection.bytes().is_some() && connection.send(&answer) {})
}

fn closed() -> String {
    format!("127.0.0.1:{}", brunt_tests::target::free_port())
}

#[test]
fn http_shows_no_secret_of_headers_urls_and_bodies_though_the_server_repeats_them() {
    let peer = repeating();
    let basic = "YW5uOmhVbnRlcjI";
    for host in [peer.host(), closed()] {
        let url = format!("http://ann:{SECRET}@{host}/a?auth_token={LONG}&page=7#id={SECRET}");
        let bearer = format!("Authorization: Bearer {LONG}");
        let body = format!(r#"{{"clientSecret": "{SECRET}", "name": "bob"}}"#);
        RunOutputs::of(&["-H", &bearer, "--data", &body, &url]).hide(&[SECRET, LONG, basic], &["page=7", "***"]);
        let user = format!("ann:{SECRET}");
        let line =
            ["--user", &user, "-H", &format!("X-Api-Key: {LONG}"), &format!("http://{host}/?X-Amz-Signature={LONG}")];
        RunOutputs::of(&line).hide(&[SECRET, LONG, basic], &["X-Amz-Signature=***"]);
        let curl =
            format!("curl -u ann:{SECRET} -H 'Cookie: sid={LONG}' -d 'pwd={SECRET}' 'http://{host}/?key={LONG}'");
        RunOutputs::of(&["--curl", &curl]).hide(&[SECRET, LONG, basic], &[]);
    }
}

#[test]
fn what_is_asked_for_is_shown() {
    let peer = repeating();
    let ended = brunt(["--keep-secrets", "--debug", "--user", &format!("ann:{SECRET}"), &peer.url()]);
    assert!(ended.out.contains("YW5uOmhVbnRlcjI"), "{ended:?}");
}

#[test]
fn websocket_and_grpc_show_no_secret() {
    let peer = repeating();
    for host in [peer.host(), closed()] {
        let header = format!("X-Session-Id: {LONG}");
        let message = format!(r#"{{"token":"{SECRET}"}}"#);
        let url = format!("ws://{host}/?sessionid={LONG}");
        RunOutputs::of(&["-H", &header, "--data", &message, &url]).hide(&[SECRET, LONG], &["sessionid=***"]);
        let header = format!("authorization: Bearer {LONG}");
        RunOutputs::of(&["-H", &header, &format!("grpc://{host}/a.B/C")]).hide(&[LONG], &[]);
    }
}

#[test]
fn redis_shows_no_secret_of_commands_though_an_error_repeats_them() {
    let peer = saying(format!("-ERR unknown command, with args beginning with: 'app' '{SECRET}' {LONG}\r\n"));
    for host in [peer.host(), closed()] {
        let auth = format!("AUTH app {SECRET}");
        let line =
            ["--before", &auth, "--command", &format!("CONFIG SET requirepass {LONG}"), &format!("redis://{host}")];
        RunOutputs::of(&line).hide(&[SECRET, LONG], &["CONFIG SET requirepass ***"]);
        let line =
            ["--command", &format!("HELLO 3 AUTH app {SECRET}; ACL SETUSER x >{LONG}"), &format!("redis://{host}")];
        RunOutputs::of(&line).hide(&[SECRET, LONG], &["HELLO 3 AUTH *** ***"]);
        RunOutputs::of(&[
            &format!("redis://app:{SECRET}@{host}"),
            "--command",
            &format!("SET token {LONG}x{LONG}; AUTH {LONG}"),
        ])
        .hide(&[SECRET, LONG], &[]);
    }
}

#[test]
fn databases_show_no_secret_of_urls_and_statements_though_an_error_repeats_them() {
    let said = format!("SFATAL\0C28P01\0Mno {LONG} for '{SECRET}'\0\0");
    let refusal = [&b"E"[..], &(said.len() as u32 + 4).to_be_bytes(), said.as_bytes()].concat();
    let postgres = saying(refusal);
    let said = format!("\u{0}\u{0}#28000no {LONG} for '{SECRET}'");
    let packet = [&[said.len() as u8 + 1, 0, 0, 0, 0xff][..], said.as_bytes()].concat();
    let mysql = ScriptedPeer::new(move |mut connection| {
        connection.send(&packet);
        connection.wait_for_close();
    });
    for (scheme, peer) in [("postgres", postgres), ("mysql", mysql)] {
        for host in [peer.host(), closed()] {
            let url = format!("{scheme}://app:{SECRET}@{host}/db");
            let line = ["--sql", &format!("ALTER USER x IDENTIFIED BY '{LONG}'"), &url];
            RunOutputs::of(&line).hide(&[SECRET, LONG], &["IDENTIFIED BY '***'"]);
            let line = ["--before", &format!("ALTER ROLE x PASSWORD '{LONG}'"), "--sql", "SELECT 1", &url];
            RunOutputs::of(&line).hide(&[SECRET, LONG], &["PASSWORD '***'"]);
        }
    }
}

#[test]
fn raw_conversations_show_no_secret() {
    let peer = saying(format!("no {SECRET} here\n"));
    for host in [peer.host(), closed()] {
        let send = format!("login user=app password={SECRET}\\n");
        let line = ["--send", &send, "--until", "\\n", "--expect-regex", "yes", &format!("tcp://{host}")];
        RunOutputs::of(&line).hide(&[SECRET], &["user=app password=***"]);
    }
}

#[test]
fn a_failed_before_says_so_and_not_that_nobody_was_there() {
    let peer = saying("-NOPERM no\r\n");
    let line = |host: &str| vec!["--before".to_string(), "NOSUCH".into(), format!("redis://{host}")];
    let failed = brunt(line(&peer.host())).with_code(30);
    assert!(failed.err.contains("--before") && failed.err.contains("failed"), "{}", failed.err);
    assert!(!failed.err.contains("cannot be reached"), "{}", failed.err);
    assert!(brunt(line(&closed())).with_code(30).err.contains("cannot be reached"));
}

#[test]
fn a_refused_login_before_a_run_names_the_command_and_what_the_server_said() {
    const WORDS: &str = "WRONGPASS invalid username-password pair or user is disabled";
    let peer = saying(format!("-{WORDS}\r\n"));
    for (command, shown, secret) in [
        ("AUTH app wrongPw9", "`AUTH *** ***` failed: ", "wrongPw9"),
        ("AUTH wrongPw9", "`AUTH ***` failed: ", "wrongPw9"),
        ("auth app 'p`q w;r'", "`AUTH *** \"***\"` failed: ", "q w"),
        ("auth app pwx", "`AUTH *** ***` failed: ", "pwx"),
        ("HELLO 3 AUTH app wrongPw9", "`HELLO 3 AUTH *** ***` failed: ", "wrongPw9"),
    ] {
        let said = brunt(["--before", command, "-n", "1", &format!("redis://{}", peer.host())]).with_code(30).err;
        assert!(
            said.contains(shown) && said.contains(WORDS) && said.contains("no load was sent."),
            "{command}: {said}"
        );
        assert!(!said.contains(secret), "{command}: {said}");
    }
}

#[test]
fn a_header_line_or_user_that_is_none_is_not_shown_wherever_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        path
    };
    let bare = format!("Bearer {LONG}");
    let sealed = format!("@{}", file("tok.txt", &bare));
    let url = "http://127.0.0.1:1/";
    let plan = |name: &str, value: &str| file(name, &format!("urls: ['{url}']\nheader:\n  - 'A: b'\n  - '{value}'\n"));
    for (line, words) in [
        (vec!["-n", "1", "-H", &sealed, url], vec!["tok.txt line 1 has no colon; write NAME: VALUE"]),
        (vec!["-n", "1", "--user", &sealed, url], vec!["tok.txt line 1 has no colon; write NAME:PASSWORD"]),
        (vec!["-n", "1", "-H", &bare, url], vec!["--header: a line has no colon between name and value"]),
        (vec!["-n", "1", "-H", &format!("{bare}: x"), url], vec!["has no valid name before the colon"]),
        (
            vec!["-n", "1", "-H", &bare, "grpc://127.0.0.1:1/a.B/C"],
            vec!["--header: a line has no colon between name and value"],
        ),
        (
            vec!["plan", "--check", &plan("bare.yaml", &bare)],
            vec!["bare.yaml line 4", "a line has no colon between name and value"],
        ),
        (
            vec!["plan", "--check", &plan("sealed.yaml", &sealed)],
            vec!["sealed.yaml line 4", "tok.txt line 1 has no colon"],
        ),
    ] {
        let said = brunt(&line).with_code(64).err;
        assert!(!said.contains(LONG), "{line:?}: {said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{line:?}: `{word}` is not in {said}"));
    }
    let shown = brunt(["plan", "-H", &bare, url]);
    assert!(!format!("{}{}", shown.out, shown.err).contains(LONG), "{shown:?}");
}

#[test]
fn headers_and_users_come_from_files_and_stand_on_no_command_line() {
    let (peer, directory) = (repeating(), tempfile::tempdir().unwrap());
    let file = |name: &str, text: String| {
        std::fs::write(directory.path().join(name), text).unwrap();
        format!("@{}", directory.path().join(name).display())
    };
    let headers = file("headers", format!("X-Api-Key: {LONG}\nX-Plain: seen\n"));
    let user = file("user", format!("ann:{SECRET}\n"));
    let ended = brunt(["-n", "3", "-c", "1", "-H", &headers, "--user", &user, &peer.url()]);
    let heard = String::from_utf8_lossy(&peer.received()[0]).into_owned();
    assert!(heard.contains(&format!("X-Api-Key: {LONG}\r\nX-Plain: seen\r\n")), "{heard}");
    assert!(heard.contains("Basic YW5uOmhVbnRlcjI"), "{heard}");
    assert!(!(ended.out + &ended.err).contains(LONG));
    // The same holds for a plan.
    let plan = directory.path().join("run.yaml");
    std::fs::write(&plan, format!("urls: [\"{}\"]\nheader: \"{headers}\"\nuser: \"{user}\"\n", peer.url())).unwrap();
    let shown = brunt(["plan", plan.to_str().unwrap()]).with_code(0);
    assert!(shown.out.contains("X-Api-Key: {env BRUNT_SECRET_") && !shown.out.contains(LONG), "{}", shown.out);
}

#[test]
fn processes_of_a_run_show_no_secret_to_other_users() {
    let (target, directory) = (brunt_tests::TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let headers = directory.path().join("headers");
    std::fs::write(&headers, format!("X-Api-Key: {LONG}")).unwrap();
    let headers = format!("@{}", headers.display());
    let line = ["-d", "20s", "-c", "2", "--processes", "2", "-H", &headers, &target.address];
    let running = start(line);
    until("the run has begun", || target.requests() > 10);
    let children = || -> Vec<String> {
        let of_ours = |id: &str| {
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            status.contains(&format!("PPid:\t{}\n", running.id()))
        };
        let ids = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        ids.filter(|id| of_ours(id)).collect()
    };
    let shown = |id: &str, what: &str| std::fs::read(format!("/proc/{id}/{what}")).unwrap_or_default();
    let all: Vec<String> = children().into_iter().chain([running.id().to_string()]).collect();
    assert_eq!(all.len(), 3, "{all:?}");
    for what in ["cmdline", "environ"] {
        assert!(all.iter().all(|id| !String::from_utf8_lossy(&shown(id, what)).contains(LONG)), "{what}");
    }
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.end().code, Some(21));
}

#[test]
fn records_and_kept_runs_are_their_owners_alone() {
    let (target, directory) = (brunt_tests::TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = directory.path().join("run.zst");
    let line = ["-n", "5", "-c", "1", "--record", file.to_str().unwrap(), &target.address];
    prepare(line).env("XDG_STATE_HOME", directory.path().join("state")).run().with_code(0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let kept = directory.path().join("state/brunt/runs");
    assert_eq!((mode(&file), mode(&kept), mode(&files(&kept)[0])), (0o600, 0o700, 0o600));
}

#[test]
fn tokens_and_cookies_of_the_command_line_are_shown_nowhere() {
    let peer = repeating();
    let cookie = format!("session={SECRET}");
    let line = ["--bearer", LONG, "--cookie", &cookie, &peer.url()];
    RunOutputs::of(&line).hide(&[LONG, SECRET], &["***"]);
}
