//! Memory holds against any peer and any file: the real process, by the most it ever held.

use e2e::program::{Ended, Running};
use e2e::{Peer, Target, brunt, prepare};

/// What the process may hold in any of these cases.
const BOUND: u64 = 100 << 20;

/// The same, where it held no more than the bound.
#[track_caller]
fn bounded(ended: Ended) -> Ended {
    assert!(ended.peak > 0, "its memory was never seen: {ended:?}");
    assert!(ended.peak <= BOUND, "{} MB: {}\n{}", ended.peak >> 20, ended.out, ended.err);
    ended
}

/// Talks until the other side goes, at most so many bytes.
fn pour(mut connection: e2e::peer::Connection, head: &[u8], piece: &[u8], most: usize) {
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
    let target = Target::healthy();
    let ended = bounded(brunt(["-n", "1", &target.url("bytes/536870912")]).with_code(0));
    assert!(ended.out.contains("512 MiB") || ended.out.contains("537 MB"), "{ended:?}");
    let ended = bounded(brunt(["--debug", &target.url("bytes/536870912")]).with_code(0));
    assert!(ended.out.contains("bytes more are not shown"), "{}", &ended.out[ended.out.len() - 400..]);
}

#[test]
fn an_endless_answer_to_a_request_before_the_run_is_not_kept() {
    let piece = vec![b'x'; 1 << 20];
    let peer = Peer::new(move |mut connection| {
        connection.bytes();
        pour(connection, b"$900000000\r\n", &piece, 500 << 20);
    });
    let url = format!("redis://{}", peer.host());
    // The peer stops short of what it announced, and the answer never ends.
    let running = prepare(["--before", "GET x", "-n", "1", "-t", "20s", "--command", "PING", &url]).start();
    let ended = stopped_after(running, 3);
    bounded(ended);
}

/// Ends a program that would go on, after some seconds.
fn stopped_after(running: Running, seconds: u64) -> Ended {
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    running.signal(rustix::process::Signal::INT);
    running.end()
}

#[test]
fn a_postgres_server_that_goes_on_asking_for_the_password_is_left() {
    let asked = [b'R', 0, 0, 0, 8, 0, 0, 0, 3].repeat(8192);
    let peer = Peer::new(move |mut connection| {
        connection.bytes();
        pour(connection, &[], &asked, 256 << 20);
    });
    let url = format!("postgres://me:pw@{}/db", peer.host());
    let ended = bounded(brunt(["-d", "700ms", "-c", "2", "--sql", "SELECT 1", &url]).with_code(20));
    assert!(ended.out.contains("again and again"), "{ended:?}");
}
