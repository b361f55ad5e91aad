//! Laws of queueing theory against which figures are checked. Rates are per second, times in seconds.

/// Mean response time of one server with exponential service: 1/(μ−λ); infinite if it cannot keep up.
pub fn mm1_mean(service_rate: f64, arrival_rate: f64) -> f64 {
    mmc_mean(1, service_rate, arrival_rate)
}

/// Quantile of the response time of one server with exponential service: −ln(1−q)/(μ−λ) (MEASUREMENT 1.4).
pub fn mm1_quantile(service_rate: f64, arrival_rate: f64, q: f64) -> f64 {
    -(1.0 - q).ln() * mm1_mean(service_rate, arrival_rate)
}

/// Probability that an arrival must wait for one of `servers` (Erlang C), by the recurrence of Erlang B.
pub fn erlang_c(servers: u32, service_rate: f64, arrival_rate: f64) -> f64 {
    let offered = arrival_rate / service_rate;
    let load = offered / f64::from(servers);
    if load >= 1.0 {
        return 1.0;
    }
    let blocked = (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    blocked / (1.0 - load * (1.0 - blocked))
}

/// Mean response time of `servers` with exponential service and one queue; infinite if they cannot keep up.
pub fn mmc_mean(servers: u32, service_rate: f64, arrival_rate: f64) -> f64 {
    let spare = f64::from(servers) * service_rate - arrival_rate;
    if spare <= 0.0 {
        return f64::INFINITY;
    }
    erlang_c(servers, service_rate, arrival_rate) / spare + 1.0 / service_rate
}

/// One full stall of a server under open, constant load: the exact law of its effect on response times (MEASUREMENT
/// 1.3). The capacity must be above the rate and the backlog gone before the run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StallLaw {
    /// Arrivals per second.
    pub rate: f64,
    /// Requests per second that the server can handle.
    pub capacity: f64,
    /// Length of the run in seconds.
    pub run: f64,
    /// Length of the stall in seconds.
    pub stall: f64,
}

impl StallLaw {
    /// Share of the requests that the stall delays: f = T·μ/((μ−λ)·D).
    pub fn affected_share(self) -> f64 {
        self.stall * self.capacity / ((self.capacity - self.rate) * self.run)
    }

    /// Quantile of the response time in seconds: T·(1 − (1−p)/f) + 1/μ among the delayed, 1/μ among the others.
    pub fn quantile(self, p: f64) -> f64 {
        let delayed = self.stall * (1.0 - (1.0 - p) / self.affected_share());
        delayed.max(0.0) + 1.0 / self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found} is not {expected} ± {within}");
    }

    #[test]
    fn one_server() {
        close(mm1_mean(10_000.0, 8_000.0), 0.5e-3, 1e-12);
        for (q, ms) in [(0.5, 0.347), (0.99, 2.303), (0.999, 3.454)] {
            close(mm1_quantile(10_000.0, 8_000.0, q) * 1e3, ms, 5e-4);
        }
        close(mm1_quantile(10_000.0, 9_000.0, 0.99) * 1e3, 4.605, 5e-4);
        close(mm1_quantile(10_000.0, 0.0, 0.99) * 1e3, 0.461, 5e-4);
        assert_eq!(mm1_mean(1.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn four_servers() {
        for (load, waits, ms) in [(0.5, 0.17391, 1.0870), (0.8, 0.59643, 1.7455), (0.9, 0.78775, 2.9694)] {
            close(erlang_c(4, 1000.0, 4000.0 * load), waits, 5e-6);
            close(mmc_mean(4, 1000.0, 4000.0 * load) * 1e3, ms, 5e-5);
        }
        assert_eq!(erlang_c(4, 1000.0, 4000.0), 1.0);
        assert_eq!(mmc_mean(4, 1000.0, 4000.0), f64::INFINITY);
    }

    #[test]
    fn a_stall_by_its_law() {
        let stall = StallLaw { rate: 1000.0, capacity: 5000.0, run: 60.0, stall: 1.0 };
        close(stall.affected_share(), 0.020_833, 1e-6);
        for (p, seconds) in [(0.5, 0.0002), (0.98, 0.0402), (0.99, 0.5202), (0.999, 0.9522), (1.0, 1.0002)] {
            close(stall.quantile(p), seconds, 1e-9);
        }
    }
}
