//! Exchanges in progress: one cache line each, in a slab indexed by exchange id.

use brunt_measure::Nanos;
use brunt_plan::flow::OnFailure;

use crate::ids::{ConnId, ExchangeId, RequestId, UserId};
use crate::own_delay::CompactDelay;

/// A request from the time it is due to its end.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Exchange {
    /// t: the time at which it was due.
    pub intended: Nanos,
    /// s: the reading of the clock before its first write (or before `connect`, if it opens its own connection).
    pub started: Nanos,
    /// Time at which the request itself was written; equal to `started` on an open connection. Before that, the time at
    /// which the loop took it up.
    pub written: Nanos,
    /// Time of the first byte of the answer; zero before it arrives.
    pub first_byte: Nanos,
    /// The connection that carries it, or that is being opened for it.
    pub conn: ConnId,
    /// Time of the last message of its stream; zero if there was none.
    pub last_message: Nanos,
    /// The user that sends it (closed load).
    pub user: UserId,
    /// Index of the prepared request; [`RequestId::NONE`] if the request was created during the run.
    pub request: RequestId,
    /// Key of its slot values ([`crate::slot_values::SlotSource::repeat`]).
    pub serial: u32,
    /// Name in the figures, as an index into the names of the run.
    pub name: u16,
    /// Current state.
    pub state: ExchangeState,
    /// Delay before it was sent that may be brunt's own.
    pub delayed: CompactDelay,
    /// Number of redirects that it followed. If any, it continues a visit: `intended` and `started` are those of the
    /// first request, `written` and `first_byte` those of the latest hop.
    pub hops: u8,
    /// Flags of how it was sent: [`REUSED`], [`ONE_WAY`], [`HELD_BACK`], [`OF_PAGE`], [`WARMUP`], [`WATCHED`]; and the
    /// reaction to its failure ([`ON_FAILURE`]).
    pub flags: u8,
    /// Number of times it was sent to a peer that did not process it.
    pub resent: u8,
}

impl Exchange {
    /// Creates an exchange that was due at `intended`, was taken up at `now` and waits for a connection.
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

    /// Returns `true` if it was sent on this connection and is in flight.
    pub fn is_on(&self, conn: ConnId) -> bool {
        self.state == ExchangeState::InFlight && self.conn == conn
    }

    /// Returns the exchange of the next hop of a visit, due at `due` and taken up at `now`.
    pub fn next_hop(mut self, due: Nanos, now: Nanos) -> Exchange {
        self.delayed.add(now - due);
        Exchange {
            written: now,
            first_byte: Nanos::ZERO,
            last_message: Nanos::ZERO,
            conn: ConnId::NONE,
            request: RequestId::NONE,
            serial: 0,
            state: ExchangeState::Waiting,
            hops: self.hops.saturating_add(1),
            flags: self.flags & (WARMUP | OF_PAGE | ON_FAILURE),
            resent: 0,
            ..self
        }
    }

    /// Returns `true` if it counts as in flight: it was sent or opens its connection, or its visit has begun.
    #[inline]
    pub fn is_started(&self) -> bool {
        self.state != ExchangeState::Waiting || self.hops > 0
    }

    /// Returns the time from which its timeout counts; each hop has its own.
    #[inline]
    pub fn timed_from(&self) -> Nanos {
        match self.state {
            _ if self.hops > 0 => self.written,
            ExchangeState::Waiting => self.intended,
            _ => self.started,
        }
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

    /// Returns the reaction of the user to its failure, for a request of a batch.
    #[inline]
    pub fn on_failure(&self) -> OnFailure {
        REACTIONS[usize::from((self.flags & ON_FAILURE) / ON_FAILURE_UNIT)]
    }

    /// Sets the reaction of the user to its failure, for a request of a batch.
    pub fn set_on_failure(&mut self, on_failure: OnFailure) {
        let at = REACTIONS.iter().position(|after| *after == on_failure).unwrap_or_default() as u8;
        self.flags = (self.flags & !ON_FAILURE) | (at * ON_FAILURE_UNIT);
    }

    /// Splits the time before its start into `wait_conn` and `gen_late`; a connection became available at `ready`. If
    /// the loop took the request up late and it then had to wait, the lateness comes first: taken up in time, it would
    /// have requested the connection in time, so the server is never blamed for that part.
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

/// Flag: it was sent on a connection that had carried a request before.
pub(crate) const REUSED: u8 = 1;
/// Flag: the concurrency limit of its batch delayed it.
pub(crate) const HELD_BACK: u8 = 4;
/// Flag: it ends once its bytes are written.
pub(crate) const ONE_WAY: u8 = 2;

/// Flag: it is a resource of a page, or a redirect of one, and is not checked.
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

    /// Returns the ids of all exchanges in progress.
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
