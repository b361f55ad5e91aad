//! The recorder of a worker: every step of a request or a connection is counted once, in the second in which it
//! happens.
//!
//! The recorder makes no decisions. A request is `due`, `started` and `sent`, and then ends in one of four ways: it has
//! succeeded, failed, been written (one-way), or is unfinished at the end of the run. Requests of the warm-up are not
//! reported. A request with the hops of its redirects is one *visit*, which ends with its last hop; hops are only
//! counted.

mod caching;
mod checks;
mod spans;
mod traces;

use brunt_contract::{FaultKind, Phase};
use brunt_measure::{Clock, Histogram, Nanos};
use brunt_record::Latency;

use crate::early_failures::EarlyFailures;
use crate::exchange::Exchange;
use crate::failure_class::FailureClass;
use crate::ids::UserId;
use crate::limits::Limits;
use crate::population::Population;
use crate::tally::{Concurrency, SecondCounts, WorkerTally, encode};
use crate::worker_message::WorkerMessage;

/// The counts of one worker since the last second was passed on.
pub(crate) struct Recorder {
    /// Set if latency counts from the time at which a request was due.
    open: bool,
    /// Set if requests are due at times that brunt may miss: arrivals, and steps of flows.
    records_lateness: bool,
    tally: WorkerTally,
    in_flight: Concurrency,
    population: Population,
    second_from: Nanos,
    second_to: Nanos,
    /// Total of all previous seconds.
    bytes_sent: u64,
    refused: u64,
    cpu: Nanos,
    early: Option<EarlyFailures>,
    report: Box<dyn FnMut(WorkerMessage) + Send>,
}

/// Values of a second that are not event counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    pub waiting: u64,
    pub connections: u64,
    /// Number of bytes sent by the network, and of datagram refusals that it found, since the run began.
    pub bytes_sent: u64,
    pub refused: u64,
}

impl Recorder {
    /// Creates the recorder of a run, given the total number of rows (for names, for iterations and groups, and for
    /// scenarios) and the number of scenario rows.
    pub fn new(
        limits: &Limits,
        (names, scenarios): (usize, usize),
        population: Population,
        now: Nanos,
        report: Box<dyn FnMut(WorkerMessage) + Send>,
    ) -> Recorder {
        Recorder {
            open: limits.open,
            records_lateness: limits.open || limits.flows,
            tally: WorkerTally::of(names, scenarios),
            in_flight: Concurrency::begin(now),
            population,
            second_from: limits.start,
            second_to: Nanos::MAX,
            bytes_sent: 0,
            refused: 0,
            cpu: Clock.thread_cpu_time(),
            early: Some(EarlyFailures::new(limits.start)),
            report,
        }
    }

    /// Returns the counters that callers update directly: those of connections, heartbeats and bytes.
    #[inline]
    pub fn counts(&mut self) -> &mut SecondCounts {
        &mut self.tally.counts
    }

    /// Returns the histograms that callers update directly: those of connections, heartbeats and the loop.
    #[inline]
    pub fn times(&mut self) -> &mut Latency {
        &mut self.tally.latency
    }

