//! The Universal Scalability Law (Gunther 2007): how throughput grows with users, and why it stops.
//!
//! `X(N) = γN ÷ (1 + σ(N − 1) + κN(N − 1))`: γ is the throughput of a user alone, σ the share of work that only one user
//! does at a time (contention), κ the cost of each pair of users that must agree (coherency).

use brunt_measure::Rng;

use super::least_squares::{FitProblem, ParameterFit};

/// Points below which a fit is doubtful.
const FEW_POINTS: usize = 6;
/// Starting values of σ and κ, and their upper bound.
const START: [f64; 2] = [0.01, 0.0001];
const MOST: f64 = 1.0;
/// Values of σ and κ that are rounding: none.
const NOTHING: f64 = 1e-12;
/// Times the largest number of users that was measured at which a peak is an extrapolation.
const FAR: f64 = 2.0;
/// Resampled fits behind the interval of the peak.
const RESAMPLED: usize = 500;
/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.96;

/// A fitted curve of throughput by users.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalabilityFit {
    /// Throughput of a user alone, per second (γ).
    pub alone: f64,
    /// Contention (σ), 0 to 1.
    pub contention: f64,
    /// Coherency (κ), 0 to 1.
    pub coherency: f64,
    /// Standard errors of γ, σ and κ.
    pub errors: [f64; 3],
    /// Residual standard deviation; `None` with three points.
    pub deviation: Option<f64>,
    /// 95 % interval of the number of users at the peak; an infinite end where resampled fits have no peak.
    pub peak_interval: Option<[f64; 2]>,
    /// What must be said beside the figures.
    pub warnings: Vec<ScalabilityWarning>,
    largest: f64,
}

/// What makes a fit doubtful.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalabilityWarning {
    /// Fewer than six points.
    FewPoints,
    /// At this number of users each does more than one alone: a point is wrong, or a cache helps.
    Superlinear(f64),
    /// Nothing in the data says that throughput has a peak.
    NoPeak,
    /// The peak lies far beyond all points.
    Extrapolated,
}

/// What limits scaling at the largest number of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalingLimit {
    /// Work that only one user does at a time.
    Contention,
    /// Agreement between users.
    Coherency,
}

impl ScalabilityFit {
    /// Fits throughput by users; `relative` weighs relative errors alike, not absolute ones. `seed` is that of the
    /// resampling. Returns `None` with fewer than three points, or a point that is not above 0.
    pub fn of(points: &[(f64, f64)], relative: bool, seed: u64) -> Option<ScalabilityFit> {
        if points.len() < 3 || points.iter().any(|(n, x)| !(*n > 0.0 && *x > 0.0)) {
            return None;
        }
        let weights: Option<Vec<f64>> = relative.then(|| points.iter().map(|(_, x)| 1.0 / (x * x)).collect());
        let fitted = fit(points, weights.as_deref())?;
        let [alone, contention, coherency] = fitted.values[..] else { return None };
        let [contention, coherency] = [contention, coherency].map(|cost| if cost < NOTHING { 0.0 } else { cost });
        let errors = [fitted.errors[0], fitted.errors[1], fitted.errors[2]];
        let largest = points.iter().map(|(n, _)| *n).fold(0.0, f64::max);
        let mut found = ScalabilityFit {
            alone,
            contention,
            coherency,
            errors,
            deviation: fitted.deviation,
            peak_interval: None,
            warnings: Vec::new(),
            largest,
        };
        found.peak_interval = fitted.deviation.and_then(|_| found.resampled_peak(points, weights.as_deref(), seed));
        found.warnings = found.warnings_of(points);
        Some(found)
    }

    /// Returns the throughput of this many users.
    pub fn throughput(&self, users: f64) -> f64 {
        throughput([self.alone, self.contention, self.coherency], users)
    }

    /// Returns the response time of this many users in seconds: N ÷ X(N).
    pub fn response_s(&self, users: f64) -> f64 {
        users / self.throughput(users)
    }

    /// Returns the number of users at the peak, √((1 − σ) ÷ κ); `None` if there is no peak.
    pub fn peak(&self) -> Option<f64> {
        (self.coherency > 0.0).then(|| ((1.0 - self.contention) / self.coherency).sqrt())
    }

    /// Returns the throughput that contention alone would allow, γ ÷ σ; infinite without contention.
    pub fn limit(&self) -> f64 {
        self.alone / self.contention
    }

    /// Returns the number of users up to which queueing is little, 1 ÷ σ; infinite without contention.
    pub fn optimal_users(&self) -> f64 {
        1.0 / self.contention
    }

