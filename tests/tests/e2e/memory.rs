//! Tests that memory is bounded for any peer and any file, measured by the peak of the real process.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use brunt_tests::program::{ProgramOutput, RunningProgram, prepare_under, until};
use brunt_tests::{ScriptedPeer, TargetProcess, brunt, prepare};

/// Maximum memory of the process in all these cases.
const BOUND: u64 = 100 << 20;

/// Checks that the peak memory of the program is within the bound.
#[track_caller]
fn bounded(ended: ProgramOutput) -> ProgramOutput {
    println!("{} MB", ended.peak >> 20);
    assert!(ended.peak > 0, "its memory was never seen: {ended:?}");
    assert!(ended.peak <= BOUND, "{} MB: {}\n{}", ended.peak >> 20, ended.out, ended.err);
    ended
}

/// Sends at most this many bytes, until the other side closes.
fn pour(mut connection: brunt_tests::peer::PeerConnection, head: &[u8], piece: &[u8], most: usize) {
    connection.send(head);
    for _ in 0..most / piece.len() {
        if !connection.send(piece) {
            return;
        }
    }
    connection.wait_for_close();
}

#[test]
fn a_first_answer_of_half_a_gibibyte_is_counted_and_not_kept() {
    let target = TargetProcess::healthy();
    let ended = bounded(brunt(["-n", "1", &target.url("bytes/536870912")]).with_code(0));
    assert!(ended.out.contains("512 MiB") || ended.out.contains("537 MB"), "{ended:?}");
    let ended = bounded(brunt(["--debug", &target.url("bytes/536870912")]).with_code(0));
    assert!(ended.out.contains("more bytes not shown"), "{}", &ended.out[ended.out.len() - 400..]);
}

#[test]
fn an_endless_answer_to_a_request_before_the_run_is_not_kept() {
    let piece = vec![b'x'; 1 << 20];
    let peer = ScriptedPeer::new(move |mut connection| {
        connection.bytes();
        pour(connection, b"$900000000\r\n", &piece, 500 << 20);
    });
    let url = format!("redis://{}", peer.host());
    // The peer stops before the announced length, so the response never ends.
    let running = prepare(["--before", "GET x", "-n", "1", "-t", "20s", "--command", "PING", &url]).start();
    let ended = stopped_after(running, 3);
    bounded(ended);
}

/// Stops a program, which would not end by itself, after this many seconds.
fn stopped_after(running: RunningProgram, seconds: u64) -> ProgramOutput {
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    running.signal(rustix::process::Signal::INT);
    running.end()
}

#[test]
fn a_postgres_server_that_goes_on_asking_for_the_password_is_left() {
    let asked = [b'R', 0, 0, 0, 8, 0, 0, 0, 3].repeat(8192);
    let peer = ScriptedPeer::new(move |mut connection| {
        connection.bytes();
        pour(connection, &[], &asked, 256 << 20);
    });
    let url = format!("postgres://me:pw@{}/db", peer.host());
    let ended = bounded(brunt(["-d", "700ms", "-c", "2", "--sql", "SELECT 1", &url]).with_code(30));
    assert!(ended.err.contains("keeps asking"), "{ended:?}");
}

#[test]
fn a_body_file_is_held_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("body");
    let size: u64 = 256 << 20;
    std::fs::File::create(&file).and_then(|file| file.set_len(size)).unwrap();
    let target = TargetProcess::healthy();
    let ended = brunt(["-n", "1", "--data-file", file.to_str().unwrap(), &target.address]).with_code(0);
    assert!(ended.peak > size && ended.peak < size + BOUND, "{} MB", ended.peak >> 20);
}

#[test]
fn a_record_that_is_a_bomb_is_one_sentence() {
    let (target, directory) = (TargetProcess::healthy(), tempfile::tempdir().unwrap());
    let file = |name: &str| brunt_tests::target::text(directory.path(), name);
    brunt(["-n", "5", "--record", &file("run.zst"), &target.address]).with_code(0);
    let Ok(output) = Command::new("zstdcat").arg(file("run.zst")).output() else {
        return brunt_tests::skip("zstd is not installed");
    };
    let first = output.stdout.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let head =
        [&br#"{"event":"started","schema":"brunt-record/2","command":["#[..], &br#""","#.repeat(40 << 20)].concat();
    let endless = [first, &b"[".repeat(256 << 20)].concat();
    for (name, bytes) in [("head", head), ("endless", endless)] {
        std::fs::write(file(name), bytes).unwrap();
        let packed = file("packed");
        assert!(Command::new("zstd").args(["-qf", &file(name), "-o", &packed]).status().unwrap().success());
        for path in [&file(name), &packed] {
            let ended = bounded(brunt(["report", path]).with_code(64));
            assert!(ended.err.lines().count() == 1 && ended.err.contains("the line is longer than"), "{ended:?}");
        }
    }
}

#[test]
fn a_million_urls_are_kept_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = brunt_tests::target::text(directory.path(), "urls.txt");
    let target = TargetProcess::healthy();
    let urls: String = (0..1_000_000).map(|n| format!("{}?n={n}\n", target.address)).collect();
    std::fs::write(&file, urls).unwrap();
    let record = brunt_tests::target::text(directory.path(), "run.zst");
    // The same holds for many workers: none has its own list.
    let ended = brunt(["-n", "10", "-w", "8", "--urls", &file, "--record", &record]).with_code(0);
    assert!(ended.peak > 0 && ended.peak <= 300 << 20, "{} MB", ended.peak >> 20);
    // The same holds for HTTP/2: heads that differ only in their path are prepared once. Some 20 MB are pages of the
    // program itself, more in less optimized builds; the texts of one more list would take 30 MB.
    let two = brunt(["-n", "10", "-w", "8", "--http2", "--urls", &file]).with_code(0);
    assert!(two.peak > 0 && two.peak <= 260 << 20, "{} MB", two.peak >> 20);
    let again = bounded(brunt(["report", &record]).with_code(0));
    assert!(again.out.contains("999,999 more"), "{again:?}");
}

