//! The limits of a run: builds the diagnosis case from the sums and the recorded counters.

use brunt_diagnose::{
    Case, Conclusion, CoreShares, CounterCoverage, CounterSummary, CurvePoint, DiagnosisOutcome, DurationCounts,
    DurationStats, FailureCount, GeneratorDoubt, HeldConnections, LimitFinding, LoadResults, NextLoad, Outage, Proof,
    RateShortfall, RepeatCommand, RepeatedPlan, SilentService, SilentStretch, WidenedFigure, conclude,
};
use brunt_i18n::Lang;
use brunt_measure::{Histogram, Nanos};
use brunt_plan::{Load, Plan};
use brunt_record::{CounterState, HostCounters, ProbedHost, RunEvent, RunPart, Second};

use crate::finding::{Finding, Grade};
use crate::load_course::LoadCourse;
use crate::overload::{self, Overload};
use crate::rules::outages::{Outages, ServiceOutage};
use crate::rules::{TrustRule, dropped_iterations, held_connections, not_sent};
use crate::sentences as say;
use crate::sentences::limits as words_of;
use crate::service_host::{has_service, service_host};
use crate::sums::RunSums;
use crate::totals::RunTotals;
use crate::trust::Trust;

/// Time after the end of the window during which readings still belong to it (nanoseconds).
const AFTER: i64 = 500_000_000;
/// Duration from which a connect must have needed a second SYN. The first SYN is retransmitted after one second; the
/// margin allows for clock differences.
const SECOND_SYN: Nanos = Nanos::from_millis(900);

/// Divisor of the service times below which the transfer of responses does not matter.
const SHORT_TRANSFER: u128 = 20;

/// Maximum number of machines processed; brunt writes no record with more.
const MOST_HOSTS: usize = 64;
/// Maximum number of readings kept until a second shows which part of the run they belong to; a run needs only a few.
const MOST_PENDING: usize = 1024;
/// Maximum number of seconds examined individually.
const MOST_SECONDS: usize = 7200;

/// The counters of a run, collected from its events.
#[derive(Default)]
pub(crate) struct CounterCollector {
    /// Machines in the order of their first reading; the first is the coordinator's.
    hosts: Vec<MachineCounters>,
    /// Readings that may have been taken after the window: a reading precedes the second that shows which part of the
    /// run it belongs to.
    pending: Vec<HostCounters>,
    /// Machines joined by their probes.
    joined: Vec<ProbedHost>,
    /// Third slowest response of each second of the window, in seconds, or 0 (see `slow`).
    slow: Vec<f64>,
    /// Number of arrivals waiting for a connection at the end of each second of the window.
    waiting: Vec<f64>,
    /// Successes per second in each whole second of the window.
    paces: Vec<f64>,
    /// Service times of the warm-up, and its times from the write of a request to the first byte of the response.
    warmup_service: Histogram,
    warmup_first_byte: Histogram,
    /// Failures because a connection was closed before the first byte: in the previous second, and the maximum in two
    /// consecutive seconds.
    closed: (u64, u64),
    outages: Outages,
    course: LoadCourse,
    /// Start of the first second in which connections that are part of the plan were lost.
    lost_from: Option<i64>,
    /// Set once a share of the load is missing from a second. Only some notices are kept, so that they may not tell.
    is_load_missing: bool,
    window_ends: Option<i64>,
}

/// The counters of a machine.
#[derive(Default)]
pub(crate) struct MachineCounters {
    /// Name of the machine.
    pub host: String,
    carry: CounterState,
    /// Summary of the counters within the window.
    pub counted: CounterSummary,
    /// Set if the counters of the machine ended before the run did.
    pub lost: bool,
    /// Times of the readings (nanoseconds), and whether each had any counters.
    replies: Vec<(i64, bool)>,
}

/// Time within which a watched service must reply (nanoseconds), with some allowance.
const REPLY: i64 = 600_000_000;

