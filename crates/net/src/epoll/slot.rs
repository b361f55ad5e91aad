//! State of a connection and of a listener.

use std::os::fd::{OwnedFd, RawFd};

use crate::nagle::Nagle;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpollState {
    Free,
    Connecting,
    Open,
    /// A datagram socket whose `Connected` is not reported yet.
    Standing,
    /// A datagram socket.
    Datagrams,
    /// A write failed; what can still be read is read first.
    Failing,
    /// `Closed` was reported; waits for `close`.
    Over,
}

/// 16 bytes per connection, so that ten thousand of them fit in the second-level cache.
#[derive(Clone, Copy, Debug)]
pub struct EpollSlot {
    pub fd: RawFd,
    /// Distinguishes this connection from earlier ones in the slot, in events of the same turn.
    pub age: u32,
    pub state: EpollState,
    /// Registered for writability too.
    pub writable_armed: bool,
    /// Has bytes waiting in `unsent`.
    pub backlog: bool,
    /// Set if the peer sends no more: the end of the stream is still to be read, and no further event reports it.
    pub hung_up: bool,
    /// Set if the slot is in `later`: an event before its turn adds nothing.
    pub later: bool,
    pub nagle: Nagle,
}

pub struct EpollListener {
    pub fd: OwnedFd,
    pub accepting: bool,
    /// Set if no descriptor was left to accept with; cleared once one is closed.
    pub starved: bool,
}