/// Returns the target's response to an upgrade request.
fn consent(request: &[u8], target: &str) -> Vec<u8> {
    let mut head = vec![0; 4096];
    let asked = TcpStream::connect(target).and_then(|mut other| {
        other.write_all(request)?;
        other.read(&mut head)
    });
    head.truncate(asked.unwrap_or(0));
    head
}

#[test]
fn a_hundred_web_sockets_that_announce_huge_messages_share_one_bound() {
    let target = TargetProcess::healthy();
    let host = target.host().to_owned();
    let huge = [&[0x82, 127][..], &(15_u64 << 20).to_be_bytes()].concat();
    let piece = vec![b'x'; 1 << 20];
    let peer = ScriptedPeer::new(move |mut connection| {
        let Some(request) = connection.request() else { return };
        connection.send(&consent(&request, &host));
        connection.bytes();
        match connection.number {
            0 => drop(connection.send(&[0x81, 1, b'x'])),
            // Sends everything but the last piece.
            _ => pour(connection, &huge, &piece, 14 << 20),
        }
    });
    let url = peer.url().replace("http://", "ws://");
    for options in [&["--expect-body", "needle"][..], &["--match-field", "id"]] {
        let run = ["-c", "100", "-d", "2s", "-t", "20s", "--drain", "0s", "--data", "{\"id\":1}"];
        let ended = bounded(brunt(run.iter().chain(options).chain(&[&*url])).with_code(20));
        assert!(ended.out.contains("too much response data is being held at once across all connections"), "{ended:?}");
    }
}

#[test]
fn a_hundred_answers_that_are_bombs_share_one_bound() {
    let mut gzip = Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
    let mut zeros = gzip.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || (0..64).try_for_each(|_| zeros.write_all(&[0; 1 << 20])));
    let packed = gzip.wait_with_output().unwrap().stdout;
    feeder.join().unwrap().unwrap();
    // Several members in sequence are one gzip body.
    let bomb = packed.repeat((1 << 20) / packed.len());
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", bomb.len());
    let peer = ScriptedPeer::answering([head.as_bytes(), &bomb].concat());
    let run = ["-c", "100", "-n", "300", "-t", "30s", "--expect-body", "needle", &peer.url()];
    let ended = bounded(brunt(run));
    assert!(ended.out.contains("unchecked"), "{ended:?}");
}

#[test]
fn more_connections_than_descriptors_allow_are_refused_in_a_sentence() {
    let target = TargetProcess::healthy();
    let ended = prepare_under(&["prlimit", "--nofile=16", "--"], ["-c", "1000", &target.address]).start().end();
    assert_eq!(ended.code, Some(64), "{ended:?}");
    for part in [
        "-c: 1,000 connections are more than a run can hold: 64 with as many threads as it can use and 16 descriptors each",
        "raise that",
    ] {
        assert!(ended.err.contains(part), "{ended:?}");
    }
    let held = prepare_under(&["prlimit", "--nofile=16", "--"], ["-c", "60", "-d", "1s", &target.address]).start();
    assert!(bounded(held.end()).out.contains("60 worker threads"));
}

/// Returns a connection to the target on which nothing is read, after writing as much as the target
/// accepts.
fn talk(target: &TargetProcess, first: &[u8], again: &[u8], most: usize) -> TcpStream {
    let mut stream = TcpStream::connect(target.host()).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(first).unwrap();
    // An error means that the target dropped this client.
    let _ = (0..most / again.len().max(1)).try_for_each(|_| stream.write_all(again));
    stream
}

