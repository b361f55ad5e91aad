//! Socket queries to the kernel, over netlink. They need no privilege; opening a socket for each query costs
//! microseconds.

use std::io::{self, ErrorKind};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

use crate::sock_diag::{AnswerProgress, Socket, SocketQuery, answers};

/// Maximum size of a datagram from the kernel.
const DATAGRAM: usize = 32 << 10;
/// Maximum number of sockets counted; more would take longer than a sample may.
const MOST: usize = 200_000;
/// Number of sockets after which a query that only needs a sample stops.
const SAMPLE: usize = 96;
/// Receive timeout. The kernel answers at once; a process pretending to be it might not.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sends a query and passes each socket of the answer to `each`.
///
/// # Errors
/// Returns the kernel's error, or an error if there are too many sockets or the answer is malformed.
pub(crate) fn query(query: &SocketQuery, each: &mut dyn FnMut(Socket)) -> io::Result<()> {
    const SEQUENCE: u32 = 1;
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    send(&socket, &query.encode(SEQUENCE), SendFlags::empty())?;
    let mut buffer = vec![0; DATAGRAM];
    let mut count = 0;
    loop {
        // With TRUNC the full length is returned, so that a truncated datagram is detected.
        let (_, length) = retry_on_intr(|| recv(&socket, &mut *buffer, RecvFlags::TRUNC))?;
        let datagram = buffer.get(..length).filter(|datagram| !datagram.is_empty()).ok_or(ErrorKind::InvalidData)?;
        let told = answers(datagram, SEQUENCE, &mut |socket| {
            count += 1;
            each(socket);
        })?;
        match told {
            AnswerProgress::Done => return Ok(()),
            AnswerProgress::More if query.sampled && count >= SAMPLE => return Ok(()),
            AnswerProgress::More if count > MOST => return Err(ErrorKind::FileTooLarge.into()),
            AnswerProgress::More => {}
        }
    }
}
