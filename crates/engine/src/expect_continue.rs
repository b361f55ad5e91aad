//! Requests whose body is withheld until the peer asks for it, or for a maximum time.
//!
//! They are watched like timeouts: there is one entry per slot of the slab, which is checked when it fires. A body that
//! the peer asks for in time costs nothing, and a run without such requests has no timers.

use brunt_contract::ExchangeId;
use brunt_measure::Nanos;

use crate::timers::Wheel;

/// The waiting requests of one worker.
#[derive(Debug, Default)]
pub(crate) struct ContinueTimers {
    timers: Option<Wheel>,
    /// State by slot.
    slots: Vec<ContinueSlot>,
}

#[derive(Clone, Copy, Debug)]
struct ContinueSlot {
    /// Time at which the wait of the last such request in the slot ends.
    due: Nanos,
    /// Set if a timer watches the slot.
    watched: bool,
}

impl ContinueTimers {
    /// Starts the wait of an exchange at `now`, for at most `at_most`.
    #[cold]
    pub fn watch(&mut self, id: ExchangeId, now: Nanos, at_most: Nanos) {
        let slot = id.0 as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, ContinueSlot { due: Nanos::ZERO, watched: false });
        }
        let due = now.saturating_add(at_most);
        self.slots[slot].due = due;
        if !std::mem::replace(&mut self.slots[slot].watched, true) {
            self.timers.get_or_insert_with(|| Wheel::new(at_most, now)).watch(id.0, due);
        }
    }

    /// Returns when the next wait may end.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.timers.as_ref().map_or(Nanos::MAX, Wheel::next)
    }

    /// Returns the exchanges whose wait is over at `now`; some may have ended.
    pub fn take_expired(&mut self, now: Nanos) -> Vec<ExchangeId> {
        let Some(timers) = &mut self.timers else { return Vec::new() };
        let mut came_up = Vec::new();
        timers.due(now, &mut came_up);
        came_up.retain(|slot| {
            let ContinueSlot { due, watched } = &mut self.slots[*slot as usize];
            *watched = *due > now;
            if *watched {
                timers.watch(*slot, *due);
            }
            !*watched
        });
        came_up.into_iter().map(ExchangeId).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    #[test]
    fn a_wait_is_over_in_its_time_and_not_in_that_of_the_one_before_in_its_slot() {
        let ms = Nanos::from_millis;
        let (mut withheld, a, b) = (ContinueTimers::default(), ExchangeId(0), ExchangeId(5));
        assert_eq!((withheld.next(), withheld.take_expired(SECOND)), (Nanos::MAX, Vec::new()), "nothing was withheld");
        withheld.watch(a, ms(0), SECOND);
        withheld.watch(b, ms(100), SECOND);
        // The first body was requested in time, and its slot is reused for another request.
        withheld.watch(a, ms(600), SECOND);
        assert_eq!(withheld.take_expired(ms(1010)), []);
        assert_eq!(withheld.take_expired(ms(1110)), [b]);
        assert!(withheld.next() <= ms(1610));
        assert_eq!(withheld.take_expired(ms(1610)), [a]);
        assert_eq!((withheld.next(), withheld.take_expired(ms(9000))), (Nanos::MAX, Vec::new()), "each once");
    }
}
