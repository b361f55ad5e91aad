//! The rule for the bands of the headline: how far brunt's own delays reach into the figures, and what caused them
//! (`docs/measurement.md` 2.5).
//!
//! Whatever keeps brunt from sending or reading in time (its own work, another process on its core, a CPU quota, stolen
//! time, a signal that stops it) looks like a slow server. The engine bounds the delay of each request; this rule
//! judges what the delays can change, by their size, and names their cause by its counter in those seconds.

use brunt_measure::Nanos;
use brunt_record::{CounterState, Latency, RunEvent, RunPart, Second};

use super::{Evidence, TrustRule, few_requests};
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::ranked::grade_of_width;
use crate::text::{Text, text};

/// Code of the finding.
pub(crate) const CODE: &str = "generator_delays";

const FIGURE: Text = text("{name} is {least} to {most}", "{name} 为 {least} 到 {most}");
const RATE: Text = text("throughput is {least} to {most}", "吞吐量为 {least} 到 {most}");
const RATE_FURTHER: Text = text(", throughput {least} to {most}", "，吞吐量为 {least} 到 {most}");
const FURTHER: Text = text(", {name} {least} to {most}", "，{name} 为 {least} 到 {most}");
const LATE: Text = text(": brunt itself was late by up to {longest}", "：brunt 自身最多延迟了 {longest}");

/// The quantiles by which a run is judged.
const HEADLINE: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];
/// Counter of stolen time.
const STOLEN: &str = "cpu.all.steal";
/// Share of the time away above which a cause is named.
const NAMED: f64 = 0.2;
/// Share of the time away above which throughput says little.
const OFTEN_AWAY: f64 = 0.4;
/// Share of a core above which brunt's own work explains that it was away.
pub(crate) const WORKING: f64 = 0.7;
/// Time between two looks at the sockets from which brunt stood still, and was not only woken late.
pub(crate) const STANDSTILL: Nanos = Nanos::from_secs(1);

/// A cause of delays, with the sentence that names it and the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelayCause {
    Quota,
    OtherProcess,
    Steal,
    OwnWork,
    Standstill,
    Stop,
}

impl DelayCause {
    const ALL: [DelayCause; 6] = [
        DelayCause::Quota,
        DelayCause::OtherProcess,
        DelayCause::Steal,
        DelayCause::OwnWork,
        DelayCause::Standstill,
        DelayCause::Stop,
    ];

    fn text(self) -> Text {
        match self {
            DelayCause::Quota => text("; its CPU quota was used up", "；其 CPU 配额用尽"),
            DelayCause::OtherProcess => text("; other processes had its core", "；CPU 核被其他进程占用"),
            DelayCause::Steal => text("; the hypervisor took its core", "；CPU 核被宿主机占用（steal）"),
            DelayCause::OwnWork => text("; its own work took that long", "；自身的处理用去了这些时间"),
            DelayCause::Standstill => text(
                "; it stood still (a signal, or a suspended or sleeping machine)",
                "；进程曾停住（信号，或机器被挂起或休眠）",
            ),
            DelayCause::Stop => text("; it was stopped or woken late", "；进程被暂停，或唤醒过晚"),
        }
    }

    fn advice(self) -> Text {
        match self {
            DelayCause::Quota => text("; raise the quota (cgroup)", "；请提高 cgroup 的配额"),
            DelayCause::OtherProcess => text(
                "; give brunt cores of its own, or stop the other processes",
                "；请给 brunt 独占 CPU 核，或停掉本机其他任务",
            ),
            DelayCause::Steal => text("; use a machine with dedicated cores", "；请使用独占 CPU 核的机器"),
            DelayCause::OwnWork => text(
                "; use more workers (-w), a lower load, or fewer response checks",
                "；请增加工作线程（-w）、降低负载，或减少对响应的检查",
            ),
            DelayCause::Standstill => {
                text("; find out what stopped it, and repeat the run", "；请查明停住的原因，然后重新压测")
            }
            DelayCause::Stop => text("; use an idle machine", "；请使用空闲的机器"),
        }
    }
}

/// The rule, with the delays of the window by cause.
#[derive(Debug, Default)]
pub(super) struct BandRule {
    delays: [Nanos; DelayCause::ALL.len()],
    longest: Nanos,
    counters: CounterState,
    /// Host of the first counters: that of the generator.
    host: Option<String>,
    /// Stolen time until the end of the previous second, in nanoseconds.
    stolen_ns: Option<f64>,
}

impl TrustRule for BandRule {
    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Counters(sample) if self.is_of_generator(&sample.host) => self.counters.add(sample),
            RunEvent::Second(second) => self.second(second),
            _ => {}
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        self.found(run).into_iter().collect()
    }
}

impl BandRule {
    /// Returns `true` for the host of the first counters.
    fn is_of_generator(&mut self, host: &str) -> bool {
        self.host.get_or_insert_with(|| host.to_owned()) == host
    }

