//! The catalogue of exported metrics, shared by all formats: families of points with a name, a unit and labels.
//!
//! Names are those of OpenTelemetry (`requests.scheduled`); the names in Prometheus are derived by its own rules
//! (`brunt_requests_scheduled_total`), so that both exporters result in the same names. Label cardinality is bounded:
//! for status codes and kinds of failure by the sums of the run, and for names here.

use std::borrow::Cow;

use brunt_measure::{Histogram, Nanos};
use brunt_record::{NamedCounts, RunPart};
use brunt_report::{Grade, NamedTotals, ObjectiveOutcome, RankedLatency, RunSums};

use crate::figures::FiguresSnapshot;

/// Maximum number of names with points of their own; the others are summed under [`OTHERS`].
pub(crate) const NAMES: usize = 100;
/// Label value for all further names.
pub(crate) const OTHERS: &str = "(others)";

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// The points of one metric name.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    /// Name, with dots between its words: `requests.scheduled`.
    pub name: &'static str,
    /// Description in one sentence.
    pub help: &'static str,
    /// Unit: `s`, `By`, or empty.
    pub unit: &'static str,
    pub kind: MetricKind,
    pub points: Vec<Point<'a>>,
}

/// Names and values of labels.
pub(crate) type MetricLabels<'a> = Vec<(&'static str, Cow<'a, str>)>;

/// One value and its labels.
#[derive(Debug)]
pub(crate) struct Point<'a> {
    pub labels: MetricLabels<'a>,
    pub value: PointValue<'a>,
}

/// The value of a point.
#[derive(Debug)]
pub(crate) enum PointValue<'a> {
    Count(u64),
    Real(f64),
    /// Distribution of times, with at most this many exponential buckets.
    Times(Cow<'a, Histogram>, usize),
}

impl Family<'_> {
    /// Returns the name in Prometheus: `brunt_requests_scheduled_total`.
    pub fn prometheus_name(&self) -> String {
        let unit = match self.unit {
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        };
        let total = if self.kind == MetricKind::Counter { "_total" } else { "" };
        format!("brunt_{}{unit}{total}", self.name.replace('.', "_"))
    }
}

/// Maximum number of exponential buckets of the histograms of the run, and of those of each name.
const FINE: usize = 2560;
const COARSE: usize = 320;

/// Returns all families.
pub(crate) fn families(reading: &FiguresSnapshot) -> Vec<Family<'_>> {
    let sums = &reading.so_far.sums;
    let mut all = vec![run(sums), part(reading)];
    all.extend(gauges(reading));
    all.extend(requests(sums));
    all.extend(connections(sums));
    all.extend(times(sums));
    all.push(bands(sums));
    all.extend(by_name(sums));
    all.push(checks(sums));
    all.extend(spans(sums));
    all.extend(judged(reading));
    all.extend(generator(sums));
    all
}

fn family<'a>(kind: MetricKind, (name, unit): (&'static str, &'static str), help: &'static str) -> Family<'a> {
    Family { name, help, unit, kind, points: Vec::new() }
}

fn counters<'a>(name: &'static str, help: &'static str) -> Family<'a> {
    family(MetricKind::Counter, (name, ""), help)
}

fn labelled_gauges<'a>(name: &'static str, help: &'static str) -> Family<'a> {
    family(MetricKind::Gauge, (name, ""), help)
}

fn histograms<'a>(name: &'static str, help: &'static str) -> Family<'a> {
    family(MetricKind::Histogram, (name, "s"), help)
}

/// Creates a family of one counter without labels.
fn counter<'a>(name: &'static str, n: u64, help: &'static str) -> Family<'a> {
    counters(name, help).with([], PointValue::Count(n))
}

fn gauge<'a>(name: &'static str, unit: &'static str, value: f64, help: &'static str) -> Family<'a> {
    family(MetricKind::Gauge, (name, unit), help).with([], PointValue::Real(value))
}

impl<'a> Family<'a> {
    /// Adds a point.
    fn with<const N: usize>(mut self, labels: [(&'static str, &'a str); N], value: PointValue<'a>) -> Family<'a> {
        let labels = labels.map(|(name, value)| (name, Cow::Borrowed(value))).into();
        self.points.push(Point { labels, value });
        self
    }

    fn counts(self, label: &'static str, all: impl IntoIterator<Item = (&'a str, u64)>) -> Family<'a> {
        all.into_iter().fold(self, |family, (value, n)| family.with([(label, value)], PointValue::Count(n)))
    }
}

