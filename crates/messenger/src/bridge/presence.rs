//! Who came and went, on its way to a client that may stand still: an engine's callback never waits for it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::Presence;

/// Number of events beyond which a presence that waits already waits only once.
const BOUND: usize = 1024;

/// Events that a client has not been told of yet. At most the bound and one for each presence.
#[derive(Default)]
pub(super) struct PresenceQueue {
    waiting: Mutex<WaitingEvents>,
    changed: Condvar,
}

#[derive(Default)]
struct WaitingEvents {
    events: VecDeque<(Presence, bool)>,
    is_closed: bool,
}

impl PresenceQueue {
    fn waiting(&self) -> MutexGuard<'_, WaitingEvents> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn push(&self, presence: &Presence, is_there: bool) {
        let mut waiting = self.waiting();
        if waiting.events.len() >= BOUND {
            waiting.events.retain(|(waits, _)| waits != presence);
        }
        waiting.events.push_back((presence.clone(), is_there));
        self.changed.notify_one();
    }

    /// Returns the next event once there is one; `None` once the queue is closed.
    pub fn next(&self) -> Option<(Presence, bool)> {
        let mut waiting = self.waiting();
        loop {
            if waiting.is_closed {
                return None;
            }
            if let Some(event) = waiting.events.pop_front() {
                return Some(event);
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    pub fn close(&self) {
        self.waiting().is_closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_ends_as_it_is() {
        let of = |instance| Presence { name: "a".into(), instance };
        let queue = PresenceQueue::default();
        for n in 0..3 * BOUND as u16 {
            queue.push(&of(n % 5), n % 2 == 0);
        }
        assert!(queue.waiting().events.len() <= BOUND);
        queue.push(&of(1), true);
        queue.push(&of(1), false);
        let mut last = None;
        while !queue.waiting().events.is_empty() {
            last = queue.next();
        }
        assert_eq!(last, Some((of(1), false)));
        queue.close();
        assert_eq!(queue.next(), None);
    }
}
