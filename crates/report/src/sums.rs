//! The sums of a run: its head, the totals of its seconds, kept examples and notices, and its end. Nothing is judged
//! here.
//!
//! The sums are computed in one pass over the events. Seconds are not kept: a format that shows them reads them again
//! from the record or the spool.

use brunt_measure::Nanos;
use brunt_plan::{Change, TrustPolicy};
use brunt_record::{
    ConnectionLoss, End, FailureExample, FirstResponse, HasRank, Kind, LoadChange, Notice, ProbedHost, RunEnd,
    RunEvent, RunPart, RunStarted, Second, Subject, TraceId, TracedRequest, UsedValue, is_slow, keep_slowest,
};

use crate::failure_kind::FailureKind as _;
use crate::kept_notices::KeptNotices;
use crate::name_totals::EXAMPLES;
use crate::ranked::RankedLatency;
use crate::reference::ReferenceTotals;
use crate::rules::band;
use crate::totals::RunTotals;

/// The sums of a run.
#[derive(Clone, Debug)]
pub struct RunSums {
    /// Head of the run: plan, time and machine; `None` if the events lack it.
    pub started: Option<Box<RunStarted>>,
    /// Set for open load: arrivals did not wait for answers.
    pub open: bool,
    /// Answer to the pre-flight request.
    pub probe: Option<FirstResponse>,
    /// Totals of the seconds.
    pub totals: RunTotals,
    /// Kept examples of failures, at most one for each sort.
    pub examples: Vec<FailureExample>,
    /// Further examples by name, at most one for each name, sort and status.
    pub(crate) examples_by_name: Vec<FailureExample>,
    /// Slowest requests with traces, both sampled and others.
    pub(crate) slowest: Vec<TracedRequest>,
    /// First changes of the load during the run.
    pub changes: Vec<LoadChange>,
    /// Totals of the reference client, if the run had one.
    pub reference: Option<ReferenceTotals>,
    /// Machines under test that reported their counters, each as recorded when joined and at the end of the run.
    pub joined: Vec<(ProbedHost, Option<ProbedHost>)>,
    /// Failed connects to names with several addresses, by address.
    pub failed_addresses: Vec<ConnectionLoss>,
    /// Notices for the reader; only the last one for each code, and for each agent.
    pub notices: Vec<Notice>,
    /// Reason for the end of the run.
    pub end: End,
    /// Length of the window.
    pub window: Nanos,
    /// Time from the first connect to the end of the drain.
    pub elapsed: Nanos,
}

/// Maximum number of examples and facts kept, and maximum bytes of each of their texts: a run has fewer, but a record
/// from another source may contain any number.
const KEPT: usize = 64;
const TEXT: usize = 64 * 1024;

/// Maximum number of slowest requests kept of a run, sampled or not.
const SLOWEST: usize = 32;
/// Maximum number of a user's values kept in an example.
const VALUES: usize = 32;

fn clip(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT)].to_owned()
}

fn clipped(example: &FailureExample) -> FailureExample {
    let FailureExample {
        kind,
        phase,
        errno,
        detail,
        cause,
        sent,
        received,
        reused,
        name,
        status,
        at_ns,
        trace,
        values,
    } = example;
    let [kind, phase, detail, sent, received, status] =
        [kind, phase, detail, sent, received, status].map(|text| clip(text));
    let (errno, cause) = (errno.as_deref().map(clip), cause.as_ref().map(|cause| cause.truncated(TEXT)));
    let (name, at_ns, reused, trace) = (*name, *at_ns, *reused, trace.as_ref().map(clipped_id));
    let values = values.iter().take(VALUES).map(clipped_value).collect();
    FailureExample { kind, phase, errno, detail, cause, sent, received, reused, name, status, at_ns, trace, values }
}

fn clipped_notice(notice: &Notice) -> Notice {
    let facts = notice.facts.iter().take(KEPT).map(|(name, fact)| (name.clone(), clip(fact))).collect();
    let causes = notice.causes.iter().take(KEPT);
    let causes = causes.map(|(name, cause)| (name.clone(), cause.truncated(TEXT))).collect();
    Notice { code: notice.code.clone(), facts, causes, at_ns: notice.at_ns }
}

fn clipped_value(used: &UsedValue) -> UsedValue {
    UsedValue { name: clip(&used.name), value: used.value.as_deref().map(clip) }
}

