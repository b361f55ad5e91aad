//! Arrivals deferred to later turns: a connection that sends faster than it is read gets its share of each turn, and
//! the pieces beyond it are set aside. Its receive is armed again once all of them are delivered, which leaves the
//! buffers to other connections.

use brunt_contract::Errno;

use super::slot::UringState;
use super::{CompletionEvent, Uring};

/// Maximum number of pieces of one connection delivered in a turn.
const SHARE: u16 = 8;

/// A deferred arrival on a connection.
pub(super) struct DeferredArrival {
    slot: u32,
    age: u32,
    what: DeferredKind,
}

enum DeferredKind {
    Piece(u16, usize),
    Over(Option<Errno>),
}

impl Uring {
    /// Returns `true` if the connection has had its share of this turn, or must stay behind pieces that were set aside.
    #[inline]
    pub(super) fn is_over_share(&mut self, slot: u32) -> bool {
        let turn = self.turn;
        let s = &mut self.slots[slot as usize];
        if s.told_turn != turn {
            (s.told_turn, s.pieces) = (turn, 0);
        }
        s.aside > 0 || s.pieces >= SHARE
    }

    #[cold]
    pub(super) fn set_aside(&mut self, slot: u32, buffer: u16, n: usize) {
        self.keep(slot, DeferredKind::Piece(buffer, n));
    }

    /// Defers the end of a connection until its deferred pieces are delivered.
    #[cold]
    pub(super) fn end_later(&mut self, slot: u32, why: Option<Errno>) {
        self.keep(slot, DeferredKind::Over(why));
    }

    fn keep(&mut self, slot: u32, what: DeferredKind) {
        let s = &mut self.slots[slot as usize];
        s.aside += 1;
        self.aside.push_back(DeferredArrival { slot, age: s.age, what });
    }

    /// Returns the next arrival deferred in an earlier turn that is due in this one.
    pub(super) fn next_deferred(&mut self) -> Option<CompletionEvent> {
        while self.recalls > 0 {
            self.recalls -= 1;
            let kept = self.aside.pop_front()?;
            let (slot, turn) = (kept.slot, self.turn);
            let s = &mut self.slots[slot as usize];
            if s.age != kept.age || s.state != UringState::Open {
                if let DeferredKind::Piece(buffer, _) = kept.what {
                    self.buffers.give_back(buffer);
                }
                continue;
            }
            if s.told_turn != turn {
                (s.told_turn, s.pieces) = (turn, 0);
            }
            if s.pieces >= SHARE {
                self.aside.push_back(kept);
                continue;
            }
            (s.pieces, s.aside) = (s.pieces + 1, s.aside - 1);
            match kept.what {
                DeferredKind::Piece(buffer, n) => {
                    if s.aside == 0 && !s.armed {
                        self.rearm.push_back(slot);
                    }
                    return Some(CompletionEvent::Bytes(slot, buffer, n));
                }
                DeferredKind::Over(why) => {
                    s.state = UringState::Over;
                    return Some(CompletionEvent::Closed(slot, why));
                }
            }
        }
        None
    }
}
