//! The structure of the JSON report: every figure has its unit in its name, and is null if withheld; in a distribution without requests
//! there are none.
//!
//! Latency quantiles come as three keys: `p99_us` (null if withheld or only a lower bound), `p99_at_least_us`
//! (present if it is only a lower bound) and `p99_ci_us` (its 95 % interval, absent if unknown; the upper end is null if the
//! sample does not bound it). Response and service of the whole run have intervals if it lasted 5 s; parts and
//! single seconds have none.

mod agents;
mod checks;
mod connections;
mod diagnosis;
mod distribution;
mod early_end;
mod iterations;
mod latency;
mod named;
mod probed_host;
mod recorded;
mod reference;
mod scenarios;
mod second;
mod slowest;
mod stretches;

use std::collections::BTreeMap;

use brunt_measure::Nanos;
use brunt_record::{ByteCounts, HeartbeatCounts};
use serde::Serialize;

use self::agents::{AgentReport, LabelReport, MissingReport, StartReport};
use self::checks::CheckReport;
use self::connections::ConnectionReport;
use self::distribution::Distribution;
pub(crate) use self::distribution::grade;
use self::early_end::EarlyEndReport;
use self::iterations::SpanReport;
use self::latency::{LatencyReport, PhasesReport};
use self::named::NameReport;
use self::probed_host::ProbedHostReport;
use self::reference::ReferenceReport;
use self::scenarios::ScenarioReport;
use self::second::SecondReports;
use self::slowest::SlowRequest;
use self::stretches::StretchReport;
use crate::early_end::EarlyEnd;
use crate::failed_addresses::FailedAddress;
use crate::failure_accounts::{FailureAccount, accounts};
use crate::finding::Finding;
use crate::objectives::Objective;
use crate::overload::Overload;
use crate::seconds::SecondsPass;
use crate::summary::Summary;
use crate::text::Lang;
use crate::totals::RunTotals;

/// The version of the report's format.
pub const SCHEMA: &str = "brunt-report/1";

