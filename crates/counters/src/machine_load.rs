//! The CPU time that others take on this machine now, and how late that makes a thread wake up.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use brunt_measure::{Clock, Histogram, Nanos, quantile};

use crate::counters::CounterSink;
use crate::parse::cpu;
use crate::process::Units;

/// Length of the measurement: long enough for the 10 ms units of `/proc/stat`, short enough to wait for.
const LENGTH: Nanos = Nanos::from_millis(250);
/// Length of the sleeps whose ends are timed.
const SLEEP: Duration = Duration::from_millis(1);

/// The load of the machine by others than this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineLoad {
    /// Number of cores.
    pub cores: f64,
    /// CPU time of other processes, in cores.
    pub others: f64,
    /// Share of the cores' time that the hypervisor gave to other machines.
    pub stolen: f64,
    /// Time by which a thread woke up late (p99).
    pub late: Nanos,
}

/// A measurement under way, in a thread of its own.
pub struct MachineLoadMeter(JoinHandle<Option<MachineLoad>>);

impl MachineLoadMeter {
    /// Starts measuring; `None` if no thread can be started.
    pub fn start() -> Option<MachineLoadMeter> {
        thread::Builder::new().name("machine-load".into()).spawn(measure).ok().map(MachineLoadMeter)
    }

    /// Waits for the end of the measurement, a quarter of a second after its start; `None` if `/proc/stat` cannot be
    /// read.
    pub fn finish(self) -> Option<MachineLoad> {
        self.0.join().ok().flatten()
    }
}

/// CPU times of the machine and of this process, in nanoseconds.
struct CpuTimes {
    at: Nanos,
    cores: f64,
    busy: f64,
    stolen: f64,
    own: Nanos,
}

impl CpuTimes {
    fn read() -> Option<CpuTimes> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let mut sink = CounterSink::default();
        cpu::stat(&text, Units::of_this_system().tick_ns, &mut sink);
        let counters = sink.take(Clock.now());
        let time = |name: &str| counters.values.get(name).map(|value| value.real());
        let busy = ["user", "system", "irq", "softirq"].iter().filter_map(|kind| time(&format!("cpu.all.{kind}")));
        Some(CpuTimes {
            at: Clock.now(),
            cores: time("cpu.count")?,
            busy: busy.sum(),
            stolen: time("cpu.all.steal").unwrap_or(0.0),
            own: Clock.process_cpu_time(),
        })
    }
}

fn measure() -> Option<MachineLoad> {
    let before = CpuTimes::read()?;
    let mut late = Histogram::new();
    while Clock.now() < before.at + LENGTH {
        let due = Clock.now() + Nanos(SLEEP.as_nanos() as u64);
        thread::sleep(SLEEP);
        late.record(Clock.now() - due);
    }
    let after = CpuTimes::read()?;
    let elapsed = (after.at - before.at).0 as f64;
    let others = (after.busy - before.busy - (after.own - before.own).0 as f64) / elapsed;
    Some(MachineLoad {
        cores: after.cores,
        others: others.clamp(0.0, after.cores),
        stolen: ((after.stolen - before.stolen) / (elapsed * after.cores)).clamp(0.0, 1.0),
        late: late.at_rank(quantile::rank_of(late.count(), 0.99))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_take_is_measured_without_this_process() {
        let load = MachineLoadMeter::start().and_then(MachineLoadMeter::finish).expect("a measurement");
        assert!(load.cores >= 1.0 && (0.0..=load.cores).contains(&load.others), "{load:?}");
        assert!((0.0..=1.0).contains(&load.stolen) && load.late > Nanos::ZERO, "{load:?}");
    }
}
