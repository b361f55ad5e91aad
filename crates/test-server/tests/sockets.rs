//! The target on real sockets: each kind of listening address, several workers, and a log that contains every
//! request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brunt_measure::Clock;
use brunt_test_server::{Config, TargetServer, place, run_until};

fn config(workers: u32) -> Config {
    Config { listen: place("127.0.0.1:0").unwrap(), workers, ..Config::default() }
}

fn connect(target: &TargetServer) -> TcpStream {
    let stream = TcpStream::connect(target.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends a request and reads until the server closes.
fn ask(mut stream: impl Read + Write, path: &str) -> Vec<u8> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn answers_on_tcp_and_counts_over_all_workers() {
    let target = TargetServer::start(config(2)).unwrap();
    for _ in 0..20 {
        assert!(ask(connect(&target), "/").ends_with(b"\r\n\r\nok\n"));
    }
    let stats = target.stop().unwrap();
    assert_eq!((stats.workers, stats.accepted, stats.heard, stats.answered), (2, 20, 20, 20));
}

#[test]
fn answers_on_ipv6_and_on_unix_sockets() {
    let six = TargetServer::start(Config { listen: place("[::1]:0").unwrap(), ..config(1) }).unwrap();
    assert!(ask(connect(&six), "/bytes/3").ends_with(b"\r\n\r\nabc"));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let unix = Config { listen: place(&format!("unix:{}", path.display())).unwrap(), ..config(4) };
    // A socket file left behind by a server that was killed does not prevent listening.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let target = TargetServer::start(unix.clone()).unwrap();
    assert!(ask(UnixStream::connect(&path).unwrap(), "/").ends_with(b"ok\n"));
    assert!(TargetServer::start(unix).unwrap_err().to_string().contains("cannot listen on"));
    target.stop().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_taken_port_is_said_so_even_with_several_workers() {
    let taken = TargetServer::start(config(2)).unwrap();
    for workers in [1, 2] {
        let trouble = TargetServer::start(Config { listen: taken.place().clone(), ..config(workers) }).unwrap_err();
        assert!(trouble.to_string().contains(&format!("cannot listen on {}", taken.addr())), "{trouble}");
    }
}

#[test]
fn large_bodies_arrive_whole() {
    let target = TargetServer::start(config(1)).unwrap();
    let answer = ask(connect(&target), "/bytes/50000000");
    let head = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(answer.len() - head, 50_000_000);
    let body = &answer[head..];
    assert!(body.chunks(65_536).all(|block| block == &body[..block.len()]));
    assert_eq!(target.stop().unwrap().answered, 1);
}

#[test]
fn a_reset_is_seen_as_a_reset() {
    let target = TargetServer::start(config(1)).unwrap();
    let mut stream = connect(&target);
    stream.write_all(b"GET /reset HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let outcome = stream.read(&mut [0; 10]);
    assert_eq!(outcome.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn the_log_holds_every_request_with_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("arrivals");
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = std::sync::mpsc::channel();
    let server = {
        let (config, stop) = (Config { log_arrivals: Some(file.clone()), ..config(2) }, Arc::clone(&stop));
        std::thread::spawn(move || run_until(config, &stop, |target| tell.send(target.addr()).unwrap()).unwrap())
    };
    let addr = told.recv().unwrap();
    let before = Clock.now().0;
    let paths = ["/", "/status/503?x=1", "/delay/5ms", "/bytes/200000", "/reset", "/cut/0", "/-/stats"];
    for path in paths {
        let mut stream = TcpStream::connect(addr).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    // Still open when the server stops; the log must contain it nevertheless.
    let mut hanging = TcpStream::connect(addr).unwrap();
    hanging.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /hang HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(hanging.read(&mut [0; 1000]).unwrap() > 0);
    stop.store(true, Ordering::Relaxed);
    let stats = server.join().unwrap();
    let after = Clock.now().0;

    let log = std::fs::read_to_string(&file).unwrap();
    let mut lines: Vec<(u64, u64, u16, &str)> = log
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap();
            (word().parse().unwrap(), word().parse().unwrap(), word().parse().unwrap(), word())
        })
        .collect();
    lines.sort_unstable();
    let seen: Vec<(u16, &str)> = lines.iter().map(|&(_, _, status, path)| (status, path)).collect();
    let expected = [
        (200, "/"),
        (503, "/status/503?x=1"),
        (200, "/delay/5ms"),
        (200, "/bytes/200000"),
        (0, "/reset"),
        (200, "/cut/0"),
        (200, "/"),
        (0, "/hang"),
    ];
    let (mut seen_sorted, mut expected_sorted) = (seen.clone(), expected.to_vec());
    seen_sorted.sort_unstable();
    expected_sorted.sort_unstable();
    assert_eq!(seen_sorted, expected_sorted);
    assert_eq!(seen[..6], expected[..6]);
    assert_eq!(stats.heard, lines.len() as u64);
    for (arrived, answered, status, path) in lines {
        assert!(before < arrived && arrived < after, "{path}");
        assert_eq!(answered == 0, status == 0, "{path}");
        assert!(answered == 0 || (arrived <= answered && answered < after), "{path}: {arrived} {answered}");
        assert!(path != "/delay/5ms" || answered - arrived >= 5_000_000, "answered before its time");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_said_so_at_the_start() {
    let nowhere = Config { log_arrivals: Some("/nonexistent/log".into()), ..config(1) };
    let trouble = TargetServer::start(nowhere).unwrap_err();
    assert!(trouble.to_string().starts_with("--log-arrivals: /nonexistent/log cannot be written"), "{trouble}");
}
