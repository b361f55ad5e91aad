//! Named distributions of durations: `constant:10ms`, `uniform:5ms..15ms`, `exponential:2ms`,
//! `lognormal:10ms,0.5`.
//!
//! Every draw applies the quantile function to one uniform number, so that the quantiles a test expects and the values
//! a server draws come from the same formula. Durations always carry a unit.

use brunt_cause::{Complaint, complaint};
use std::fmt;
use std::str::FromStr;

use brunt_measure::{Nanos, Rng};
use brunt_plan::quantity::duration;

/// A distribution of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DelayDistribution {
    /// A constant duration.
    Constant(Nanos),
    /// A uniform distribution between two durations.
    Uniform(Nanos, Nanos),
    /// An exponential distribution with this mean.
    Exponential(Nanos),
    /// A log-normal distribution: median, and standard deviation of the logarithm.
    Lognormal(Nanos, f64),
}

impl DelayDistribution {
    /// Returns the duration that a share `p` (strictly between 0 and 1) of all draws does not exceed.
    pub fn quantile(&self, p: f64) -> Nanos {
        let ns = match *self {
            DelayDistribution::Constant(span) => return span,
            DelayDistribution::Uniform(low, high) => low.0 as f64 + p * (high - low).0 as f64,
            DelayDistribution::Exponential(mean) => -(-p).ln_1p() * mean.0 as f64,
            DelayDistribution::Lognormal(median, sigma) => median.0 as f64 * (sigma * normal_quantile(p)).exp(),
        };
        // Casts of floats saturate: an absurd sigma gives "never", not a wrapped number.
        Nanos(ns.round() as u64)
    }

    /// Returns the mean of all draws.
    pub fn mean(&self) -> Nanos {
        match *self {
            DelayDistribution::Constant(span) | DelayDistribution::Exponential(span) => span,
            DelayDistribution::Uniform(low, high) => Nanos(low.0 + (high - low).0 / 2),
            DelayDistribution::Lognormal(median, sigma) => {
                Nanos((median.0 as f64 * (sigma * sigma / 2.0).exp()).round() as u64)
            }
        }
    }

    /// Draws the next duration; a constant consumes no random number.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Nanos {
        match *self {
            DelayDistribution::Constant(span) => span,
            _ => self.quantile(between_0_and_1(rng)),
        }
    }
}

impl FromStr for DelayDistribution {
    type Err = Complaint;

    /// Parses a distribution; a bare duration (`10ms`) is a constant.
    fn from_str(text: &str) -> Result<DelayDistribution, Complaint> {
        let (name, rest) = text.split_once(':').unwrap_or(("constant", text));
        match name {
            "constant" => Ok(DelayDistribution::Constant(duration(rest)?)),
            "exponential" => Ok(DelayDistribution::Exponential(duration(rest)?)),
            "uniform" => {
                let (low, high) = rest.split_once("..").ok_or_else(|| {
                    complaint!("\"{text}\": write uniform:5ms..15ms", "“{text}”：请写 uniform:5ms..15ms")
                })?;
                let (low, high) = (duration(low)?, duration(high)?);
                if low > high {
                    return Err(complaint!(
                        "\"{text}\": the first bound is above the second; write uniform:5ms..15ms",
                        "“{text}”：第一个界限大于第二个；请写 uniform:5ms..15ms"
                    ));
                }
                Ok(DelayDistribution::Uniform(low, high))
            }
            "lognormal" => {
                let wrong = || {
                    complaint!(
                        "\"{text}\": write lognormal:MEDIAN,SIGMA, as in lognormal:10ms,0.5",
                        "“{text}”：请写 lognormal:MEDIAN,SIGMA，例如 lognormal:10ms,0.5"
                    )
                };
                let (median, sigma) = rest.split_once(',').ok_or_else(wrong)?;
                let sigma: f64 = sigma.parse().map_err(|_| wrong())?;
                if !(0.0..=10.0).contains(&sigma) {
                    return Err(complaint!(
                        "\"{text}\": sigma must be between 0 and 10",
                        "“{text}”：sigma 必须在 0 到 10 之间"
                    ));
                }
                Ok(DelayDistribution::Lognormal(duration(median)?, sigma))
            }
            _ => Err(complaint!(
                "\"{text}\" is not a distribution: write constant:10ms, uniform:5ms..15ms, exponential:2ms or \
                    lognormal:10ms,0.5",
                "“{text}”不是分布；请写 constant:10ms、uniform:5ms..15ms、exponential:2ms 或 lognormal:10ms,0.5"
            )),
        }
    }
}

impl fmt::Display for DelayDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DelayDistribution::Constant(span) => write!(f, "constant:{}ns", span.0),
            DelayDistribution::Uniform(low, high) => write!(f, "uniform:{}ns..{}ns", low.0, high.0),
            DelayDistribution::Exponential(mean) => write!(f, "exponential:{}ns", mean.0),
            DelayDistribution::Lognormal(median, sigma) => write!(f, "lognormal:{}ns,{sigma}", median.0),
        }
    }
}

/// Draws a number strictly between 0 and 1: the middle of one of 2^53 equal intervals.
#[inline]
fn between_0_and_1(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
}

