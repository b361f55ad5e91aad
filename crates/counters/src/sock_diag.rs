//! Queries for the kernel's TCP sockets (sock_diag(7)): encoding of the request and parsing of the answers.
//!
//! For a listening socket, the queue is the number of connections waiting to be accepted, and the limit its maximum.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_AND_DUMP: u16 = 0x301;
const TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Attributes of an answer: `tcp_info`; the socket's memory, whose ninth number counts its drops; the IPv6-only flag.
const INFO: u16 = 2;
const MEMORY: u16 = 7;
const DROPS: usize = 8;
const ONLY_V6: u16 = 11;
/// Lengths of a message's header and of the two bodies.
const HEAD: usize = 16;
const QUESTION: usize = 56;
const ANSWER: usize = 72;

/// A TCP socket state that is queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TcpState {
    Established = 1,
    Listen = 10,
}

/// A query for the sockets of one family and state with these ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketQuery {
    pub v6: bool,
    pub state: TcpState,
    /// Local port; 0 for any.
    pub port: u16,
    /// Remote port; 0 for any.
    pub peer: u16,
    /// Set if a sample of the sockets suffices, each with its `tcp_info`.
    pub sampled: bool,
}

impl SocketQuery {
    /// Encodes the request message.
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
        // Memory is not requested for connections: there may be many thousands.
        question[2] = match (self.state, self.sampled) {
            (TcpState::Listen, _) => 1 << (MEMORY - 1),
            (TcpState::Established, true) => 1 << (INFO - 1),
            (TcpState::Established, false) => 0,
        };
        question[4..8].copy_from_slice(&(1u32 << self.state as u32).to_ne_bytes());
        question[8..10].copy_from_slice(&self.port.to_be_bytes());
        question[10..12].copy_from_slice(&self.peer.to_be_bytes());
        message
    }

    /// Returns `true` if a socket matches the query.
    #[cfg(test)]
    pub fn matches(&self, socket: &Socket) -> bool {
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
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub peer: SocketAddr,
    /// Cookie, unique among all sockets past and present.
    pub cookie: u64,
    /// Number of connections waiting to be accepted; for a connection, bytes not read yet.
    pub queue: u32,
    /// Maximum number of waiting connections.
    pub limit: u32,
    /// Inode that its descriptors link to.
    pub inode: u32,
    /// Number of packets for the socket that the kernel dropped; `None` if unknown.
    pub drops: Option<u32>,
    /// Set if the socket does not accept IPv4.
    pub only_v6: bool,
    /// TCP statistics, if requested.
    pub tcp: Option<TcpStats>,
}

/// TCP statistics of a connection: the parts of `tcp_info` that show what sending waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpStats {
    /// Smoothed round-trip time (µs).
    pub rtt: u32,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Time in which there was data to send or to be acknowledged (µs).
    pub busy: u64,
    /// Part of `busy` in which the peer's receive window was full (µs).
    pub window_limited: u64,
    /// Part of `busy` in which the connection's own send buffer was full (µs).
    pub buffer_limited: u64,
}

impl TcpStats {
    /// Parses `tcp_info`; `None` before Linux 4.10, which lacks the times.
    fn parse(info: &[u8]) -> Option<TcpStats> {
        Some(TcpStats {
            rtt: u32_at(info, 68)?,
            retransmits: u32_at(info, 100)?,
            busy: u64_at(info, 168)?,
            window_limited: u64_at(info, 176)?,
            buffer_limited: u64_at(info, 184)?,
        })
    }
}

/// Progress of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerProgress {
    More,
    Done,
}

/// Parses the messages of one datagram; answers to other requests are skipped.
///
/// # Errors
/// Returns the kernel's error, or an error if the datagram is malformed.
pub(crate) fn answers<T>(
    mut bytes: &[u8],
    sequence: u32,
    parse: fn(&[u8]) -> Option<T>,
    each: &mut dyn FnMut(T),
) -> io::Result<AnswerProgress> {
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
            BY_FAMILY => each(parse(body).ok_or_else(garbled)?),
            ERROR | DONE => match u32_at(body, 0).map(u32::cast_signed) {
                Some(errno) if errno < 0 => return Err(io::Error::from_raw_os_error(errno.saturating_neg())),
                _ if kind == DONE => return Ok(AnswerProgress::Done),
                _ => {}
            },
            _ => {}
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(AnswerProgress::More)
}

/// Parses an `inet_diag_msg` and the attributes after it.
pub(crate) fn socket(body: &[u8]) -> Option<Socket> {
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
        INFO => socket.tcp = TcpStats::parse(value),
        MEMORY => socket.drops = u32_at(value, 4 * DROPS),
        ONLY_V6 => socket.only_v6 = value.first().is_some_and(|only| *only != 0),
        _ => {}
    });
    Some(socket)
}

/// A Unix socket, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnixSocket {
    pub inode: u32,
    /// Set if it listens.
    pub listens: bool,
    /// Name it is bound to; an accepted socket has that of its listener. Empty if it has none.
    pub name: Vec<u8>,
    /// Inode of the socket at the other end.
    pub peer: Option<u32>,
}

/// Lengths of the query for Unix sockets and of the fixed part of an answer.
const UNIX_QUESTION: usize = 24;
const UNIX_ANSWER: usize = 16;
const AF_UNIX: u8 = 1;
/// Attributes of an answer, and the bits that request them.
const NAME: u16 = 0;
const PEER: u16 = 2;
const SHOW_NAME_AND_PEER: u32 = 1 | 1 << 2;

/// Encodes the query for all Unix sockets that listen or are connected.
pub(crate) fn unix_query(sequence: u32) -> [u8; HEAD + UNIX_QUESTION] {
    let mut message = [0; HEAD + UNIX_QUESTION];
    let length = message.len() as u32;
    message[0..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_AND_DUMP.to_ne_bytes());
    message[8..12].copy_from_slice(&sequence.to_ne_bytes());
    let question = &mut message[HEAD..];
    question[0] = AF_UNIX;
    let states = 1u32 << TcpState::Listen as u32 | 1 << TcpState::Established as u32;
    question[4..8].copy_from_slice(&states.to_ne_bytes());
    question[12..16].copy_from_slice(&SHOW_NAME_AND_PEER.to_ne_bytes());
    message
}

/// Parses a `unix_diag_msg` and the attributes after it.
pub(crate) fn unix_socket(body: &[u8]) -> Option<UnixSocket> {
    let (fixed, attributes) = body.split_at_checked(UNIX_ANSWER)?;
    let listens = fixed[2] == TcpState::Listen as u8;
    let mut socket = UnixSocket { inode: u32_at(fixed, 4)?, listens, name: Vec::new(), peer: None };
    for_each_attribute(attributes, |kind, value| match kind {
        NAME => socket.name = value.to_vec(),
        PEER => socket.peer = u32_at(value, 0),
        _ => {}
    });
    Some(socket)
}

/// Iterates over attributes; ends if the rest is malformed.
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
