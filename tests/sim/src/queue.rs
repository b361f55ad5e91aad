//! A real queue, first come, first served, with a number of servers and seeded service times. With one server,
//! exponential service and Poisson arrivals it is M/M/1, whose response times are known in closed form.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brunt_measure::{Nanos, Rng};

use super::settings::SimInterval;

/// A queue in front of servers.
#[derive(Debug)]
pub struct SimQueue {
    free_at: BinaryHeap<Reverse<Nanos>>,
    mean: Nanos,
    exponential: bool,
    rng: Rng,
    stalls: Vec<SimInterval>,
}

impl SimQueue {
    /// Creates a queue with `servers` (at least one) whose service times are exponential with this mean.
    pub fn exponential(servers: usize, mean: Nanos, seed: u64) -> SimQueue {
        SimQueue::new(servers, mean, true, seed)
    }

    /// Creates a queue with `servers` (at least one) whose service time is constant.
    pub fn constant(servers: usize, time: Nanos) -> SimQueue {
        SimQueue::new(servers, time, false, 0)
    }

    fn new(servers: usize, mean: Nanos, exponential: bool, seed: u64) -> SimQueue {
        let free_at = (0..servers.max(1)).map(|_| Reverse(Nanos::ZERO)).collect();
        SimQueue { free_at, mean, exponential, rng: Rng::new(seed), stalls: Vec::new() }
    }

    /// Adds a stall, an interval in which no work is done. Stalls must be given in order and not overlap.
    pub fn stalled(mut self, span: SimInterval) -> SimQueue {
        self.stalls.push(span);
        self
    }

    /// Returns when an arrival at `now`, which must not be earlier than the one before, has been served.
    pub fn due(&mut self, now: Nanos) -> Nanos {
        let service = match self.exponential {
            true => Nanos((self.mean.0 as f64 * self.rng.exponential()) as u64),
            false => self.mean,
        };
        let free = self.free_at.pop().map_or(now, |Reverse(at)| at);
        let mut begins = now.max(free);
        let mut left = service;
        for stall in &self.stalls {
            if stall.to <= begins || stall.from >= begins + left {
                continue;
            }
            left = left - (stall.from - begins);
            begins = stall.to;
        }
        let due = begins + left;
        self.free_at.push(Reverse(due));
        due
    }
}
