//! A station: a queue with N servers, first come first served over the whole process.
//!
//! The completion time of a request is known when it arrives: the earliest free server takes it (at
//! once, or when that server is free) and holds it for a seeded service time. A station therefore
//! needs no separate events, is exact to the nanosecond, and with Poisson arrivals and exponential
//! service it is an M/M/N queue, whose response times follow from a formula.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brunt_measure::{Nanos, Rng};

use crate::DelayDistribution;
use crate::stall::ServerStalls;

/// A queue: the time at which each of its servers is free, and the stream of service times.
#[derive(Debug)]
pub struct QueueModel {
    free_at: BinaryHeap<Reverse<Nanos>>,
    service: DelayDistribution,
    rng: Rng,
}

impl QueueModel {
    /// Maximum number of servers of a station.
    pub const MOST_SERVERS: u32 = 65_536;

    /// Creates an idle station; its service times are determined by the seed, the number of servers and the
    /// distribution.
    pub fn new(servers: u32, service: DelayDistribution, seed: u64) -> QueueModel {
        let stream = service.to_string().bytes().fold(u64::from(servers), |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3) // FNV-1a
        });
        let free = (0..servers.clamp(1, QueueModel::MOST_SERVERS)).map(|_| Reverse(Nanos::ZERO)).collect();
        QueueModel { free_at: free, service, rng: Rng::new(seed).fork(stream) }
    }

    /// Takes a request that arrives now and returns its completion time; servers do no work during stalls.
    pub fn take(&mut self, arrival: Nanos, first: Nanos, stalls: &ServerStalls) -> Nanos {
        let service = self.service.draw(&mut self.rng);
        let mut earliest = self.free_at.peek_mut().expect("a station has at least one server");
        let start = arrival.max(earliest.0);
        let done = if stalls.is_empty() { start.saturating_add(service) } else { stalls.work(first, start, service) };
        *earliest = Reverse(done);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poisson(seed: u64, mean_gap_ns: f64, n: usize) -> Vec<Nanos> {
        let mut rng = Rng::new(seed);
        let mut t = 0.0;
        (0..n)
            .map(|_| {
                t += rng.exponential() * mean_gap_ns;
                Nanos(t as u64)
            })
            .collect()
    }

    #[test]
    fn one_server_is_the_fifo_recursion() {
        let service: DelayDistribution = "exponential:2ms".parse().unwrap();
        let mut station = QueueModel::new(1, service, 5);
        let mut twin = station.rng.clone();
        let mut previous = Nanos::ZERO;
        for arrival in poisson(1, 2.5e6, 10_000) {
            // Lindley: done(i) = max(arrival(i), done(i-1)) + service(i).
            previous = arrival.max(previous) + service.draw(&mut twin);
            assert_eq!(station.take(arrival, Nanos::ZERO, &ServerStalls::default()), previous);
        }
    }

    #[test]
    fn many_servers_agree_with_a_search_over_all_of_them() {
        let service: DelayDistribution = "lognormal:3ms,1".parse().unwrap();
        let mut station = QueueModel::new(4, service, 5);
        let mut twin = station.rng.clone();
        let mut free = [Nanos::ZERO; 4];
        for arrival in poisson(2, 1.3e6, 5_000) {
            let server = (0..4).min_by_key(|&k| free[k]).unwrap();
            free[server] = free[server].max(arrival) + service.draw(&mut twin);
            assert_eq!(station.take(arrival, Nanos::ZERO, &ServerStalls::default()), free[server]);
        }
    }

    /// M/M/1 and M/M/4 at a utilisation of 0.8: mean response by formula (M/M/4 by Erlang C: 1.7455 service times).
    #[test]
    fn responses_have_the_mean_of_the_formula() {
        for (servers, mean_in_services) in [(1u32, 5.0), (4, 1.7455)] {
            let mut station = QueueModel::new(servers, DelayDistribution::Exponential(Nanos::from_millis(1)), 11);
            let n = 2_000_000;
            let gap_ns = 1e6 / (0.8 * f64::from(servers));
            let total: f64 = poisson(3, gap_ns, n)
                .iter()
                .map(|&arrival| (station.take(arrival, Nanos::ZERO, &ServerStalls::default()) - arrival).0 as f64)
                .sum();
            let mean = total / n as f64 / 1e6;
            assert!((mean / mean_in_services - 1.0).abs() < 0.03, "{servers} servers: {mean} service times");
        }
    }

    #[test]
    fn a_stall_stops_the_servers_and_the_queue_is_worked_off_after_it() {
        // The stall of `measurement.md` 1.3: an arrival every 1 ms, a service time of 200 µs, a stall of 1 s at 5 s.
        let stalls = ServerStalls::new(&["5s+1s".parse().unwrap()]);
        let mut station = QueueModel::new(1, DelayDistribution::Constant(Nanos::from_micros(200)), 0);
        let responses: Vec<f64> = (0..60_000u64)
            .map(Nanos::from_millis)
            .map(|arrival| (station.take(arrival, Nanos::ZERO, &stalls) - arrival).as_secs_f64())
            .collect();
        let max = responses.iter().copied().fold(0.0, f64::max);
        assert!((max - 1.0002).abs() < 1e-6, "{max}");
        let late = responses.iter().filter(|&&r| r > 0.000_2 + 1e-9).count();
        // Requests are late for T·μ/(μ-λ) seconds: 1250 of them at 1000/s.
        assert!((1249..=1250).contains(&late), "{late} late");
    }
}