impl MachineCounters {
    fn add(&mut self, sample: &HostCounters) {
        self.carry.add(sample);
        self.lost = self.carry.values.is_empty();
        if self.replies.len() < MOST_SECONDS {
            self.replies.push((sample.at_ns, !self.lost));
        }
        let values = self.carry.values.iter().map(|(name, value)| (name.as_str(), value.real()));
        self.counted.add_reading(sample.at_ns, values);
        self.counted.set_labels(self.carry.labels.iter().map(|(name, word)| (name.as_str(), word.as_str())));
    }

    /// Returns `true` if a service reported the counters about itself, so that they belong to no machine.
    fn is_self_reported(&self) -> bool {
        ["redis.", "mysql.", "postgres.", "nginx.", "prometheus.", "log."]
            .iter()
            .any(|of| self.counted.name_middles(of, "").next().is_some())
    }
}

impl MachineCounters {
    /// Returns the service, if it replied to no query in the outage but did otherwise.
    fn silence(&self, outage: &ServiceOutage) -> Option<SilentService> {
        let at = |time: Nanos| i64::try_from(time.0).unwrap_or(i64::MAX);
        let (from, to) = (at(outage.from), at(outage.to));
        let number = |replied, within: bool| {
            // A query that is not answered ends later than the one that was asked at its end.
            let until = if replied { to } else { to.saturating_add(REPLY) };
            let all = self.replies.iter().filter(|(_, did)| *did == replied);
            all.filter(|(at_ns, _)| (from < *at_ns && *at_ns < until) == within).count()
        };
        let unanswered = number(false, true);
        let later = self.replies.iter().filter(|(at_ns, _)| *at_ns >= to.saturating_add(REPLY));
        // The service under load recovered, and so must one that it waited for.
        let came_back = later.clone().count() == 0 || later.clone().any(|(_, replied)| *replied);
        let silent =
            came_back && unanswered > 0 && number(true, true) == 0 && number(true, false) > number(false, false);
        silent.then(|| SilentService { name: self.host.clone(), unanswered: unanswered as u64 })
    }
}

impl MachineCounters {
    /// Returns the stretches in which the service replied to no query although it had before.
    fn silent_stretches(&self) -> Vec<SilentStretch> {
        let seconds = |at_ns: i64| at_ns as f64 / 1e9;
        let (mut all, mut last_reply, mut silent) = (Vec::new(), None, Vec::new());
        let stretch = |from: Option<i64>, to: i64, unanswered: usize| {
            let (name, queries) = (self.host.clone(), self.replies.len() as u64);
            let found = SilentStretch {
                name,
                from_s: seconds(from?),
                to_s: seconds(to),
                unanswered: unanswered as u64,
                queries,
            };
            (unanswered > 0).then_some(found)
        };
        for (at_ns, replied) in &self.replies {
            if !replied {
                silent.push(*at_ns);
                continue;
            }
            all.extend(stretch(last_reply, *at_ns, silent.len()));
            (last_reply, silent) = (Some(*at_ns), Vec::new());
        }
        all.extend(silent.last().and_then(|to| stretch(last_reply, *to, silent.len())));
        all
    }
}

impl CounterCollector {
    /// Handles the next event.
    pub fn see(&mut self, event: &RunEvent) {
        self.outages.see(event);
        self.course.see(event);
        if let RunEvent::Second(second) = event
            && second.connections.lost > 0
        {
            self.lost_from.get_or_insert(second.from_ns);
        }
        self.is_load_missing |= matches!(event, RunEvent::Second(second) if second.missing_share > 0.0);
        match event {
            RunEvent::Second(second) if second.part == RunPart::Drain => {
                self.closed(second);
                self.window_ends.get_or_insert(second.from_ns);
            }
            RunEvent::Second(second) => {
                self.take_until(second.to_ns.saturating_add(AFTER));
                self.closed(second);
                if second.part == RunPart::Warmup {
                    self.warmup_service.merge(&second.latency.service);
                    self.warmup_first_byte.merge(&second.latency.first_byte);
                }
                self.slow.extend(slow(second).filter(|_| self.slow.len() < MOST_SECONDS));
                if second.part == RunPart::Window && self.waiting.len() < MOST_SECONDS {
                    self.waiting.push(f64::from(second.waiting));
                }
                self.paces.extend(pace(second).filter(|_| self.paces.len() < MOST_SECONDS));
            }
            RunEvent::Counters(sample) if self.pending.len() < MOST_PENDING => self.pending.push(sample.clone()),
            RunEvent::Joined(joined) => {
                self.joined.retain(|known| known.host != joined.host);
                if self.joined.len() < MOST_HOSTS {
                    self.joined.push(joined.clone());
                }
            }
            _ => {}
        }
    }

