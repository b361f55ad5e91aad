//! Creation of sockets, with their options.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use brunt_contract::{ConnectParameters, Errno, PeerAddress};
use brunt_measure::Nanos;
use rustix::event::Timespec;
use rustix::io::Errno as Os;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

pub(crate) fn errno(e: Os) -> Errno {
    Errno(e.raw_os_error())
}

fn family(addr: &SocketAddr) -> AddressFamily {
    if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// Creates a non-blocking socket for `dial`, bound if a source is given, not yet connecting.
pub(crate) fn client(dial: &ConnectParameters) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = match &dial.to {
        PeerAddress::Unix(_) => rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None),
        PeerAddress::Tcp(to) => rustix::net::socket_with(family(to), SocketType::STREAM, flags, None),
        PeerAddress::Udp(to) => rustix::net::socket_with(family(to), SocketType::DGRAM, flags, None),
    }
    .map_err(errno)?;
    if let (PeerAddress::Tcp(_) | PeerAddress::Udp(_), Some(source)) = (&dial.to, dial.source) {
        bind_late(&fd, source)?;
    }
    Ok(fd)
}

/// Starts connecting; returns `true` if the connection is established already.
pub(crate) fn begin(fd: &OwnedFd, to: &PeerAddress) -> Result<bool, Errno> {
    let begun = match to {
        PeerAddress::Tcp(to) | PeerAddress::Udp(to) => rustix::net::connect(fd, to),
        PeerAddress::Unix(path) => SocketAddrUnix::new(path.as_path()).and_then(|to| rustix::net::connect(fd, &to)),
    };
    match begun {
        Ok(()) => Ok(true),
        Err(Os::INPROGRESS) => Ok(false),
        Err(e) => Err(errno(e)),
    }
}

/// Binds to an address and leaves the port to `connect`, where the kernel can give the same port to connections to
/// different destinations: one machine is then not limited to 28,000 connections.
fn bind_late(fd: &OwnedFd, source: IpAddr) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the option takes an int, and a pointer to one with its size is given.
    let set = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if set != 0 {
        return Err(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)));
    }
    rustix::net::bind(fd, &SocketAddr::new(source, 0)).map_err(errno)
}

/// Creates a non-blocking listening socket; `backlog` as in listen(2), `shared` lets several listen on the same
/// address.
///
/// # Errors
/// Returns the error of the operating system.
pub fn listener(at: &PeerAddress, backlog: u32, shared: bool) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = match at {
        PeerAddress::Udp(_) => return Err(Errno(libc::EOPNOTSUPP)),
        PeerAddress::Unix(path) => {
            let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(errno)?;
            let name = SocketAddrUnix::new(path.as_path()).map_err(errno)?;
            rustix::net::bind(&fd, &name).map_err(errno)?;
            fd
        }
        PeerAddress::Tcp(addr) => {
            let fd = rustix::net::socket_with(family(addr), SocketType::STREAM, flags, None).map_err(errno)?;
            sockopt::set_socket_reuseaddr(&fd, true).map_err(errno)?;
            if shared {
                sockopt::set_socket_reuseport(&fd, true).map_err(errno)?;
            }
            // Accepted sockets inherit this option.
            sockopt::set_tcp_nodelay(&fd, true).map_err(errno)?;
            rustix::net::bind(&fd, addr).map_err(errno)?;
            fd
        }
    };
    rustix::net::listen(&fd, i32::try_from(backlog).unwrap_or(i32::MAX)).map_err(errno)?;
    Ok(fd)
}

/// Tells the peer that nothing more is sent. A connection that has just ended has no peer to be told.
pub(crate) fn end_sending(fd: impl std::os::fd::AsFd) {
    let _ = rustix::net::shutdown(fd, rustix::net::Shutdown::Write);
}

/// Returns the address a socket is bound to; `None` for Unix sockets.
pub fn address(socket: impl std::os::fd::AsFd) -> Option<SocketAddr> {
    rustix::net::getsockname(socket).ok()?.try_into().ok()
}

/// Returns the error that a failed connect left on the socket; `None` if it succeeded, even if the peer has closed
/// since.
pub(crate) fn pending_error(fd: impl std::os::fd::AsFd) -> Option<Errno> {
    match sockopt::socket_error(fd) {
        Ok(Err(e)) | Err(e) => Some(errno(e)),
        Ok(Ok(())) => None,
    }
}

/// Converts a duration to the kernel's format.
pub(crate) fn timespec(span: Nanos) -> Timespec {
    Timespec { tv_sec: (span.0 / 1_000_000_000) as i64, tv_nsec: (span.0 % 1_000_000_000) as _ }
}