    fn second(&mut self, second: &Second) {
        let now = self.counters.get(STOLEN).map(|value| value.real());
        let stolen_ns = now.zip(self.stolen_ns).map_or(0.0, |(now, before)| now - before);
        self.stolen_ns = now.or(self.stolen_ns);
        if second.part != RunPart::Warmup {
            self.longest = self.longest.max(longest_delay(second));
            let sum = &mut self.delays[cause_of(second, stolen_ns) as usize];
            *sum = sum.saturating_add(delays(&second.latency));
        }
    }

    fn found(&self, run: &Evidence<'_>) -> Option<Finding> {
        if !run.has_latency() {
            return None;
        }
        let widened = widened(run);
        let widest = widened.iter().map(|figure| figure.grade).max()?;
        // A run that is too short to judge is not judged by its bands either; its figures are shown as such.
        let grade = few_requests::too_short(run).map_or(widest, |short| short.grade.min(widest));
        let mut figures = widened.into_iter();
        let first = figures.next()?;
        let mut found = Finding::new(CODE, grade, if first.is_rate { RATE } else { FIGURE }, first.facts());
        for figure in figures {
            found = found.and(if figure.is_rate { RATE_FURTHER } else { FURTHER }, figure.facts());
        }
        found = found.and(LATE, [("longest", numbers::duration(self.longest))]);
        let causes = self.causes();
        for cause in &causes {
            found = found.and(cause.text(), []);
        }
        Some(causes.into_iter().fold(found, |found, cause| found.and(cause.advice(), [])))
    }

    /// Returns the causes of most of the delays, the most frequent first.
    fn causes(&self) -> Vec<DelayCause> {
        let all: u64 = self.delays.iter().map(|delay| delay.0).sum();
        let delay = |cause: DelayCause| self.delays[cause as usize].0;
        let mut causes: Vec<DelayCause> = DelayCause::ALL.to_vec();
        causes.retain(|cause| all > 0 && delay(*cause) as f64 >= NAMED * all as f64);
        causes.sort_by_key(|cause| std::cmp::Reverse(delay(*cause)));
        causes
    }
}

/// Returns the sum of the delays that may be brunt's own.
pub(crate) fn delays(latency: &Latency) -> Nanos {
    let [delayed, undelayed] = match latency.response.is_empty() {
        true => [&latency.service_delayed, &latency.service_undelayed],
        false => [&latency.response_delayed, &latency.response_undelayed],
    };
    Nanos(u64::try_from(delayed.sum().saturating_sub(undelayed.sum())).unwrap_or(u64::MAX))
}

/// Returns the longest time by which brunt was late in a second.
pub(crate) fn longest_delay(second: &Second) -> Nanos {
    Nanos(second.latency.loop_gap.max().max(second.latency.gen_late.max()))
}

/// Returns what explains most of the time for which brunt was away in a second, by its counter. Where users paused,
/// nothing was in flight for most of a stop: the longest delay is then longer than the time away from requests.
fn cause_of(second: &Second, stolen_ns: f64) -> DelayCause {
    let (usage, longest) = (&second.generator, longest_delay(second));
    let away = second.away_ns.max(longest.0) as f64;
    let explains = |ns: f64| away > 0.0 && ns >= away / 2.0;
    match () {
        () if usage.throttled > 0 => DelayCause::Quota,
        () if explains(second.away_ready_ns.max(usage.ready_ns) as f64) => DelayCause::OtherProcess,
        () if explains(stolen_ns) => DelayCause::Steal,
        () if usage.busiest_cpu_ns as f64 > WORKING * second.length().0 as f64 => DelayCause::OwnWork,
        () if second.latency.loop_gap.max() >= STANDSTILL.0 => DelayCause::Standstill,
        () => DelayCause::Stop,
    }
}

/// A figure of the headline whose band is too wide to trust the figure without reserve.
struct BandedFigure {
    /// Name of the quantile; empty for throughput.
    name: String,
    is_rate: bool,
    grade: Grade,
    ends: [String; 2],
}

impl BandedFigure {
    fn facts(self) -> [(&'static str, String); 3] {
        let [least, most] = self.ends;
        [("name", self.name), ("least", least), ("most", most)]
    }
}

/// Returns these figures: quantiles, and throughput under closed load.
fn widened(run: &Evidence<'_>) -> Vec<BandedFigure> {
    let headline = run.headline();
    let quantiles = HEADLINE.into_iter().filter_map(|(name, q)| {
        let estimate = headline.quantile(q);
        let ends = estimate.band.map(|band| [band.least, band.most].map(numbers::duration))?;
        Some(BandedFigure { name: name.to_owned(), is_rate: false, grade: estimate.grade(), ends })
    });
    let (least, most) = (run.throughput_per_s(), run.throughput_at_most_per_s());
    let share = 1.0 - least / most.max(f64::MIN_POSITIVE);
    // What was measured is the lower end, and its users lost no response: a caution, unless brunt was often away.
    let grade = grade_of_width(share).min(if share < OFTEN_AWAY { Grade::Warn } else { Grade::Fail });
    let ends = [least, most].map(|rate| format!("{}/s", numbers::rate(rate)));
    let rate = (most > 0.0).then(|| BandedFigure { name: String::new(), is_rate: true, grade, ends });
    quantiles.chain(rate).filter(|figure| figure.grade > Grade::Ok).collect()
}

#[cfg(test)]
mod tests {
    use brunt_record::RunEnd;