    fn closed(&mut self, second: &Second) {
        let now = second.failures.iter().filter(|f| is_early_close(&f.kind, &f.phase)).map(|f| f.count);
        let now = now.fold(0, u64::saturating_add);
        let (before, most) = self.closed;
        self.closed = (now, most.max(before.saturating_add(now)));
    }

    /// Processes the pending readings up to `until`.
    fn take_until(&mut self, until: i64) {
        let pending = std::mem::take(&mut self.pending);
        let (now, later): (Vec<_>, Vec<_>) = pending.into_iter().partition(|sample| sample.at_ns <= until);
        self.pending = later;
        now.iter().for_each(|sample| self.take(sample));
    }

    fn take(&mut self, sample: &HostCounters) {
        let known = self.hosts.iter().position(|counts| counts.host == sample.host);
        let at = known.unwrap_or_else(|| {
            if self.hosts.len() < MOST_HOSTS {
                self.hosts.push(MachineCounters { host: sample.host.clone(), ..MachineCounters::default() });
            }
            self.hosts.len() - 1
        });
        if let Some(counts) = self.hosts.get_mut(at).filter(|counts| counts.host == sample.host) {
            counts.add(sample);
        }
    }

    /// Diagnoses the completed run.
    pub fn conclude(self, sums: &RunSums, trust: &Trust) -> Conclusion {
        conclude(&self.case(sums, trust))
    }

    /// Diagnoses a completed run of many agents; `nearby` is the machine of an agent that the service runs on as well.
    pub fn conclude_whole(self, sums: &RunSums, trust: &Trust, nearby: Option<ServiceNearby>) -> Conclusion {
        let mut case = self.case(sums, trust);
        // Agents that stood still did not deliver the load that nothing limited.
        let is_unsent = |found: &Finding| found.code == not_sent::CODE && found.grade == Grade::Fail;
        case.run.load_changed |= trust.findings.iter().any(is_unsent);
        if let Some(nearby) = nearby {
            (case.run.generator_cores, case.run.polled_cores) = (nearby.generator_cores, nearby.polled_cores);
            case.counters = nearby.counters;
        }
        conclude(&case)
    }

    /// Diagnoses the part of one agent; also returns the counters of its machine if the service runs there.
    pub fn conclude_agent(self, sums: &RunSums, trust: &Trust) -> (Conclusion, Option<CounterSummary>) {
        let case = self.case(sums, trust);
        let nearby = has_service(&case.counters).then(|| case.counters.clone());
        (conclude(&case), nearby)
    }

    /// Builds the case.
    fn case(mut self, sums: &RunSums, trust: &Trust) -> Case {
        self.take_until(self.window_ends.map_or(i64::MAX, |end| end.saturating_add(AFTER)));
        let (told, hosts): (Vec<_>, Vec<_>) = self.hosts.into_iter().partition(MachineCounters::is_self_reported);
        let outage = self.outages.found(sums);
        let silent = outage.iter().flat_map(|outage| told.iter().filter_map(|counts| counts.silence(outage))).collect();
        let silent_stretches = told.iter().flat_map(MachineCounters::silent_stretches).collect();
        let told = told.into_iter().map(|counts| counts.counted).collect();
        let is_joined = |counts: &MachineCounters| self.joined.iter().any(|joined| joined.host == counts.host);
        let (mut others, ours): (Vec<_>, Vec<_>) = hosts.into_iter().partition(is_joined);
        let mut ours = ours.into_iter();
        let here = ours.next().unwrap_or_default().counted;
        others.extend(ours);
        let elsewhere = service_host(others, &self.joined, has_service(&here));
        let latency = &sums.totals.latency;
        self.warmup_service.merge(&latency.service);
        self.warmup_first_byte.merge(&latency.first_byte);
        // The service time of a user's first request includes connecting. Where responses are short, the time to their
        // first byte is that of the service alone.
        let is_short = latency.transfer.sum() < latency.service.sum() / SHORT_TRANSFER;
        let has_all = self.warmup_first_byte.count() == self.warmup_service.count();
        let times_alone = if is_short && has_all { &self.warmup_first_byte } else { &self.warmup_service };
        let of_sums = run(sums, trust);
        let run = LoadResults {
            load_changed: of_sums.load_changed || self.is_load_missing,
            slow_each_second: self.slow,
            waiting_each_second: self.waiting,
            closed_at_once: self.closed.1,
            usual_second_per_s: median(self.paces),
            silent,
            silent_stretches,
            is_varied: self.course.is_varied(),
            curve: self.course.curve(),
            seconds: self.course.seconds(),
            held: held(sums, self.lost_from),
            outage: outage.map(|out| Outage {
                from_s: out.from.as_secs_f64(),
                to_s: out.to.as_secs_f64(),
                to_the_end: out.to_the_end,
                more: out.others,
            }),
            times_from_start: times(times_alone),
            ..of_sums
        };
        Case { run, counters: here, service_host: elsewhere, reported: told }
    }
}

