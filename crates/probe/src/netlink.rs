//! Asking the kernel about its sockets, over netlink. Needs no privilege; a socket for each question costs microseconds.

use std::io::{self, ErrorKind};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

use crate::sock_diag::{Query, Socket, Told, answers};

/// The kernel fills datagrams of at most this size.
const DATAGRAM: usize = 32 << 10;
/// So many sockets are counted; more would take longer than a sample may.
const MOST: usize = 200_000;
/// Where a sample is enough, no more are asked for once there are so many.
const SAMPLE: usize = 96;
/// The kernel answers at once; whoever pretends to be it might not.
const PATIENCE: Duration = Duration::from_secs(1);

/// Puts a question and hands out the answers.
///
/// # Errors
/// What the kernel said; that it is too much; that it was not understood.
pub(crate) fn ask(query: &Query, each: &mut dyn FnMut(Socket)) -> io::Result<()> {
    const SEQUENCE: u32 = 1;
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    send(&socket, &query.encode(SEQUENCE), SendFlags::empty())?;
    let mut buffer = vec![0; DATAGRAM];
    let mut count = 0;
    loop {
        // The whole length is told, so that what was cut is not taken for what is there.
        let (_, length) = retry_on_intr(|| recv(&socket, &mut *buffer, RecvFlags::TRUNC))?;
        let datagram = buffer.get(..length).filter(|datagram| !datagram.is_empty()).ok_or(ErrorKind::InvalidData)?;
        let told = answers(datagram, SEQUENCE, &mut |socket| {
            count += 1;
            each(socket);
        })?;
        match told {
            Told::Done => return Ok(()),
            Told::More if query.sampled && count >= SAMPLE => return Ok(()),
            Told::More if count > MOST => return Err(ErrorKind::FileTooLarge.into()),
            Told::More => {}
        }
    }
}