fn clipped_id(trace: &TraceId) -> TraceId {
    TraceId { id: clip(&trace.id), span: clip(&trace.span), sampled: trace.sampled }
}

/// The collector of a run's events.
#[derive(Clone, Debug, Default)]
pub(crate) struct SumsBuilder {
    started: Option<Box<RunStarted>>,
    probe: Option<FirstResponse>,
    totals: RunTotals,
    examples: Vec<FailureExample>,
    examples_by_name: Vec<FailureExample>,
    slowest: Vec<TracedRequest>,
    changes: Vec<LoadChange>,
    reference: Option<ReferenceTotals>,
    joined: Vec<(ProbedHost, Option<ProbedHost>)>,
    failed_addresses: Vec<ConnectionLoss>,
    notices: KeptNotices,
    ended: Option<RunEnd>,
}

impl SumsBuilder {
    /// Creates the collector of the events of one agent.
    pub fn of_agent(started: RunStarted) -> SumsBuilder {
        let mut builder = SumsBuilder { started: Some(Box::new(started)), ..SumsBuilder::default() };
        builder.totals.is_part = true;
        builder
    }

    /// Handles the next event.
    pub fn add(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                self.notices.expect(&started.agents);
                self.started = Some(started.clone());
            }
            RunEvent::FirstResponse(probe) => self.probe = Some(probe.clone()),
            RunEvent::Second(second) => self.add_second(second),
            RunEvent::Example(example) => self.keep(example),
            RunEvent::Notice(notice) => self.notices.add(clipped_notice(notice)),
            RunEvent::Joined(joined) => {
                let known = self.joined.iter().position(|(known, _)| known.host == joined.host);
                match known {
                    Some(at) => self.joined[at].1 = Some(joined.clone()),
                    None if self.joined.len() < KEPT => self.joined.push((joined.clone(), None)),
                    None => {}
                }
            }
            RunEvent::Reference(client) => self.reference.get_or_insert_default().add(client),
            RunEvent::Ended(ended) => self.ended = Some(ended.clone()),
            RunEvent::Changed(changed) if self.changes.len() < KEPT => self.changes.push(*changed),
            RunEvent::Changed(_)
            | RunEvent::Began(_)
            | RunEvent::Counters(_)
            | RunEvent::OfAgent(_)
            | RunEvent::Provisional(_)
            | RunEvent::Spans(_)
            | RunEvent::Unknown => {}
        }
    }

    /// Adds a second that was not received as an event.
    pub fn add_second(&mut self, second: &Second) {
        self.totals.add(second);
        if second.part != RunPart::Warmup {
            let failed = second.failed_addresses.iter().take(KEPT);
            failed.for_each(|failed| ConnectionLoss::add(&mut self.failed_addresses, failed));
        }
        for traced in second.slowest.iter().take(KEPT) {
            if is_slow(&self.slowest, traced.rank(), SLOWEST) {
                let (trace, status) = (clipped_id(&traced.trace), clip(&traced.status));
                keep_slowest(&mut self.slowest, TracedRequest { trace, status, ..traced.clone() }, SLOWEST);
            }
        }
    }

    /// Keeps the first example of each sort, with late responses apart, and further ones only if they have a name.
    fn keep(&mut self, example: &FailureExample) {
        let known = |e: &FailureExample| {
            let is_sort = e.kind == example.kind && e.phase == example.phase && e.errno == example.errno;
            is_sort && came_late(e) == came_late(example)
        };
        if self.examples.len() < KEPT && !self.examples.iter().any(known) {
            self.examples.push(clipped(example));
        } else if example.name.is_some() && self.examples_by_name.len() < EXAMPLES {
            self.examples_by_name.push(clipped(example));
        }
    }

    /// Returns the sums so far, as if the run had ended as planned after the last second seen.
    pub fn so_far(&self) -> RunSums {
        let mut all = self.clone();
        let (window, elapsed) = (all.totals.window, all.totals.elapsed);
        all.ended.get_or_insert(RunEnd { reason: End::Completed, window, elapsed });
        all.finish()
    }

    /// Returns the final sums.
    pub fn finish(mut self) -> RunSums {
        let end = self.ended.as_ref().map_or(End::CutOff, |e| e.reason);
        if end == End::CutOff {
            self.totals.cut_off();
        }
        let latency = &self.totals.latency;
        let open = self.started.as_ref().map_or(!latency.response.is_empty(), |s| s.plan.load.is_open());
        let (window, elapsed) =
            self.ended.as_ref().map_or((self.totals.window, self.totals.elapsed), |e| (e.window, e.elapsed));
        // Whatever the record contains, throughput is never computed over less time than its seconds took.
        let window = window.max(self.totals.window);
        let SumsBuilder { started, probe, totals, examples, examples_by_name, slowest, .. } = self;
        let (changes, reference, joined, notices) = (self.changes, self.reference, self.joined, self.notices.finish());
        let failed_addresses = self.failed_addresses;
        RunSums {
            started,
            open,
            probe,
            totals,
            examples,
            examples_by_name,
            slowest,
            changes,
            reference,
            joined,
            failed_addresses,
            notices,
            end,
            window,
            elapsed,
        }
    }
}

