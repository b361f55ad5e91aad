//! What the kernel says of its TCP sockets (sock_diag(7)): the question and the answers, as bytes.
//!
//! Of a socket that listens, the queue is how many connections wait to be accepted, and the limit how many may.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_AND_DUMP: u16 = 0x301;
const TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Attributes of an answer: what TCP knows of it; memory of the socket, whose ninth number are its drops; whether it takes IPv6 alone.
const INFO: u16 = 2;
const MEMORY: u16 = 7;
const DROPS: usize = 8;
const ONLY_V6: u16 = 11;
/// Lengths of a message's head and of the two bodies.
const HEAD: usize = 16;
const QUESTION: usize = 56;
const ANSWER: usize = 72;

/// The state of a TCP socket, as far as we ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Established = 1,
    Listen = 10,
}

/// Sockets of one family and state between these ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    pub v6: bool,
    pub state: State,
    /// Their own; 0: any.
    pub port: u16,
    /// That of the other side; 0: any.
    pub peer: u16,
    /// Some of them are enough, each with what TCP knows of it.
    pub sampled: bool,
}

impl Query {
    /// The message that asks for them.
    pub fn encode(&self, sequence: u32) -> [u8; HEAD + QUESTION] {
        let mut message = [0; HEAD + QUESTION];
        let length = message.len() as u32;
        message[0..4].copy_from_slice(&length.to_ne_bytes());
        message[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        message[6..8].copy_from_slice(&REQUEST_AND_DUMP.to_ne_bytes());
        message[8..12].copy_from_slice(&sequence.to_ne_bytes());
        let question = &mut message[HEAD..];
        question[0] = if self.v6 { AF_INET6 } else { AF_INET };
        question[1] = TCP;
        // The memory of many thousands is not asked for.
        question[2] = match (self.state, self.sampled) {
            (State::Listen, _) => 1 << (MEMORY - 1),
            (State::Established, true) => 1 << (INFO - 1),
            (State::Established, false) => 0,
        };
        question[4..8].copy_from_slice(&(1u32 << self.state as u32).to_ne_bytes());
        question[8..10].copy_from_slice(&self.port.to_be_bytes());
        question[10..12].copy_from_slice(&self.peer.to_be_bytes());
        message
    }

    /// Whether a socket is one of those asked for.
    #[cfg(test)]
    pub fn asks_for(&self, socket: &Socket) -> bool {
        let fits = |asked: u16, port: u16| asked == 0 || asked == port;
        socket.state == self.state as u8
            && fits(self.port, socket.local.port())
            && fits(self.peer, socket.peer.port())
            && socket.local.is_ipv6() == self.v6
    }
}

/// A socket, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub state: u8,
    /// Its own address.
    pub local: SocketAddr,
    /// That of the other side.
    pub peer: SocketAddr,
    /// No other socket has or had it.
    pub cookie: u64,
    /// Connections that wait to be accepted; of a connection, bytes that nobody has read yet.
    pub queue: u32,
    /// How many may wait.
    pub limit: u32,
    /// What its descriptors lead to.
    pub inode: u32,
    /// What the kernel dropped that was meant for it.
    pub drops: Option<u32>,
    /// It takes no IPv4.
    pub only_v6: bool,
    /// What TCP knows of it, where that was asked for.
    pub tcp: Option<Tcp>,
}

/// What TCP knows of a connection: the parts of `tcp_info` that say what its sending waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tcp {
    /// Round trip, smoothed (µs).
    pub rtt: u32,
    /// Segments that were sent again.
    pub retransmits: u32,
    /// Time in which there was something to send or to be acknowledged (µs).
    pub busy: u64,
    /// Of it, time in which the window of the other side was full (µs).
    pub window_limited: u64,
    /// Of it, time in which its own buffer was (µs).
    pub buffer_limited: u64,
}

impl Tcp {
    /// None before Linux 4.10, which does not know the times.
    fn of(info: &[u8]) -> Option<Tcp> {
        Some(Tcp {
            rtt: u32_at(info, 68)?,
            retransmits: u32_at(info, 100)?,
            busy: u64_at(info, 168)?,
            window_limited: u64_at(info, 176)?,
            buffer_limited: u64_at(info, 184)?,
        })
    }
}

/// Whether more answers are to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    More,
    Done,
}

/// Reads the messages of one datagram; those of other questions are gone past.
///
/// # Errors
/// What the kernel said, or that it was not understood.
pub(crate) fn answers(mut bytes: &[u8], sequence: u32, each: &mut dyn FnMut(Socket)) -> io::Result<Told> {
    let garbled = || io::Error::from(ErrorKind::InvalidData);
    while !bytes.is_empty() {
        let length = u32_at(bytes, 0).ok_or_else(garbled)? as usize;
        if length < HEAD || length > bytes.len() {
            return Err(garbled());
        }
        let kind = u16_at(bytes, 4).ok_or_else(garbled)?;
        let ours = u32_at(bytes, 8) == Some(sequence);
        let body = &bytes[HEAD..length];
        match kind {
            _ if !ours => {}
            BY_FAMILY => each(socket(body).ok_or_else(garbled)?),
            ERROR | DONE => match u32_at(body, 0).map(u32::cast_signed) {
                Some(errno) if errno < 0 => return Err(io::Error::from_raw_os_error(errno.saturating_neg())),
                _ if kind == DONE => return Ok(Told::Done),
                _ => {}
            },
            _ => {}
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(Told::More)
}

/// `inet_diag_msg` and the attributes behind it.
fn socket(body: &[u8]) -> Option<Socket> {
    let (fixed, attributes) = body.split_at_checked(ANSWER)?;
    let address = |at: usize, port: usize| {
        let ip = match fixed[0] {
            AF_INET => IpAddr::V4(Ipv4Addr::from(fixed[at..].first_chunk::<4>().copied()?)),
            AF_INET6 => IpAddr::V6(Ipv6Addr::from(fixed[at..].first_chunk::<16>().copied()?)),
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes([fixed[port], fixed[port + 1]])))
    };
    let mut socket = Socket {
        state: fixed[1],
        local: address(8, 4)?,
        peer: address(24, 6)?,
        cookie: u64_at(fixed, 44)?,
        queue: u32_at(fixed, 56)?,
        limit: u32_at(fixed, 60)?,
        inode: u32_at(fixed, 68)?,
        drops: None,
        only_v6: false,
        tcp: None,
    };
    for_each_attribute(attributes, |kind, value| match kind {
        INFO => socket.tcp = Tcp::of(value),
        MEMORY => socket.drops = u32_at(value, 4 * DROPS),
        ONLY_V6 => socket.only_v6 = value.first().is_some_and(|only| *only != 0),
        _ => {}
    });
    Some(socket)
}

/// Ends where the rest is no attribute.
fn for_each_attribute(mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) {
    const HEAD: usize = 4;
    while let (Some(length), Some(kind)) = (u16_at(bytes, 0), u16_at(bytes, 2)) {
        let length = usize::from(length);
        if length < HEAD || length > bytes.len() {
            return;
        }
        each(kind, &bytes[HEAD..length]);
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.first_chunk().copied().map(u64::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.first_chunk().copied().map(u16::from_ne_bytes)
}

#[cfg(test)]
mod tests;
