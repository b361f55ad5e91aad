//! TLS for a listening network, with our own client: bytes in pieces of any size arrive as plaintext.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use brunt_contract::{
    ChannelProgress, Network, NetworkEvent, Origin, OutputBuffer, PeerAddress, SecureChannel, SecureChannelFactory,
};
use brunt_measure::Nanos;
use brunt_net::Epoll;
use brunt_net::tls::{RustlsSecurity, RustlsServer, TlsNetwork, TlsSettings};

/// A client that sends its output in pieces, and reads until there is plaintext, the handshake is done or the stream
/// ends.
struct Client {
    stream: TcpStream,
    channel: Box<dyn SecureChannel>,
    plain: Vec<u8>,
    piece: usize,
}

impl Client {
    fn connect(at: std::net::SocketAddr, alpn: &[&'static [u8]], piece: usize) -> Client {
        let settings = TlsSettings { insecure: true, ..TlsSettings::default() };
        let security = RustlsSecurity::new(&settings).unwrap();
        let channel = security.client(&Origin::tcp("localhost", at.port(), true), alpn).unwrap();
        let stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut client = Client { stream, channel, plain: Vec::new(), piece };
        let mut out = OutputBuffer::default();
        client.channel.start(&mut out);
        client.send(&mut out);
        while client.channel.handshake().is_none() {
            client.hear();
        }
        client
    }

    fn send(&mut self, out: &mut OutputBuffer) {
        for piece in out.bytes().chunks(self.piece) {
            self.stream.write_all(piece).unwrap();
        }
        out.clear();
    }

    fn hear(&mut self) -> ChannelProgress {
        let mut bytes = vec![0; self.piece];
        let n = self.stream.read(&mut bytes).unwrap();
        assert!(n > 0, "the server says goodbye first");
        let mut out = OutputBuffer::default();
        let fed = self.channel.feed(&bytes[..n], &mut self.plain, &mut out).unwrap();
        self.send(&mut out);
        fed
    }
}

#[test]
fn an_echo_over_tls_in_pieces_of_every_kind() {
    let serving = RustlsServer::self_signed(&["localhost"], &[b"h2", b"http/1.1"]).unwrap();
    let mut server = TlsNetwork::new(Epoll::new().unwrap(), serving);
    let listener = server.listen(&PeerAddress::Tcp("127.0.0.1:0".parse().unwrap()), 10, false).unwrap();
    let at = server.local_addr(listener).unwrap();
    let clients = std::thread::spawn(move || {
        for piece in [1, 7, 100_000] {
            let mut client = Client::connect(at, &[b"http/1.1"], piece);
            assert_eq!(client.channel.handshake().unwrap().alpn.as_deref(), Some(&b"http/1.1"[..]));
            let message: Vec<u8> = (0..40_000u32).map(|n| n as u8).collect();
            let (mut plain, mut out) = (OutputBuffer::default(), OutputBuffer::default());
            plain.put(&message);
            client.channel.seal(&plain, &mut out);
            client.send(&mut out);
            while client.plain.len() < message.len() {
                client.hear();
            }
            assert_eq!(client.plain, message, "in pieces of {piece}");
            // The server closes on receiving `bye`, and sends close_notify first.
            plain.clear();
            plain.put(b"bye");
            client.channel.seal(&plain, &mut out);
            client.send(&mut out);
            while client.hear() != ChannelProgress::PeerFinished {}
        }
        // A client that does not speak TLS gets an alert and is disconnected.
        let mut stranger = TcpStream::connect(at).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut alert = Vec::new();
        let _ = stranger.read_to_end(&mut alert);
        assert_eq!(alert.first(), Some(&21), "an alert: {alert:?}");
    });
    let (mut accepted, mut closed, mut out) = (0, 0, OutputBuffer::default());
    for _ in 0..1_000_000 {
        let until = server.now() + Nanos::from_millis(20);
        server.wait(until);
        let mut act = None;
        while let Some(arrival) = server.next() {
            match arrival {
                NetworkEvent::Accepted(..) => accepted += 1,
                NetworkEvent::Received(conn, b"bye") => act = Some((conn, false)),
                NetworkEvent::Received(conn, bytes) => {
                    out.put(bytes);
                    act = Some((conn, true));
                }
                NetworkEvent::Closed(conn, _) => {
                    closed += 1;
                    act = Some((conn, false));
                }
                NetworkEvent::Connected(_) | NetworkEvent::Sent(_) => {}
            }
            match act.take() {
                Some((conn, true)) => server.send(conn, &mut out),
                Some((conn, false)) => server.close(conn),
                None => {}
            }
        }
        if clients.is_finished() {
            break;
        }
    }
    clients.join().unwrap();
    assert_eq!((accepted, closed), (4, 1));
}
