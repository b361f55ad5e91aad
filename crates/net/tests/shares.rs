//! A connection that receives faster than it is read gets its share of each turn: others are served in between, and
//! none of its data is lost, duplicated or out of order, including its end.

use std::io::Write as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use brunt_contract::{ConnId, ConnectParameters, Network, NetworkEvent, PeerAddress};
use brunt_measure::Nanos;
use brunt_net::{Epoll, Uring};

/// Number of four-byte numbers that one connection sends.
const NUMBERS: u32 = 3_000_000;
/// Maximum number of bytes that the connection may receive in a turn.
const SHARE: usize = 64 * 1024;
/// Number of messages that the other connection sends meanwhile.
const WORDS: usize = 20;

/// Returns a connection and its other end.
fn pair(network: &mut impl Network, listener: &UnixListener, at: &PeerAddress) -> (ConnId, UnixStream) {
    let conn = network.connect(&ConnectParameters { to: at.clone(), source: None, single_use: false }).unwrap();
    let server = listener.accept().unwrap().0;
    loop {
        let until = network.now() + Nanos::from_millis(100);
        network.wait(until);
        if network.next().is_some_and(|arrival| matches!(arrival, NetworkEvent::Connected(_))) {
            assert!(network.next().is_none());
            return (conn, server);
        }
    }
}

fn hold(mut network: impl Network) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let at = PeerAddress::Unix(Arc::new(path));
    let (many, mut sends_many) = pair(&mut network, &listener, &at);
    let (few, mut says_few) = pair(&mut network, &listener, &at);
    let sending = std::thread::spawn(move || {
        let bytes: Vec<u8> = (0..NUMBERS).flat_map(u32::to_le_bytes).collect();
        sends_many.write_all(&bytes).unwrap();
    });
    let (mut heard, mut words, mut turns_since, mut over) = (Vec::new(), 0, 0, false);
    says_few.write_all(b"x").unwrap();
    while !over || words < WORDS {
        let until = network.now() + Nanos::from_millis(600_000);
        network.wait(until);
        turns_since += 1;
        let (mut of_turn, mut spoke) = (0, false);
        while let Some(arrival) = network.next() {
            match arrival {
                NetworkEvent::Received(conn, bytes) if conn == many => {
                    assert!(!over, "bytes behind the end");
                    of_turn += bytes.len();
                    heard.extend_from_slice(bytes);
                }
                NetworkEvent::Received(conn, b"x") if conn == few => spoke = true,
                NetworkEvent::Closed(conn, None) if conn == many => over = true,
                other => panic!("{other:?}"),
            }
        }
        assert!(of_turn <= SHARE, "{of_turn} bytes in a turn");
        // A wait may deliver nothing, but the second connection must not be skipped in turns that deliver data of the
        // first.
        assert!(over || words == WORDS || turns_since <= 100, "not heard for {turns_since} turns");
        if spoke {
            (words, turns_since) = (words + 1, 0);
            if words < WORDS {
                says_few.write_all(b"x").unwrap();
            }
        }
    }
    sending.join().unwrap();
    let numbers = heard.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
    assert!(numbers.eq(0..NUMBERS), "{} bytes, and not those that were sent", heard.len());
}

/// Data that arrives while a turn's events are handled waits for the next turn, even if the turn has an event of this
/// connection.
#[test]
fn on_epoll_a_connection_is_read_once_in_a_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let mut network = Epoll::new().unwrap();
    let (conn, mut server) = pair(&mut network, &listener, &PeerAddress::Unix(Arc::new(path)));
    let mut turn = |first: usize, then: usize| {
        server.write_all(&vec![0; first]).unwrap();
        let until = network.now() + Nanos::from_millis(600_000);
        network.wait(until);
        let mut pieces = Vec::new();
        while let Some(arrival) = network.next() {
            let NetworkEvent::Received(from, bytes) = arrival else { panic!("{arrival:?}") };
            assert_eq!(from, conn);
            pieces.push(bytes.len());
            server.write_all(&vec![0; then]).unwrap();
        }
        pieces
    };
    assert_eq!(turn(SHARE + 100, 10), [SHARE], "and 110 are left, with an event of their own");
    assert_eq!(turn(0, 7), [110]);
    assert_eq!(turn(0, 0), [7]);
}

#[test]
fn on_epoll_nobody_is_heard_alone() {
    hold(Epoll::new().unwrap());
}

#[test]
fn on_io_uring_nobody_is_heard_alone() {
    if !Uring::is_available() {
        eprintln!("SKIPPED: io_uring is not available here");
        return;
    }
    hold(Uring::new().unwrap());
}