/// The machine of an agent that the service under load runs on as well.
pub(crate) struct ServiceNearby {
    /// Counters of the machine.
    pub counters: CounterSummary,
    /// CPU time of the agents there, and the part of it spent polling, in cores.
    pub generator_cores: f64,
    pub polled_cores: f64,
}

/// Returns the results of the load in the form that the rules of the diagnosis use.
fn run(sums: &RunSums, trust: &Trust) -> LoadResults {
    let (totals, started) = (&sums.totals, sums.started.as_ref());
    let plan = started.map(|started| &started.plan);
    let window_s = sums.window.as_secs_f64();
    let failures =
        totals.failures.iter().map(|f| FailureCount { kind: f.kind.clone(), phase: f.phase.clone(), count: f.count });
    let cores = |time: Nanos| totals.generator.share(time).unwrap_or(0.0);
    LoadResults {
        url: plan.and_then(|plan| plan.urls.first()).map(|first| first.url.clone()).unwrap_or_default(),
        repeat: started.map_or_else(RepeatCommand::default, |s| repeat_command(&s.command, &s.plan)),
        is_open: sums.open,
        arrives_in_bursts: plan
            .is_some_and(|plan| matches!(plan.load, Load::Open { arrivals: brunt_plan::Arrivals::Burst, .. })),
        rejections: crate::rejections::signs(&sums.examples),
        named_times: named_times(sums),
        users: plan.map_or(0, most_users).max(totals.users),
        load_changed: !sums.changes.is_empty(),
        has_pauses: plan.is_some_and(|plan| {
            let thinks = matches!(plan.load, Load::Closed { think: Some(_), .. });
            let waits = plan.urls.iter().any(|url| url.max_rate().is_some());
            plan.flows().any(|(_, flow)| flow.has_pauses() || waits) || (thinks && !plan.has_flows())
        }),
        at_most: crate::rate_limited_steps::saturated_step(sums),
        connections: plan.map_or(0, |plan| plan.max_connections),
        window_s,
        scheduled: totals.due,
        per_iteration: per_iteration(sums),
        has_scenarios: plan.is_some_and(|plan| !plan.scenarios.is_empty()),
        succeeded_per_s: sums.throughput_per_s(),
        could_succeed_per_s: sums.throughput_at_most_per_s(),
        ended_per_s: sums.per_s(totals.finished_in_window.saturating_add(totals.failed)),
        failed_responses: spread(&totals.latency.failed_responses),
        per_connection: plan.and_then(streams).unwrap_or(1),
        refused_by_database: plan
            .filter(|plan| DATABASES.contains(&&*plan.protocol))
            .map_or(0, |_| refused_by_database(totals)),
        is_overloaded: Overload::of(sums).is_some(),
        shortfall: Overload::of(sums).map(|o| RateShortfall {
            sustained_per_s: o.sustained_per_s,
            scheduled_per_s: o.scheduled_per_s,
            growth_per_s: o.growth_per_s,
        }),
        fell_behind: fell_behind(sums),
        dropped_iterations: dropped_iterations::worst(sums).is_some(),
        waited_for_connection: totals.limited,
        in_flight: if sums.window == Nanos::ZERO { 0.0 } else { totals.in_flight_ns as f64 / sums.window.0 as f64 },
        received_per_s: sums.per_s(totals.bytes_in_window.received),
        service: DurationStats { min: shortest(sums), ..spread(&totals.latency.service) },
        connect: spread(&totals.latency.connect),
        opened: totals.connections.opened,
        failed_addresses: crate::failed_addresses::worst_name(sums),
        failures: failures.collect(),
        status: totals.status.clone(),
        expects_status: plan.is_some_and(|plan| plan.options.contains_key("expect-status")),
        generator_doubt: doubt(sums, trust),
        widened: widened(sums),
        away_s: totals.away_ns as f64 / 1e9,
        away_ready_s: totals.away_ready_ns as f64 / 1e9,
        unfinished: totals.censored,
        closed_when_reused: closed_when_reused(sums),
        connects: times(&totals.latency.connect),
        times: times(&totals.latency.service),
        transfers: times(&totals.latency.transfer),
        workers: sums.started.as_ref().map_or(1, |started| started.workers),
        busiest_worker: totals.generator.busiest_share().unwrap_or(0.0),
        generator_cores: cores(totals.generator.cpu),
        polled_cores: cores(totals.generator.polling),
        ..LoadResults::default()
    }
}

