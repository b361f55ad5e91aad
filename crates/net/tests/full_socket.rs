//! A full socket: `Sent` reports that the backlog has been written.

use std::io::Read;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use brunt_contract::{ConnectParameters, Network, NetworkEvent, OutputBuffer, PeerAddress};
use brunt_measure::Nanos;
use brunt_net::{Epoll, Uring};

const SIZE: usize = 3_000_000;

fn says_when_all_has_left(mut network: impl Network) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let conn = network
        .connect(&ConnectParameters { to: PeerAddress::Unix(Arc::new(path)), source: None, single_use: false })
        .unwrap();
    let mut server = Some(listener.accept().unwrap().0);
    let (mut reader, mut sent, mut answered) = (None, 0, false);
    for _ in 0..1000 {
        let until = network.now() + Nanos::from_millis(50);
        network.wait(until);
        let (mut connected, mut told) = (false, 0);
        while let Some(arrival) = network.next() {
            match arrival {
                NetworkEvent::Connected(_) => connected = true,
                NetworkEvent::Sent(at) => {
                    assert_eq!(at, conn);
                    told += 1;
                }
                NetworkEvent::Received(_, bytes) => answered |= bytes == b"all",
                other => panic!("{other:?}"),
            }
        }
        sent += told;
        if connected {
            let mut out = OutputBuffer::default();
            out.put(&vec![b'x'; SIZE]);
            network.send(conn, &mut out);
            assert!(network.unsent(conn) > 0, "the socket took {SIZE} bytes at once");
            let mut server = server.take().expect("it connects once");
            reader = Some(std::thread::spawn(move || {
                let mut heard = vec![0; SIZE];
                server.read_exact(&mut heard).unwrap();
                std::io::Write::write_all(&mut server, b"all").unwrap();
                server
            }));
        }
        assert!(told == 0 || network.unsent(conn) == 0, "told, and {} bytes wait", network.unsent(conn));
        if answered && sent > 0 {
            break;
        }
    }
    // Kept alive until here, so that no end of stream arrives.
    let _server = reader.expect("it was connected").join().unwrap();
    assert_eq!((sent, answered, network.bytes_sent()), (1, true, SIZE as u64));
    network.close(conn);
}

#[test]
fn epoll_says_when_all_has_left() {
    says_when_all_has_left(Epoll::new().unwrap());
}

#[test]
fn io_uring_says_when_all_has_left() {
    if !Uring::is_available() {
        eprintln!("SKIPPED: io_uring is not available here");
        return;
    }
    says_when_all_has_left(Uring::new().unwrap());
}

/// A write that fails leaves bytes unsent until the end of the connection is reported.
fn failed_writes_count_as_unsent(mut network: impl Network, size: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let conn = network
        .connect(&ConnectParameters { to: PeerAddress::Unix(Arc::new(path)), source: None, single_use: false })
        .unwrap();
    let mut server = Some(listener.accept().unwrap().0);
    for _ in 0..1000 {
        let until = network.now() + Nanos::from_millis(50);
        network.wait(until);
        let mut over = false;
        while let Some(arrival) = network.next() {
            over |= matches!(arrival, NetworkEvent::Closed(..));
            if matches!(arrival, NetworkEvent::Connected(_)) {
                drop(server.take());
                let mut out = OutputBuffer::default();
                out.put(&vec![b'x'; size]);
                network.send(conn, &mut out);
                assert!(network.unsent(conn) > 0 || !network.sends_at_once(), "nobody can have taken them");
                break;
            }
        }
        if over {
            return assert_eq!(network.bytes_sent(), 0);
        }
        assert!(server.is_some() || network.unsent(conn) > 0 || !network.sends_at_once());
    }
    panic!("the end was not reported");
}

#[test]
fn what_a_broken_connection_did_not_take_is_unsent() {
    for size in [10, SIZE] {
        failed_writes_count_as_unsent(Epoll::new().unwrap(), size);
        if Uring::is_available() {
            failed_writes_count_as_unsent(Uring::new().unwrap(), size);
        }
    }
}
