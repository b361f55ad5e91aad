//! Nagle's algorithm holds a small write back until the previous one is acknowledged: for 40 ms if the peer delays its
//! acknowledgements. It is switched off before a connection's second write, so that a connection with one request in
//! one write does not pay a system call for it.

use std::os::fd::BorrowedFd;

use brunt_contract::PeerAddress;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nagle {
    /// Still on, and nothing has been written that a later write could wait for.
    Untouched,
    /// Still on after the first write.
    Written,
    Off,
}

impl Nagle {
    pub fn towards(to: &PeerAddress) -> Nagle {
        if matches!(to, PeerAddress::Tcp(_)) { Nagle::Untouched } else { Nagle::Off }
    }

    /// Prepares a write and returns the new state. Call this before each write, and again with `whole` set to `false`
    /// after a partial one.
    #[inline]
    pub fn before_write(self, fd: BorrowedFd<'_>, whole: bool) -> Nagle {
        match self {
            Nagle::Untouched if whole => Nagle::Written,
            Nagle::Off => Nagle::Off,
            _ => switch_off(fd),
        }
    }
}

#[cold]
fn switch_off(fd: BorrowedFd<'_>) -> Nagle {
    // Fails only if the connection has already ended, which the next read or write reports.
    let _ = rustix::net::sockopt::set_tcp_nodelay(fd, true);
    Nagle::Off
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn only_a_second_write_or_a_write_in_pieces_pays_for_the_call() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let after = |pieces: &[bool]| {
            let stream = TcpStream::connect(at).unwrap();
            let begun = Nagle::towards(&PeerAddress::Tcp(at));
            let ended = pieces.iter().fold(begun, |nagle, whole| nagle.before_write(stream.as_fd(), *whole));
            assert_eq!(ended == Nagle::Off, stream.nodelay().unwrap(), "{pieces:?}");
            ended
        };
        assert_eq!(after(&[]), Nagle::Untouched);
        assert_eq!(after(&[true]), Nagle::Written);
        assert_eq!(after(&[true, true]), Nagle::Off);
        assert_eq!(after(&[false]), Nagle::Off);
        assert_eq!(after(&[true, false, true]), Nagle::Off);
    }
}
