//! The requests of a worker: those on their way, what fills them, what is counted of them, and what came of them. Connections carry
//! them; nothing here knows how.

mod over;
mod users;

use std::collections::VecDeque;
use std::sync::Arc;

use measure::Nanos;
use wire::{Dialogue, Lesson};

use crate::books::Books;
use crate::checked::Checked;
use crate::examples::Examples;
use crate::exchange::Exchange;
use crate::flights::Flights;
use crate::ids::{ExchangeId, RequestId, UserId};
use crate::limits::Limits;
use crate::memories::Memories;
use crate::outcome::Outcome;

/// The requests of a worker.
pub(crate) struct Traffic {
    pub(super) dialogue: Arc<dyn Dialogue>,
    pub(super) limits: Limits,
    /// The latest reading of the clock: at most one read, and what follows from it, old.
    pub(super) stamp: Nanos,
    /// When what is dealt with now came to be known: the stamp, or before it by as much as a look into it took.
    pub(super) heard: Nanos,
    pub(super) flights: Flights,
    pub(super) books: Books,
    pub(super) examples: Examples,
    /// What came of what was wanted, for users to hear of.
    pub(super) outcomes: Vec<Outcome>,
    /// Messages that came unasked on connections of users, where those hear them.
    pub(super) messages: VecDeque<(UserId, Box<[u8]>)>,
    /// Where users keep something of answers.
    pub(super) memories: Option<Memories>,
    /// Users keep answers, and do not ask again as long as those are good.
    pub(super) recalls: bool,
    /// What the answer that ends now asks to be kept.
    pub(super) lesson: Option<Lesson>,
    /// What is checked by name.
    pub(super) checks: Option<Arc<Checked>>,
    /// When arrivals were last held back in the schedule: too many waited.
    held_back: Nanos,
}

/// What it is made of.
pub(crate) struct Parts {
    pub dialogue: Arc<dyn Dialogue>,
    pub limits: Limits,
    pub now: Nanos,
    pub flights: Flights,
    pub books: Books,
    /// What users keep, where they keep anything.
    pub memories: Option<Memories>,
    pub checks: Option<Arc<Checked>>,
}

impl Traffic {
    /// None yet.
    pub fn new(parts: Parts) -> Traffic {
        let Parts { dialogue, limits, now, flights, books, memories, checks } = parts;
        Traffic {
            stamp: now,
            heard: now,
            flights,
            books,
            examples: Examples::of(dialogue.names().list().len()),
            outcomes: Vec::new(),
            messages: VecDeque::new(),
            memories,
            recalls: dialogue.prepared().recalls,
            lesson: None,
            checks,
            held_back: Nanos::ZERO,
            dialogue,
            limits,
        }
    }

    /// A request is due: an exchange that waits for a connection.
    pub(super) fn add(&mut self, due: Nanos, request: RequestId, name: u16, user: UserId, hops: u8) -> ExchangeId {
        let warmup = due < self.limits.window;
        self.books.due(name, user, warmup);
        self.flights.add(Exchange { warmup, hops, ..Exchange::due(due, self.taken_up(due), request, name, user) })
    }

    /// True where no further arrival may wait for a connection. Those who wait are found out by difference: nothing is counted for it.
    #[inline]
    pub fn queue_is_full(&self) -> bool {
        u64::from(self.flights.alive()) > self.books.in_flight() + self.limits.queue
    }

    /// An arrival is due and stays in the schedule.
    #[cold]
    pub fn hold_back(&mut self) {
        self.held_back = self.stamp;
    }

    /// When an arrival was taken up that is taken from the schedule now: it is not our lateness where the queue was full.
    #[inline]
    fn taken_up(&self, due: Nanos) -> Nanos {
        if due <= self.held_back { due } else { self.stamp }
    }

    /// The load is not what was planned any more.
    pub fn lasts_otherwise(&mut self) {
        self.limits.lasts_otherwise();
    }

    /// The window ends then, if not before.
    pub fn ends_by(&mut self, end: Nanos) {
        self.limits.ends_by(end);
        self.books.ends_at(end);
    }

    /// The window's end is known now.
    pub fn ends_at(&mut self, end: Nanos) {
        self.limits.end = Some(end);
        self.books.ends_at(end);
    }

    /// What happened that users are to hear of: messages in their order, and what came of requests.
    #[inline]
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        match self.messages.pop_front() {
            Some((user, message)) => Some(Outcome::Heard { user, message }),
            None => self.outcomes.pop(),
        }
    }

    /// This happened to a user.
    pub fn comes_of(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// True where users have something to hear.
    #[inline]
    pub fn has_outcomes(&self) -> bool {
        !self.outcomes.is_empty() || !self.messages.is_empty()
    }
}