impl RunSums {
    /// Returns `true` if an objective or a step of a flow stopped the run, as requested.
    pub fn was_stopped(&self) -> bool {
        let stops = |said: &Notice| matches!(said.subject(), Some(Subject::ObjectiveStop | Subject::StepStop));
        self.end == End::Interrupted && self.notices.iter().any(stops)
    }

    /// Returns `true` if the run stopped sending early on request and gave requests in flight time to finish.
    pub fn was_drained(&self) -> bool {
        let asked = |changed: &LoadChange| {
            changed.change == Change::Drain && i128::from(changed.at_ns) <= i128::from(self.window.0)
        };
        self.end == End::Completed && self.changes.iter().any(asked)
    }

    /// Returns the successes that completed within the window ÷ its length; 0 if there is no window.
    pub fn throughput_per_s(&self) -> f64 {
        self.per_s(self.totals.finished_in_window)
    }

    /// Returns the upper bound of throughput under closed load: users waited while brunt was away from their responses,
    /// or woke them late (`docs/measurement.md` 2.5). Under open load it is the throughput itself. Users who send one
    /// request at a time cannot have more responses than the shortest service time allows.
    pub fn throughput_at_most_per_s(&self) -> f64 {
        let rate = self.throughput_per_s();
        self.at_most(rate).min(self.users_allow_per_s().max(rate))
    }

    /// Returns the rate at which the users would succeed if each request took the shortest service time; infinite if a
    /// user may have several requests in flight.
    fn users_allow_per_s(&self) -> f64 {
        let plan = self.started.as_ref().map(|started| &started.plan);
        let one_at_a_time = plan.is_some_and(|plan| !plan.has_flows() && plan.options.is_empty());
        let shortest = Nanos(self.totals.latency.service.min()).as_secs_f64();
        match one_at_a_time && shortest > 0.0 && self.totals.users > 0 {
            true => f64::from(self.totals.users) / shortest,
            false => f64::INFINITY,
        }
    }

    /// Returns the upper bound of a rate of the run.
    pub(crate) fn at_most(&self, per_s: f64) -> f64 {
        let workers = self.started.as_ref().map_or(1, |started| started.workers);
        // A worker without users holds none up; zero: their number is unknown.
        let busy = if self.totals.users > 0 { workers.min(self.totals.users) } else { workers };
        let time = self.window.0 as f64 * f64::from(busy.max(1));
        if self.open || time == 0.0 {
            return per_s;
        }
        // Records without bands are judged by their woken users as such.
        let woken_late = if self.totals.has_bands { self.totals.woken_late_share() } else { 0.0 };
        per_s / (1.0 - (self.totals.away_in_window.0 as f64 / time + woken_late).min(0.99))
    }

    /// Returns the upper bound of a rate of the run with what the lost agents would have added; it knows no bound if all were.
    pub(crate) fn with_the_lost(&self, per_s: f64) -> f64 {
        per_s / (1.0 - self.totals.missing_at_most.clamp(0.0, 1.0))
    }

    /// Returns the longest time for which a worker stood still (stopped by a signal, suspended, or on a machine that
    /// slept), if it was a second or more and not its own work.
    pub(crate) fn stood_still(&self) -> Option<Nanos> {
        let longest = Nanos(self.totals.latency.loop_gap.max());
        let worked = self.totals.generator.busiest_share().is_some_and(|share| share > band::WORKING);
        (longest >= band::STANDSTILL && !worked).then_some(longest)
    }

    /// Returns what untrusted figures do to the exit code.
    pub(crate) fn trust_policy(&self) -> TrustPolicy {
        self.started.as_ref().map(|started| started.plan.trust).unwrap_or_default()
    }

