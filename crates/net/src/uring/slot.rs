//! One connection of the ring, and its identification in completions.

use std::os::fd::RawFd;

use crate::nagle::Nagle;

/// The operation of a completion: three bits of its user data, next to the connection's age and slot.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum OperationKind {
    Receive = 0,
    Send = 1,
    Writable = 2,
    Cancel = 3,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UringState {
    Free,
    Connecting,
    Open,
    Over,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub fd: RawFd,
    pub age: u32,
    pub state: UringState,
    /// Set if a multishot receive is armed in the kernel.
    pub armed: bool,
    /// Set if bytes are waiting in `unsent`.
    pub backlog: bool,
    /// Set if a write has failed, which the armed receive reports.
    pub failed: bool,
    /// Set if registered with the ring: operations then name the slot, and the kernel looks up no descriptor.
    pub fixed: bool,
    /// Position of its latest queued send in the arena, from which the rest of an incomplete send is taken.
    pub send_at: u32,
    pub send_len: u32,
    /// Turn in which the latest send was queued.
    pub send_turn: u32,
    /// Set if another send was queued before it in the same turn.
    pub send_again: bool,
    /// Number of pieces delivered in the latest turn that delivered any.
    pub pieces: u16,
    pub told_turn: u32,
    /// Number of pieces set aside for later turns.
    pub aside: u16,
    pub nagle: Nagle,
}

pub(super) const AGE: u64 = (1 << 29) - 1;

pub(super) fn mark(kind: OperationKind, slot: u32, age: u32) -> u64 {
    (kind as u64) << 61 | (u64::from(age) & AGE) << 32 | u64::from(slot)
}

impl Slot {
    pub fn vacant() -> Slot {
        Slot {
            fd: -1,
            age: 0,
            state: UringState::Free,
            armed: false,
            backlog: false,
            failed: false,
            fixed: false,
            send_at: 0,
            send_len: 0,
            send_turn: u32::MAX,
            send_again: false,
            pieces: 0,
            told_turn: u32::MAX,
            aside: 0,
            nagle: Nagle::Off,
        }
    }
}
