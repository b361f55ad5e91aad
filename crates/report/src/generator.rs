//! Whether the generator itself was well: what it spoiled of its own figures.
//!
//! Whatever keeps brunt from reading an answer at once (its own work, another process on its core, a CPU quota, a signal that
//! stops it) looks like a slow server. Each sort leaves a trace of its own in the record; a trace costs trust where it is
//! large enough beside the figures it would spoil.

use measure::{Histogram, Nanos};
use record::Second;

use crate::ranked::{Figure, Ranked};
use crate::summary::Summary;
use crate::trust::Grade;

/// A share of a figure that may be brunt's own doing.
const SHARE: f64 = 0.2;
/// More than this share of it is always too much.
const MOST: f64 = 0.5;
/// Below this nobody cares: an idle virtual core wakes up that late.
const LEAST: Nanos = Nanos::from_millis(1);
/// From here on [`SHARE`] is too much.
const MUCH: Nanos = Nanos::from_millis(10);
/// The mean response may hold so much of brunt's own lateness, which is not looked at below [`MEAN_LEAST`]: healthy runs
/// against fast servers come to 240 µs, starved ones to 14 ms.
const MEAN_SHARE: f64 = 0.05;
const MEAN_LEAST: Nanos = Nanos::from_micros(250);

/// A worker is full above this share of a core (V4), and well used above the other.
const FULL: f64 = 0.9;
const USED: f64 = 0.7;
/// A share of the window with a full worker that spoils the run.
const FULL_FAIL: f64 = 0.05;
/// A second shorter than this says nothing about a share of a core.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// More than this share of the window in gaps of [`MUCH`] and more: the generator was not there (V10).
const LOST: f64 = 0.02;
/// Throttled periods of the CPU quota (V8).
const THROTTLED: f64 = 0.01;
/// So few sampled wake-ups say nothing about their 99th percentile.
const SAMPLES: u64 = 100;

/// One thing that was wrong with the generator.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// A worker had no time left: answers waited to be read, and requests to be sent.
    Busy {
        /// The busiest worker's share of a core over the window.
        share: f64,
        /// Seconds in which a worker was full, added up.
        full: Nanos,
        /// By how much of the window.
        grade: Grade,
    },
    /// Workers did not look at their sockets: they were stopped, or taken off their cores.
    Absent {
        /// The share of the window that was lost in gaps of 10 ms and more.
        lost: f64,
        /// The longest gap.
        longest: Nanos,
    },
    /// Workers did not look at their sockets for so long, and so often, that a quantile is theirs.
    ReadLate {
        /// Which.
        quantile: &'static str,
        /// What it came to.
        figure: Nanos,
        /// The longest gap.
        longest: Nanos,
    },
    /// Workers had to wait for a core when there was something to do.
    Starved {
        /// p99 of that wait.
        delay: Nanos,
        /// p99 of the headline.
        figure: Nanos,
    },
    /// The CPU quota of the generator was used up.
    Throttled {
        /// Periods in which it was.
        throttled: u64,
        /// Of how many.
        periods: u64,
    },
    /// The generator sent late by a material part of the response time.
    Late {
        /// Which quantile shows it: `p99`, `p50`.
        quantile: &'static str,
        /// That of the lateness.
        late: Nanos,
        /// That of the response.
        response: Nanos,
        /// By how much.
        grade: Grade,
    },
    /// The generator's lateness is a material part of the mean response.
    LateOnAverage {
        /// Mean of the lateness.
        late: Nanos,
        /// Mean of the response.
        response: Nanos,
    },
}

impl Trouble {
    /// A stable word for documents.
    pub fn code(&self) -> &'static str {
        match self {
            Trouble::Busy { .. } => "generator_busy",
            Trouble::Absent { .. } | Trouble::ReadLate { .. } => "generator_absent",
            Trouble::Starved { .. } => "generator_starved",
            Trouble::Throttled { .. } => "generator_throttled",
            Trouble::Late { .. } => "generator_late",
            Trouble::LateOnAverage { .. } => "generator_late_mean",
        }
    }

    /// How bad it is.
    pub fn grade(&self) -> Grade {
        match self {
            Trouble::Busy { grade, .. } | Trouble::Late { grade, .. } => *grade,
            Trouble::Absent { .. } | Trouble::ReadLate { .. } | Trouble::Starved { .. } | Trouble::Throttled { .. } => {
                Grade::Fail
            }
            Trouble::LateOnAverage { late, response } if late.0 as f64 > MOST * response.0 as f64 => Grade::Fail,
            Trouble::LateOnAverage { .. } => Grade::Warn,
        }
    }
}