/// The JSON report.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report<'a> {
    /// `brunt-report/1`.
    schema: &'static str,
    /// The brunt version that ran.
    brunt: Option<&'a str>,
    /// Wall clock at the start, milliseconds since 1970.
    unix_ms: Option<u64>,
    /// `open` or `closed`.
    mode: &'static str,
    /// `completed`, `stopped` (by an objective or a step), `interrupted`, `aborted`, or `cut_off` (the record
    /// ends before the run did).
    ended: &'static str,
    /// Kind of the early end, and the time after which the run ended; only if it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<EarlyEndReport>,
    /// Length of the window in seconds, the divisor of throughput.
    window_s: f64,
    /// Time from the first connect to the end of the drain, in seconds.
    elapsed_s: f64,
    /// The exit code of the run.
    exit: u8,
    /// Every request, counted once: scheduled = succeeded + failed + unfinished.
    requests: RequestCounts,
    /// Successes that completed within the window ÷ its length, including those of warm-up requests.
    throughput_per_s: f64,
    /// The same if brunt had not kept users waiting under closed load; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput_at_most_per_s: Option<f64>,
    /// Bytes on the wire.
    bytes: ByteCounts,
    /// Status code → count.
    status: &'a BTreeMap<String, u64>,
    /// Reasons the peer gave for closing connections and streams (`GOAWAY NO_ERROR`, `RST_STREAM CANCEL`) →
    /// count, whatever the outcome of the requests; HTTP/2 and gRPC.
    words: &'a BTreeMap<String, u64>,
    /// Failures by kind, phase and errno.
    failures: Vec<FailureReport<'a>>,
    /// Latency of requests.
    latency: LatencyReport<'a>,
    /// Figures by stages and changes of the load, in the order of time; only if the load changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    stretches: Option<Vec<StretchReport<'a>>>,
    /// Figures per request name, if the run has several; they add up to the run's.
    by_name: Vec<NameReport<'a>>,
    /// Iterations of the flow, then each of its groups; only if the run has a flow.
    iterations: Vec<SpanReport<'a>>,
    /// Requests of each scenario, which add up to the run's; only if the run has scenarios. Their iterations
    /// are in `iterations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenarios: Option<Vec<ScenarioReport<'a>>>,
    /// Results of each named check, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Vec<CheckReport<'a>>>,
    /// Slowest requests, sampled ones and others; only with traces (`--trace`).
    #[serde(skip_serializing_if = "Option::is_none")]
    slowest: Option<Vec<SlowRequest<'a>>>,
    /// Results of the reference client, if the run had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<ReferenceReport<'a>>,
    /// Phases of requests and connections.
    phases: PhasesReport<'a>,
    /// Connections.
    connections: ConnectionReport,
    /// Connections of the plan that were lost, by cause.
    losses: Vec<recorded::LossReport<'a>>,
    /// Connections that could not be opened but failed no request, by cause; the others are in `failures`.
    unopened: Vec<UnopenedReport<'a>>,
    /// Failed connects to names with several addresses, by address; they are also in `failures` or `unopened`.
    failed_addresses: Vec<FailedAddressReport<'a>>,
    /// Unsolicited messages.
    unsolicited: u64,
    /// Unsolicited messages that were surplus responses, if responses are matched only by order.
    strays: u64,
    /// Messages that opened connections (`--on-connect`); in no other count.
    opening_messages: u64,
    /// Replies to unsolicited messages from the target (`--reply`); in no other count.
    replies: u64,
    /// Messages in exchanges whose responses are streams.
    messages: u64,
    /// Heartbeats on open connections; in no other count.
    heartbeats: HeartbeatCounts,
    /// CPU time of the generator's threads in seconds.
    cpu_s: f64,
    /// Part of `cpu_s` spent polling so that requests leave on time (`--precise`, or within a budget).
    spun_s: f64,
    /// Under open load: the rate sustained by a server that could not keep up; null if it kept up.
    overload: Option<OverloadReport>,
    /// Verdict on whether the results can be trusted.
    trust: TrustReport,
    /// Diagnosis of what limited the run.
    diagnosis: diagnosis::Diagnosis,
    /// The objectives.
    objectives: Vec<ObjectiveReport<'a>>,
    /// Stretches in which no request succeeded although requests were in flight or failed; only if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    outages: Option<Vec<OutageReport>>,
    /// Stretches in which a share of the run is missing because agents were lost; only if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Vec<MissingReport>>,
    /// Changes of the load during the run, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a [brunt_record::LoadChange]>,
    /// Notices for the reader.
    notices: Vec<recorded::NoticeReport<'a>>,
    /// The pre-flight request, counted separately.
    probe: Option<recorded::FirstAnswerReport<'a>>,
    /// The load generator's machine; with several, the coordinator's.
    host: Option<&'a brunt_record::GeneratorHost>,
    /// All of the load generator's machines, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<&'a [brunt_record::GeneratorHost]>,
    /// Agents of a run of many machines, in the order of their workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<AgentReport<'a>>>,
    /// The agents summed up by label; only if any has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<LabelReport<'a>>>,
    /// How far apart the agents began.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<StartReport>,
    /// Machines under test with a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<Vec<ProbedHostReport<'a>>>,
    /// Maximum rate of brunt on this machine ÷ the throughput, after `brunt calibrate` (HTTP/1.1 without TLS).
    #[serde(skip_serializing_if = "Option::is_none")]
    headroom: Option<f64>,
    /// Set if `headroom` is a lower bound, computed from the CPU time per request of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    headroom_is_at_least: Option<bool>,
    /// Network and worker threads.
    generator: Option<GeneratorReport<'a>>,
    /// The command line, secrets masked.
    command: &'a [String],
    /// The plan, secrets masked.
    plan: Option<&'a brunt_plan::Plan>,
    /// Figures of every second.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<self::second::SecondReport<'static>>"))]
    seconds: SecondReports<'a>,
}