/// Returns the quantile of the standard normal distribution: Wichura, algorithm AS 241 (PPND16), Applied
/// Statistics 37 (1988), exact to about 1e-16.
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-tail.ln()).sqrt();
    let z = if r <= 5.0 { ratio(r - 1.6, &FLANK) } else { ratio(r - 5.0, &FAR) };
    if q < 0.0 { -z } else { z }
}

/// Evaluates a rational function; coefficients of numerator and denominator, lowest power first.
fn ratio(r: f64, table: &[[f64; 8]; 2]) -> f64 {
    let [above, below] = table.map(|powers| powers.iter().rev().fold(0.0, |sum, c| sum * r + c));
    above / below
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_545e3,
    ],
];
const FLANK: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_read_and_written_back() {
        let ms = Nanos::from_millis;
        for (text, delay) in [
            ("10ms", DelayDistribution::Constant(ms(10))),
            ("constant:10ms", DelayDistribution::Constant(ms(10))),
            ("uniform:5ms..15ms", DelayDistribution::Uniform(ms(5), ms(15))),
            ("exponential:2ms", DelayDistribution::Exponential(ms(2))),
            ("lognormal:10ms,0.5", DelayDistribution::Lognormal(ms(10), 0.5)),
        ] {
            assert_eq!(text.parse(), Ok(delay), "{text}");
            assert_eq!(delay.to_string().parse(), Ok(delay), "{text} written back");
        }
        for (text, right) in [
            ("uniform:5ms", "uniform:5ms..15ms"),
            ("uniform:9ms..5ms", "above the second"),
            ("lognormal:10ms", "lognormal:MEDIAN,SIGMA"),
            ("lognormal:10ms,x", "lognormal:MEDIAN,SIGMA"),
            ("lognormal:10ms,-1", "between 0 and 10"),
            ("gamma:1ms", "not a distribution"),
            ("exponential:2", "is missing its unit"),
        ] {
            let trouble = text.parse::<DelayDistribution>().unwrap_err();
            assert!(trouble.contains(right), "{text}: {trouble}");
        }
    }

    #[test]
    fn normal_quantiles_match_the_tables() {
        // AS 241's own check values, and 0.5 and 0.975 from any table.
        for (p, z) in [
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_813_5),
            (1e-20, -9.262_340_089_798_408),
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
        ] {
            assert!((normal_quantile(p) - z).abs() < 1e-14, "{p}: {}", normal_quantile(p));
        }
    }

    /// The share of draws at or below the p-quantile is binomial: it lies within five standard deviations of p.
    #[test]
    fn drawn_spans_follow_their_formulas() {
        let n = 200_000u32;
        for text in ["uniform:5ms..15ms", "exponential:2ms", "lognormal:10ms,0.5", "lognormal:1ms,1.5"] {
            let delay: DelayDistribution = text.parse().unwrap();
            let mut rng = Rng::new(42);
            let drawn: Vec<Nanos> = (0..n).map(|_| delay.draw(&mut rng)).collect();
            let formulas: [(f64, f64); 5] = [0.01, 0.25, 0.5, 0.9, 0.999].map(|p| {
                let ns = match delay {
                    DelayDistribution::Uniform(a, b) => a.0 as f64 + p * (b.0 - a.0) as f64,
                    DelayDistribution::Exponential(mean) => mean.0 as f64 * (1.0 / (1.0 - p)).ln(),
                    // z of these five probabilities, from tables.
                    DelayDistribution::Lognormal(median, sigma) => {
                        let z = [
                            (0.01, -2.326_347_9),
                            (0.25, -0.674_489_8),
                            (0.5, 0.0),
                            (0.9, 1.281_551_6),
                            (0.999, 3.090_232_3),
                        ];
                        median.0 as f64 * (sigma * z.iter().find(|(q, _)| *q == p).unwrap().1).exp()
                    }
                    DelayDistribution::Constant(_) => unreachable!("not in the list"),
                };
                (p, ns)
            });
            for (p, ns) in formulas {
                let below = drawn.iter().filter(|d| d.0 as f64 <= ns).count() as f64 / f64::from(n);
                let bound = 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt();
                assert!((below - p).abs() < bound, "{text} p{p}: {below} of the draws below {ns}");
            }
        }
    }

    #[test]
    fn means_follow_their_formulas() {
        let n = 400_000;
        for (text, deviation_ns) in [("uniform:5ms..15ms", 10e6 / 12f64.sqrt()), ("exponential:2ms", 2e6)] {
            let delay: DelayDistribution = text.parse().unwrap();
            let mut rng = Rng::new(9);
            let mean = (0..n).map(|_| delay.draw(&mut rng).0 as f64).sum::<f64>() / f64::from(n);
            assert!((mean - delay.mean().0 as f64).abs() < 5.0 * deviation_ns / f64::from(n).sqrt(), "{text}: {mean}");
        }
        assert_eq!(DelayDistribution::Lognormal(Nanos(1_000_000), 1.0).mean(), Nanos(1_648_721));
    }

    #[test]
    fn the_same_seed_draws_the_same_spans() {
        let delay: DelayDistribution = "lognormal:10ms,0.5".parse().unwrap();
        let draw = |seed| {
            let mut rng = Rng::new(seed);
            (0..100).map(|_| delay.draw(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
