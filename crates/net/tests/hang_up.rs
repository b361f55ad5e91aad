//! The ends of connections on every network: that of the peer is read, however much data precedes it, and the peer can
//! be told of ours and still answer.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use brunt_contract::{ConnId, ConnectParameters, Network, NetworkEvent, OutputBuffer, PeerAddress};
use brunt_measure::Nanos;
use brunt_net::{Epoll, Uring};

/// Connects to a server of its own.
fn connected(network: &mut impl Network) -> (ConnId, UnixStream) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let to = PeerAddress::Unix(Arc::new(path));
    let conn = network.connect(&ConnectParameters { to, source: None, single_use: false }).unwrap();
    (conn, listener.accept().unwrap().0)
}

/// Lets the server write `size` bytes and close before anything is read, and reads to the end.
fn reads_to_the_end(mut network: impl Network, size: usize) {
    let (conn, mut server) = connected(&mut network);
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

/// Ends sending behind more data than a socket takes at once; the server answers once it has read all of it.
fn is_answered_after_it_ends_sending(mut network: impl Network) {
    const SIZE: usize = 3_000_000;
    let (conn, mut server) = connected(&mut network);
    let served = std::thread::spawn(move || {
        let mut all = Vec::new();
        server.read_to_end(&mut all).unwrap();
        server.write_all(b"thanks").unwrap();
        all.len()
    });
    let (mut told, mut received, mut closed) = (false, Vec::new(), false);
    for _ in 0..1000 {
        let until = network.now() + Nanos::from_millis(50);
        network.wait(until);
        let mut connected = false;
        while let Some(arrival) = network.next() {
            match arrival {
                NetworkEvent::Connected(_) => connected = true,
                NetworkEvent::Received(_, bytes) => received.extend_from_slice(bytes),
                NetworkEvent::Closed(..) => closed = true,
                NetworkEvent::Sent(_) | NetworkEvent::Accepted(..) => {}
            }
        }
        if connected {
            let mut out = OutputBuffer::default();
            out.buffer().resize(SIZE, b'x');
            network.send(conn, &mut out);
            assert!(!network.end_sending(conn), "the socket cannot have taken all of it");
        } else {
            told = told || network.end_sending(conn);
        }
        if closed {
            break;
        }
    }
    assert_eq!((served.join().unwrap(), &received[..], closed), (SIZE, &b"thanks"[..], true));
    network.close(conn);
}

#[test]
fn epoll_is_answered_after_it_ends_sending() {
    is_answered_after_it_ends_sending(Epoll::new().unwrap());
}

#[test]
fn io_uring_is_answered_after_it_ends_sending() {
    if !Uring::is_available() {
        eprintln!("SKIPPED: io_uring is not available here");
        return;
    }
    is_answered_after_it_ends_sending(Uring::new().unwrap());
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
