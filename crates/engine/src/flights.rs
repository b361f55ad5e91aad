//! The exchanges that are not over: what was due, where each stands, and when its time is over.

use std::sync::Arc;

use measure::Nanos;
use wire::{Dialogue, Fill, Request};

use crate::exchange::{Exchange, Exchanges, Standing};
use crate::filling::FillSource;
use crate::ids::{ConnId, ExchangeId, RequestId, UserId};
use crate::timers::Wheel;

/// Timeouts that are not all the same.
#[derive(Debug, Default)]
struct Apart {
    /// Of each prepared request.
    of_requests: Vec<Nanos>,
    /// Of what is in each slot, or was a moment ago.
    of_slots: Vec<Nanos>,
    /// When each slot is looked at: timers that come up before watched something else in it.
    looks: Vec<Nanos>,
}

impl Apart {
    fn takes(&mut self, id: ExchangeId, timeout: Nanos) {
        let slot = id.at();
        if self.of_slots.len() <= slot {
            self.of_slots.resize(slot + 1, timeout);
            self.looks.resize(slot + 1, Nanos::ZERO);
        }
        self.of_slots[slot] = timeout;
    }
}

/// The exchanges of one worker.
pub(crate) struct Flights {
    slab: Exchanges,
    alive: u32,
    /// Requests made during the run (hops of redirects), by the slot of their exchange.
    own: Vec<Option<Arc<Request>>>,
    fills: FillSource,
    /// Numbers that requests took on their connections, by the slot of their exchange; none where none took any.
    sequences: Vec<u64>,
    timeout: Nanos,
    timeouts: Wheel,
    /// Where some have a timeout of their own.
    apart: Option<Box<Apart>>,
    /// Kept for its memory.
    came_up: Vec<u32>,
}

impl Flights {
    /// None yet; `timeout` is what each may take.
    pub fn new(timeout: Nanos, now: Nanos, fills: FillSource) -> Flights {
        Flights {
            slab: Exchanges::default(),
            alive: 0,
            own: Vec::new(),
            fills,
            sequences: Vec::new(),
            timeout,
            timeouts: Wheel::new(timeout, now),
            apart: None,
            came_up: Vec::new(),
        }
    }

    /// The same where prepared requests have timeouts of their own; None: that of all.
    pub fn timing_apart(self, own: &[Option<Nanos>], now: Nanos) -> Flights {
        if own.iter().all(Option::is_none) {
            return self;
        }
        let of_requests: Vec<Nanos> = own.iter().map(|own| own.unwrap_or(self.timeout)).collect();
        let all = || of_requests.iter().copied().chain([self.timeout]);
        let (shortest, longest) = (all().min().unwrap_or(self.timeout), all().max().unwrap_or(self.timeout));
        let timeouts = Wheel::reaching((shortest, longest), now);
        Flights { timeouts, apart: Some(Box::new(Apart { of_requests, ..Apart::default() })), ..self }
    }

    /// True where timeouts are not all the same.
    pub fn times_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// What an exchange may take that is not over, or was not a moment ago.
    #[inline]
    pub fn timeout(&self, id: ExchangeId) -> Nanos {
        match &self.apart {
            None => self.timeout,
            Some(apart) => apart.of_slots.get(id.at()).copied().unwrap_or(self.timeout),
        }
    }

    /// What a prepared request may take.
    pub fn timeout_of(&self, request: RequestId) -> Nanos {
        let own = self.apart.as_ref().and_then(|apart| apart.of_requests.get(request.at()));
        own.copied().unwrap_or(self.timeout)
    }

    /// An exchange may take as long as the one that it follows.
    pub fn takes_at_most(&mut self, id: ExchangeId, timeout: Nanos) {
        if let Some(apart) = &mut self.apart {
            apart.takes(id, timeout);
        }
    }

    /// Those that are not over.
    pub fn alive(&self) -> u32 {
        self.alive
    }

    #[inline]
    pub fn add(&mut self, exchange: Exchange) -> ExchangeId {
        self.alive += 1;
        let id = self.slab.add(exchange);
        if let Some(apart) = &mut self.apart {
            let timeout = apart.of_requests.get(exchange.request.at()).copied().unwrap_or(self.timeout);
            apart.takes(id, timeout);
        }
        id
    }

