//! State of a connection and of a listener.

use std::os::fd::{OwnedFd, RawFd};

use crate::nagle::Nagle;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpollState {
    Free,
    Connecting,
    Open,
    /// A datagram socket whose `Connected` has not been reported yet.
    Standing,
    /// A datagram socket.
    Datagrams,
    /// A write failed; what can still be read is read first.
    Failing,
    /// `Closed` was reported; waits for `close`.
    Over,
}

/// State of a connection: 16 bytes, so that ten thousand of them fit in the second-level cache.
#[derive(Clone, Copy, Debug)]
pub struct EpollSlot {
    pub fd: RawFd,
    /// Number that distinguishes this connection from earlier ones in the slot, for events of the same turn.
    pub age: u32,
    pub state: EpollState,
    /// Set if registered for writability too.
    pub writable_armed: bool,
    /// Set if bytes are waiting in `unsent`.
    pub backlog: bool,
    /// Set if the peer sends no more: the end of the stream is still to be read, and no further event reports it.
    pub hung_up: bool,
    /// Set if the slot is in `later`: an event before then adds nothing.
    pub later: bool,
    /// Set if the slot is in `unwritten`: writability before then adds nothing.
    pub writing: bool,
    pub nagle: Nagle,
}

pub struct EpollListener {
    pub fd: OwnedFd,
    pub accepting: bool,
    /// Set if no descriptor was left to accept with; cleared once one is closed.
    pub starved: bool,
}
