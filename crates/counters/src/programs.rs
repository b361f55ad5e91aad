//! CPU time by program: of all processes with the same name.

use std::collections::BTreeMap;

use crate::counters::CounterSink;
use crate::parse::process::stat;
use crate::process::Units;
use crate::source::CounterSource;

/// Maximum number of programs reported.
const MOST: usize = 16;
/// CPU time from which a program is reported (nanoseconds).
const LEAST: u64 = 50_000_000;

/// CPU times by program. Each keeps its place once it has been reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramTimes {
    cpu: BTreeMap<String, u64>,
    reported: Vec<String>,
}

impl ProgramTimes {
    /// Adds CPU time (nanoseconds).
    pub fn add(&mut self, program: &str, cpu: u64) {
        if cpu == 0 || program.is_empty() {
            return;
        }
        let time = self.cpu.entry(program.to_owned()).or_default();
        *time = time.saturating_add(cpu);
        if *time >= LEAST && self.reported.len() < MOST && !self.reported.iter().any(|known| known == program) {
            self.reported.push(program.to_owned());
        }
    }

    /// Reports them under `name.N.cpu`, with the label `name.N.comm`.
    pub fn report(&self, name: &str, sink: &mut CounterSink) {
        for (n, program) in self.reported.iter().enumerate() {
            let place = format!("{name}.{n}");
            sink.put(&[&place, "cpu"], self.cpu.get(program).copied().unwrap_or_default());
            sink.label(&[&place, "comm"], program);
        }
    }
}

/// The processes that are neither the service nor this one.
#[derive(Debug, Default)]
pub(crate) struct OtherPrograms {
    /// Ticks at the last reading.
    ticks: BTreeMap<u32, u64>,
    read: bool,
    pub times: ProgramTimes,
}

impl OtherPrograms {
    /// Reads the CPU times of all processes but those that `is_ours` says. Time before the first reading is not
    /// counted.
    pub fn read(&mut self, source: &CounterSource, units: Units, is_ours: impl Fn(u32, u32) -> bool) {
        let mut now = BTreeMap::new();
        for pid in source.numbers("/proc").into_iter().flatten() {
            let text = source.text(&format!("/proc/{pid}/stat")).unwrap_or_default();
            let Some(looked) = stat(&text) else { continue };
            if is_ours(pid, looked.parent) {
                continue;
            }
            now.insert(pid, looked.ticks);
            let before = self.ticks.get(&pid).copied().or((!self.read).then_some(looked.ticks)).unwrap_or(0);
            let program = text.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map_or("", |(name, _)| name);
            self.times.add(program, looked.ticks.saturating_sub(before).saturating_mul(units.tick_ns));
        }
        (self.ticks, self.read) = (now, true);
    }
}
