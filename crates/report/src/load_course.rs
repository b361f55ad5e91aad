//! The course of the load within the window: what was asked and what came of it in each second, and the curve of load
//! against throughput and latency.

use brunt_diagnose::{CurvePoint, SecondFigures};
use brunt_measure::{Histogram, Nanos};
use brunt_plan::{Load, Plan};
use brunt_record::{Kind, Phase, RunEvent, RunPart, Second};

use crate::failure_kind::FailureKind as _;
use crate::ranked::{Figure, RankedLatency, headline};

/// Maximum number of seconds kept.
const MOST_SECONDS: usize = 7200;
/// Maximum number of points of the curve; above it, pairs of neighbours are merged while the run goes on.
const MOST_POINTS: usize = 32;
/// Number of points shown.
const SHOWN: usize = 8;
/// Minimum length of a second: of the remainder at the end, rates are chance.
const LEAST: Nanos = Nanos::from_millis(900);

/// The collector of the seconds of the window.
#[derive(Default)]
pub(crate) struct LoadCourse {
    is_open: bool,
    /// Set if the load of a plan is not a rate of requests but of iterations, whose requests depend on responses.
    is_of_iterations: bool,
    is_varied: bool,
    seconds: Vec<SecondFigures>,
    points: Vec<CurveStretch>,
    /// Seconds per point, and those in the last one.
    per_point: usize,
    in_last: usize,
}

/// A stretch of the window that becomes a point of the curve.
#[derive(Clone, Default)]
struct CurveStretch {
    from_s: f64,
    to_s: f64,
    /// Integral of the load over time.
    load_s: f64,
    succeeded: u64,
    backlog: f64,
    finished: Histogram,
    at_least: Histogram,
}

impl CurveStretch {
    fn of(figures: &SecondFigures, ranked: RankedLatency<'_>) -> CurveStretch {
        CurveStretch {
            from_s: figures.from_s,
            to_s: figures.from_s + figures.length_s,
            load_s: figures.load * figures.length_s,
            succeeded: figures.succeeded,
            backlog: figures.backlog,
            finished: ranked.finished.clone(),
            at_least: ranked.at_least.cloned().unwrap_or_default(),
        }
    }

    /// Appends the next stretch.
    fn append(&mut self, next: &CurveStretch) {
        (self.to_s, self.backlog) = (next.to_s, next.backlog);
        self.load_s += next.load_s;
        self.succeeded = self.succeeded.saturating_add(next.succeeded);
        self.finished.merge(&next.finished);
        self.at_least.merge(&next.at_least);
    }

    fn point(&self) -> CurvePoint {
        let length_s = (self.to_s - self.from_s).max(f64::MIN_POSITIVE);
        let ranked = RankedLatency::with_unfinished(&self.finished, &self.at_least);
        let quantile = |q| match ranked.quantile(q).figure {
            Figure::Exact(time) => Some(time.as_secs_f64()),
            Figure::AtLeast(_) => Some(f64::INFINITY),
            Figure::Withheld => None,
        };
        CurvePoint {
            from_s: self.from_s,
            to_s: self.to_s,
            load: self.load_s / length_s,
            succeeded_per_s: self.succeeded as f64 / length_s,
            p50_s: quantile(0.5),
            p99_s: quantile(0.99),
            backlog: self.backlog,
        }
    }
}

/// Merges neighbours so that `per` stretches become one.
fn merged(stretches: &[CurveStretch], per: usize) -> Vec<CurveStretch> {
    let merge = |some: &[CurveStretch]| {
        let (first, rest) = some.split_first()?;
        Some(rest.iter().fold(first.clone(), |mut all, next| {
            all.append(next);
            all
        }))
    };
    stretches.chunks(per.max(1)).filter_map(merge).collect()
}

impl LoadCourse {
    /// Handles the next event.
    pub fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                let plan = &started.plan;
                (self.is_open, self.is_varied) = (plan.load.is_open(), is_varied(plan));
                self.is_of_iterations = (plan.has_flows() && self.is_open) || !plan.scenarios.is_empty();
            }
            RunEvent::Second(second) if second.part == RunPart::Window && second.length() >= LEAST => {
                self.add(second);
            }
            _ => {}
        }
    }

    fn add(&mut self, second: &Second) {
        let figures = self.figures(second);
        if self.seconds.len() < MOST_SECONDS {
            self.seconds.push(figures);
        }
        if !self.is_varied {
            return;
        }
        let next = CurveStretch::of(&figures, headline(&second.latency, self.is_open));
        match self.points.last_mut().filter(|_| self.in_last < self.per_point) {
            Some(last) => {
                last.append(&next);
                self.in_last += 1;
            }
            None => {
                if self.points.len() == MOST_POINTS {
                    self.points = merged(&self.points, 2);
                    self.per_point *= 2;
                }
                self.points.push(next);
                (self.per_point, self.in_last) = (self.per_point.max(1), 1);
            }
        }
    }

    fn figures(&self, second: &Second) -> SecondFigures {
        let length_s = second.length().as_secs_f64();
        let users = match second.users_ns {
            0 => f64::from(second.users),
            users_ns => users_ns as f64 / 1e9 / length_s,
        };
        let load = if self.is_open { second.due as f64 / length_s } else { users };
        let unanswered = second.failures.iter().filter(|f| f.is(Kind::Timeout));
        let unanswered = unanswered.filter(|f| f.is_in(Phase::FirstByte) || f.is_in(Phase::Transfer));
        let latency = headline(&second.latency, self.is_open).finished;
        let mean_s = |h: &Histogram| if h.count() > 0 { h.sum() as f64 / h.count() as f64 / 1e9 } else { 0.0 };
        SecondFigures {
            from_s: second.from_ns as f64 / 1e9,
            length_s,
            load,
            succeeded: second.successes(),
            unanswered: unanswered.map(|f| f.count).fold(0, u64::saturating_add),
            failed_responses: second.latency.failed_responses.count(),
            failed: second.failed,
            backlog: f64::from(second.in_flight) + f64::from(second.waiting),
            response_s: mean_s(latency),
            answered_in_flight: second.latency.service.sum() as f64 / 1e9 / length_s,
        }
    }

    /// Returns `true` if the plan varied the load in a way that the seconds show.
    pub fn is_varied(&self) -> bool {
        self.is_varied && !self.is_of_iterations
    }

    /// Returns the points of the curve, in the order of time; none if the load was level, or nothing succeeded.
    pub fn curve(&self) -> Vec<CurvePoint> {
        let has_any = self.is_varied() && self.points.iter().any(|point| point.succeeded > 0);
        let points = if has_any { &self.points[..] } else { &[] };
        merged(points, points.len().div_ceil(SHOWN)).iter().map(CurveStretch::point).collect()
    }

    /// Returns the seconds.
    pub fn seconds(self) -> Vec<SecondFigures> {
        self.seconds
    }
}

/// Returns `true` if the plan varies its load: by stages, or by users who start one by one.
fn is_varied(plan: &Plan) -> bool {
    let one_by_one = plan.connect_rate.is_some() && matches!(plan.load, Load::Closed { .. });
    !plan.load.is_level() || one_by_one
}