    use super::*;
    use crate::rules::tests::found;
    use crate::text::Lang;

    const MS: u64 = 1_000_000;

    /// Returns the findings on ten seconds of 1,000 requests of 2 ms, changed by `change`.
    fn judged(change: impl Fn(&mut Second)) -> Vec<Finding> {
        let second = |n: i64| {
            let (from_ns, to_ns) = (n * 1_000 * MS as i64, (n + 1) * 1_000 * MS as i64);
            let mut s =
                Second { from_ns, to_ns, part: RunPart::Window, due: 1000, finished: 1000, ..Second::default() };
            s.latency.service.record_n(Nanos(2 * MS), 900);
            change(&mut s);
            let left = 1000 - s.latency.service.count();
            s.latency.service.record_n(Nanos(2 * MS), left);
            RunEvent::Second(Box::new(s))
        };
        found(BandRule::default(), (0..10).map(second))
    }

    /// Delays `n` requests of 2 ms by `by`.
    fn delay(s: &mut Second, n: u64, by: u64) {
        s.latency.service.record_n(Nanos((2 + by) * MS), n);
        s.latency.service_delayed.record_n(Nanos((2 + by) * MS), n);
        s.latency.service_undelayed.record_n(Nanos(2 * MS), n);
        s.latency.loop_gap.record(Nanos(by * MS));
    }

    #[test]
    fn a_figure_that_brunt_did_not_widen_is_trusted() {
        assert_eq!(judged(|_| ()), []);
        // One in two hundred moves p99.9 only, which is not among the headline's.
        assert_eq!(judged(|s| delay(s, 5, 30)), []);
    }

    #[test]
    fn a_widened_figure_is_told_with_its_ends_its_cause_and_what_to_do() {
        let all = judged(|s| {
            delay(s, 20, 30);
            (s.away_ns, s.away_ready_ns) = (30 * MS, 29 * MS);
        });
        assert_eq!(all.iter().map(|found| (found.code, found.grade)).collect::<Vec<_>>(), [(CODE, Grade::Fail)]);
        assert_eq!(
            all[0].sentence(Lang::En),
            "p99 is 2.00 ms to 32.0 ms: brunt itself was late by up to 30.0 ms; other processes had its core; \
                give brunt cores of its own, or stop the other processes"
        );
    }

    #[test]
    fn a_run_that_is_too_short_to_judge_is_not_judged_by_its_bands() {
        let second = |length_ms: i64| {
            let to_ns = length_ms * MS as i64;
            let mut s = Second { to_ns, part: RunPart::Window, due: 40, finished: 40, ..Second::default() };
            s.latency.service.record_n(Nanos(2 * MS), 10);
            delay(&mut s, 30, 30);
            RunEvent::Second(Box::new(s))
        };
        let grade = |length_ms| {
            let window = Nanos(length_ms as u64 * MS);
            let ended = RunEvent::Ended(RunEnd { window, ..RunEnd::default() });
            found(BandRule::default(), [second(length_ms), ended])[0].grade
        };
        assert_eq!([grade(900), grade(1000)], [Grade::TooShort, Grade::Fail]);
    }

    #[test]
    fn each_cause_is_named_by_its_counter() {
        let named = |change: fn(&mut Second)| {
            let all = judged(|s| {
                delay(s, 20, 30);
                s.away_ns = 30 * MS;
                change(s);
            });
            all[0].sentence(Lang::En)
        };
        assert!(named(|s| s.generator.throttled = 2).contains("quota"));
        assert!(named(|s| s.generator.ready_ns = 40 * MS).contains("other processes"));
        assert!(named(|s| s.generator.busiest_cpu_ns = 900 * MS).contains("its own work"));
        assert!(named(|_| ()).contains("stopped"));
        let still = named(|s| s.latency.loop_gap.record(Nanos(5_000 * MS)));
        assert!(still.ends_with("; it stood still (a signal, or a suspended or sleeping machine); find out what stopped it, and repeat the run"), "{still}");
        let paused = |s: &mut Second| (s.away_ns, s.away_ready_ns) = (4 * MS, 3 * MS);
        assert!(named(paused).contains("stopped"), "users paused while it was stopped for 30 ms");
    }

    #[test]
    fn users_who_stood_still_with_brunt_widen_throughput() {
        let all = judged(|s| s.away_ns = 400 * MS);
        assert!(all[0].sentence(Lang::En).starts_with("throughput is 1,000/s to 1,667/s"), "{all:?}");
        assert!(all[0].sentence(Lang::Zh).starts_with("吞吐量为 1,000/s 到 1,667/s"), "{all:?}");
        assert_eq!(judged(|s| s.away_ns = 40 * MS), []);
    }
}