    /// The exchange sends a request of its own.
    pub fn sends(&mut self, id: ExchangeId, request: Arc<Request>) {
        let slot = id.at();
        if self.own.len() <= slot {
            self.own.resize_with(slot + 1, || None);
        }
        self.own[slot] = Some(request);
    }

    #[inline]
    pub fn get(&mut self, id: ExchangeId) -> &mut Exchange {
        self.slab.get(id)
    }

    /// Takes an exchange out of those that are not over. Its request is known until it is forgotten ([`Flights::forget`]).
    #[inline]
    pub fn take(&mut self, id: ExchangeId) -> Exchange {
        self.alive -= 1;
        self.slab.remove(id)
    }

    /// Nobody asks any more what it sent.
    #[inline]
    pub fn forget(&mut self, x: &Exchange, id: ExchangeId) {
        if x.request == RequestId::NONE
            && let Some(own) = self.own.get_mut(id.at())
        {
            *own = None;
        }
    }

    /// What it sends: one of the prepared requests, or one of its own.
    #[inline]
    pub fn request<'a>(&'a self, prepared: &'a dyn Dialogue, x: &Exchange, id: ExchangeId) -> Option<&'a Request> {
        match prepared.requests().get(x.request.at()) {
            Some(prepared) => Some(&prepared.request),
            None => self.own.get(id.at())?.as_deref(),
        }
    }

    /// True where requests have slots that are filled.
    #[inline]
    pub fn fills(&self) -> bool {
        self.fills.fills
    }

    /// True where a user has a number already for the iteration it begins.
    pub fn has_number(&self, user: UserId) -> bool {
        self.fills.is_fresh(user)
    }

    /// Whether it has one for an iteration that it has not begun.
    pub fn number_is_fresh(&mut self, user: UserId, fresh: bool) {
        self.fills.set_fresh(user, fresh);
    }

    /// A user begins another iteration of its flow.
    pub fn iteration_begins(&mut self, user: UserId) {
        self.fills.iteration_begins(user);
    }

    /// What the exchange is filled with, submitted now.
    #[inline]
    pub fn fill(&mut self, id: ExchangeId, now: Nanos) -> Fill<'static> {
        self.fills.fill_for(self.slab.get(id), now)
    }

    /// What a request would be filled with that may not have to be sent: a prepared one, or one that an answer asked for.
    pub fn would_fill(&self, user: UserId, prepared: bool, now: Nanos) -> Fill<'static> {
        if prepared { self.fills.peek(user, now) } else { self.fills.of_a_hop(now) }
    }

    /// What an exchange was filled with that is not over yet, or was a moment ago.
    pub fn filled(&self, x: &Exchange, id: ExchangeId) -> Fill<'static> {
        let sequence = self.sequences.get(id.at()).copied().unwrap_or(0);
        Fill { sequence, ..self.fills.again(x.serial, x.user, x.written) }
    }

    /// The request of an exchange took this number on its connection.
    pub fn took(&mut self, id: ExchangeId, sequence: u64) {
        let slot = id.at();
        if self.sequences.len() <= slot {
            self.sequences.resize(slot + 1, 0);
        }
        self.sequences[slot] = sequence;
    }

    /// Its time is watched from now on, unless it is already.
    #[inline]
    pub fn watch(&mut self, id: ExchangeId, since: Nanos) {
        let x = self.slab.get(id);
        if let Some(apart) = &mut self.apart {
            let slot = id.at();
            let until = since + apart.of_slots[slot];
            if !x.watched || apart.looks[slot] > until {
                apart.looks[slot] = self.timeouts.watch(id.0, until);
            }
            x.watched = true;
        } else if !x.watched {
            x.watched = true;
            self.timeouts.watch(id.0, since + self.timeout);
        }
    }

    /// When a time may be over next.
    pub fn next_timeout(&self) -> Nanos {
        self.timeouts.next()
    }

    /// Slots whose timers came up at `now`, each to be asked about by [`Flights::times_out`]; the vector is given back.
    pub fn came_up(&mut self, now: Nanos) -> Vec<u32> {
        let mut came_up = std::mem::take(&mut self.came_up);
        self.timeouts.due(now, &mut came_up);
        came_up
    }

    /// The memory of [`Flights::came_up`] again.
    pub fn give_back(&mut self, mut came_up: Vec<u32>) {
        came_up.clear();
        self.came_up = came_up;
    }

    /// A timer came up: the exchange in its slot where its time is over at `now`. One that has time left is watched on.
    pub fn times_out(&mut self, slot: u32, now: Nanos) -> Option<Exchange> {
        let timeout = self.timeout(ExchangeId(slot));
        if self.apart.as_ref().is_some_and(|apart| apart.looks[slot as usize] > now) {
            // Another one watches what is there now.
            return None;
        }
        let x = self.slab.get(ExchangeId(slot));
        let since = if x.state == Standing::Waiting { x.intended } else { x.started };
        x.watched = x.state != Standing::Vacant && since + timeout > now;
        if x.watched {
            let looks = self.timeouts.watch(slot, since + timeout);
            if let Some(apart) = &mut self.apart {
                apart.looks[slot as usize] = looks;
            }
            return None;
        }
        Some(*x).filter(|x| x.state != Standing::Vacant)
    }

    /// True where an exchange that ends at `now` had no time left.
    #[inline]
    pub fn is_late(&self, (id, x): (ExchangeId, &Exchange), now: Nanos) -> bool {
        now > x.started + self.timeout(id)
    }

    /// Of one that timed out with its response begun: true where that began after its time.
    pub fn began_late(&self, id: ExchangeId, x: &Exchange) -> bool {
        x.first_byte > x.started + self.timeout(id)
    }

    /// True where one that waits has waited for too long at `now`.
    pub fn waited_too_long(&mut self, id: ExchangeId, now: Nanos) -> bool {
        let timeout = self.timeout(id);
        self.slab.get(id).intended + timeout <= now
    }

    /// All that are not over.
    pub fn all(&self) -> Vec<ExchangeId> {
        self.slab.alive().collect()
    }

    /// Those on one connection.
    pub fn on(&self, conn: ConnId) -> Vec<ExchangeId> {
        self.slab.on(conn)
    }
}