    /// Returns the number of requests in flight.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight.now
    }

    /// Returns `true` if figures are reported by name.
    pub fn by_name(&self) -> bool {
        self.tally.named.is_some()
    }

    /// Records a request that is due.
    #[inline]
    pub fn due(&mut self, name: u16, user: UserId, warmup: bool) {
        self.tally.counts.due += u64::from(!warmup);
        if let Some(named) = self.tally.named.as_mut().filter(|_| !warmup) {
            named.count(name, user, |named, row| named.counts(row).due += 1);
        }
    }

    /// Records the start of a request; `ready` is the time at which a connection became available, and `freed_late`
    /// the delay of that which may be brunt's own.
    #[inline]
    pub fn started(&mut self, x: &mut Exchange, (ready, freed_late): (Nanos, Nanos), now: Nanos) {
        if x.hops > 0 {
            // Its visit is in flight already.
            return x.delayed.add(now - ready.max(x.written));
        }
        x.started = now;
        self.in_flight.start(now);
        if !self.records_lateness {
            return;
        }
        let (wait, late) = x.split_wait(ready);
        // A request that was taken up late waits among the others of that time, and in time might not have waited.
        let taken_up_late = x.written - x.intended;
        x.delayed.add(late + wait.min(freed_late + taken_up_late));
        if x.is_warmup() {
            return;
        }
        if self.open {
            self.tally.latency.wait_conn.record(wait);
        }
        self.tally.latency.gen_late.record(late);
    }

    /// Records that a request was written; `reused` is set if its connection had carried a request before.
    #[inline]
    pub fn sent(&mut self, x: &Exchange, reused: bool) {
        self.tally.counts.connections.reused += u64::from(reused && !x.is_warmup());
        let first = u64::from(x.resent == 0);
        match x.hops {
            _ if x.is_warmup() => self.tally.counts.warmup += first,
            0 => self.tally.counts.sent += first,
            _ => self.tally.counts.hops += first,
        }
    }

    /// Records a message of the stream that answers a request.
    pub fn message(&mut self, x: &mut Exchange, now: Nanos) {
        let before = std::mem::replace(&mut x.last_message, now);
        if x.is_warmup() {
            return;
        }
        self.tally.counts.messages += 1;
        if before > Nanos::ZERO {
            self.tally.latency.message_gap.record(now - before);
        }
    }

    /// Records a complete response with this status code and payload size in bytes; `late` is set if the request had
    /// already timed out.
    #[inline]
    pub fn responded(&mut self, x: &Exchange, code: u32, payload: u64, late: bool) {
        if x.is_warmup() {
            return;
        }
        // The status is not the result of the request, which had already timed out.
        match late {
            true => self.tally.counts.late += 1,
            false => self.tally.code((x.name, x.user), code),
        }
        self.payload(x, payload);
    }

    /// Records a redirect that will be followed, with this payload size in bytes: its visit goes on.
    pub fn redirected(&mut self, x: &Exchange, payload: u64) {
        if !x.is_warmup() {
            self.payload(x, payload);
        }
    }

    #[inline]
    fn payload(&mut self, x: &Exchange, payload: u64) {
        self.tally.counts.bytes.payload += payload;
        if let Some(named) = &mut self.tally.named {
            named.count(x.name, x.user, |named, row| named.counts(row).payload += payload);
        }
    }

    /// Counts a status code for a request that failed without a response.
    pub fn code(&mut self, x: &Exchange, code: u32) {
        if !x.is_warmup() {
            self.tally.code((x.name, x.user), code);
        }
    }

    /// Ends the time in flight of a request. For requests in the service histogram, the time is added at the end of the
    /// second from the sum of the histogram, so that Little's law checks the reported figures.
    #[inline]
    pub fn end(&mut self, x: &Exchange, now: Nanos, in_histogram: bool) {
        if x.is_started() {
            self.in_flight.end(x.started, now);
            self.tally.counts.apart.service_ns += if in_histogram { 0 } else { (now - x.started).0 };
        }
    }

    /// Records a success, which brunt itself may have delayed by `late` after it was sent.
    #[inline]
    pub fn succeeded(&mut self, x: &Exchange, now: Nanos, late: Nanos) {
        self.record_success_time(now);
        if x.is_warmup() {
            self.tally.finished_of_warmup((x.name, x.user));
            return;
        }
        self.tally.counts.finished += 1;
        let (service, response) = (now - x.started, now - x.intended);
        let own = late + x.delayed.get();
        // The opening of a connection for a request is part of its service.
        let late = late + x.delayed.get().min(x.written - x.started);
        if let Some(named) = &mut self.tally.named {
            let (took, own) = if self.open { (response, own) } else { (service, late) };
            named.count(x.name, x.user, |named, row| named.finished(row, took, own));
        }
        let latency = &mut self.tally.latency;
        latency.service.record(service);
        if is_delayed(service, late) {
            latency.service_delayed.record(service);
            latency.service_undelayed.record(service - late);
        }
        if self.open {
            latency.response.record(response);
            if is_delayed(response, own) {
                latency.response_delayed.record(response);
                latency.response_undelayed.record(response - own);
            }
        }
        let first = if x.first_byte == Nanos::ZERO { now } else { x.first_byte };
        latency.first_byte.record(first - x.written);
        latency.transfer.record(now - first);
    }

    /// Records a one-way request that was written: it succeeded, without a latency.
    pub fn written(&mut self, x: &Exchange, now: Nanos) {
        self.record_success_time(now);
        if x.is_warmup() {
            self.tally.finished_of_warmup((x.name, x.user));
            return;
        }
        if let Some(named) = &mut self.tally.named {
            named.count(x.name, x.user, |named, row| named.counts(row).finished += 1);
        }
        self.tally.counts.finished += 1;
        self.tally.counts.one_way += 1;
    }

    /// Records a success for the detection of outages.
    #[inline]
    fn record_success_time(&mut self, now: Nanos) {
        if let Some(early) = &mut self.early {
            early.finished += 1;
        }
        let at = (now - self.second_from).0 + 1;
        let apart = &mut self.tally.counts.apart;
        apart.last_success = at;
        if apart.first_success == 0 {
            apart.first_success = at;
            apart.busy_for = (now - self.in_flight.busy_since).0 + 1;
        }
    }

    /// Records a failure for the detection of outages.
    fn record_failure_time(&mut self, now: Nanos) {
        let at = (now - self.second_from).0 + 1;
        let apart = &mut self.tally.counts.apart;
        apart.last_failure = at;
        if apart.first_failure == 0 {
            apart.first_failure = at;
        }
    }

    /// Records a failure.
    pub fn failed(&mut self, x: &Exchange, sort: FailureClass, limits: &Limits, now: Nanos) {
        self.count_failure(sort);
        self.record_failure_time(now);
        let timed_out = sort.kind == FaultKind::Timeout;
        if timed_out {
            self.count_unanswered(x, limits, now);
        }
        if x.is_warmup() {
            return;
        }
        self.tally.failure((x.name, x.user), sort);
        let since = if self.open || !x.is_started() { x.intended } else { x.started };
        let latency = &mut self.tally.latency;
        latency.failed.record(now - since);
        if sort.kind.is_answer() && sort.phase != Phase::Greeting {
            latency.failed_responses.record(now - since);
        }
        if timed_out {
            self.at_least(x, now);
        }
    }

    /// Counts a failure of a request or a connection for the early warning that all requests fail.
    pub fn count_failure(&mut self, sort: FailureClass) {
        if let Some(early) = &mut self.early {
            early.failed(sort);
        }
    }

    /// Records a request that is unfinished at the end of the run.
    pub fn unfinished(&mut self, x: &Exchange, limits: &Limits, now: Nanos) {
        self.end(x, now, false);
        self.count_unanswered(x, limits, now);
        if x.is_warmup() {
            return;
        }
        self.tally.counts.censored += 1;
        if let Some(named) = &mut self.tally.named {
            named.count(x.name, x.user, |named, row| named.counts(row).censored += 1);
        }
        self.at_least(x, now);
    }

    /// Records `many` arrivals that were due and never sent, the last of them due `since` ago; their service time is
    /// unknown. They waited for us or, if `held_back` is set, for the arrivals ahead of them to get a connection.
    pub fn unsent(&mut self, (name, user): (u16, UserId), since: Nanos, many: u64, held_back: bool) {
        self.tally.counts.due += many;
        self.tally.counts.censored += many;
        if let Some(named) = &mut self.tally.named {
            named.count(name, user, |named, row| {
                named.counts(row).due += many;
                named.counts(row).censored += many;
                named.at_least_n(row, since, many);
            });
        }
        let latency = &mut self.tally.latency;
        latency.response_at_least.record_n(since, many);
        if held_back {
            latency.wait_conn_at_least.record_n(since, many);
            return;
        }
        latency.service_at_least.record_n(Nanos::ZERO, many);
        latency.wait_conn.record_n(Nanos::ZERO, many);
        latency.gen_late.record_n(since, many);
    }

    /// Counts the time within the window that a user spent on a request of unknown latency.
    fn count_unanswered(&mut self, x: &Exchange, limits: &Limits, now: Nanos) {
        if x.is_started() {
            self.tally.counts.unanswered_ns += limits.in_window(x.started, now).0;
        }
    }

    /// Records the time until now as a lower bound of the latency, so that the request ranks above all finished ones.
    fn at_least(&mut self, x: &Exchange, now: Nanos) {
        let latency = &mut self.tally.latency;
        if self.open {
            latency.response_at_least.record(now - x.intended);
        }
        let waiting = !x.is_started();
        match waiting {
            true => latency.wait_conn_at_least.record(now - x.intended),
            false => latency.service_at_least.record(now - x.started),
        }
        if let Some(named) = &mut self.tally.named
            && (self.open || !waiting)
        {
            let took = now - if self.open { x.intended } else { x.started };
            named.count(x.name, x.user, |named, row| named.at_least(row, took));
        }
    }

    /// Counts the code with which the peer ended a connection or an exchange.
    #[cold]
    pub fn count_close_code(&mut self, word: u32) {
        self.tally.closing(word);
    }

    /// Counts the loss of a connection that is part of the plan.
    #[cold]
    pub fn connection_lost(&mut self, kind: FaultKind, errno: Option<i32>, why: Option<&brunt_cause::Cause>) {
        self.tally.lost(kind, errno, why);
    }

    /// Counts a connection that failed to open and for which no request waits.
    #[cold]
    pub fn connection_not_opened(&mut self, sort: FailureClass, why: Option<&brunt_cause::Cause>) {
        self.tally.not_opened(sort, why);
    }

    /// Counts a failed connect to one of several addresses.
    #[cold]
    pub fn address_failed(&mut self, sort: FailureClass, which: &brunt_cause::Cause) {
        self.tally.address_failed(sort, which);
    }

    /// Reports the early failures, once: when they are due, or when the run ends earlier.
    pub fn report_early(&mut self, now: Nanos, now_or_never: bool) {
        if let Some(early) = self.early.take_if(|early| now_or_never || early.is_due(now)) {
            (self.report)(WorkerMessage::Early(early));
        }
    }

    /// Sends a message at once.
    pub fn report(&mut self, message: WorkerMessage) {
        (self.report)(message);
    }

    /// Begins the first second of a run, or of its common start.
    pub fn begin(&mut self, limits: &Limits, at: Nanos, now: Nanos) {
        self.in_flight = Concurrency::begin(at.max(now));
        self.second_from = at;
        self.second_to = limits.second_after(at);
        self.tally.latency.loop_gap.clear();
        self.tally.latency.wake_delay.clear();
    }

    /// Holds back the first second, because the run has not begun.
    pub fn hold(&mut self) {
        self.second_to = Nanos::MAX;
    }

    /// Returns when this second ends.
    #[inline]
    pub fn second_ends(&self) -> Nanos {
        self.second_to
    }

    /// Returns when this second began.
    pub fn second_began(&self) -> Nanos {
        self.second_from
    }

    /// Ends this second at `end`, the end of the window, now that it is known.
    pub fn ends_at(&mut self, end: Nanos) {
        self.second_to = self.second_to.min(end);
    }

    /// Returns the time since which requests have been in flight without a break; `None` if none is in flight.
    pub fn busy_since(&self) -> Option<Nanos> {
        (self.in_flight.now > 0).then_some(self.in_flight.busy_since)
    }

    /// Returns `true` if this second has nothing to report.
    pub fn is_idle(&self, gauges: &Gauges) -> bool {
        gauges.bytes_sent == self.bytes_sent && gauges.refused == self.refused && self.tally.is_idle()
    }

    /// Passes on the second, which ends at `to`, and begins the next one.
    pub fn roll(&mut self, to: Nanos, limits: &Limits, gauges: &Gauges) {
        self.count_users(to, limits.per_user);
        let from = self.second_from;
        let (area, before, after) = self.in_flight.roll(to);
        let cpu = Clock.thread_cpu_time();
        let counts = &mut self.tally.counts;
        (counts.apart.area_ns, counts.apart.before_ns, counts.apart.after_ns) = (area, before, after);
        counts.apart.service_ns += self.tally.latency.service.sum() as u64;
        counts.apart.users = self.population.users(limits.per_user);
        (counts.apart.in_flight, counts.apart.waiting, counts.apart.open) =
            (self.in_flight.now, gauges.waiting, gauges.connections);
        counts.bytes.sent = gauges.bytes_sent.saturating_sub(self.bytes_sent);
        self.bytes_sent = self.bytes_sent.max(gauges.bytes_sent);
        counts.connections.refused += gauges.refused.saturating_sub(self.refused);
        self.refused = self.refused.max(gauges.refused);
        counts.cpu_ns = (cpu - std::mem::replace(&mut self.cpu, cpu)).0;
        let encoded = encode(&self.tally, (from, to), limits.part(from), limits.window);
        (self.report)(WorkerMessage::Snapshot(encoded));
        self.tally.clear();
        self.second_from = to;
        self.second_to = limits.second_after(to);
    }
}