/// Returns the metric that describes the run, for display on panels.
fn run(sums: &RunSums) -> Family<'_> {
    let none = labelled_gauges("run.info", "What is running: always 1.");
    let Some(started) = &sums.started else { return none };
    let url = started.plan.urls.first().map_or("", |url| &url.url);
    let load = if started.plan.load.is_open() { "open" } else { "closed" };
    let labels = [("version", &*started.brunt), ("protocol", &started.plan.protocol), ("url", url), ("load", load)];
    none.with(labels, PointValue::Real(1.0))
}

/// Returns the current phase of the run.
fn part(reading: &FiguresSnapshot) -> Family<'_> {
    let part = reading.now.second.map(|second| second.part);
    let at = match (reading.now.ended, part) {
        (true, _) => "ended",
        (_, None) => "starting",
        (_, Some(RunPart::Warmup)) => "warmup",
        (_, Some(RunPart::Window)) => "window",
        (_, Some(RunPart::Drain)) => "drain",
    };
    let family = labelled_gauges("run.part", "Phase of the run: 1 for the current one, 0 for the others.");
    ["starting", "warmup", "window", "drain", "ended"]
        .into_iter()
        .fold(family, |family, part| family.with([("part", part)], PointValue::Real(f64::from(u8::from(part == at)))))
}

fn gauges(reading: &FiguresSnapshot) -> Vec<Family<'_>> {
    let now = reading.now.second.unwrap_or_default();
    let window = reading.so_far.sums.window.as_secs_f64();
    vec![
        gauge("users", "", now.users.into(), "Users alive at the end of the last second."),
        gauge("requests.in_flight", "", now.in_flight.into(), "Requests in flight at the end of the last second."),
        gauge(
            "requests.waiting",
            "",
            now.waiting.into(),
            "Arrivals waiting for a connection at the end of the last second.",
        ),
        gauge("connections.open", "", now.connections.into(), "Connections open at the end of the last second."),
        gauge("offered_rate", "", now.offered_per_s, "Requests scheduled in the last second, per second."),
        gauge("window", "s", window, "Length of the window so far: what throughput is divided by."),
    ]
}

fn requests(sums: &RunSums) -> Vec<Family<'_>> {
    let totals = &sums.totals;
    let outcome = counters("requests", "Requests by outcome, excluding the warm-up.");
    let code = counters("responses", "Responses by status code.");
    let failed = counters("failures", "Failed requests by kind, phase and errno.");
    let bytes = family(MetricKind::Counter, ("transferred", "By"), "Bytes on the wire, and payload of the responses.");
    vec![
        counter("requests.scheduled", totals.due, "Scheduled requests, excluding the warm-up."),
        counter("requests.sent", totals.sent, "Requests whose first bytes were written."),
        counter("requests.warmup", totals.warmup, "Requests of the warm-up, not in any other count."),
        counter(
            "requests.from_cache",
            totals.from_cache,
            "Responses from users' caches: not requests, and in no other count.",
        ),
        counter("requests.resent", totals.resent, "Requests sent again because the peer had not processed them."),
        counter(
            "requests.hops",
            totals.hops,
            "Requests that followed redirects: part of the requests that led to them, and in no other count.",
        ),
        outcome.counts("outcome", outcomes(totals.finished, totals.failed, totals.censored)),
        counter(
            "requests.window",
            totals.finished_in_window,
            "Successes that completed within the window: what throughput counts.",
        ),
        code.counts("code", totals.status.iter().map(|(code, n)| (code.as_str(), *n))),
        totals.failures.iter().fold(failed, |family, f| {
            let labels = [("kind", &*f.kind), ("phase", &f.phase), ("errno", f.errno.as_deref().unwrap_or(""))];
            family.with(labels, PointValue::Count(f.count))
        }),
        bytes.counts(
            "direction",
            [("sent", totals.bytes.sent), ("received", totals.bytes.received), ("payload", totals.bytes.payload)],
        ),
    ]
}

