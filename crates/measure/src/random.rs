//! Seeded random numbers: the same seed gives the same run on every machine.
//!
//! xoshiro256++ (Blackman and Vigna, 2019) seeded by splitmix64, implemented here so that a record made today can be
//! replayed in ten years, independently of any library. Not suitable for secrets.

use crate::Nanos;

/// A seeded random number generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// Performs one step of splitmix64 (Steele, Lea and Flood 2014): advances the seed and returns well-mixed bits of it.
#[inline]
pub fn splitmix64(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(GOLDEN);
    finalize(*seed)
}

/// Returns pseudorandom bits derived from `bits`; neighbouring inputs give unrelated results. The values of a request
/// are derived from its number in this way.
#[inline]
pub fn scramble(bits: u64) -> u64 {
    finalize(bits.wrapping_mul(GOLDEN))
}

/// The step of splitmix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of splitmix64.
#[inline]
fn finalize(bits: u64) -> u64 {
    let mut z = bits;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// Creates a generator; any seed is valid, including zero.
    pub fn new(seed: u64) -> Rng {
        let mut seed = seed;
        Rng { state: std::array::from_fn(|_| splitmix64(&mut seed)) }
    }

    /// Returns an independent generator for each `stream` number without changing this one: workers and purposes each
    /// use their own, so that drawing more from one never shifts another.
    pub fn fork(&self, stream: u64) -> Rng {
        let mut key = stream;
        let mut seed = self.state[0] ^ self.state[2].rotate_left(29) ^ splitmix64(&mut key);
        Rng { state: std::array::from_fn(|_| splitmix64(&mut seed)) }
    }

    /// Returns 64 random bits.
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

    /// Returns a uniform number in [0, 1) with 53 random bits.
    #[inline]
    pub fn f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a uniform number in 0..n without bias (Lemire 2019); 0 if `n` is 0.
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

    /// Returns a uniform time between `lo` and `hi`, both included; `lo` if `hi` is not above it.
    #[inline]
    pub fn between(&mut self, lo: Nanos, hi: Nanos) -> Nanos {
        match (hi - lo).0 {
            u64::MAX => Nanos(self.next_u64()),
            width => Nanos(lo.0 + self.below(width + 1)),
        }
    }

    /// Returns an exponential number with mean 1; never above 20.7, because of `-ln(max(U, 1e-9))` (Treadmill's cap).
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.f64().max(1e-9).ln()
    }

    /// Returns a standard normal number (Box and Muller; the second of the pair is discarded, so that the generator has
    /// no hidden state).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.f64()).cos()
    }

    /// Returns a gamma number with mean and variance `shape` (Marsaglia and Tsang 2000), for shapes of at least 1.
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

    /// Returns the number of successes in `n` trials of probability `p`. The result is exact: the i-th smallest of n
    /// uniform points is a ratio of gamma variates, and comparing it with `p` halves the number of remaining trials
    /// (Relles 1972).
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
