//! Large sends leave a piece in each turn: others are served in between, and every byte arrives once and in order.

use std::io::Read as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use brunt_contract::{ConnId, ConnectParameters, Network, NetworkEvent, OutputBuffer, PeerAddress};
use brunt_measure::Nanos;
use brunt_net::{Epoll, PIECE, Uring};

/// Number of four-byte numbers that each connection sends.
const NUMBERS: u32 = 2_000_000;
const CONNECTIONS: usize = 3;

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

/// Sends the numbers: the first in the buffer, the rest in a shared block, and a second send behind them.
fn send_all(network: &mut impl Network, conn: ConnId) {
    let bytes: Vec<u8> = (0..NUMBERS).flat_map(u32::to_le_bytes).collect();
    let (first, rest) = bytes.split_at(1_000);
    let (block, last) = rest.split_at(rest.len() - 5);
    let mut out = OutputBuffer::default();
    out.put(first);
    out.put_shared(&block.into());
    network.send(conn, &mut out);
    assert!(out.is_empty());
    out.put(last);
    network.send(conn, &mut out);
}

fn hold(mut network: impl Network) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let at = PeerAddress::Unix(Arc::new(path));
    let (mut conns, mut readers) = (Vec::new(), Vec::new());
    for _ in 0..CONNECTIONS {
        let (conn, mut server) = pair(&mut network, &listener, &at);
        conns.push(conn);
        readers.push(std::thread::spawn(move || {
            let mut heard = vec![0; NUMBERS as usize * 4];
            server.read_exact(&mut heard).unwrap();
            (heard, server)
        }));
    }
    let mut sent_before = network.bytes_sent();
    conns.iter().for_each(|conn| send_all(&mut network, *conn));
    let mut told = Vec::new();
    loop {
        // The first pass looks at what the sends themselves wrote.
        let of_turn = network.bytes_sent() - sent_before;
        sent_before = network.bytes_sent();
        assert!(of_turn <= (CONNECTIONS * PIECE) as u64, "{of_turn} bytes in a turn");
        if told.len() == CONNECTIONS {
            break;
        }
        let until = network.now() + Nanos::from_millis(10_000);
        network.wait(until);
        while let Some(arrival) = network.next() {
            let NetworkEvent::Sent(conn) = arrival else { panic!("{arrival:?}") };
            assert_eq!(network.unsent(conn), 0);
            told.push(conn);
        }
    }
    told.sort_unstable_by_key(|conn| conn.0);
    assert_eq!(told, conns);
    let heard: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
    for (heard, _server) in &heard {
        let numbers = heard.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        assert!(numbers.eq(0..NUMBERS), "not the bytes that were sent");
    }
    assert_eq!(network.bytes_sent(), u64::from(NUMBERS) * 4 * CONNECTIONS as u64);
    sent_is_reported_on_request(&mut network, conns[0]);
}

/// A caller that sends in pieces learns when the next one may follow, even if the socket took all of this one.
fn sent_is_reported_on_request(network: &mut impl Network, conn: ConnId) {
    assert!(network.report_sent(conn) && network.unsent(conn) == 0);
    let until = network.now() + Nanos::from_millis(10_000);
    let mut told = 0;
    while told == 0 && network.now() < until {
        network.wait(until);
        while let Some(arrival) = network.next() {
            assert!(matches!(arrival, NetworkEvent::Sent(at) if at == conn), "{arrival:?}");
            told += 1;
        }
    }
    assert_eq!(told, 1);
}

#[test]
fn on_epoll_a_large_send_leaves_a_piece_in_each_turn() {
    hold(Epoll::new().unwrap());
}

#[test]
fn on_io_uring_a_large_send_leaves_a_piece_in_each_turn() {
    if !Uring::is_available() {
        eprintln!("SKIPPED: io_uring is not available here");
        return;
    }
    hold(Uring::new().unwrap());
}
