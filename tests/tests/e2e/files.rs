//! Tests of files as they are: standard input in place of a file, several report files of one run, headers of the run
//! beside those of its requests, and addresses with a zone.

use std::fs::File;
use std::io::Write as _;

use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, prepare};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The path and the body of each request.
fn sent(heard: &[Vec<u8>]) -> Vec<(String, String)> {
    let parts = |request: &Vec<u8>| {
        let text = String::from_utf8_lossy(request).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        (head.split(' ').nth(1).unwrap_or_default().to_owned(), body.to_owned())
    };
    heard.iter().map(parts).collect()
}

#[test]
fn standard_input_stands_for_a_file_everywhere() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join("in");
    for (line, text, wanted) in [
        ("--data-file - URLa", "a b\n", ("/a", "a b\n")),
        ("--data @- URLa", "a b\nc\n", ("/a", "a bc")),
        ("--json @- URLa", "{}", ("/a", "{}")),
        ("--form f=<- URLa", "x-y", ("/a", "x-y")),
        ("--urls -", "URLb\n", ("/b", "")),
        ("-", "url: URLc\nmethod: PUT\ndata: x\n", ("/c", "x")),
        ("--curl-file -", "curl URLd -d 'x=1'\n", ("/d", "x=1")),
        ("--data {csv~-.name} URLa", "id;name\n1;Zoë\n", ("/a", "Zoë")),
    ] {
        let peer = ScriptedPeer::answering(OK);
        let put = |text: &str| text.replace("URL", &peer.url());
        std::fs::write(&path, put(text)).expect("written");
        let words = put(line);
        // A file at once, and a pipe in pieces.
        for piped in [false, true] {
            // `~` is a space within a word.
            let words = words.split(' ').map(|word| word.replace('~', " "));
            let asked = ["-n", "1", "-c", "1"].map(str::to_owned).into_iter().chain(words);
            let ended = if piped {
                let (read, mut write) = std::io::pipe().expect("a pipe");
                let running = prepare(asked).input(read).start();
                let (first, rest) = std::fs::read(&path)
                    .map(|mut bytes| {
                        let rest = bytes.split_off(1);
                        (bytes, rest)
                    })
                    .expect("read");
                write.write_all(&first).and_then(|()| write.write_all(&rest)).expect("written");
                drop(write);
                running.end()
            } else {
                prepare(asked).input(File::open(&path).expect("open")).run()
            };
            assert!(!ended.err.contains("brunt: "), "{line}: {ended:?}");
            let heard = sent(&peer.received());
            let (target, body) = heard.last().unwrap_or_else(|| panic!("{line}: {ended:?}"));
            assert!(*target == wanted.0 && body.contains(wanted.1), "{line}: {heard:?}");
        }
    }
}

#[test]
fn standard_input_is_read_by_one_option_only() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join("p.yaml").display().to_string();
    std::fs::write(
        &path,
        "flow:\n  - {url: 'http://127.0.0.1:1/', data-file: '-'}\n  - {url: 'http://127.0.0.1:1/', data-file: '-'}\n",
    )
    .expect("written");
    let again = "standard input is already read by";
    for (line, wanted) in [
        ("--data-file - --urls -", format!("--urls: {again} --data-file, and can be read only once")),
        ("-H @- -H @- http://127.0.0.1:1/", format!("--header: {again} --header")),
        (
            &*format!("plan --check {path}"),
            format!("line 3 column 45 (data-file): {again} {path} line 2 column 45 (data-file)"),
        ),
        ("--data-file - http://127.0.0.1:1/{csv~-.a}", format!("{again} ")),
    ] {
        let words = line.split(' ').map(|word| word.replace('~', " "));
        let ended = prepare(words).input(File::open("/dev/null").expect("open")).run().with_code(64);
        assert!(ended.err.contains(&wanted), "{line}: {}", ended.err);
    }
}

#[test]
fn several_reports_of_one_run_have_the_formats_of_their_names() {
    let target = TargetProcess::healthy();
    let directory = tempfile::tempdir().expect("a folder");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (json, html) = (path("run.json"), path("run.html"));
    let ended = prepare(["-n", "20", "-c", "1", "-o", &json, "-o", &html, &target.address]).run();
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{path}: {ended:?}"));
    assert!(read(&json).contains("\"brunt-report/") && read(&html).starts_with("<!"));
    let said = prepare(["-n", "1", "-o", &json, "-o", &json, &target.address]).run().with_code(64).err;
    assert!(said.contains("run.json is the file of another -o, too; use another path"), "{said}");
}

#[test]
fn headers_of_the_run_go_with_requests_that_have_headers_of_their_own() {
    let directory = tempfile::tempdir().expect("a folder");
    let plan = directory.path().join("p.yaml").display().to_string();
    let peer = ScriptedPeer::answering(OK);
    let url = peer.url();
    let text = format!(
        "iterations: 1\nusers: 1\nbearer: t1\ncookie: a=1\nheader: ['X-Run: 1']\nflow:\n  - {{url: '{url}a', header: ['X-Own: 1']}}\n  \
         - {{url: '{url}b', header: ['Authorization: own', 'Cookie: b=2']}}\n"
    );
    std::fs::write(&plan, text).expect("written");
    prepare([&*plan, "-H", "X-Line: 1"]).run();
    let curl = format!("curl {url}c -b d=4 -H 'Cookie: e=5'");
    prepare(["-n", "1", "-c", "1", "--bearer", "t2", "--curl", &curl]).run();
    let heard: Vec<String> =
        peer.received().iter().map(|request| String::from_utf8_lossy(request).into_owned()).collect();
    for (path, wanted) in [
        ("/a", &["X-Own: 1", "X-Run: 1", "X-Line: 1", "Authorization: Bearer t1", "Cookie: a=1"][..]),
        ("/b", &["X-Run: 1", "X-Line: 1", "Authorization: own", "Cookie: b=2"]),
        ("/c", &["Authorization: Bearer t2", "Cookie: e=5"]),
    ] {
        let request =
            heard.iter().find(|text| text.contains(&format!(" {path} "))).unwrap_or_else(|| panic!("{heard:?}"));
        for line in wanted {
            assert!(request.contains(&format!("{line}\r\n")), "{line}: {request}");
        }
        for once in ["Authorization:", "Cookie:"] {
            assert_eq!(request.matches(once).count(), 1, "{request}");
        }
    }
}

/// The zone of `::1` is that of the loopback interface, which has index 1. Machines without IPv6 have no such address.
#[test]
fn an_address_with_a_zone_is_reached_and_named_without_it() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let target = TargetProcess::at("[::1]:0", &[]);
    let url = target.address.replace("[::1]", "[::1%251]");
    let report = report(&["-n", "5", "-c", "1", &url]);
    assert_eq!(report.requests(), [5, 5, 0, 0], "{report}");
}