/// Requests of a run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RequestCounts {
    /// Scheduled (closed load: started), excluding the warm-up.
    #[serde(rename = "scheduled")]
    due: u64,
    /// Succeeded.
    #[serde(rename = "succeeded")]
    finished: u64,
    /// Failed.
    failed: u64,
    /// Still unfinished when the run ended.
    #[serde(rename = "unfinished")]
    censored: u64,
    /// Failed requests whose answer came after their timeout; in no count of status codes.
    late: u64,
    /// Sent for the warm-up; in no other count.
    warmup: u64,
    /// Sent before the run; in no other count.
    probe: u64,
    /// Succeeded requests that get no answer: complete when written, without a latency.
    one_way: u64,
    /// Requests sent once more because the target had not processed them; each is one request in all other
    /// counts.
    resent: u64,
    /// Sent to follow redirects (`-L`): each is part of the request that led to it, and in no other count.
    hops: u64,
    /// Requests that got a final response instead of `100 Continue`, so that their body was not sent.
    declined: u64,
    /// Requests whose body was sent after waiting for a `100 Continue` that did not come.
    released: u64,
    /// Resources of pages not fetched because they are on other hosts; never due, and in no other count.
    resources_elsewhere: u64,
    /// Resources of pages not fetched because there were too many, or their URLs were too long; never due, and
    /// in no other count.
    resources_beyond: u64,
    /// Pages that were searched for resources only in part.
    pages_cut: u64,
    /// Responses from users' caches: not requests, and in no other count.
    from_cache: u64,
    /// Succeeded requests answered with 304: the user's cached copy is still valid.
    not_modified: u64,
    /// Body bytes not transferred thanks to cached or unmodified responses.
    cache_bytes: u64,
    /// Responses not cached for lack of room.
    not_cached: u64,
    /// Requests that waited for a connection because the maximum number (`max_connections`) was in use.
    limited: u64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FailureReport<'a> {
    /// Kind, such as `refused`, `timeout`, `wrong_status`.
    kind: &'a str,
    /// Phase, such as `connect`, `first_byte`.
    phase: &'a str,
    /// System error, such as `ECONNREFUSED`.
    errno: Option<&'a str>,
    /// Number of failures.
    count: u64,
    /// The same by status and by name, most first: unexpected statuses by their code. Only where the counts of the
    /// record add up to `count`.
    parts: Vec<FailurePartReport<'a>>,
    /// Kept example.
    example: Option<ExampleReport<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FailurePartReport<'a> {
    /// Status code of the responses; null if they are not counted by it.
    status: Option<&'a str>,
    /// Number of failures.
    count: u64,
    /// Name → number of failures; empty if the run has only one name, or if they are not known.
    by_name: BTreeMap<&'a str, u64>,
}