/// Share of the requests scheduled in open load that must have ended within the window for the load to be sustained,
/// and number of others that may always be in flight.
const SUSTAINED: f64 = 0.95;
const IN_FLIGHT: f64 = 10.0;

/// Returns `true` if requests of open load were left over at the end of the window because fewer ended than were
/// scheduled. Rate × shortest response time are in flight without any queue (Little's law).
fn fell_behind(sums: &RunSums) -> bool {
    let totals = &sums.totals;
    let in_service = sums.per_s(totals.due) * overload::shortest(sums).as_secs_f64();
    let left = totals.backlog.last() as f64 - in_service;
    sums.open && left >= IN_FLIGHT && left > (1.0 - SUSTAINED) * totals.due as f64
}

/// Returns what became of the connections that a run held; `lost_from` is the start of the first second in which any
/// was lost.
fn held(sums: &RunSums, lost_from: Option<i64>) -> Option<HeldConnections> {
    let held = held_connections::held(sums)?;
    Some(HeldConnections {
        most: held.most,
        lost: held.lost,
        refused: held.refused,
        lost_from_s: lost_from.map_or(0.0, |from| from.max(0) as f64 / 1e9),
        restored: held.left >= held.most,
    })
}

/// Returns the requests per iteration if there is only one flow.
fn per_iteration(sums: &RunSums) -> Option<f64> {
    let iterations = sums.spans().next().filter(|row| row.scenario.is_none())?.totals.counts.due;
    (iterations > 0).then(|| sums.totals.due as f64 / iterations as f64)
}

/// Returns the latencies of each name, if there are several.
fn named_times(sums: &RunSums) -> Vec<(String, DurationCounts)> {
    let all = sums.by_name().map(|row| (row.name.to_owned(), times(row.totals.ranked().finished)));
    Some(all.collect::<Vec<_>>()).filter(|all| all.len() > 1).unwrap_or_default()
}

fn times(histogram: &Histogram) -> DurationCounts {
    DurationCounts::new(histogram.buckets().map(|(time, n)| (time.as_secs_f64(), n)))
}

/// Returns the third slowest response time of a whole second of the window, in seconds, because a single slow response
/// may have any cause. Returns 0 if brunt itself left its sockets unchecked for at least half of that time.
fn slow(second: &Second) -> Option<f64> {
    if second.part != RunPart::Window || second.length() < Nanos::from_millis(900) {
        return None;
    }
    let service = &second.latency.service;
    let slow = service.count().checked_sub(2).and_then(|rank| service.at_rank(rank)).unwrap_or_default();
    let ours = second.latency.loop_gap.max().saturating_mul(2) >= slow.0;
    Some(if ours { 0.0 } else { slow.as_secs_f64() })
}