    /// Returns what costs more at the largest number of users that was measured.
    pub fn scaling_limit(&self) -> ScalingLimit {
        match self.contention > self.coherency * self.largest {
            true => ScalingLimit::Contention,
            false => ScalingLimit::Coherency,
        }
    }

    fn warnings_of(&self, points: &[(f64, f64)]) -> Vec<ScalabilityWarning> {
        let unsure = NORMAL * self.errors[0] / self.alone;
        let efficiency = |n: f64, x: f64| x / (self.alone * n);
        let superlinear = points.iter().find(|(n, x)| *n > 1.0 && efficiency(*n, *x) > 1.0 + unsure);
        let peak = match self.peak() {
            None => Some(ScalabilityWarning::NoPeak),
            Some(peak) => (peak > FAR * self.largest).then_some(ScalabilityWarning::Extrapolated),
        };
        (points.len() < FEW_POINTS)
            .then_some(ScalabilityWarning::FewPoints)
            .into_iter()
            .chain(superlinear.map(|(n, _)| ScalabilityWarning::Superlinear(*n)))
            .chain(peak)
            .collect()
    }

    /// Returns the interval of the peak by fits to the curve with resampled residuals.
    fn resampled_peak(&self, points: &[(f64, f64)], weights: Option<&[f64]>, seed: u64) -> Option<[f64; 2]> {
        let root = |i: usize| weights.map_or(1.0, |weights| weights[i].sqrt());
        let residual = |(i, (n, x)): (usize, &(f64, f64))| (x - self.throughput(*n)) * root(i);
        // Residuals of a fit are smaller than errors: three parameters follow them.
        let inflated = (points.len() as f64 / (points.len() - 3) as f64).sqrt();
        let residuals: Vec<f64> = points.iter().enumerate().map(residual).map(|r| r * inflated).collect();
        let mut rng = Rng::new(seed);
        let mut peaks: Vec<f64> = (0..RESAMPLED)
            .filter_map(|_| {
                let mut again = |i: usize, n: f64| {
                    let by = residuals[rng.below(residuals.len() as u64) as usize] / root(i);
                    (n, (self.throughput(n) + by).max(f64::MIN_POSITIVE))
                };
                let resampled: Vec<_> = points.iter().enumerate().map(|(i, (n, _))| again(i, *n)).collect();
                let [_, contention, coherency] = fit(&resampled, weights)?.values[..] else { return None };
                Some(((1.0 - contention) / coherency).sqrt())
            })
            .collect();
        peaks.sort_by(f64::total_cmp);
        let at = |share: f64| peaks.get((share * peaks.len() as f64) as usize).copied();
        Some([at(0.025)?, at(0.975)?])
    }
}

fn throughput([alone, contention, coherency]: [f64; 3], n: f64) -> f64 {
    alone * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0))
}