/// How the generator ran, found while a record streams by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generator {
    /// Length of the seconds judged, and of those with a full worker.
    judged: Nanos,
    full: Nanos,
    /// CPU time of each second's busiest worker, added up.
    busiest: Nanos,
    periods: u64,
    throttled: u64,
    /// Length of the window, and its gaps.
    window: Nanos,
    gaps: Histogram,
}

impl Generator {
    /// Takes in a second of the window.
    pub fn see(&mut self, s: &Second, length: Nanos) {
        self.window += length;
        self.gaps.merge(&s.latency.loop_gap);
        self.periods += s.generator.periods;
        self.throttled += s.generator.throttled;
        if length < SHORTEST {
            return;
        }
        let busiest = Nanos(s.generator.busiest_cpu_ns);
        self.judged += length;
        self.busiest += busiest;
        if busiest.0 as f64 > FULL * length.0 as f64 {
            self.full += length;
        }
    }

    /// CPU time of each second's busiest worker ÷ their length; None where none was long enough to be judged.
    pub fn busiest_share(&self) -> Option<f64> {
        self.share(self.busiest)
    }

    /// Periods in which the CPU quota was used up, of how many.
    pub fn throttled_periods(&self) -> [u64; 2] {
        [self.throttled, self.periods]
    }

    fn share(&self, part: Nanos) -> Option<f64> {
        (self.judged > Nanos::ZERO).then(|| part.0 as f64 / self.judged.0 as f64)
    }

    fn busy(&self) -> Option<Trouble> {
        let (busiest, full) = (self.busiest_share()?, self.share(self.full)?);
        let grade = match () {
            _ if busiest > FULL || full > FULL_FAIL => Grade::Fail,
            _ if busiest > USED || full > 0.0 => Grade::Warn,
            _ => return None,
        };
        Some(Trouble::Busy { share: busiest, full: self.full, grade })
    }

    fn throttled(&self) -> Option<Trouble> {
        let (throttled, periods) = (self.throttled, self.periods);
        let material = throttled > 0 && throttled as f64 > THROTTLED * periods as f64;
        material.then_some(Trouble::Throttled { throttled, periods })
    }
}

/// Everything that is wrong with the generator of a run.
pub(crate) fn troubles(summary: &Summary) -> Vec<Trouble> {
    let totals = &summary.totals;
    if summary.only_holds() {
        // No latency, and a core may well be full of handshakes.
        return totals.generator.throttled().into_iter().collect();
    }
    let own = &totals.generator;
    let found = [own.throttled(), absent(summary), starved(summary), own.busy(), late(summary)];
    found.into_iter().flatten().collect()
}

fn known(figure: Figure) -> Option<Nanos> {
    figure.exact().or(figure.at_least())
}

/// The share of all moments from which on the generator did not look for longer than `span`.
fn blind_for(gaps: &Histogram, span: Nanos, time: f64) -> f64 {
    let beyond: f64 = gaps.buckets().map(|(gap, n)| (gap - span).0 as f64 * n as f64).sum();
    beyond / time
}

/// Stretches in which a worker did not look at its sockets: an answer that came in one was read at its end.
fn absent(summary: &Summary) -> Option<Trouble> {
    let (gaps, window) = (&summary.totals.generator.gaps, summary.totals.generator.window);
    if gaps.is_empty() || window < SHORTEST {
        return None;
    }
    let workers = summary.started.as_ref().map_or(1, |s| s.workers.max(1));
    let time = window.0 as f64 * f64::from(workers);
    let long = gaps.buckets().filter(|(gap, _)| *gap >= MUCH);
    let lost = long.fold(0.0, |sum, (gap, n)| sum + gap.0 as f64 * n as f64) / time;
    let longest = Nanos(gaps.max());
    if lost > LOST {
        return Some(Trouble::Absent { lost, longest });
    }
    let headline = summary.headline();
    // An answer in a hundred read so late moves p99; a longer gap is one for p99.9, which a single one of a few
    // milliseconds would reach in a short run.
    [("p50", 0.5, LEAST), ("p99", 0.99, LEAST), ("p99.9", 0.999, MUCH)].into_iter().find_map(|(name, q, least)| {
        let figure = known(headline.quantile(q).figure)?;
        let span = Nanos((figure.0 as f64 * SHARE) as u64).max(least);
        // Had so many been read so late, the quantile would be as long: in closed load a gap delays no more than the users.
        let spoiled = figure >= least && blind_for(gaps, span, time) > 1.0 - q;
        spoiled.then_some(Trouble::ReadLate { quantile: name, figure, longest })
    })
}

