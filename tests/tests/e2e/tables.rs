//! Tests with more connections than a descriptor table holds: further workers are started, and no waiting client is
//! lost.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use brunt_tests::TargetProcess;

/// Descriptors per thread; 16 of them, and those that a worker itself needs, are not available for connections.
const LIMIT: u32 = 64;
const MANY: usize = 500;

fn connect(host: &str) -> TcpStream {
    let stream = TcpStream::connect(host).expect("the target is there");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends a request on a connection that stays open.
fn ask(stream: &mut TcpStream) {
    stream.write_all(b"GET /bytes/10 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = [0; 512];
    let n = stream.read(&mut answer).expect("an answer");
    assert!(answer[..n].ends_with(b"\r\n\r\nabcdefghij"), "{:?}", String::from_utf8_lossy(&answer[..n]));
}

fn hold(host: &str, many: usize) -> Vec<TcpStream> {
    let mut held: Vec<TcpStream> = (0..many).map(|_| connect(host)).collect();
    held.iter_mut().for_each(ask);
    held
}

#[test]
fn five_hundred_connections_on_tables_of_sixty_four() {
    let target = TargetProcess::limited(LIMIT, &["-w", "2"]);
    let mut held = hold(target.host(), MANY);
    // Clients of an early worker are still answered when the last worker has started.
    held.iter_mut().for_each(ask);
    let stats = target.stats();
    let of = |stats: &serde_json::Value, part: &str, name: &str| stats[part][name].as_u64().unwrap();
    assert_eq!(of(&stats, "requests", "answered"), 2 * MANY as u64);
    assert!(of(&stats, "connections", "open") >= MANY as u64, "{stats}");
    let workers = stats["workers"].as_u64().unwrap();
    assert!(workers > 2 && workers < 40, "{workers} workers");

    // Workers whose connections have closed accept new ones, so the same number of clients needs no further workers.
    for _ in 0..3 {
        drop(std::mem::take(&mut held));
        held = hold(target.host(), MANY / 2);
    }
    let stats = target.stats();
    assert_eq!(of(&stats, "requests", "abandoned"), 0, "{stats}");
    let after = stats["workers"].as_u64().unwrap();
    assert!(after <= workers + 2, "{workers} workers were enough for {MANY} connections, {after} for half of them");
    target.stop();
}

#[test]
fn a_bound_holds_over_all_workers_of_a_listener() {
    let target = TargetProcess::limited(LIMIT, &["-w", "1", "--max-connections", "100"]);
    let mut held = hold(target.host(), 100);
    // The 101st client waits in the queue until one of the others closes.
    let mut late = connect(target.host());
    late.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    late.write_all(b"GET /bytes/10 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(late.read(&mut [0]).is_err(), "the bound is 100");
    held.truncate(40);
    late.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(late.read(&mut [0; 512]).unwrap() > 0);
    target.stop();
}
