//! Detection of disturbances while a figure is measured.
//!
//! The two cores of a virtual machine sometimes do the work of one, without any sign in its
//! counters. Three symptoms are checked: time reported as stolen by the hypervisor or missing from
//! the counters, work of other processes, and the duration of a fixed amount of arithmetic on both
//! cores at once, right before and after the run, compared with the best so far. A run with any of
//! them is measured again.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::measure::{self, GENERATOR_CORE, SERVER_CORE};

/// Iterations of one spin: about fifteen milliseconds on a quiet core.
const SPIN: u64 = 20_000_000;

/// Detects disturbed runs, and learns how fast this machine is when it is quiet.
pub struct NoiseGuard {
    /// Shortest spin of a core while the other one spins, too.
    best: Duration,
    /// Shortest spin of a core alone.
    alone: Duration,
}

/// The state of the machine when a run begins.
pub struct MachineState {
    at: Instant,
    cores: CoreTimes,
    slowest: Duration,
}

/// Time of all cores since boot, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CoreTimes {
    count: f64,
    busy: f64,
    idle: f64,
    stolen: f64,
}

impl NoiseGuard {
    /// Takes the first measurements.
    pub fn new() -> Self {
        let mut guard = Self { best: Duration::MAX, alone: Duration::MAX };
        for _ in 0..5 {
            guard.alone = guard.alone.min(spin());
            guard.spin_both();
        }
        guard
    }

    /// Returns the share of a core's speed left while the other one works too: 1 on dedicated cores.
    pub fn together(&self) -> f64 {
        self.alone.as_secs_f64() / self.best.as_secs_f64()
    }

    /// Captures the state of the machine. Call it right before a run.
    pub fn before(&mut self) -> MachineState {
        let slowest = self.spin_both();
        MachineState { at: Instant::now(), cores: cores(), slowest }
    }

    /// Judges a run. Call it right after the run, with the CPU time of generator and server; returns the disturbance,
    /// if any.
    pub fn after(&mut self, before: &MachineState, ours_s: f64) -> Option<String> {
        let wall = before.at.elapsed().as_secs_f64();
        let now = cores();
        let slowest = before.slowest.max(self.spin_both());
        let delta = CoreTimes {
            count: now.count,
            busy: now.busy - before.cores.busy,
            idle: now.idle - before.cores.idle,
            stolen: now.stolen - before.cores.stolen,
        };
        judge(delta, wall, ours_s, self.best.as_secs_f64() / slowest.as_secs_f64())
    }

    /// Spins on both cores at once and returns the slower one's time.
    fn spin_both(&mut self) -> Duration {
        let barrier = Barrier::new(2);
        let times = std::thread::scope(|scope| {
            let on = |core| {
                let barrier = &barrier;
                scope.spawn(move || {
                    pin_this_thread(core);
                    barrier.wait();
                    spin()
                })
            };
            [on(SERVER_CORE), on(GENERATOR_CORE)].map(|thread| thread.join().unwrap_or(Duration::MAX))
        });
        self.best = self.best.min(times[0]).min(times[1]);
        times[0].max(times[1])
    }
}

/// Describes the disturbance, if there is one.
fn judge(delta: CoreTimes, wall: f64, ours_s: f64, speed: f64) -> Option<String> {
    if wall < 0.5 {
        // The run is too short for counters that advance a hundred times a second.
        return None;
    }
    let expected = wall * delta.count;
    let stolen = delta.stolen / expected;
    // Busy time is sampled at each tick and misses short bursts between two sleeps; the time of our
    // own children is exact.
    let missing = 1.0 - (delta.busy.max(ours_s) + delta.idle + delta.stolen) / expected;
    let others = (delta.busy - ours_s) / wall;
    if stolen > 0.03 {
        Some(format!("{:.0} % of the cores' time stolen", stolen * 100.0))
    } else if missing > 0.2 {
        Some(format!("{:.0} % of the cores' time missing", missing * 100.0))
    } else if others > 0.12 {
        Some(format!("other processes used {:.0} % of a core", others * 100.0))
    } else if speed < 0.8 {
        Some(format!("a core worked at {:.0} % of its speed", speed * 100.0))
    } else {
        None
    }
}

/// Performs a fixed amount of arithmetic that cannot be optimised away; returns the time it took.
fn spin() -> Duration {
    let began = Instant::now();
    let mut value = 1_u64;
    for step in 0..SPIN {
        value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
    std::hint::black_box(value);
    began.elapsed()
}

fn pin_this_thread(core: usize) {
    // SAFETY: the set consists of plain bits on this stack and outlives the call; a core that does
    // not exist is refused by the kernel, and the thread then stays where it is.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn cores() -> CoreTimes {
    read_cores(&std::fs::read_to_string("/proc/stat").unwrap_or_default(), measure::ticks_per_second())
}

/// Sums the `cpuN` lines: user nice system idle iowait irq softirq steal …
fn read_cores(text: &str, ticks: f64) -> CoreTimes {
    let mut sum = CoreTimes::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if !words.next().is_some_and(|name| name.len() > 3 && name.starts_with("cpu")) {
            continue;
        }
        let fields: Vec<f64> = words.map(|w| w.parse().unwrap_or(0.0) / ticks).collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0.0);
        sum.count += 1.0;
        sum.busy += field(0) + field(1) + field(2) + field(5) + field(6);
        sum.idle += field(3) + field(4);
        sum.stolen += field(7);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_cores() {
        let text = "cpu  9 9 9 9\ncpu0 100 200 300 400 500 10 20 30 0 0\ncpu1 100 0 0 100 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(read_cores(text, 100.0), CoreTimes { count: 2.0, busy: 7.3, idle: 10.0, stolen: 0.3 });
    }

    #[test]
    fn names_the_sign() {
        let quiet = CoreTimes { count: 2.0, busy: 7.0, idle: 1.0, stolen: 0.0 };
        let cases = [
            (quiet, 7.0, 1.0, None),
            (CoreTimes { busy: 5.0, ..quiet }, 7.0, 1.0, None),
            (CoreTimes { busy: 6.0, stolen: 1.0, ..quiet }, 6.0, 1.0, Some("12 % of the cores' time stolen")),
            (CoreTimes { busy: 3.0, ..quiet }, 3.0, 1.0, Some("50 % of the cores' time missing")),
            (quiet, 5.0, 1.0, Some("other processes used 50 % of a core")),
            (quiet, 7.0, 0.5, Some("a core worked at 50 % of its speed")),
        ];
        for (delta, ours, speed, expected) in cases {
            assert_eq!(judge(delta, 4.0, ours, speed).as_deref(), expected);
        }
    }
}