fn fit(points: &[(f64, f64)], weights: Option<&[f64]>) -> Option<ParameterFit> {
    let model = |values: &[f64], n: f64, by: &mut [f64]| {
        let divisor = 1.0 + values[1] * (n - 1.0) + values[2] * n * (n - 1.0);
        let shared = -values[0] * n * (n - 1.0) / (divisor * divisor);
        by.copy_from_slice(&[n / divisor, shared, shared * n]);
        values[0] * n / divisor
    };
    let most = points.iter().map(|(n, x)| x / n).fold(0.0, f64::max);
    let bounds = [[f64::MIN_POSITIVE, f64::INFINITY], [0.0, MOST], [0.0, MOST]];
    FitProblem { points, weights, model: &model, bounds: &bounds }.fit(&[most, START[0], START[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC_SDM: [(f64, f64); 7] =
        [(1.0, 64.9), (18.0, 995.9), (36.0, 1652.4), (72.0, 1853.2), (108.0, 1828.9), (144.0, 1775.0), (216.0, 1702.2)];
    /// The seed's ladder of users (`docs/measurement.md` 0).
    const LADDER: [(f64, f64); 8] = [
        (1.0, 6394.86),
        (4.0, 16909.36),
        (10.0, 18456.81),
        (20.0, 19490.50),
        (30.0, 19947.47),
        (50.0, 19922.56),
        (80.0, 19155.33),
        (100.0, 18336.46),
    ];

    fn near(found: f64, right: f64, share: f64) -> bool {
        (found / right - 1.0).abs() < share
    }

    #[test]
    fn spec_sdm91_is_fitted_as_published() {
        let found = ScalabilityFit::of(&SPEC_SDM, false, 1).expect("a fit");
        let values = [found.contention, found.coherency, found.alone];
        for (value, right) in values.into_iter().zip([0.027_728_48, 1.043_654_8e-4, 89.995_23]) {
            assert!(near(value, right, 1e-6), "{value} is not {right}");
        }
        for (error, right) in found.errors.into_iter().zip([14.21, 9.122e-3, 1.988e-5]) {
            assert!(near(error, right, 1e-3), "{error} is not {right}");
        }
        assert!(near(found.deviation.expect("4 degrees"), 82.85, 1e-3), "{found:?}");
        let peak = found.peak().expect("a peak");
        assert!(near(peak, 96.51956, 1e-5) && near(found.throughput(peak), 1883.899, 1e-5), "{peak}");
        assert!(near(found.limit(), 3245.589, 1e-5) && near(found.optimal_users(), 36.06401, 1e-5));
        assert!(near(found.throughput(found.optimal_users()), 1542.0, 1e-3));
        let fitted = SPEC_SDM.map(|(n, _)| found.throughput(n).round());
        assert_eq!(fitted, [90.0, 1078.0, 1541.0, 1850.0, 1879.0, 1822.0, 1646.0]);
        let [low, high] = found.peak_interval.expect("an interval");
        assert!(low < peak && peak < high && low > 50.0 && high < 200.0, "{low} {high}");
        assert_eq!(found.warnings, [], "nothing to warn of");
        assert!(near(found.response_s(1.0), 1.0 / 89.995, 1e-4));
    }

    #[test]
    fn a_synthetic_curve_and_the_ladder_of_the_seed_are_found_again() {
        let synthetic = [(1.0, 1.0), (2.0, 1.8868), (4.0, 3.0769), (6.0, 3.5294), (8.0, 3.5398), (10.0, 3.3557)];
        let found = ScalabilityFit::of(&synthetic, false, 1).expect("a fit");
        assert!(near(found.contention, 0.020_005_8, 1e-5) && near(found.coherency, 0.019_999_7, 1e-5), "{found:?}");
        assert!(near(found.peak().expect("a peak"), 7.0, 1e-3));
        assert_eq!(found.scaling_limit(), ScalingLimit::Coherency, "κN is ten times σ");
        let ladder = ScalabilityFit::of(&LADDER, false, 1).expect("a fit");
        let values = [ladder.contention, ladder.coherency, ladder.alone];
        for (value, right) in values.into_iter().zip([0.335_57, 7.6676e-4, 7670.36]) {
            assert!(near(value, right, 1e-4), "{value} is not {right}");
        }
        let peak = ladder.peak().expect("a peak");
        assert!(near(peak, 29.44, 1e-3) && near(ladder.throughput(peak), 20188.0, 1e-4), "{peak}");
        assert!(near(ladder.deviation.expect("5 degrees"), 994.0, 1e-2));
        assert_eq!(ladder.scaling_limit(), ScalingLimit::Contention);
    }

    #[test]
    fn what_the_data_do_not_show_is_said() {
        let linear: Vec<(f64, f64)> = (1..=4).map(|n| (f64::from(n), 100.0 * f64::from(n))).collect();
        let found = ScalabilityFit::of(&linear, true, 1).expect("a fit");
        assert_eq!(found.warnings, [ScalabilityWarning::FewPoints, ScalabilityWarning::NoPeak]);
        assert_eq!((found.peak(), found.limit()), (None, f64::INFINITY));
        let curve = |n: f64| throughput([100.0, 0.05, 0.0001], n);
        let far: Vec<(f64, f64)> = (1..=8).map(|n| (f64::from(n), curve(f64::from(n)))).collect();
        let far = ScalabilityFit::of(&far, false, 1).expect("a fit");
        assert_eq!(far.warnings, [ScalabilityWarning::Extrapolated]);
        let curve = |n: f64| throughput([100.0, 0.002, 0.0001], n);
        let mut wrong: Vec<(f64, f64)> = (1..=24).map(|n| (f64::from(n), curve(f64::from(n)))).collect();
        wrong[3].1 *= 1.3;
        let found = ScalabilityFit::of(&wrong, true, 1).expect("a fit");
        assert!(found.warnings.contains(&ScalabilityWarning::Superlinear(4.0)), "{found:?}");
        assert!(ScalabilityFit::of(&SPEC_SDM[..2], false, 1).is_none());
        assert!(ScalabilityFit::of(&[(1.0, 1.0), (2.0, 2.0), (0.0, 1.0)], false, 1).is_none());
    }
}
