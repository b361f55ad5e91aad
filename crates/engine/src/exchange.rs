//! Exchanges that are not over: one cache line each, in a slab whose index is the exchange's id.

use brunt_measure::Nanos;
use brunt_plan::flow::OnFailure;

use crate::ids::{ConnId, ExchangeId, RequestId, UserId};
use crate::own_delay::CompactDelay;

/// A request from the time it is due to its end.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Exchange {
    /// t: the time when it was due.
    pub intended: Nanos,
    /// s: the reading of the clock before its first write (or before `connect`, if it opens its own connection).
    pub started: Nanos,
    /// Time when the request itself was written; equal to `started` on an open connection. Before that, the time when
    /// the loop took it up.
    pub written: Nanos,
    /// Time of the first byte of the answer; zero before.
    pub first_byte: Nanos,
    /// The connection it is on, or the one being opened for it.
    pub conn: ConnId,
    /// Time of the last message of its stream; zero before.
    pub last_message: Nanos,
    /// The user that sends it (closed load).
    pub user: UserId,
    /// Index of the prepared request; [`RequestId::NONE`] if the request was made during the run.
    pub request: RequestId,
    /// Key of its slot values ([`crate::slot_values::SlotSource::repeat`]).
    pub serial: u32,
    /// Name in figures, as an index into the names of the run.
    pub name: u16,
    /// Current state.
    pub state: ExchangeState,
    /// Delay before it was sent that may be brunt's own.
    pub delayed: CompactDelay,
    /// Number of redirects before it.
    pub hops: u8,
    /// Flags of how it was sent: [`REUSED`], [`ONE_WAY`], [`HELD_BACK`], [`OF_PAGE`], [`WARMUP`], [`WATCHED`]; and the
    /// reaction to its failure ([`ON_FAILURE`]).
    pub flags: u8,
    /// Number of times it was sent to a peer that did not process it.
    pub resent: u8,
}

impl Exchange {
    /// Creates an exchange that is due, and was taken up at `now`; it waits for a connection.
    #[inline]
    pub fn due(intended: Nanos, now: Nanos, request: RequestId, name: u16, user: UserId) -> Exchange {
        Exchange {
            intended,
            started: Nanos::ZERO,
            written: now,
            first_byte: Nanos::ZERO,
            last_message: Nanos::ZERO,
            conn: ConnId::NONE,
            user,
            request,
            name,
            serial: 0,
            state: ExchangeState::Waiting,
            delayed: CompactDelay::NONE,
            hops: 0,
            flags: 0,
            resent: 0,
        }
    }

    /// Returns `true` if it was sent on this connection and is not over.
    pub fn is_on(&self, conn: ConnId) -> bool {
        self.state == ExchangeState::InFlight && self.conn == conn
    }

    /// Returns `true` if it was due within the warm-up, and is thus not reported.
    #[inline]
    pub fn is_warmup(&self) -> bool {
        self.flags & WARMUP != 0
    }

    /// Returns `true` if a timer of the wheel watches this slot.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.flags & WATCHED != 0
    }

    /// Sets whether a timer of the wheel watches this slot.
    #[inline]
    pub fn set_watched(&mut self, watched: bool) {
        self.flags = (self.flags & !WATCHED) | (WATCHED * u8::from(watched));
    }

    /// Returns `true` if others of its batch had to end before it was sent.
    #[inline]
    pub fn is_held_back(&self) -> bool {
        self.flags & HELD_BACK != 0
    }

    /// Returns the reaction of the user to a failure of a batch's request.
    #[inline]
    pub fn on_failure(&self) -> OnFailure {
        REACTIONS[usize::from((self.flags & ON_FAILURE) / ON_FAILURE_UNIT)]
    }

    /// Sets the reaction of its user to its failure, for a request of a batch.
    pub fn set_on_failure(&mut self, on_failure: OnFailure) {
        let at = REACTIONS.iter().position(|after| *after == on_failure).unwrap_or_default() as u8;
        self.flags = (self.flags & !ON_FAILURE) | (at * ON_FAILURE_UNIT);
    }

    /// Splits the time before its start into `wait_conn` and `gen_late`; a connection became available at `ready`. A
    /// request that the loop took up late and that then had to wait was late first: had it been taken up in time, the
    /// connection would have been requested in time too, so that much is never blamed on the server.
    #[inline]
    pub fn split_wait(&self, ready: Nanos) -> (Nanos, Nanos) {
        let taken_up = if ready > self.written { self.written } else { self.intended };
        let late_first = taken_up - self.intended;
        (ready - self.intended - late_first, self.started - ready + late_first)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeState {
    Vacant,
    /// Waits for a connection to become free (open load).
    Waiting,
    /// A connection is being opened for it.
    Connecting,
    /// Sent.
    InFlight,
}

/// Set if it was sent on a connection that had carried a request before.
pub(crate) const REUSED: u8 = 1;
/// Set if the concurrency limit of its batch had been reached.
pub(crate) const HELD_BACK: u8 = 4;
/// Set if it is over once its bytes are written.
pub(crate) const ONE_WAY: u8 = 2;

/// Set for a resource of a page, or a redirect of one: it is not checked.
pub(crate) const OF_PAGE: u8 = 32;

/// Set if it was due within the warm-up.
pub(crate) const WARMUP: u8 = 64;
/// Set if a timer of the wheel watches its slot.
const WATCHED: u8 = 128;

/// Bits of the reaction to its failure, as an index into [`REACTIONS`].
const ON_FAILURE: u8 = 3 * ON_FAILURE_UNIT;
const ON_FAILURE_UNIT: u8 = 8;
const REACTIONS: [OnFailure; 4] = [OnFailure::NextIteration, OnFailure::GoOn, OnFailure::StopUser, OnFailure::StopRun];

const _: () = assert!(size_of::<Exchange>() == 64, "one cache line");

/// The slab of exchanges.
#[derive(Debug, Default)]
pub(crate) struct ExchangeSlab {
    slots: Vec<Exchange>,
    free: Vec<ExchangeId>,
}

impl ExchangeSlab {
    #[inline]
    pub fn add(&mut self, exchange: Exchange) -> ExchangeId {
        match self.free.pop() {
            Some(id) => {
                let slot = &mut self.slots[id.at()];
                let watched = slot.is_watched();
                *slot = exchange;
                slot.set_watched(watched);
                id
            }
            None => {
                self.slots.push(exchange);
                ExchangeId::of(self.slots.len() - 1)
            }
        }
    }

    #[inline]
    pub fn get(&mut self, id: ExchangeId) -> &mut Exchange {
        &mut self.slots[id.at()]
    }

    /// Removes an exchange; its slot may be reused at once. A timer that watches the slot stays, and then watches its
    /// next exchange.
    #[inline]
    pub fn remove(&mut self, id: ExchangeId) -> Exchange {
        let slot = &mut self.slots[id.at()];
        let was = *slot;
        slot.state = ExchangeState::Vacant;
        self.free.push(id);
        was
    }

    /// Returns the ids of all exchanges that are not over.
    pub fn alive(&self) -> impl Iterator<Item = ExchangeId> + '_ {
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, e)| e.state != ExchangeState::Vacant)
            .map(|(at, _)| ExchangeId::of(at))
    }

    /// Returns the ids of the exchanges on one connection.
    pub fn on(&self, conn: ConnId) -> Vec<ExchangeId> {
        self.alive().filter(|id| self.slots[id.at()].conn == conn).collect()
    }
}
