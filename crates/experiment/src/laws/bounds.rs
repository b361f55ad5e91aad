//! Asymptotic bounds of a closed system (Denning and Buzen 1978): what throughput and response time can be at all, from
//! the time that a request needs of each resource.

/// The share of what the CPU allows from which a service counts as limited by it.
const CPU_BOUND: f64 = 0.85;

/// What a request needs: demands are seconds of a resource, divided by the number of parallel servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demands {
    /// Sum over all resources, in seconds: the response time of a user alone.
    pub total_s: f64,
    /// The largest one, in seconds: that of the bottleneck.
    pub largest_s: f64,
    /// Pause of a user between response and next request, in seconds.
    pub think_s: f64,
}

impl Demands {
    /// Sums up the demands of the resources.
    pub fn of(resources_s: &[f64], think_s: f64) -> Demands {
        let largest_s = resources_s.iter().copied().fold(0.0, f64::max);
        Demands { total_s: resources_s.iter().sum(), largest_s, think_s }
    }

    /// Estimates from measured throughput: that of a user alone, and the highest of any number of users, both per second.
    pub fn of_throughput(alone_per_s: f64, highest_per_s: f64) -> Demands {
        Demands { total_s: 1.0 / alone_per_s, largest_s: 1.0 / highest_per_s, think_s: 0.0 }
    }

    /// Returns the least and the most throughput of this many users, per second.
    pub fn throughput(&self, users: f64) -> [f64; 2] {
        let least = users / (self.think_s + users * self.total_s);
        [least, (1.0 / self.largest_s).min(users / (self.total_s + self.think_s))]
    }

    /// Returns the least response time of this many users, in seconds.
    pub fn least_response_s(&self, users: f64) -> f64 {
        self.total_s.max(users * self.largest_s - self.think_s)
    }

    /// Returns the number of users from which on they queue for certain, N* = (D + Z) ÷ Dmax.
    pub fn knee(&self) -> f64 {
        (self.total_s + self.think_s) / self.largest_s
    }
}

/// Returns the throughput that the CPU allows, per second: cores ÷ CPU seconds of a request, the latter measured at a
/// moderate load.
pub fn throughput_of_cpu(cores: f64, cpu_s: f64) -> f64 {
    cores / cpu_s
}

/// Returns `true` if the highest throughput is what the CPU allows: otherwise a lock, a pool, a link or the generator is
/// the limit.
pub fn is_cpu_bound(highest_per_s: f64, cores: f64, cpu_s: f64) -> bool {
    highest_per_s >= CPU_BOUND * throughput_of_cpu(cores, cpu_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes throughput and response time exactly, by mean value analysis (Reiser and Lavenberg 1980).
    fn mean_values(resources_s: &[f64], think_s: f64, users: u32) -> (f64, f64) {
        let (mut queues, mut throughput, mut response) = (vec![0.0; resources_s.len()], 0.0, 0.0);
        for n in 1..=users {
            let times: Vec<f64> =
                resources_s.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
            response = times.iter().sum();
            throughput = f64::from(n) / (think_s + response);
            queues = times.iter().map(|time| throughput * time).collect();
        }
        (throughput, response)
    }

    #[test]
    fn exact_values_lie_within_the_bounds() {
        let resources = [0.005, 0.004, 0.002];
        let demands = Demands::of(&resources, 1.0);
        assert!((demands.knee() - 202.2).abs() < 1e-9, "{}", demands.knee());
        let table = [
            (1, 0.9891, 0.011),
            (100, 98.1697, 0.018_645),
            (200, 186.8452, 0.070_405),
            (202, 188.0911, 0.073_95),
            (300, 200.0, 0.5),
        ];
        for (users, per_s, response_s) in table {
            let (x, r) = mean_values(&resources, 1.0, users);
            assert!((x - per_s).abs() < 6e-5, "{users}: {x}");
            assert!((r - response_s).abs() < 5e-6, "{users}: {r}");
            let [least, most] = demands.throughput(f64::from(users));
            assert!(least <= x + 1e-12 && x <= most + 1e-12, "{users}: {least} {x} {most}");
            assert!(r >= demands.least_response_s(f64::from(users)) - 1e-12);
        }
        let [least, most] = demands.throughput(200.0);
        assert!((least - 62.5).abs() < 1e-9 && (most - 197.82).abs() < 5e-3, "{least} {most}");
    }

    #[test]
    fn the_seed_queues_from_three_users_on() {
        let demands = Demands::of_throughput(6394.86, 19947.47);
        assert!((demands.total_s * 1e6 - 156.4).abs() < 0.05 && (demands.largest_s * 1e6 - 50.1).abs() < 0.05);
        assert!((demands.knee() - 3.12).abs() < 0.005, "{}", demands.knee());
    }

    #[test]
    fn cpu_is_the_limit_where_it_allows_no_more() {
        assert_eq!(throughput_of_cpu(4.0, 0.002), 2000.0);
        assert!(is_cpu_bound(1750.0, 4.0, 0.002) && !is_cpu_bound(900.0, 4.0, 0.002));
    }
}