    /// Returns the connections opened ÷ the time spent opening them; 0 if there were none.
    pub fn opened_per_s(&self) -> f64 {
        let span = self.totals.opening.as_secs_f64();
        if span > 0.0 { self.totals.connections.opened as f64 / span } else { 0.0 }
    }

    /// Returns how long the load was paused within the window.
    pub fn paused(&self) -> Nanos {
        let within = |at_ns: i64| Nanos(u64::try_from(at_ns).unwrap_or(0)).min(self.window);
        let (mut since, mut paused) = (None, Nanos::ZERO);
        for changed in &self.changes {
            match changed.change {
                Change::Pause => since = since.or(Some(within(changed.at_ns))),
                Change::Resume => {
                    let rest = since.take().map_or(Nanos::ZERO, |since| within(changed.at_ns) - since);
                    paused = paused.saturating_add(rest);
                }
                // A drain ends the window, and no pause extends beyond it.
                Change::Rate(_) | Change::Users(_) | Change::Drain => {}
            }
        }
        paused.saturating_add(since.map_or(Nanos::ZERO, |since| self.window - since)).min(self.window)
    }

    /// Converts a count within the window to a rate per second.
    pub fn per_s(&self, n: u64) -> f64 {
        if self.window == Nanos::ZERO { 0.0 } else { n as f64 / self.window.as_secs_f64() }
    }

    /// Returns the main latency of the run: response time under open load, service time under closed load.
    pub fn headline(&self) -> RankedLatency<'_> {
        self.totals.ranked(self.open)
    }

    /// Returns `true` if connections were only opened and held: there were users, but no request was due.
    pub fn only_holds(&self) -> bool {
        let totals = &self.totals;
        let to_speak = self.started.as_ref().is_some_and(|s| s.plan.hold.is_none() && s.silent == Some(false));
        !to_speak
            && !self.open
            && totals.due == 0
            && totals.warmup == 0
            && (totals.max_established > 0 || totals.users > 0)
    }

    /// Returns `true` if a request that is answered succeeded, so that there are latencies to judge.
    pub fn has_latency(&self) -> bool {
        self.totals.finished > self.totals.one_way && !self.only_holds()
    }

    /// Returns the number of responses that brunt did not check, because a limit of its own was reached.
    pub(crate) fn unchecked(&self) -> u64 {
        let kinds = self.totals.failures.iter().filter(|failure| failure.is(Kind::Unchecked));
        kinds.fold(0, |sum, failure| sum.saturating_add(failure.count))
    }

    /// Returns the number of failures that the headline excludes: all except timeouts, which rank last.
    pub fn failed_outside_headline(&self) -> u64 {
        let totals = &self.totals;
        let ranked_open = totals.censored - totals.unrecorded;
        let timed_out = self.headline().unfinished().saturating_sub(ranked_open);
        totals.failed.saturating_sub(timed_out)
    }

    /// Returns the slowest requests with traces, slowest first.
    pub fn slowest(&self) -> impl Iterator<Item = &TracedRequest> {
        let mut all: Vec<&TracedRequest> = self.slowest.iter().collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.latency_ns));
        all.into_iter()
    }

    /// Returns the kept example of a sort of failure.
    pub fn example(&self, failure: &brunt_record::Failure) -> Option<&FailureExample> {
        // Some of the requests that timed out may have been answered later: the example is one of the majority.
        let mostly_late = self.totals.late.saturating_mul(2) >= failure.count;
        self.example_of((&failure.kind, &failure.phase, &failure.errno), mostly_late)
    }

    /// Returns the kept example for connections that were lost or could not be opened.
    pub fn example_of_loss(&self, loss: &brunt_record::ConnectionLoss) -> Option<&FailureExample> {
        self.example_of((&loss.kind, &loss.phase, &loss.errno), false)
    }

    /// Returns the example of a sort of failure, preferably one that came late, or that did not.
    fn example_of(&self, sort: (&String, &String, &Option<String>), late: bool) -> Option<&FailureExample> {
        let of_sort = || self.examples.iter().filter(|e| (&e.kind, &e.phase, &e.errno) == sort);
        of_sort().find(|e| came_late(e) == late).or_else(|| of_sort().next())
    }
}

/// Returns `true` if the example is of a complete response that came after the timeout.
fn came_late(example: &FailureExample) -> bool {
    example.cause.as_ref().is_some_and(|cause| *cause == brunt_cause::response::late().into())
}
