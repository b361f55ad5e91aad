//! Random numbers from a seed: the same run again from the same number, on every machine.
//!
//! xoshiro256++ (Blackman and Vigna, 2019) seeded by splitmix64, written out here because a record made today must
//! replay in ten years, whatever a library decides by then. Not for secrets.

use crate::Nanos;

/// A seeded stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// One step of splitmix64 (Steele, Lea and Flood 2014): advances the seed and returns well-mixed bits of it.
#[inline]
pub fn splitmix64(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(GOLDEN);
    finished(*seed)
}

/// Bits that look random and follow from `bits`, of which neighbours have nothing in common: the number of a request
/// gives its values.
#[inline]
pub fn mixed(bits: u64) -> u64 {
    finished(bits.wrapping_mul(GOLDEN))
}

/// 2^64 over the golden ratio, the step of splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finish of splitmix64.
#[inline]
fn finished(bits: u64) -> u64 {
    let mut z = bits;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream of a seed; every seed is good, zero included.
    pub fn new(seed: u64) -> Rng {
        let mut seed = seed;
        Rng { state: std::array::from_fn(|_| splitmix64(&mut seed)) }
    }

    /// An independent stream, one for each number, which leaves this one as it is: workers and purposes each take their
    /// own, so that using more of one never shifts another.
    pub fn fork(&self, stream: u64) -> Rng {
        let mut key = stream;
        let mut seed = self.state[0] ^ self.state[2].rotate_left(29) ^ splitmix64(&mut key);
        Rng { state: std::array::from_fn(|_| splitmix64(&mut seed)) }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), 53 bits of it.
    #[inline]
    pub fn f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n without bias (Lemire 2019); 0 where `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let unfair = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= unfair {
                return (product >> 64) as u64;
            }
        }
    }

    /// Uniform between two times, both included; `lo` where `hi` is not above it.
    #[inline]
    pub fn between(&mut self, lo: Nanos, hi: Nanos) -> Nanos {
        match (hi - lo).0 {
            u64::MAX => Nanos(self.next_u64()),
            width => Nanos(lo.0 + self.below(width + 1)),
        }
    }

    /// Exponential with mean 1; never above 20.7, as `-ln(max(U, 1e-9))` (Treadmill's cap).
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.f64().max(1e-9).ln()
    }

    /// Standard normal (Box and Muller; the second of the pair is not kept, so that the stream has no hidden state).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.f64()).cos()
    }

    /// Gamma with mean and variance `shape` (Marsaglia and Tsang 2000), for shapes of at least 1.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape.max(1.0) - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.f64()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// How many of `n` things that each have the chance `p` come true. Exact: of n uniform points the i-th smallest is a ratio
    /// of gammas, and which side of it `p` lies on halves what is left to decide (Relles 1972).
    pub fn binomial(&mut self, n: u64, p: f64) -> u64 {
        const FEW: u64 = 32;
        let (mut n, mut p, mut count) = (n, p, 0);
        while n > FEW {
            if p <= 0.0 || p >= 1.0 {
                return count + if p >= 1.0 { n } else { 0 };
            }
            let i = n / 2 + 1;
            let (below, above) = (self.gamma(i as f64), self.gamma((n + 1 - i) as f64));
            let middle = below / (below + above);
            if p < middle {
                (n, p) = (i - 1, p / middle);
            } else {
                (n, p, count) = (n - i, (p - middle) / (1.0 - middle), count + i);
            }
        }
        count + (0..n).filter(|_| self.f64() < p).count() as u64
    }
}

#[cfg(test)]
mod tests;