/// Waits for a core of its own, when something had happened that a worker was to be woken for.
fn starved(summary: &Summary) -> Option<Trouble> {
    let delays = Ranked::plain(&summary.totals.latency.wake_delay);
    if delays.count() < SAMPLES {
        return None;
    }
    let (delay, figure) = at_p99(summary, delays)?;
    let material = delay >= LEAST && delay.0 as f64 > SHARE * figure.0 as f64;
    material.then_some(Trouble::Starved { delay, figure })
}

/// p99 of something beside p99 of the headline.
fn at_p99(summary: &Summary, own: Ranked<'_>) -> Option<(Nanos, Nanos)> {
    let rank = measure::quantile::rank_of(own.count(), 0.99);
    Some((own.finished.at_rank(rank)?, known(summary.headline().quantile(0.99).figure)?))
}

/// Requests that left later than they were due, through no wait for a connection (V1).
fn late(summary: &Summary) -> Option<Trouble> {
    if !summary.open {
        return None;
    }
    let (lateness, headline) = (Ranked::plain(&summary.totals.latency.gen_late), summary.headline());
    for (quantile, q) in [("p99", 0.99), ("p50", 0.5)] {
        let own = lateness.quantile(q).figure.exact();
        let (Some(late), Some(response)) = (own, known(headline.quantile(q).figure)) else { continue };
        let share = late.0 as f64 / response.0.max(1) as f64;
        if late < LEAST || share <= SHARE {
            continue;
        }
        let grade = if share > MOST || late >= MUCH { Grade::Fail } else { Grade::Warn };
        return Some(Trouble::Late { quantile, late, response, grade });
    }
    let (late, response) = (known(lateness.mean())?, known(headline.mean())?);
    let material = late >= MEAN_LEAST && late.0 as f64 > MEAN_SHARE * response.0 as f64;
    material.then_some(Trouble::LateOnAverage { late, response })
}

#[cfg(test)]
mod tests {
    use record::{Latency, RunEvent};

    use super::*;

    const MS: u64 = 1_000_000;

    /// Ten seconds of a run, of each the same.
    fn run(open: bool, second: impl Fn(&mut Second)) -> Vec<Trouble> {
        let events = (0..10).map(|n| {
            let (from_ns, to_ns) = (n * 1_000 * MS as i64, (n + 1) * 1_000 * MS as i64);
            let mut s = Second { from_ns, to_ns, due: 1000, finished: 1000, ..Second::default() };
            s.latency.service.record_n(Nanos(2 * MS), 1000);
            if open {
                s.latency.response.record_n(Nanos(2 * MS), 1000);
            }
            second(&mut s);
            RunEvent::Second(Box::new(s))
        });
        troubles(&Summary::from_events(events))
    }

    fn codes(troubles: &[Trouble]) -> Vec<(&'static str, Grade)> {
        troubles.iter().map(|t| (t.code(), t.grade())).collect()
    }

    #[test]
    fn a_healthy_generator_is_told_nothing() {
        let well = |l: &mut Latency| {
            // 60 % of the time in turns of 50 µs, woken 50 to 120 µs late.
            l.loop_gap.record_n(Nanos::from_micros(50), 12_000);
            l.wake_delay.record_n(Nanos::from_micros(60), 195);
            l.wake_delay.record_n(Nanos::from_micros(900), 5);
            l.gen_late.record_n(Nanos::from_micros(120), 1000);
        };
        for open in [true, false] {
            let found = run(open, |s| {
                well(&mut s.latency);
                s.generator =
                    record::Generator { busiest_cpu_ns: 650 * MS, ready_ns: 200 * MS, periods: 10, throttled: 0 };
            });
            assert_eq!(found, [], "open: {open}");
        }
    }

