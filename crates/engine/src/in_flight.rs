//! The exchanges in progress: their requests, states and timeouts.

use std::sync::Arc;

use brunt_contract::{Request, SlotContext, Workload};
use brunt_measure::Nanos;

use crate::exchange::{Exchange, ExchangeSlab, ExchangeState};
use crate::ids::{ConnId, ExchangeId, RequestId, UserId};
use crate::slot_values::SlotSource;
use crate::timers::Wheel;

/// Timeouts of a run whose requests have different timeouts.
#[derive(Debug, Default)]
struct RequestTimeouts {
    /// Timeout of each prepared request.
    by_request: Vec<Nanos>,
    /// Timeout of the current or the last exchange of each slot.
    by_slot: Vec<Nanos>,
    /// Time at which each slot is checked: timers that fire earlier belong to an earlier exchange.
    checks_at: Vec<Nanos>,
}

impl RequestTimeouts {
    fn set(&mut self, id: ExchangeId, timeout: Nanos) {
        let slot = id.at();
        if self.by_slot.len() <= slot {
            self.by_slot.resize(slot + 1, timeout);
            self.checks_at.resize(slot + 1, Nanos::ZERO);
        }
        self.by_slot[slot] = timeout;
    }
}

/// The exchanges of one worker that are in progress.
pub(crate) struct InFlight {
    slab: ExchangeSlab,
    alive: u32,
    /// Requests created during the run (such as hops of redirects), by the slot of their exchange.
    derived: Vec<Option<Arc<Request>>>,
    fills: SlotSource,
    /// Sequence numbers of requests on their connections, by the slot of their exchange; empty if none has any.
    sequences: Vec<u64>,
    timeout: Nanos,
    timeouts: Wheel,
    /// Set if some requests have their own timeout.
    own_timeouts: Option<Box<RequestTimeouts>>,
    /// Reused buffer.
    expired: Vec<u32>,
}

impl InFlight {
    /// Creates an empty set; `timeout` applies to each exchange.
    pub fn new(timeout: Nanos, now: Nanos, fills: SlotSource) -> InFlight {
        InFlight {
            slab: ExchangeSlab::default(),
            alive: 0,
            derived: Vec::new(),
            fills,
            sequences: Vec::new(),
            timeout,
            timeouts: Wheel::new(timeout, now),
            own_timeouts: None,
            expired: Vec::new(),
        }
    }

    /// Sets the timeouts of prepared requests; `None` for the common one.
    pub fn with_timeouts(self, own: &[Option<Nanos>], now: Nanos) -> InFlight {
        if own.iter().all(Option::is_none) {
            return self;
        }
        let of_requests: Vec<Nanos> = own.iter().map(|own| own.unwrap_or(self.timeout)).collect();
        let all = || of_requests.iter().copied().chain([self.timeout]);
        let (shortest, longest) = (all().min().unwrap_or(self.timeout), all().max().unwrap_or(self.timeout));
        let timeouts = Wheel::for_timeouts((shortest, longest), now);
        InFlight {
            timeouts,
            own_timeouts: Some(Box::new(RequestTimeouts { by_request: of_requests, ..RequestTimeouts::default() })),
            ..self
        }
    }

    /// Returns `true` if requests have different timeouts.
    pub fn has_own_timeouts(&self) -> bool {
        self.own_timeouts.is_some()
    }

    /// Returns the timeout of an exchange that is in its slot, or was there last.
    #[inline]
    pub fn timeout(&self, id: ExchangeId) -> Nanos {
        match &self.own_timeouts {
            None => self.timeout,
            Some(apart) => apart.by_slot.get(id.at()).copied().unwrap_or(self.timeout),
        }
    }

    /// Returns the timeout of a prepared request.
    pub fn timeout_of(&self, request: RequestId) -> Nanos {
        let own = self.own_timeouts.as_ref().and_then(|apart| apart.by_request.get(request.at()));
        own.copied().unwrap_or(self.timeout)
    }

    /// Sets the timeout of an exchange, which is that of the exchange it follows.
    pub fn set_timeout(&mut self, id: ExchangeId, timeout: Nanos) {
        if let Some(apart) = &mut self.own_timeouts {
            apart.set(id, timeout);
        }
    }

    /// Returns the number of exchanges in progress.
    pub fn alive(&self) -> u32 {
        self.alive
    }

    #[inline]
    pub fn add(&mut self, exchange: Exchange) -> ExchangeId {
        self.alive += 1;
        let id = self.slab.add(exchange);
        if let Some(apart) = &mut self.own_timeouts {
            let timeout = apart.by_request.get(exchange.request.at()).copied().unwrap_or(self.timeout);
            apart.set(id, timeout);
        }
        id
    }

    /// Sets the request of an exchange whose request was created during the run.
    pub fn set_request(&mut self, id: ExchangeId, request: Arc<Request>) {
        let slot = id.at();
        if self.derived.len() <= slot {
            self.derived.resize_with(slot + 1, || None);
        }
        self.derived[slot] = Some(request);
    }