fn outcomes(succeeded: u64, failed: u64, unfinished: u64) -> [(&'static str, u64); 3] {
    [("succeeded", succeeded), ("failed", failed), ("unfinished", unfinished)]
}

fn connections(sums: &RunSums) -> Vec<Family<'_>> {
    let c = &sums.totals.connections;
    let words = counters("peer_words", "What peers reported about how connections and requests ended.");
    vec![
        counter("connections.opened", c.opened, "Connections opened, including TLS."),
        counter("connections.failed", c.failed, "Connections that could not be opened."),
        counter("connections.reused", c.reused, "Requests on reused connections."),
        counter("connections.lost", c.lost, "Held connections that were lost."),
        counter("tls.handshakes", c.handshakes, "TLS handshakes completed."),
        counter("tls.resumed", c.resumed, "TLS handshakes that resumed a session."),
        words.counts("word", sums.totals.words.iter().map(|(word, n)| (word.as_str(), *n))),
    ]
}

fn times(sums: &RunSums) -> Vec<Family<'_>> {
    let latency = &sums.totals.latency;
    let of = |name, histogram, help| histograms(name, help).with([], PointValue::Times(Cow::Borrowed(histogram), FINE));
    let mut all = vec![
        of("service", &latency.service, "Time from the first write to the last byte of the response, of successes."),
        of(
            "service_at_least",
            &latency.service_at_least,
            "Lower bounds of the service time of requests that did not finish.",
        ),
        of("failed", &latency.failed, "How long failed requests took to fail."),
    ];
    if sums.open {
        all.extend([
            of(
                "response",
                &latency.response,
                "Time from the intended start to the last byte, of successes: what users experience.",
            ),
            of(
                "response_at_least",
                &latency.response_at_least,
                "Lower bounds of the response time of requests that did not finish.",
            ),
            of("wait_conn", &latency.wait_conn, "How long requests waited for a connection."),
        ]);
    }
    if sums.open || latency.gen_late.count() > 0 {
        all.push(of("gen_late", &latency.gen_late, "How late the load generator itself was."));
    }
    let phase = histograms("phase", "Where the time of requests went, by phase.");
    let phases = [
        ("connect", &latency.connect),
        ("tls", &latency.tls),
        ("greeting", &latency.greeting),
        ("first_byte", &latency.first_byte),
        ("transfer", &latency.transfer),
    ];
    all.push(
        phases.into_iter().filter(|(_, histogram)| !histogram.is_empty()).fold(phase, |family, (name, histogram)| {
            family.with([("phase", name)], PointValue::Times(Cow::Borrowed(histogram), COARSE))
        }),
    );
    all
}

/// Quantiles with bands, by the values of their label.
const BANDS: [(&str, f64); 3] = [("0.5", 0.5), ("0.95", 0.95), ("0.99", 0.99)];

/// Returns the bands of the headline latency; none for a record without them.
fn bands(sums: &RunSums) -> Family<'_> {
    let help = "Quantiles of the latency with (most) and without (least) the delays that may be brunt's own.";
    let family = family(MetricKind::Gauge, ("latency.band", "s"), help);
    if sums.totals.has_bands { add_bands(family, &[], sums.headline()) } else { family }
}

/// Adds both ends of each quantile that is known exactly.
fn add_bands<'a>(family: Family<'a>, labels: &[(&'static str, &'a str)], ranked: RankedLatency<'_>) -> Family<'a> {
    BANDS.iter().fold(family, |mut family, (quantile, q)| {
        let estimate = ranked.quantile(*q);
        let ends = estimate.figure.exact().map(|most| [estimate.band.map_or(most, |band| band.least), most]);
        for (end, time) in ["least", "most"].into_iter().zip(ends.into_iter().flatten()) {
            let labels = labels.iter().copied().chain([("quantile", *quantile), ("end", end)]);
            let labels = labels.map(|(name, value)| (name, Cow::Borrowed(value))).collect();
            family.points.push(Point { labels, value: PointValue::Real(time.as_secs_f64()) });
        }
        family
    })
}

