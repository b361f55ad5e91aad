//! The end of a connection is read, however much data precedes it, on every network.

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use brunt_contract::{ConnectParameters, Network, NetworkEvent, PeerAddress};
use brunt_measure::Nanos;
use brunt_net::{Epoll, Uring};

/// Connects, lets the server write `size` bytes and close before anything is read, and reads to the end.
fn reads_to_the_end(mut network: impl Network, size: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let conn = network
        .connect(&ConnectParameters { to: PeerAddress::Unix(Arc::new(path)), source: None, single_use: false })
        .unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let writer = std::thread::spawn(move || server.write_all(&vec![b'x'; size]).unwrap());
    // Data that fits in the socket has arrived, followed by the end, before the first read.
    if size < 150_000 {
        writer.join().unwrap();
    }
    let (mut received, mut closed) = (0, false);
    for _ in 0..1000 {
        let until = network.now() + Nanos::from_millis(50);
        network.wait(until);
        while let Some(arrival) = network.next() {
            match arrival {
                NetworkEvent::Received(_, bytes) => received += bytes.len(),
                NetworkEvent::Closed(_, why) => {
                    assert_eq!(why, None);
                    closed = true;
                }
                NetworkEvent::Connected(_) | NetworkEvent::Sent(_) | NetworkEvent::Accepted(..) => {}
            }
        }
        if closed {
            break;
        }
    }
    assert!(closed, "{size} bytes: the end was not read");
    assert_eq!(received, size);
    network.close(conn);
}

#[test]
fn epoll_reads_to_the_end() {
    for size in [0, 1, 65_535, 65_536, 65_537, 100_000, 131_072, 3_000_000] {
        reads_to_the_end(Epoll::new().unwrap(), size);
    }
}

#[test]
fn io_uring_reads_to_the_end() {
    if !Uring::is_available() {
        eprintln!("SKIPPED: io_uring is not available here");
        return;
    }
    for size in [0, 1, 8_192, 65_536, 100_000, 3_000_000] {
        reads_to_the_end(Uring::new().unwrap(), size);
    }
}