#[cfg(test)]
mod tests {
    use plan::Share;

    use super::*;

    const TIMEOUT: Nanos = Nanos::from_secs(1);

    fn flights() -> Flights {
        Flights::new(TIMEOUT, Nanos::ZERO, FillSource::new(Share::WHOLE, 1, (1, 1), load::Numbers::from(1), false))
    }

    fn due(flights: &mut Flights, at: u64, request: RequestId) -> ExchangeId {
        flights.add(Exchange::due(Nanos::from_millis(at), Nanos::from_millis(at), request, 0, UserId(0)))
    }

    /// The slots whose time is over at a moment.
    fn over(flights: &mut Flights, at: u64) -> Vec<u32> {
        let at = Nanos::from_millis(at);
        let came_up = flights.came_up(at);
        let over = came_up.iter().copied().filter(|slot| flights.times_out(*slot, at).is_some()).collect();
        flights.give_back(came_up);
        over
    }

    #[test]
    fn who_waits_times_out_by_its_due_moment_and_who_started_by_its_start() {
        let mut flights = flights();
        let (waits, started) = (due(&mut flights, 0, RequestId(0)), due(&mut flights, 0, RequestId(0)));
        flights.watch(waits, Nanos::ZERO);
        flights.watch(started, Nanos::ZERO);
        let x = flights.get(started);
        (x.state, x.started) = (Standing::InFlight, Nanos::from_millis(500));
        assert_eq!(over(&mut flights, 900), [0; 0]);
        assert_eq!(over(&mut flights, 1100), [waits.0]);
        assert_eq!(over(&mut flights, 1400), [0; 0], "it was watched on");
        assert_eq!(over(&mut flights, 1700), [started.0]);
    }

    #[test]
    fn what_has_a_timeout_of_its_own_times_out_by_that_whatever_its_slot_served_before() {
        let mut flights = flights().timing_apart(&[None, Some(Nanos::from_millis(100))], Nanos::ZERO);
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
        // What follows one that has its own.
        let hop = due(&mut flights, 2000, RequestId::NONE);
        flights.takes_at_most(hop, Nanos::from_millis(50));
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