/// Checks that the peak memory of the target is within the bound, and that it still answers others.
#[track_caller]
fn unmoved(target: &TargetProcess) {
    let (head, _) = brunt_tests::target::get(target.host(), "/");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let peak = brunt_tests::program::resident(target.id());
    assert!(peak > 0 && peak <= BOUND, "{} MB", peak >> 20);
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes an HTTP/2 GET: method and scheme from the static table, path and authority as literals (RFC 7541 6).
fn get(stream: u32, path: &str) -> Vec<u8> {
    let block = [&[0x82, 0x86, 0x04, path.len() as u8][..], path.as_bytes(), &[0x01, 1, b'a']].concat();
    frame(1, 5, stream, &block)
}

#[test]
fn a_target_holds_nothing_for_a_client_whose_windows_are_closed_or_who_does_not_read() {
    // SETTINGS_INITIAL_WINDOW_SIZE is zero, or the maximum with the same window for the connection.
    for window in [0_u32, 0x7fff_ffff] {
        let target = TargetProcess::with(&["-w", "2"]);
        let widened = if window > 0 { frame(8, 0, 0, &0x7fff_0000_u32.to_be_bytes()) } else { Vec::new() };
        let settings = frame(4, 0, 0, &[&[0, 4][..], &window.to_be_bytes()].concat());
        let asked: Vec<u8> = (0..100).flat_map(|n| get(2 * n + 1, "/bytes/16777216")).collect();
        let first = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &widened, &asked].concat();
        let clients: Vec<TcpStream> = (0..4).map(|_| talk(&target, &first, &[], 0)).collect();
        until("all is heard", || target.requests() >= 400);
        std::thread::sleep(Duration::from_millis(500));
        unmoved(&target);
        drop(clients);
    }
}

#[test]
fn a_target_lets_go_of_a_client_who_goes_on_asking_and_does_not_read() {
    let upgrade = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    // With a mask of zeros: a ping, and a message of 64 KiB that is echoed.
    let ping = [&[0x89, 0x80 | 125, 0, 0, 0, 0][..], &[b'p'; 125]].concat().repeat(500);
    let message = [&[0x81, 0x80 | 127, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &[b'm'; 1 << 16]].concat();
    let large = b"GET /bytes/60000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000);
    let echo = [&b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n"[..], &[b'e'; 60_000]].concat();
    for (name, first, again) in [
        ("pings", upgrade, ping),
        ("messages", upgrade, message),
        ("pipelined requests", "", large),
        ("pipelined echoes", "", echo),
    ] {
        let target = TargetProcess::with(&["-w", "2"]);
        let client = talk(&target, first.as_bytes(), &again, 200 << 20);
        println!("{name}: {} MB", brunt_tests::program::resident(target.id()) >> 20);
        unmoved(&target);
        drop(client);
    }
}

#[test]
fn a_target_has_so_many_stations() {
    let target = TargetProcess::healthy();
    for n in 1..=40 {
        let (head, body) = brunt_tests::target::get(target.host(), &format!("/?station={}&service=0ms", 60_000 + n));
        let (status, said) = if n <= 17 { ("200", "ok") } else { ("503", "too many") };
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{n}: {head}");
        assert!(String::from_utf8_lossy(&body).contains(said), "{n}");
    }
    let asked: Vec<u8> = (1..=20_000)
        .flat_map(|n| format!("GET /?station={n}&service=1h HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes())
        .collect();
    let client = talk(&target, &asked, &[], 0);
    until("all is heard", || target.requests() >= 20_040);
    unmoved(&target);
    drop(client);
}

/// Connects clients that each write as much as possible, all at the same time.
fn crowd(target: &TargetProcess, clients: usize, first: &[u8], again: &[u8], most: usize) -> Vec<TcpStream> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..clients).map(|_| scope.spawn(|| talk(target, first, again, most))).collect();
        all.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn a_target_holds_no_more_for_a_crowd_of_large_messages() {
    let upgrade = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let head = |first: u8, size: u64| [&[first, 0x80 | 127][..], &size.to_be_bytes(), &[0; 4]].concat();
    let large = [head(0x82, 3 << 20), vec![b'm'; 3 << 20]].concat();
    // Messages that are never complete: one endless announced frame, and one fragment after
    // another.
    let endless = [upgrade.as_bytes(), &head(0x82, 1 << 40)].concat();
    let begun = [upgrade.as_bytes(), &head(0x02, 0)].concat();
    let fragment = [head(0x00, 1 << 16), vec![b'f'; 1 << 16]].concat();
    let target = TargetProcess::with(&["-w", "2"]);
    for (first, again) in [(upgrade.as_bytes(), &large), (&endless, &vec![b'e'; 1 << 16]), (&begun, &fragment)] {
        let clients = crowd(&target, 40, first, again, 20 << 20);
        unmoved(&target);
        drop(clients);
    }
    until("it is given back", || now_resident(&target) <= 40 << 20);
}

/// Returns the target's current memory.
fn now_resident(target: &TargetProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", target.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
}

#[test]
fn a_target_bounds_what_waits_for_its_clients() {
    let target = TargetProcess::with(&["-w", "2"]);
    for round in 0..6 {
        let asked: Vec<u8> = (0..50_000)
            .flat_map(|n| format!("GET /?station=1&service=1h&n={round}.{n} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes())
            .collect();
        let clients = crowd(&target, 4, &asked, &[], 0);
        unmoved(&target);
        drop(clients);
    }
}
