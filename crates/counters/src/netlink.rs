//! Socket queries to the kernel, over netlink. They need no privilege; opening a socket for each query costs
//! microseconds.

use std::io::{self, ErrorKind};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

use crate::sock_diag::{AnswerProgress, Socket, SocketQuery, UnixSocket, answers, socket, unix_query, unix_socket};

/// Maximum size of a datagram from the kernel.
const DATAGRAM: usize = 32 << 10;
/// Maximum number of sockets counted; more would take longer than a sample may.
const MOST: usize = 200_000;
/// Number of sockets after which a query that only needs a sample stops.
const SAMPLE: usize = 96;
/// Receive timeout. The kernel answers at once; a process pretending to be it might not.
const PATIENCE: Duration = Duration::from_secs(1);

const SEQUENCE: u32 = 1;

/// Sends a query and passes each socket of the answer to `each`.
///
/// # Errors
/// Returns the kernel's error, or an error if there are too many sockets or the answer is malformed.
pub(crate) fn query(query: &SocketQuery, each: &mut dyn FnMut(Socket)) -> io::Result<()> {
    ask(&query.encode(SEQUENCE), socket, if query.sampled { SAMPLE } else { usize::MAX }, each)
}

/// Passes each Unix socket that listens or is connected to `each`.
///
/// # Errors
/// Like [`query`].
pub(crate) fn unix_sockets(each: &mut dyn FnMut(UnixSocket)) -> io::Result<()> {
    ask(&unix_query(SEQUENCE), unix_socket, usize::MAX, each)
}

/// Sends a request and passes each part of the answer to `each`, until there were enough.
fn ask<T>(request: &[u8], parse: fn(&[u8]) -> Option<T>, enough: usize, each: &mut dyn FnMut(T)) -> io::Result<()> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    send(&socket, request, SendFlags::empty())?;
    let mut buffer = vec![0; DATAGRAM];
    let mut count = 0;
    loop {
        // With TRUNC the full length is returned, so that a truncated datagram is detected.
        let (_, length) = retry_on_intr(|| recv(&socket, &mut *buffer, RecvFlags::TRUNC))?;
        let datagram = buffer.get(..length).filter(|datagram| !datagram.is_empty()).ok_or(ErrorKind::InvalidData)?;
        let told = answers(datagram, SEQUENCE, parse, &mut |part| {
            count += 1;
            each(part);
        })?;
        match told {
            AnswerProgress::Done => return Ok(()),
            AnswerProgress::More if count >= enough => return Ok(()),
            AnswerProgress::More if count > MOST => return Err(ErrorKind::FileTooLarge.into()),
            AnswerProgress::More => {}
        }
    }
}