    #[inline]
    pub fn get(&mut self, id: ExchangeId) -> &mut Exchange {
        self.slab.get(id)
    }

    /// Removes an exchange. Its request is kept until [`InFlight::forget`].
    #[inline]
    pub fn take(&mut self, id: ExchangeId) -> Exchange {
        self.alive -= 1;
        self.slab.remove(id)
    }

    /// Drops the request of a removed exchange.
    #[inline]
    pub fn forget(&mut self, x: &Exchange, id: ExchangeId) {
        if x.request == RequestId::NONE
            && let Some(own) = self.derived.get_mut(id.at())
        {
            *own = None;
        }
    }

    /// Returns the request of an exchange: a prepared one, or its own.
    #[inline]
    pub fn request<'a>(&'a self, prepared: &'a dyn Workload, x: &Exchange, id: ExchangeId) -> Option<&'a Request> {
        match prepared.requests().get(x.request.at()) {
            Some(prepared) => Some(&prepared.request),
            None => self.derived.get(id.at())?.as_deref(),
        }
    }

    /// Returns `true` if requests have slots to be filled.
    #[inline]
    pub fn has_slots(&self) -> bool {
        self.fills.has_slots
    }

    /// Returns `true` if a user already has a number for the iteration it begins.
    pub fn has_number(&self, user: UserId) -> bool {
        self.fills.is_fresh(user)
    }

    /// Sets whether a user has the number of an iteration that it has not begun.
    pub fn set_number_fresh(&mut self, user: UserId, fresh: bool) {
        self.fills.set_fresh(user, fresh);
    }

    /// Begins another iteration of a user's flow.
    pub fn iteration_begins(&mut self, user: UserId) {
        self.fills.iteration_begins(user);
    }

    /// Returns the slot values for an exchange submitted now.
    #[inline]
    pub fn fill(&mut self, id: ExchangeId, now: Nanos) -> SlotContext<'static> {
        self.fills.fill_for(self.slab.get(id), now)
    }

    /// Returns the slot values for a request that may not have to be sent; `prepared` is set unless it was derived from
    /// an answer.
    pub fn preview_fill(&self, user: UserId, prepared: bool, now: Nanos) -> SlotContext<'static> {
        if prepared { self.fills.peek(user, now) } else { self.fills.for_hop(now) }
    }

    /// Returns the slot values of a submitted exchange that is in its slot, or was there last.
    pub fn filled(&self, x: &Exchange, id: ExchangeId) -> SlotContext<'static> {
        let sequence = self.sequences.get(id.at()).copied().unwrap_or(0);
        SlotContext { sequence, ..self.fills.repeat(x.serial, x.user, x.written) }
    }

    /// Sets the sequence number of an exchange on its connection.
    pub fn set_sequence(&mut self, id: ExchangeId, sequence: u64) {
        let slot = id.at();
        if self.sequences.len() <= slot {
            self.sequences.resize(slot + 1, 0);
        }
        self.sequences[slot] = sequence;
    }

    /// Starts the timeout of an exchange, unless it is already watched.
    #[inline]
    pub fn watch(&mut self, id: ExchangeId, since: Nanos) {
        let x = self.slab.get(id);
        if let Some(apart) = &mut self.own_timeouts {
            let slot = id.at();
            let until = since + apart.by_slot[slot];
            if !x.is_watched() || apart.checks_at[slot] > until {
                apart.checks_at[slot] = self.timeouts.watch(id.0, until);
            }
            x.set_watched(true);
        } else if !x.is_watched() {
            x.set_watched(true);
            self.timeouts.watch(id.0, since + self.timeout);
        }
    }

    /// Returns when the next timeout may expire.
    pub fn next_timeout(&self) -> Nanos {
        self.timeouts.next()
    }

    /// Returns the slots whose timers have fired at `now`. Each must be checked with [`InFlight::times_out`], and the
    /// vector returned with [`InFlight::recycle`].
    pub fn take_expired(&mut self, now: Nanos) -> Vec<u32> {
        let mut came_up = std::mem::take(&mut self.expired);
        self.timeouts.due(now, &mut came_up);
        came_up
    }

    /// Takes back the vector of [`InFlight::take_expired`] for reuse.
    pub fn recycle(&mut self, mut came_up: Vec<u32>) {
        came_up.clear();
        self.expired = came_up;
    }

    /// Checks a slot whose timer fired. Returns its exchange if it has timed out at `now`; otherwise sets the timer
    /// again.
    pub fn times_out(&mut self, slot: u32, now: Nanos) -> Option<Exchange> {
        let timeout = self.timeout(ExchangeId(slot));
        if self.own_timeouts.as_ref().is_some_and(|apart| apart.checks_at[slot as usize] > now) {
            // Another timer watches the current exchange.
            return None;
        }
        let x = self.slab.get(ExchangeId(slot));
        let since = x.timed_from();
        x.set_watched(x.state != ExchangeState::Vacant && since + timeout > now);
        if x.is_watched() {
            let looks = self.timeouts.watch(slot, since + timeout);
            if let Some(apart) = &mut self.own_timeouts {
                apart.checks_at[slot as usize] = looks;
            }
            return None;
        }
        Some(*x).filter(|x| x.state != ExchangeState::Vacant)
    }

    /// Returns `true` if an exchange that ends at `now` had timed out.
    #[inline]
    pub fn is_late(&self, (id, x): (ExchangeId, &Exchange), now: Nanos) -> bool {
        now > x.timed_from() + self.timeout(id)
    }

    /// Returns `true` if the response of a timed-out exchange began after its timeout.
    pub fn began_late(&self, id: ExchangeId, x: &Exchange) -> bool {
        x.first_byte > x.timed_from() + self.timeout(id)
    }

    /// Returns `true` if a waiting exchange has timed out at `now`.
    pub fn waited_too_long(&mut self, id: ExchangeId, now: Nanos) -> bool {
        let timeout = self.timeout(id);
        self.slab.get(id).timed_from() + timeout <= now
    }

    /// Returns the ids of all exchanges in progress.
    pub fn all(&self) -> Vec<ExchangeId> {
        self.slab.alive().collect()
    }

    /// Returns the ids of the exchanges on one connection.
    pub fn on(&self, conn: ConnId) -> Vec<ExchangeId> {
        self.slab.on(conn)
    }
}