/// Returns `true` if the part of a latency that may be brunt's own is more than a bucket of its histogram.
#[inline]
pub(crate) fn is_delayed(latency: Nanos, own: Nanos) -> bool {
    own > Nanos::ZERO && !Histogram::same_bucket(latency, latency - own)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::exchange::ExchangeState;
    use crate::ids::RequestId;
    use crate::tally::{Snapshot, decode};

    fn books(limits: &Limits) -> (Recorder, Receiver<WorkerMessage>) {
        let (tell, told) = channel();
        let mut books = Recorder::new(
            limits,
            (1, 0),
            Population::default(),
            Nanos::ZERO,
            Box::new(move |message| drop(tell.send(message))),
        );
        books.begin(limits, limits.start, limits.start);
        (books, told)
    }

    fn rolled(recorder: &mut Recorder, limits: &Limits, to: u64, told: &Receiver<WorkerMessage>) -> Snapshot {
        recorder.roll(Nanos(to), limits, &Gauges::default());
        match told.try_recv() {
            Ok(WorkerMessage::Snapshot(bytes)) => decode(&bytes).expect("a second"),
            _ => panic!("no second"),
        }
    }

    /// Creates a request that was due at `due` and has been in flight since then.
    fn in_flight(recorder: &mut Recorder, limits: &Limits, due: u64) -> Exchange {
        let mut x = Exchange::due(Nanos(due), Nanos(due), RequestId(0), 0, UserId(0));
        x.flags |= crate::exchange::WARMUP * u8::from(x.intended < limits.window);
        recorder.due(0, UserId(0), x.is_warmup());
        recorder.started(&mut x, (Nanos(due), Nanos::ZERO), Nanos(due));
        x.state = ExchangeState::InFlight;
        recorder.sent(&x, false);
        x
    }

    #[test]
    fn every_request_that_was_due_ends_in_one_of_four_ways() {
        let limits = Limits { open: true, window: Nanos(100), end: Some(Nanos(1_000)), ..Limits::default() };
        let (mut books, told) = books(&limits);
        let all: Vec<Exchange> = (0..4).map(|n| in_flight(&mut books, &limits, 200 + n)).collect();
        let warm = in_flight(&mut books, &limits, 50);
        books.end(&warm, Nanos(300), false);
        books.succeeded(&warm, Nanos(300), Nanos::ZERO);
        books.end(&all[0], Nanos(300), true);
        books.succeeded(&all[0], Nanos(300), Nanos::ZERO);
        books.end(&all[1], Nanos(400), false);
        let sort = FailureClass { kind: FaultKind::Timeout, phase: Phase::FirstByte, errno: None };
        books.failed(&all[1], sort, &limits, Nanos(400));
        books.end(&all[2], Nanos(500), false);
        books.written(&all[2], Nanos(500));
        assert_eq!(books.in_flight(), 1);
        books.unfinished(&all[3], &limits, Nanos(600));
        let second = rolled(&mut books, &limits, 1_000, &told);
        let c = &second.counts;
        assert_eq!((c.due, c.sent, c.warmup, c.finished_of_warmup), (4, 4, 1, 1));
        assert_eq!((c.finished, c.one_way, c.failed, c.censored), (2, 1, 1, 1));
        assert_eq!(c.due, c.finished + c.failed + c.censored);
        assert_eq!(second.latency.response.count(), 1, "of the one that was answered");
        assert_eq!(second.latency.response_at_least.count(), 2, "of the one that timed out, and of the unfinished");
        assert_eq!(c.unanswered_ns, (400 - 201) + (600 - 203));
    }

    #[test]
    fn a_second_holds_what_was_counted_in_it_and_no_more() {
        let limits = Limits { end: None, ..Limits::default() };
        let (mut books, told) = books(&limits);
        let x = in_flight(&mut books, &limits, 10);
        let first = rolled(&mut books, &limits, 1_000_000_000, &told);
        books.end(&x, Nanos(1_500_000_000), true);
        books.succeeded(&x, Nanos(1_500_000_000), Nanos::ZERO);
        let second = rolled(&mut books, &limits, 2_000_000_000, &told);
        assert_eq!((first.counts.due, first.counts.finished, second.counts.due, second.counts.finished), (1, 0, 0, 1));
        // Little's law: the time integral of requests in flight equals the sum of their times.
        let area = first.counts.apart.area_ns + second.counts.apart.area_ns;
        assert_eq!(area, 1_500_000_000 - 10);
        assert!(books.is_idle(&Gauges::default()));
    }
}
