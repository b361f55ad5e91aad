//! Requests of a worker: those in flight, with their slot values, counts and outcomes. This module does not depend on
//! how connections carry them.

mod request_end;
mod users;

use std::collections::VecDeque;
use std::sync::Arc;

use brunt_contract::{StateUpdate, Workload};
use brunt_measure::Nanos;

use crate::examples::ExampleFilter;
use crate::exchange::{Exchange, WARMUP};
use crate::ids::{ExchangeId, RequestId, UserId};
use crate::in_flight::InFlight;
use crate::limits::Limits;
use crate::named_checks::NamedChecks;
use crate::outcome::UserOutcome;
use crate::recorder::Recorder;
use crate::user_states::UserStates;

/// The requests of a worker.
pub(crate) struct Traffic {
    pub(super) workload: Arc<dyn Workload>,
    pub(super) limits: Limits,
    /// The latest reading of the clock: at least as recent as the last read from a socket and the work that followed
    /// it.
    pub(super) stamp: Nanos,
    /// Time at which the event being processed was read: `stamp`, or earlier by the time that parsing took.
    pub(super) event_time: Nanos,
    pub(super) in_flight: InFlight,
    pub(super) recorder: Recorder,
    pub(super) examples: ExampleFilter,
    /// Outcomes of requests, queued for users.
    pub(super) outcomes: Vec<UserOutcome>,
    /// Unsolicited messages on connections of users, if users receive such messages.
    pub(super) messages: VecDeque<(UserId, Box<[u8]>)>,
    /// State that users keep from answers, if they keep any.
    pub(super) user_states: Option<UserStates>,
    /// Set if users cache answers and do not send a request while its answer is fresh.
    pub(super) caches: bool,
    /// The state update from the answer that is currently ending.
    pub(super) state_update: Option<StateUpdate>,
    /// The named checks.
    pub(super) checks: Option<Arc<NamedChecks>>,
    /// Time at which arrivals were last held back in the schedule because the queue was full.
    held_back: Nanos,
}

/// The parts from which [`Traffic`] is built.
pub(crate) struct TrafficParts {
    pub workload: Arc<dyn Workload>,
    pub limits: Limits,
    pub now: Nanos,
    pub in_flight: InFlight,
    pub recorder: Recorder,
    /// State that users keep, if they keep any.
    pub user_states: Option<UserStates>,
    pub checks: Option<Arc<NamedChecks>>,
}

impl Traffic {
    /// Creates the state without requests.
    pub fn new(parts: TrafficParts) -> Traffic {
        let TrafficParts {
            workload: dialogue,
            limits,
            now,
            in_flight: flights,
            recorder: books,
            user_states: memories,
            checks,
        } = parts;
        Traffic {
            stamp: now,
            event_time: now,
            in_flight: flights,
            recorder: books,
            examples: ExampleFilter::of(dialogue.names().list().len()),
            outcomes: Vec::new(),
            messages: VecDeque::new(),
            user_states: memories,
            caches: dialogue.prepared().caches_responses,
            state_update: None,
            checks,
            held_back: Nanos::ZERO,
            workload: dialogue,
            limits,
        }
    }

    /// Adds a due request as an exchange that waits for a connection.
    pub(super) fn add(&mut self, due: Nanos, request: RequestId, name: u16, user: UserId) -> ExchangeId {
        let warmup = due < self.limits.window;
        let flags = WARMUP * u8::from(warmup);
        self.recorder.due(name, user, warmup);
        self.in_flight.add(Exchange { flags, ..Exchange::due(due, self.taken_up(due), request, name, user) })
    }

    /// Returns `true` if no more arrivals may wait for a connection. The number of waiting arrivals is the difference
    /// of two others, so it needs no counter.
    #[inline]
    pub fn queue_is_full(&self) -> bool {
        u64::from(self.in_flight.alive()) > self.recorder.in_flight() + self.limits.queue
    }

    /// Records that an arrival is due but stays in the schedule.
    #[cold]
    pub fn hold_back(&mut self) {
        self.held_back = self.stamp;
    }

    /// Returns the time at which an arrival that is now taken from the schedule counts as taken up: if a full queue
    /// held it back, the delay does not count as our lateness.
    #[inline]
    fn taken_up(&self, due: Nanos) -> Nanos {
        if due <= self.held_back { due } else { self.stamp }
    }

    /// Records that the load differs from the plan from now on.
    pub fn load_changed(&mut self) {
        self.limits.load_changed();
    }

    /// Ends the window at `end`, unless it ends earlier.
    pub fn ends_by(&mut self, end: Nanos) {
        self.limits.ends_by(end);
        self.recorder.ends_at(end);
    }

    /// Sets the end of the window, now that it is known.
    pub fn ends_at(&mut self, end: Nanos) {
        self.limits.end = Some(end);
        self.recorder.ends_at(end);
    }

    /// Returns the next event for users: first messages, in order, then outcomes of requests.
    #[inline]
    pub fn next_outcome(&mut self) -> Option<UserOutcome> {
        match self.messages.pop_front() {
            Some((user, message)) => Some(UserOutcome::Message { user, message }),
            None => self.outcomes.pop(),
        }
    }

    /// Queues an outcome for a user.
    pub fn push_outcome(&mut self, outcome: UserOutcome) {
        self.outcomes.push(outcome);
    }

    /// Returns `true` if events are queued for users.
    #[inline]
    pub fn has_outcomes(&self) -> bool {
        !self.outcomes.is_empty() || !self.messages.is_empty()
    }
}