/// Returns the requests by name, with individual points for the first names.
fn by_name(sums: &RunSums) -> Vec<Family<'_>> {
    let mut counts = counters("named.requests", "Requests by name and outcome.");
    let mut codes = counters("named.responses", "Responses by name and status code.");
    let mut cached = counters("named.from_cache", "Responses from users' caches by name: not requests.");
    let mut times = histograms(
        "named.latency",
        "Latency by name: response time, or service time if closed; lower bounds of unfinished requests included.",
    );
    let help = "Quantiles by name with (most) and without (least) the delays that may be brunt's own.";
    let mut bands = family(MetricKind::Gauge, ("named.latency_band", "s"), help);
    let rows: Vec<_> = sums.by_name().collect();
    let (own, rest) = rows.split_at(rows.len().min(NAMES));
    for row in own {
        counts = add_outcomes(counts, ("name", row.name), &row.totals.counts);
        cached = add_cached(cached, row.name, &row.totals.counts);
        for (code, n) in &row.totals.status {
            codes = codes.with([("name", row.name), ("code", code)], PointValue::Count(*n));
        }
        times = times.with([("name", row.name)], latency_of(row.totals));
        if sums.totals.has_bands {
            bands = add_bands(bands, &[("name", row.name)], row.totals.ranked());
        }
    }
    if !rest.is_empty() {
        let (mut others, mut latency) = (NamedCounts::default(), Histogram::new());
        for row in rest {
            others.add(&row.totals.counts);
            let ranked = row.totals.ranked();
            std::iter::once(ranked.finished).chain(ranked.at_least).for_each(|times| latency.merge(times));
        }
        counts = add_outcomes(counts, ("name", OTHERS), &others);
        cached = add_cached(cached, OTHERS, &others);
        times = times.with([("name", OTHERS)], PointValue::Times(Cow::Owned(latency), COARSE));
    }
    vec![counts, cached, codes, times, bands]
}

/// Adds the number of responses from caches for a name, if there are any.
fn add_cached<'a>(family: Family<'a>, name: &'a str, c: &NamedCounts) -> Family<'a> {
    if c.from_cache == 0 { family } else { family.with([("name", name)], PointValue::Count(c.from_cache)) }
}

/// Returns the numbers of responses that passed and failed each check, with individual points for the first checks.
fn checks(sums: &RunSums) -> Family<'_> {
    let family = counters("checks", "Responses by check and by whether they passed it; the warm-up is left out.");
    let rows: Vec<_> = sums.checks().collect();
    let (own, rest) = rows.split_at(rows.len().min(NAMES));
    let sum = |of: fn(&brunt_report::CheckRow<'_>) -> u64| rest.iter().map(of).sum();
    let others = brunt_report::CheckRow { name: OTHERS, passed: sum(|row| row.passed), failed: sum(|row| row.failed) };
    own.iter().copied().chain((!rest.is_empty()).then_some(others)).fold(family, |family, row| {
        family
            .with([("check", row.name), ("outcome", "passed")], PointValue::Count(row.passed))
            .with([("check", row.name), ("outcome", "failed")], PointValue::Count(row.failed))
    })
}

/// Returns the latency of a name. Unfinished requests are included with the lower bounds of their durations, because a
/// step that hangs would look fast without them.
fn latency_of(totals: &NamedTotals) -> PointValue<'_> {
    let ranked = totals.ranked();
    let times = match ranked.at_least.filter(|at_least| !at_least.is_empty()) {
        None => Cow::Borrowed(ranked.finished),
        Some(at_least) => {
            let mut all = ranked.finished.clone();
            all.merge(at_least);
            Cow::Owned(all)
        }
    };
    PointValue::Times(times, COARSE)
}

fn add_outcomes<'a>(family: Family<'a>, (label, name): (&'static str, &'a str), c: &NamedCounts) -> Family<'a> {
    outcomes(c.finished, c.failed, c.censored)
        .into_iter()
        .fold(family, |family, (outcome, n)| family.with([(label, name), ("outcome", outcome)], PointValue::Count(n)))
}

/// Returns the iterations of flows, and of their groups.
fn spans(sums: &RunSums) -> Vec<Family<'_>> {
    let mut counts = [
        counters("iterations", "Iterations of the flow by outcome."),
        counters("groups", "Groups of the flow by name and outcome."),
    ];
    let mut times = [
        histograms("iteration", "Duration of iterations, pauses included; of those cut short, until the cut."),
        histograms("group", "Duration of groups, pauses included; of those cut short, until the cut."),
    ];
    for row in sums.spans().take(NAMES) {
        let at = usize::from(row.group.is_some());
        let scenario = row.scenario.map(|scenario| ("scenario", Cow::Borrowed(scenario)));
        let group = row.group.map(|group| ("group", Cow::Borrowed(group)));
        let label: Vec<_> = scenario.into_iter().chain(group).collect();
        let c = &row.totals.counts;
        let dropped = (c.dropped > 0).then_some(("dropped", c.dropped));
        let outcomes = outcomes(c.finished, c.failed, c.censored).into_iter().chain(dropped);
        counts[at].points.extend(outcomes.map(|(outcome, n)| {
            let labels = label.iter().cloned().chain([("outcome", Cow::Borrowed(outcome))]).collect();
            Point { labels, value: PointValue::Count(n) }
        }));
        times[at].points.push(Point { labels: label, value: latency_of(row.totals) });
    }
    counts.into_iter().chain(times).collect()
}