/// Returns the successes per second of a whole second of the window.
fn pace(second: &Second) -> Option<f64> {
    let length = second.length().as_secs_f64();
    (second.part == RunPart::Window && length >= 0.9).then(|| second.successes() as f64 / length)
}

/// Returns the median; 0 without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Returns the command line of a run, from which the commands of experiments are made.
pub fn repeat_command(command: &[String], plan: &Plan) -> RepeatCommand {
    let url = plan.urls.first().map_or("", |first| &first.url);
    let is_http2 = plan.options.get("http").is_some_and(|http| http.contains(&"2".into()));
    let traits = RepeatedPlan {
        holds: plan.hold.is_some(),
        requests: plan.requests,
        has_flow: plan.has_flows(),
        has_scenarios: !plan.scenarios.is_empty(),
        can_reconnect: ["http", "raw"].contains(&&*plan.protocol) && !is_http2,
    };
    RepeatCommand::new(command, url, traits)
}

/// Minimum change of a figure, as a share of it, that is material.
const MATERIAL: f64 = 0.1;

/// Returns the figures that delays of brunt itself may have changed materially.
fn widened(sums: &RunSums) -> Vec<WidenedFigure> {
    let latency = &sums.totals.latency;
    let (measured, unfinished, delayed, undelayed) = match sums.open {
        true => (&latency.response, &latency.response_at_least, &latency.response_delayed, &latency.response_undelayed),
        false => (&latency.service, &latency.service_at_least, &latency.service_delayed, &latency.service_undelayed),
    };
    let without = measured.with_replaced(delayed, undelayed);
    let figures = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)].into_iter().filter_map(|(quantile, q)| {
        // Unfinished requests rank above all others.
        let rank = brunt_measure::quantile::rank_of(measured.count() + unfinished.count(), q);
        let [least_s, most_s] = [without.at_rank(rank)?, measured.at_rank(rank)?].map(Nanos::as_secs_f64);
        (most_s - least_s > MATERIAL * most_s).then_some(WidenedFigure { quantile, least_s, most_s })
    });
    figures.collect()
}

/// Returns `true` if the peer closed before the first byte of a response.
fn is_early_close(kind: &str, phase: &str) -> bool {
    ["closed", "reset"].contains(&kind) && ["send", "first_byte"].contains(&phase)
}

/// Returns the number of failures caused by a close before the first byte, if their kept example was sent on a reused
/// connection.
fn closed_when_reused(sums: &RunSums) -> u64 {
    let failures = sums.totals.failures.iter().filter(|f| is_early_close(&f.kind, &f.phase));
    failures
        .filter(|f| sums.example(f).is_some_and(|example| example.reused))
        .map(|f| f.count)
        .fold(0, u64::saturating_add)
}

/// Returns the number of requests that may share a connection.
fn streams(plan: &Plan) -> Option<u32> {
    plan.options.get("streams")?.first()?.parse().ok()
}

/// Protocols of database servers. Other servers may use the same words with another meaning.
const DATABASES: [&str; 2] = ["mysql", "postgres"];

/// Returns the number of connections that a database refused because it had too many, whether or not a request failed.
fn refused_by_database(totals: &RunTotals) -> u64 {
    const WORDS: [&str; 2] = ["too many connections", "53300"];
    let says = |text: &str| WORDS.iter().any(|words| text.contains(words));
    let unopened = totals.unopened.iter().filter(|loss| says(&loss.detail)).map(|loss| loss.count);
    let failed = totals.status.iter().filter(|(code, _)| says(code)).map(|(_, count)| *count);
    unopened.chain(failed).fold(0, u64::saturating_add)
}