#[cfg(test)]
mod tests {
    use brunt_plan::Share;

    use super::*;

    const TIMEOUT: Nanos = Nanos::from_secs(1);

    fn flights() -> InFlight {
        InFlight::new(
            TIMEOUT,
            Nanos::ZERO,
            SlotSource::new(Share::WHOLE, 1, (1, 1), brunt_load::NumberSequence::from(1), false),
        )
    }

    fn due(in_flight: &mut InFlight, at: u64, request: RequestId) -> ExchangeId {
        in_flight.add(Exchange::due(Nanos::from_millis(at), Nanos::from_millis(at), request, 0, UserId(0)))
    }

    /// Returns the slots whose exchanges have timed out at `at`.
    fn over(in_flight: &mut InFlight, at: u64) -> Vec<u32> {
        let at = Nanos::from_millis(at);
        let came_up = in_flight.take_expired(at);
        let over = came_up.iter().copied().filter(|slot| in_flight.times_out(*slot, at).is_some()).collect();
        in_flight.recycle(came_up);
        over
    }

    #[test]
    fn who_waits_times_out_by_its_due_moment_and_who_started_by_its_start() {
        let mut flights = flights();
        let (waits, started) = (due(&mut flights, 0, RequestId(0)), due(&mut flights, 0, RequestId(0)));
        flights.watch(waits, Nanos::ZERO);
        flights.watch(started, Nanos::ZERO);
        let x = flights.get(started);
        (x.state, x.started) = (ExchangeState::InFlight, Nanos::from_millis(500));
        assert_eq!(over(&mut flights, 900), [0; 0]);
        assert_eq!(over(&mut flights, 1100), [waits.0]);
        assert_eq!(over(&mut flights, 1400), [0; 0], "it was watched on");
        assert_eq!(over(&mut flights, 1700), [started.0]);
    }

    #[test]
    fn what_has_a_timeout_of_its_own_times_out_by_that_whatever_its_slot_served_before() {
        let mut flights = flights().with_timeouts(&[None, Some(Nanos::from_millis(100))], Nanos::ZERO);
        let long = due(&mut flights, 0, RequestId(0));
        flights.watch(long, Nanos::ZERO);
        flights.take(long);
        for at in [100, 300, 500] {
            let short = due(&mut flights, at, RequestId(1));
            assert_eq!((short, flights.timeout(short)), (long, Nanos::from_millis(100)));
            flights.watch(short, Nanos::from_millis(at));
            assert_eq!(over(&mut flights, at + 99), [0; 0]);
            assert_eq!(over(&mut flights, at + 102), [short.0]);
            flights.take(short);
        }
        let long = due(&mut flights, 700, RequestId(0));
        flights.watch(long, Nanos::from_millis(700));
        for at in (750..1700).step_by(50) {
            assert_eq!(over(&mut flights, at), [0; 0], "{at}");
        }
        assert_eq!(over(&mut flights, 1710), [long.0]);
        // A request that follows another one, with its own timeout.
        let hop = due(&mut flights, 2000, RequestId::NONE);
        flights.set_timeout(hop, Nanos::from_millis(50));
        flights.watch(hop, Nanos::from_millis(2000));
        assert_eq!(over(&mut flights, 2060), [hop.0]);
    }

    #[test]
    fn a_slot_that_serves_another_does_not_time_out_for_the_one_before() {
        let mut flights = flights();
        let first = due(&mut flights, 0, RequestId(0));
        flights.watch(first, Nanos::ZERO);
        flights.take(first);
        let second = due(&mut flights, 800, RequestId(0));
        assert_eq!((second, flights.alive()), (first, 1));
        assert_eq!(over(&mut flights, 1100), [0; 0]);
        assert_eq!(over(&mut flights, 2000), [second.0]);
    }
}