/// Returns whether the figures can be trusted so far, and whether the objectives are met so far.
fn judged(reading: &FiguresSnapshot) -> Vec<Family<'_>> {
    let trust = &reading.so_far.trust;
    let number = |grade| match grade {
        Grade::Unchecked | Grade::Ok => 0.0,
        Grade::TooShort | Grade::Warn => 1.0,
        Grade::Fail => 2.0,
    };
    let findings = labelled_gauges("finding", "Reasons not to trust the results so far: 1 caution, 2 not trusted.");
    let objectives = labelled_gauges("objective.met", "Whether an objective is met so far: 1 or 0.");
    let against = trust.findings.iter().filter(|finding| finding.grade > Grade::Ok);
    let mut told: Vec<(&str, Grade)> = Vec::new();
    for finding in against {
        match told.iter_mut().find(|(code, _)| *code == finding.code) {
            Some((_, grade)) => *grade = finding.grade.max(*grade),
            None => told.push((finding.code, finding.grade)),
        }
    }
    let outcomes = labelled_gauges(
        "objective.outcome",
        "Whether an objective is met so far: 1 for its outcome, 0 for the others. Undecided: brunt's own delays decide.",
    );
    let mut judged: Vec<(&str, ObjectiveOutcome)> = Vec::new();
    for one in reading.so_far.objectives.iter().take(NAMES) {
        match judged.iter_mut().find(|(objective, _)| *objective == one.objective) {
            Some((_, worst)) => *worst = one.outcome.max(*worst),
            None => judged.push((&one.objective, one.outcome)),
        }
    }
    vec![
        gauge(
            "trust",
            "",
            number(trust.verdict()),
            "Whether the results can be trusted so far: 0 yes, 1 with caution, 2 no.",
        ),
        told.into_iter()
            .fold(findings, |all, (code, grade)| all.with([("code", code)], PointValue::Real(number(grade)))),
        judged.iter().fold(objectives, |all, (objective, outcome)| {
            all.with([("objective", *objective)], truth(*outcome == ObjectiveOutcome::Met))
        }),
        judged.iter().fold(outcomes, |all, (objective, outcome)| {
            [ObjectiveOutcome::Met, ObjectiveOutcome::Undecided, ObjectiveOutcome::Missed].into_iter().fold(
                all,
                |all, one| {
                    let labels = [("objective", *objective), ("outcome", one.name())];
                    all.with(labels, truth(one == *outcome))
                },
            )
        }),
    ]
}

/// Returns the value of a gauge that is 1 or 0.
fn truth<'a>(is: bool) -> PointValue<'a> {
    PointValue::Real(f64::from(u8::from(is)))
}

fn generator(sums: &RunSums) -> Vec<Family<'_>> {
    let seconds = |name, time: Nanos, help| {
        family(MetricKind::Counter, (name, "s"), help).with([], PointValue::Real(time.as_secs_f64()))
    };
    let generator = &sums.totals.generator;
    let mut resolution = family(
        MetricKind::Gauge,
        ("generator.resolution", "s"),
        "Usual time from brunt's last look at a connection to the reading of a response.",
    );
    let mut away = family(
        MetricKind::Counter,
        ("generator.away", "s"),
        "Time for which workers with requests in flight were away from their connections, summed over the workers.",
    );
    if let Some(time) = sums.totals.resolution() {
        resolution = resolution.with([], PointValue::Real(time.as_secs_f64()));
        away = away.with([], PointValue::Real(sums.totals.away_in_window.as_secs_f64()));
    }
    vec![
        resolution,
        away,
        seconds("generator.cpu", generator.cpu, "CPU time of brunt's workers within the window."),
        seconds(
            "generator.busiest_cpu",
            generator.busiest,
            "CPU time of the busiest worker in each second of the window.",
        ),
    ]
}