/// Returns the maximum number of users of a plan. The ends of seconds may show fewer, because users leave when their
/// requests are done.
fn most_users(plan: &Plan) -> u32 {
    match &plan.load {
        Load::Closed { stages, .. } => stages.iter().map(|stage| stage.from.max(stage.to) as u32).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the shortest response time, in seconds, including that of the pre-flight request, which met an idle service.
fn shortest(sums: &RunSums) -> f64 {
    let before = sums.probe.as_ref().filter(|first| first.failure.is_none() && first.requests == 1);
    let within = sums.totals.latency.service.min();
    before.map_or(within, |first| within.min(first.took.0)) as f64 / 1e9
}

/// Returns the doubt that the trust rules raise about the generator.
fn doubt(sums: &RunSums, trust: &Trust) -> Option<GeneratorDoubt> {
    let against = |code: &str| trust.findings.iter().any(|f| f.grade == Grade::Fail && f.code.starts_with(code));
    let late = if sums.stood_still().is_some() { GeneratorDoubt::StoodStill } else { GeneratorDoubt::Late };
    // Causes before effects: a throttled generator is absent, and an absent one is late.
    let doubts = [
        ("generator_busy", GeneratorDoubt::Busy),
        ("generator_throttled", GeneratorDoubt::Throttled),
        ("generator_starved", GeneratorDoubt::Starved),
        ("generator_absent", GeneratorDoubt::Absent),
        ("generator_late", GeneratorDoubt::Late),
        (crate::rules::band::CODE, late),
    ];
    doubts.into_iter().find(|(code, _)| against(code)).map(|(_, doubt)| doubt)
}

/// Returns the summary statistics of a histogram, computed from its narrow buckets.
fn spread(histogram: &Histogram) -> DurationStats {
    let count = histogram.count();
    if count == 0 {
        return DurationStats::default();
    }
    let mean = histogram.sum() as f64 / count as f64;
    let squares: f64 = histogram.buckets().map(|(at, n)| (at.0 as f64 - mean).powi(2) * n as f64).sum();
    let slow = count.saturating_sub(histogram.count_at_most(SECOND_SYN));
    DurationStats {
        count,
        min: histogram.min() as f64 / 1e9,
        mean: mean / 1e9,
        longest: histogram.max() as f64 / 1e9,
        deviation: (squares / count as f64).sqrt() / 1e9,
        second_or_more: slow as f64 / count as f64,
    }
}

/// A limit in words: the finding and its details.
pub(crate) struct LimitText {
    /// Finding in words.
    pub claim: String,
    /// Evidence, remedy and experiment, each with its label.
    pub details: Vec<String>,
}

/// Returns the limits in words, the main one first; empty without counters and findings.
pub(crate) fn limit_texts(conclusion: &Conclusion, lang: Lang) -> Vec<LimitText> {
    let mut all = limits(conclusion, lang);
    let plain = |claim| LimitText { claim, details: vec![] };
    all.extend(curve(conclusion, lang).map(plain));
    if !all.is_empty() {
        all.extend(conclusion.core_shares.map(|shared| plain(shared_by(&shared, &conclusion.programs, lang))));
    }
    all
}

/// Returns the curve of a run whose load was varied: `69.0/s → 81.0/s (4.27 ms, 14.7 ms)` for each point.
fn curve(conclusion: &Conclusion, lang: Lang) -> Option<String> {
    let latency = |seconds: Option<f64>| match seconds {
        None => crate::numbers::WITHHELD.to_owned(),
        Some(time) if time.is_infinite() => lang.of(words_of::NO_RESPONSE).to_owned(),
        Some(time) => crate::numbers::seconds(time),
    };
    let shown = |point: &CurvePoint| {
        let load = match conclusion.is_open {
            true => format!("{}/s", crate::numbers::rate(point.load)),
            false => lang.fill(say::USERS_N, &[("n", &crate::numbers::count(point.load.round() as u64))]),
        };
        let both = [latency(point.p50_s), latency(point.p99_s)].join(lang.of(say::COMMA));
        let time = lang.fill(say::BRACKETS, &[("inner", &both)]);
        format!("{load} → {}/s{time}", crate::numbers::rate(point.succeeded_per_s))
    };
    let points: Vec<String> = conclusion.curve.iter().filter(|point| point.load > 0.0).map(shown).collect();
    let facts = [("points", &*points.join(lang.of(words_of::SEMICOLON)))];
    (points.len() > 1).then(|| lang.fill(words_of::CURVE, &facts))
}

/// Maximum number of programs named.
const NAMED: usize = 4;

fn shared_by(shared: &CoreShares, programs: &[(String, f64)], lang: Lang) -> String {
    let others = (shared.busy - shared.service - shared.generator).max(0.0);
    let [service, generator, others] = [shared.service, shared.generator, others].map(|cores| format!("{cores:.2}"));
    let cores = format!("{:.0}", shared.cores);
    let facts: [(&str, &str); 4] =
        [("service", &service), ("generator", &generator), ("others", &others), ("cores", &cores)];
    let said = lang.fill(words_of::SHARED, &facts);
    if programs.len() < 2 {
        return said;
    }
    let each = programs.iter().take(NAMED).map(|(program, cores)| format!("{program} {cores:.2}"));
    said + &lang
        .fill(words_of::PROGRAMS, &[("programs", &each.collect::<Vec<_>>().join(lang.of(words_of::BETWEEN_PROGRAMS)))])
}

fn limits(conclusion: &Conclusion, lang: Lang) -> Vec<LimitText> {
    let alone = |text| {
        let (step, rate) = conclusion.at_most.as_ref().map_or(("", 0.0), |(step, rate)| (step, *rate));
        let claim = lang.fill(text, &[("step", step), ("rate", &crate::numbers::rate(rate))]);
        let first = [LimitText { claim, details: vec![] }].into_iter();
        first.chain(conclusion.findings.iter().map(|found| secondary_limit(found, lang))).collect()
    };
    let unknown = |text| {
        let next = match conclusion.next_load {
            NextLoad::Double => words_of::DOUBLE,
            NextLoad::Lower => words_of::LOWER,
            NextLoad::Single => words_of::SINGLE,
        };
        let mut all: Vec<LimitText> = alone(text);
        all.iter_mut().take(1).for_each(|first| first.claim += lang.of(next));
        all
    };
    match (conclusion.outcome, conclusion.coverage) {
        (DiagnosisOutcome::Limit, _) => {
            let first = conclusion.principal().map(|found| limit_text(found, lang));
            first
                .into_iter()
                .chain(conclusion.findings.iter().skip(1).map(|found| secondary_limit(found, lang)))
                .collect()
        }
        // This outcome follows from the plan and the counts of its steps alone.
        (DiagnosisOutcome::AtMost, _) => alone(words_of::AT_MOST),
        (_, CounterCoverage::Nothing) | (DiagnosisOutcome::NothingToJudge, _) => {
            conclusion.findings.iter().map(|found| limit_text(found, lang)).collect()
        }
        (DiagnosisOutcome::Users, _) => alone(words_of::USERS),
        (DiagnosisOutcome::MaxUsers, _) => alone(words_of::MAX_USERS),
        (DiagnosisOutcome::NotReached, _) => alone(words_of::NOT_REACHED),
        (DiagnosisOutcome::Unknown, CounterCoverage::Service) => unknown(words_of::UNKNOWN_HERE),
        (DiagnosisOutcome::Unknown, CounterCoverage::Generator) => unknown(words_of::UNKNOWN_ELSEWHERE),
    }
}

fn limit_text(found: &LimitFinding, lang: Lang) -> LimitText {
    let after = |word, sentence| format!("{}{}{sentence}", lang.of(word), lang.of(say::COLON));
    let details = [
        after(words_of::EVIDENCE, found.evidence(lang)),
        after(words_of::REMEDY, found.remedy(lang)),
        after(words_of::EXPERIMENT, found.experiment(lang)),
    ];
    LimitText { claim: claim_text(found, lang), details: details.into() }
}

/// Formats a limit listed after the main one.
fn secondary_limit(found: &LimitFinding, lang: Lang) -> LimitText {
    let claim = format!("{}{}{}", lang.of(words_of::ALSO), lang.of(say::COLON), claim_text(found, lang));
    let evidence = format!("{}{}{}", lang.of(words_of::EVIDENCE), lang.of(say::COLON), found.evidence(lang));
    LimitText { claim, details: vec![evidence] }
}

fn claim_text(found: &LimitFinding, lang: Lang) -> String {
    let proof = if found.proof == Proof::Proved { words_of::PROVED } else { words_of::CONSISTENT };
    let proof = lang.fill(proof, &[("rule", found.rule)]);
    found.claim(lang) + &lang.fill(say::BRACKETS, &[("inner", &proof)])
}
