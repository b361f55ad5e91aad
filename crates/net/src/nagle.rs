//! Nagle's algorithm holds a small write back until the one before it was acknowledged: 40 ms, where the other side delays
//! its acknowledgements. It is switched off before a connection's second write, so that a connection of one request and
//! one write does not pay a system call for it.

use std::os::fd::BorrowedFd;

use wire::Place;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nagle {
    /// Still on, and nothing was written that a later write could wait for.
    Untouched,
    /// Still on after the first write.
    Written,
    Off,
}

impl Nagle {
    pub fn towards(to: &Place) -> Nagle {
        if matches!(to, Place::Tcp(_)) { Nagle::Untouched } else { Nagle::Off }
    }

    /// To be called before each write, and once more where a write was not taken `whole`; returns what is true after it.
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
    // Refused only where the connection has ended already; the next read or write tells that.
    let _ = rustix::net::sockopt::set_tcp_nodelay(fd, true);
    Nagle::Off
}
