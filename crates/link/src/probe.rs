//! A look whether anybody speaks QUIC at an address. It costs a coordinator one datagram and no place among those who join:
//! it greets one after the other, and each greeting that is given up takes it 100 ms, so that many agents which try in vain
//! would keep each other out for ever.

use std::hash::BuildHasher;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Time within which a machine answers a look, and number of looks.
const ANSWERS: Duration = Duration::from_millis(500);
const LOOKS: usize = 2;
/// A version of QUIC that is reserved for being refused (RFC 9000 §15), so that whoever listens names its own.
const REFUSED_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];
/// Length of a connection identifier, and of the shortest datagram that is answered.
const ID: usize = 8;
const SHORTEST: usize = 1200;

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    Quic,
    /// The machine there says that nobody listens.
    Nobody,
    /// Nothing comes back.
    Silent,
}

/// Looks what is at an address, for a second at most.
pub(crate) fn look(address: SocketAddr) -> Listener {
    let own: SocketAddr = if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 8], 0).into() };
    let ask = || -> io::Result<Listener> {
        let socket = UdpSocket::bind(own)?;
        socket.connect(address)?;
        socket.set_read_timeout(Some(ANSWERS))?;
        let (datagram, id) = question();
        for _ in 0..LOOKS {
            socket.send(&datagram)?;
            let mut answer = [0; SHORTEST];
            match socket.recv(&mut answer) {
                Ok(length) if names_versions(&answer[..length], id) => return Ok(Listener::Quic),
                Ok(_) => {}
                Err(why) if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(Listener::Silent)
    };
    match ask() {
        Ok(listener) => listener,
        Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => Listener::Nobody,
        Err(_) => Listener::Silent,
    }
}

/// Returns the first datagram of a connection in a version that nobody speaks, and the identifier which the answer bears.
fn question() -> (Vec<u8>, [u8; ID]) {
    let id = std::hash::RandomState::new().hash_one(SHORTEST).to_be_bytes();
    let mut datagram = vec![0xc0];
    datagram.extend(REFUSED_VERSION);
    // To whom, and from whom.
    for _ in 0..2 {
        datagram.push(ID as u8);
        datagram.extend(id);
    }
    datagram.resize(SHORTEST, 0);
    (datagram, id)
}

/// Returns `true` if this is a Version Negotiation packet (RFC 9000 §17.2.1) that answers the question with this identifier.
fn names_versions(answer: &[u8], id: [u8; ID]) -> bool {
    let begins = answer.first().is_some_and(|first| first & 0x80 != 0) && answer.get(1..5) == Some(&[0; 4]);
    begins && answer.get(5) == Some(&(ID as u8)) && answer.get(6..6 + ID) == Some(&id)
}