    #[test]
    fn a_full_worker_spoils_a_run_and_a_well_used_one_is_a_caution() {
        let busy = |used: &[u64]| {
            let found = run(false, |s| {
                let n = (s.from_ns / 1_000_000_000) as usize;
                s.generator.busiest_cpu_ns = used[n % used.len()] * MS;
            });
            codes(&found)
        };
        assert_eq!(busy(&[950]), [("generator_busy", Grade::Fail)]);
        assert_eq!(busy(&[800]), [("generator_busy", Grade::Warn)]);
        assert_eq!(busy(&[950, 300, 300, 300, 300, 300, 300, 300, 300, 300]), [("generator_busy", Grade::Fail)]);
        assert_eq!(busy(&[690]), []);
    }

    #[test]
    fn pauses_are_judged_by_what_they_spoil() {
        let paused = |of: &[(u64, u64)], in_second: Option<i64>| {
            let found = run(false, |s| {
                for &(ms, n) in of {
                    if in_second.is_none_or(|second| s.from_ns / 1_000_000_000 == second) {
                        s.latency.loop_gap.record_n(Nanos(ms * MS), n);
                    }
                }
            });
            codes(&found)
        };
        let fails = [("generator_absent", Grade::Fail)];
        // 20 ms of each 100, and 300 ms of each second.
        assert_eq!(paused(&[(20, 10)], None), fails);
        assert_eq!(paused(&[(300, 1)], None), fails);
        // Half a second once in ten.
        assert_eq!(paused(&[(500, 1)], Some(3)), fails);
        // Turns of 3 ms, a tenth of the time: p99 of 2 ms holds them.
        assert_eq!(paused(&[(3, 34)], None), fails);
        // One pause of 9 ms in ten seconds moves nothing that is shown, nor does one of 15 ms, where p99.9 is 2 ms.
        assert_eq!(paused(&[(9, 1)], Some(3)), []);
        assert_eq!(paused(&[(15, 1)], Some(3)), []);
    }

    #[test]
    fn waits_for_a_core_are_judged_by_p99() {
        let starved = |slow: u64| {
            let found = run(false, |s| {
                s.latency.wake_delay.record_n(Nanos::from_micros(30), 200 - slow);
                s.latency.wake_delay.record_n(Nanos(30 * MS), slow);
            });
            codes(&found)
        };
        assert_eq!(starved(4), [("generator_starved", Grade::Fail)]);
        assert_eq!(starved(1), []);
    }

    #[test]
    fn a_quota_that_is_used_up_costs_trust() {
        let throttled =
            |throttled| codes(&run(true, |s| (s.generator.throttled, s.generator.periods) = (throttled, 10)));
        assert_eq!(throttled(7), [("generator_throttled", Grade::Fail)]);
        assert_eq!(throttled(0), []);
    }

    #[test]
    fn late_requests_are_judged_by_their_share_of_the_response() {
        let late = |late: &[(u64, u64)], response: &[(u64, u64)]| {
            let found = run(true, |s| {
                s.latency.response.clear();
                let fill = |h: &mut Histogram, of: &[(u64, u64)]| {
                    of.iter().for_each(|&(us, n)| h.record_n(Nanos::from_micros(us), n));
                };
                fill(&mut s.latency.gen_late, late);
                fill(&mut s.latency.response, response);
            });
            codes(&found)
        };
        let fails = [("generator_late", Grade::Fail)];
        // More than half, and a fifth of a long one.
        assert_eq!(late(&[(20, 980), (1_500, 20)], &[(200, 980), (2_500, 20)]), fails);
        assert_eq!(late(&[(20, 980), (15_000, 20)], &[(200, 980), (60_000, 20)]), fails);
        assert_eq!(late(&[(20, 980), (1_500, 20)], &[(200, 980), (5_000, 20)]), [("generator_late", Grade::Warn)]);
        // A large tail of the server does not hide that everything left late.
        assert_eq!(late(&[(1_500, 1000)], &[(2_600, 980), (2_000_000, 20)]), fails);
        // An idle core wakes up late, and a fast server answers sooner.
        assert_eq!(late(&[(98, 1000)], &[(217, 1000)]), []);
        assert_eq!(late(&[(400, 1000)], &[(3_000, 1000)]), [("generator_late_mean", Grade::Warn)]);
    }
}
