//! Datagrams on real sockets: boundaries are kept, an empty datagram counts, and a port without a listener is reported.

use std::net::{SocketAddr, UdpSocket};

use brunt_contract::{ConnId, ConnectParameters, Errno, Network, NetworkEvent, OutputBuffer, PeerAddress};
use brunt_measure::Nanos;
use brunt_net::Epoll;

#[derive(Debug, PartialEq)]
enum Heard {
    Connected,
    Received(Vec<u8>),
    Closed(Option<Errno>),
}

/// Collects the events of a connection until there are `count` of them.
fn hear(network: &mut Epoll, conn: ConnId, count: usize) -> Vec<Heard> {
    let mut heard = Vec::new();
    while heard.len() < count {
        let until = network.now() + Nanos::from_secs(10);
        network.wait(until);
        assert!(network.now() < until, "only {heard:?}");
        while let Some(arrival) = network.next() {
            heard.push(match arrival {
                NetworkEvent::Connected(at) if at == conn => Heard::Connected,
                NetworkEvent::Received(at, bytes) if at == conn => Heard::Received(bytes.to_vec()),
                NetworkEvent::Closed(at, why) if at == conn => Heard::Closed(why),
                other => panic!("{other:?}"),
            });
        }
    }
    heard
}

fn dialled(network: &mut Epoll, to: SocketAddr) -> ConnId {
    let conn =
        network.connect(&ConnectParameters { to: PeerAddress::Udp(to), source: None, single_use: false }).unwrap();
    assert_eq!(hear(network, conn, 1), [Heard::Connected]);
    conn
}

#[test]
fn each_datagram_leaves_and_arrives_by_itself() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut network = Epoll::new().unwrap();
    let conn = dialled(&mut network, server.local_addr().unwrap());
    let mut out = OutputBuffer::default();
    for datagram in [&b"one"[..], b"", b"three"] {
        out.put(datagram);
        out.end_datagram();
    }
    network.send(conn, &mut out);
    assert!(out.is_empty() && out.boundaries().is_empty());
    let mut buffer = [0; 100];
    for wanted in [&b"one"[..], b"", b"three"] {
        let (n, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..n], wanted);
        server.send_to(&buffer[..n], from).unwrap();
    }
    let wanted = [&b"one"[..], b"", b"three"].map(|bytes| Heard::Received(bytes.to_vec()));
    assert_eq!(hear(&mut network, conn, 3), wanted);
    assert_eq!((network.bytes_sent(), network.unsent(conn)), (8, 0));
}

/// A session with nothing to send still calls `send`, which must not send a datagram.
#[test]
fn nothing_to_send_is_no_datagram() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut network = Epoll::new().unwrap();
    let conn = dialled(&mut network, server.local_addr().unwrap());
    let mut out = OutputBuffer::default();
    network.send(conn, &mut out);
    out.put(b"one");
    network.send(conn, &mut out);
    let mut buffer = [0; 100];
    let n = server.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..n], b"one");
}

#[test]
fn nobody_there_is_refused() {
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut network = Epoll::new().unwrap();
    let conn = dialled(&mut network, nobody);
    let mut out = OutputBuffer::default();
    out.put(b"anyone?");
    out.end_datagram();
    network.send(conn, &mut out);
    assert_eq!(hear(&mut network, conn, 1), [Heard::Closed(Some(Errno(libc::ECONNREFUSED)))]);
    network.close(conn);
}

#[test]
fn too_much_for_a_datagram_is_told() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut network = Epoll::new().unwrap();
    let conn = dialled(&mut network, server.local_addr().unwrap());
    let mut out = OutputBuffer::default();
    out.put(&vec![b'x'; 70_000]);
    out.end_datagram();
    network.send(conn, &mut out);
    assert_eq!(hear(&mut network, conn, 1), [Heard::Closed(Some(Errno(libc::EMSGSIZE)))]);
}