impl<'a> From<FailureAccount<'a>> for FailurePartReport<'a> {
    fn from(part: FailureAccount<'a>) -> FailurePartReport<'a> {
        FailurePartReport { status: part.status, count: part.count, by_name: part.names.into_iter().collect() }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ExampleReport<'a> {
    /// Details beyond the kind.
    detail: &'a str,
    /// Data sent.
    sent: &'a str,
    /// Data received.
    received: &'a str,
    /// `true` if it was sent on a reused connection: the server may have closed it at that moment.
    reused: bool,
    /// Trace of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a brunt_record::TraceId>,
    /// The user's values in the request, by name, in a flow; null: unknown. Secrets are masked, and each value is cut
    /// at 256 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [brunt_record::UsedValue]>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FailedAddressReport<'a> {
    /// Name that was looked up.
    host: &'a str,
    /// Address and port.
    address: &'a str,
    /// Kind, such as `refused`, `timeout`.
    kind: &'a str,
    /// System error, such as `ECONNREFUSED`.
    errno: Option<&'a str>,
    /// Number of connects.
    count: u64,
}

impl<'a> From<FailedAddress<'a>> for FailedAddressReport<'a> {
    fn from(one: FailedAddress<'a>) -> FailedAddressReport<'a> {
        let failed = one.failed;
        FailedAddressReport {
            host: one.host,
            address: one.address,
            kind: &failed.kind,
            errno: failed.errno.as_deref(),
            count: failed.count,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct UnopenedReport<'a> {
    /// Kind, such as `refused`, `wrong_status`, `timeout`.
    kind: &'a str,
    /// Phase, such as `connect`, `tls`, `greeting`.
    phase: &'a str,
    /// System error, such as `ECONNREFUSED`.
    errno: Option<&'a str>,
    /// Details beyond the kind: the server's own message.
    detail: &'a str,
    /// Number of connections.
    count: u64,
    /// Kept example.
    example: Option<ExampleReport<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OverloadReport {
    /// Requests succeeded per second.
    sustained_per_s: f64,
    /// Requests scheduled per second.
    scheduled_per_s: f64,
    /// Growth of the queue per second; null if timeouts kept it from growing.
    queue_growth_per_s: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OutageReport {
    /// Last success before it, in seconds since the start of the window.
    from_s: f64,
    /// Next success, or the end of the window.
    to_s: f64,
}

impl From<&(i64, i64)> for OutageReport {
    fn from((from_ns, to_ns): &(i64, i64)) -> OutageReport {
        OutageReport { from_s: *from_ns as f64 / 1e9, to_s: *to_ns as f64 / 1e9 }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TrustReport {
    /// `trusted`, `too_short`, `caution` or `not_trusted`.
    verdict: &'static str,
    /// The verdict line printed before the figures: `TRUSTED`, `TRUSTED, and the server is overloaded: …`,
    /// `TOO SHORT TO JUDGE: …`, `WITH CAUTION: …` or `NOT TRUSTED because …`, with the advice.
    line: String,
    /// All checks performed.
    reasons: Vec<ReasonReport>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ReasonReport {
    /// Stable identifier.
    code: &'static str,
    /// `unchecked`, `ok`, `too_short`, `warn` or `fail`.
    grade: &'static str,
    /// Description in words.
    sentence: String,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ObjectiveReport<'a> {
    /// The objective as written.
    objective: &'a str,
    /// `true` if it was met for certain.
    met: bool,
    /// `met`, `missed`, or `undecided` if it is met without the delays that may be brunt's own and missed with them.
    outcome: &'static str,
    /// Measured value, in words.
    measured: &'a str,
    /// Scheduled requests that met it; null if it is not checked by counting.
    within: Option<u64>,
    /// Limit of an objective on latency; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_us: Option<f64>,
    /// Quantile that it limits (0.99); absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    quantile: Option<f64>,
    /// Name of the requests that it applies to; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct GeneratorReport<'a> {
    /// Network backend: `epoll`, `uring`, `sim`.
    net: &'a str,
    /// Worker threads.
    workers: u32,
    /// CPU time of the busiest worker of each second ÷ the window; null if no second was long enough.
    busiest_share: Option<f64>,
    /// Usual time from the last look at a connection to the reading of a response; null if not recorded.
    resolution_us: Option<f64>,
    /// Time for which workers with requests in flight were away from their connections within the window, summed over
    /// the workers.
    away_s: f64,
    /// Enforcement periods of its CPU quota, and number of periods in which it was throttled.
    throttled_periods: [u64; 2],
    /// Gaps of 20 µs or more in which a worker did not check its sockets.
    loop_gap: Distribution<'a>,
    /// Time from wake-up to running on a core, for a sample of wake-ups.
    wake_delay: Distribution<'a>,
}

impl RequestCounts {
    fn of(summary: &Summary) -> RequestCounts {
        let totals = &summary.totals;
        RequestCounts {
            due: totals.due,
            finished: totals.finished,
            failed: totals.failed,
            censored: totals.censored,
            late: totals.late,
            warmup: totals.warmup,
            probe: summary.probe.as_ref().map_or(0, |p| p.requests),
            one_way: totals.one_way,
            resent: totals.resent,
            hops: totals.hops,
            declined: totals.declined,
            released: totals.released,
            resources_elsewhere: totals.resources_elsewhere,
            resources_beyond: totals.resources_beyond,
            pages_cut: totals.pages_cut,
            from_cache: totals.from_cache,
            not_modified: totals.not_modified,
            cache_bytes: totals.cache_bytes,
            not_cached: totals.not_cached,
            limited: totals.limited,
        }
    }
}

impl From<Overload> for OverloadReport {
    fn from(found: Overload) -> OverloadReport {
        OverloadReport {
            sustained_per_s: found.sustained_per_s,
            scheduled_per_s: found.scheduled_per_s,
            queue_growth_per_s: found.growth_per_s,
        }
    }
}

/// Returns the elements, or `None` if there are none.
fn some_of<T>(all: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let all: Vec<T> = all.collect();
    (!all.is_empty()).then_some(all)
}

impl<'a> Report<'a> {
    /// Creates the report of a run; the seconds are read while it is serialized.
    pub fn of(summary: &'a Summary, pass: SecondsPass<'a>) -> Report<'a> {
        let (totals, started) = (&summary.totals, summary.started.as_deref());
        Report {
            schema: SCHEMA,
            brunt: started.map(|s| s.brunt.as_str()),
            unix_ms: started.map(|s| s.unix_ms),
            mode: if summary.open { "open" } else { "closed" },
            ended: if summary.was_stopped() { "stopped" } else { summary.end.name() },
            cut: EarlyEnd::of(summary).map(EarlyEndReport::of),
            window_s: summary.window.as_secs_f64(),
            elapsed_s: summary.elapsed.as_secs_f64(),
            exit: summary.exit.code(),
            requests: RequestCounts::of(summary),
            throughput_per_s: summary.throughput_per_s(),
            throughput_at_most_per_s: Some(summary.throughput_at_most_per_s())
                .filter(|most| *most > summary.throughput_per_s()),
            bytes: totals.bytes,
            status: &totals.status,
            words: &totals.words,
            failures: failures(summary),
            latency: LatencyReport::of_run(totals, summary.open),
            stretches: stretches::reports(summary),
            by_name: named::reports(summary),
            iterations: iterations::reports(summary),
            scenarios: scenarios::reports(summary),
            checks: checks::reports(summary),
            slowest: slowest::reports(summary),
            reference: summary.reference.as_ref().map(ReferenceReport::of),
            phases: PhasesReport::of(&totals.latency),
            connections: ConnectionReport::from(&totals.connections),
            losses: totals.losses.iter().map(recorded::LossReport::from).collect(),
            unopened: unopened(summary),
            failed_addresses: crate::failed_addresses::by_address(summary).map(FailedAddressReport::from).collect(),
            unsolicited: totals.unsolicited,
            strays: totals.strays,
            opening_messages: totals.opening_messages,
            replies: totals.replies,
            messages: totals.messages,
            heartbeats: totals.heartbeats,
            cpu_s: totals.cpu_ns as f64 / 1e9,
            spun_s: totals.spun_ns as f64 / 1e9,
            overload: Overload::of(summary).map(OverloadReport::from),
            trust: trust(summary),
            diagnosis: diagnosis::Diagnosis::of(&summary.limits),
            objectives: objectives(summary),
            outages: some_of(summary.outages.iter().map(OutageReport::from)),
            missing: some_of(summary.missing.iter().map(MissingReport::from)),
            changes: Some(&*summary.changes).filter(|changes| !changes.is_empty()),
            notices: summary.notices.iter().map(recorded::NoticeReport::from).collect(),
            probe: summary.probe.as_ref().map(recorded::FirstAnswerReport::from),
            host: started.and_then(|s| s.host()),
            hosts: started.map(|s| &*s.hosts).filter(|hosts| hosts.len() > 1),
            agents: agents::agents(summary),
            labels: agents::labels(summary),
            start: agents::start(summary),
            probes: some_of(summary.joined.iter().map(ProbedHostReport::of)),
            headroom: summary.headroom().map(|headroom| headroom.times),
            headroom_is_at_least: summary.headroom().map(|headroom| headroom.is_at_least),
            generator: started.map(|s| GeneratorReport::of(s, &summary.totals)),
            command: started.map_or(&[], |s| &s.command),
            plan: started.map(|s| &s.plan),
            seconds: SecondReports::of(pass, summary),
        }
    }
}

impl<'a> GeneratorReport<'a> {
    fn of(started: &'a brunt_record::RunStarted, totals: &'a RunTotals) -> GeneratorReport<'a> {
        GeneratorReport {
            net: &started.net,
            workers: started.workers,
            busiest_share: totals.generator.busiest_share(),
            resolution_us: totals.resolution().map(Nanos::as_micros_f64),
            away_s: totals.away_in_window.as_secs_f64(),
            throttled_periods: [totals.generator.throttled, totals.generator.periods],
            loop_gap: Distribution::plain(&totals.latency.loop_gap),
            wake_delay: Distribution::plain(&totals.latency.wake_delay),
        }
    }
}

impl<'a> From<&'a brunt_record::FailureExample> for ExampleReport<'a> {
    fn from(e: &'a brunt_record::FailureExample) -> ExampleReport<'a> {
        let (detail, sent, received) = (&*e.detail, &*e.sent, &*e.received);
        ExampleReport {
            detail,
            sent,
            received,
            reused: e.reused,
            trace: e.trace.as_ref(),
            values: (!e.values.is_empty()).then_some(&e.values),
        }
    }
}

fn unopened(summary: &Summary) -> Vec<UnopenedReport<'_>> {
    let losses = summary.totals.unopened.iter();
    losses
        .map(|loss| UnopenedReport {
            kind: &loss.kind,
            phase: &loss.phase,
            errno: loss.errno.as_deref(),
            detail: &loss.detail,
            count: loss.count,
            example: summary.example_of_loss(loss).map(ExampleReport::from),
        })
        .collect()
}

fn failures(summary: &Summary) -> Vec<FailureReport<'_>> {
    let failures = summary.totals.failures.iter();
    failures
        .map(|f| FailureReport {
            kind: &f.kind,
            phase: &f.phase,
            errno: f.errno.as_deref(),
            count: f.count,
            parts: accounts(summary, f).into_iter().map(FailurePartReport::from).collect(),
            example: summary.example(f).map(ExampleReport::from),
        })
        .collect()
}

fn trust(summary: &Summary) -> TrustReport {
    TrustReport {
        verdict: summary.trust.verdict().verdict(),
        line: crate::verdict_line::verdict_line(summary, Lang::En),
        reasons: summary.trust.findings.iter().map(reason).collect(),
    }
}

fn reason(found: &Finding) -> ReasonReport {
    ReasonReport { code: found.code, grade: found.grade.name(), sentence: found.sentence(Lang::En) }
}

fn objectives(summary: &Summary) -> Vec<ObjectiveReport<'_>> {
    let judged = summary.objectives.iter();
    judged
        .map(|o| (o, Objective::parse(&o.objective).ok().and_then(Objective::latency_limit)))
        .map(|(o, limit)| ObjectiveReport {
            objective: &o.objective,
            met: o.is_met(),
            outcome: o.outcome.name(),
            measured: &o.measured,
            within: o.counted.map(|(n, _)| n),
            limit_us: limit.as_ref().map(|limit| limit.limit.as_micros_f64()),
            quantile: limit.as_ref().and_then(|limit| limit.quantile),
            name: limit.and_then(|limit| limit.name),
        })
        .collect()
}

/// Returns the JSON Schema of the report, generated from the types (`docs/schema/report.json`).
#[cfg(feature = "schema")]
pub fn schema_json() -> String {
    let schema = schemars::schema_for!(Report<'static>);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}
