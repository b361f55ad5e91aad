//! A single process: its CPU time, threads, memory and descriptors.

use std::borrow::Cow;

use crate::counters::CounterSink;
use crate::parse::process::{children, descriptors, stat};
use crate::source::{CounterSource, PersistentFile, reason};
use crate::threads::{MOST, ProcessThreads, ThreadTotals};

/// Units of the system's process counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub tick_ns: u64,
    pub page: u64,
}

impl Units {
    pub fn of_this_system() -> Units {
        let page = rustix::param::page_size() as u64;
        Units { tick_ns: 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1), page }
    }
}

/// A process whose counters are read repeatedly.
#[derive(Debug)]
pub(crate) struct Process {
    folder: String,
    stat: PersistentFile,
    pub threads: ProcessThreads,
    descriptor_limit: Option<u64>,
    last_reading: Option<ProcessReading>,
    /// Set if any of its threads ran between the last two readings.
    ran: bool,
}

/// The counters of a process at one reading; those that could not be read are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessReading {
    /// CPU time of all its threads (nanoseconds, in steps of the system's tick).
    pub cpu: u64,
    /// CPU time of children that ended and were waited for, including that of their own children.
    pub reaped: u64,
    pub parent: u32,
    /// Start time since the boot of the host (nanoseconds, in steps of the system's tick).
    pub started: u64,
    pub threads: u64,
    pub rss: u64,
    pub swap: Option<u64>,
    pub descriptors: Option<u64>,
    pub descriptor_limit: Option<u64>,
    pub totals: ThreadTotals,
    /// Number of threads that are not read.
    pub left_out: u64,
}

impl Process {
    /// Creates a reader for a folder such as `/proc/7` or `/proc/self`.
    pub fn at(folder: impl Into<String>) -> Process {
        let folder = folder.into();
        Process {
            stat: PersistentFile::new(format!("{folder}/stat")),
            threads: ProcessThreads::at(format!("{folder}/task")),
            descriptor_limit: None,
            last_reading: None,
            ran: false,
            folder,
        }
    }

    /// Reads the process; returns `None` once it has ended. If none of its threads ran, the last reading is returned.
    pub fn read(&mut self, source: &CounterSource, units: Units, buffer: &mut Vec<u8>) -> Option<ProcessReading> {
        let ran = self.threads.read_known(source, buffer);
        self.ran = ran || self.threads.known.is_empty();
        if let Some(before) = self.last_reading.filter(|_| !self.ran) {
            self.threads.finish_reading();
            return Some(before);
        }
        let stat = self.stat.read(source, buffer).ok().and_then(|text| stat(&text))?;
        if stat.threads != self.threads.known.len() as u64 {
            // If the threads cannot be listed, their counts are missing.
            let _ = self.threads.list(source, buffer);
        }
        self.threads.finish_reading();
        if self.last_reading.is_none() {
            let limits = source.text(&format!("{}/limits", self.folder));
            self.descriptor_limit = limits.ok().and_then(|text| descriptors(&text));
        }
        let followed = self.threads.known.len();
        let looked = ProcessReading {
            cpu: stat.ticks.wrapping_mul(units.tick_ns),
            reaped: stat.reaped.wrapping_mul(units.tick_ns),
            parent: stat.parent,
            started: stat.started.wrapping_mul(units.tick_ns),
            threads: stat.threads,
            rss: stat.pages.saturating_mul(units.page),
            swap: self.threads.known.values().find_map(|thread| thread.swap),
            descriptors: source.count_descriptors(&format!("{}/fd", self.folder)).ok().flatten(),
            descriptor_limit: self.descriptor_limit,
            totals: self.threads.totals,
            left_out: if followed >= MOST { stat.threads.saturating_sub(followed as u64) } else { 0 },
        };
        self.last_reading = Some(looked);
        Some(looked)
    }

    /// Returns the live children of the process if it ran between the last two readings. Otherwise it has no new ones,
    /// and the list is empty; it is also empty if this kernel does not report children.
    pub fn new_children(&self, source: &CounterSource) -> Vec<u32> {
        if !self.ran {
            return Vec::new();
        }
        let told = |tid| source.text(&format!("{}/task/{tid}/children", self.folder)).unwrap_or_default();
        self.threads.known.keys().flat_map(|tid| children(&told(tid)).collect::<Vec<_>>()).collect()
    }

    /// Returns the id and name of the thread that recently used the most CPU time.
    pub fn busiest(&self) -> Option<(u32, &str)> {
        let tid = self.threads.busiest?;
        Some((tid, &self.threads.known.get(&tid)?.name))
    }

    /// Records which of its counters could not be read.
    pub fn report_unobservable(
        &self,
        name: &str,
        looked: &ProcessReading,
        source: &CounterSource,
        sink: &mut CounterSink,
    ) {
        if looked.descriptors.is_none() {
            let why = match source.count_descriptors(&format!("{}/fd", self.folder)) {
                Err(error) => reason(&error),
                Ok(_) => "too many to count one by one, and this kernel does not report the number (Linux 6.2 does)",
            };
            sink.unobservable(&format!("{name}.fds"), why);
        }
        if looked.totals.wait.is_none() {
            sink.unobservable(&format!("{name}.wait"), "the kernel does not count it");
        }
        if looked.left_out > 0 {
            sink.unobservable(&format!("{name}.busiest"), &format!("more than {MOST} threads: the rest are left out"));
        }
    }
}

/// Makes a foreign word usable as one part of a name, in which dots and spaces separate parts.
pub(crate) fn name_part(word: &str) -> Cow<'_, str> {
    let parts = |c: char| c == '.' || c.is_whitespace() || c.is_control();
    if word.contains(parts) { word.replace(parts, "-").into() } else { word.into() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fake_host::FakeHost;
    use brunt_measure::Nanos;

    pub(crate) const UNITS: Units = Units { tick_ns: 10_000_000, page: 4096 };

    /// A process with one thread: CPU time in ticks, pages, and the scheduler's statistics.
    pub(crate) fn process(fake: &FakeHost, pid: u32, parent: u32, (ticks, pages): (u64, u64), schedstat: &str) {
        stat_of(fake, pid, parent, (ticks, pages), 1);
        fake.write(&format!("proc/{pid}/task/{pid}/schedstat"), schedstat);
        let status = format!(
            "Name:\tsrv {pid}\nVmSwap:\t3 kB\nvoluntary_ctxt_switches:\t{ticks}\nnonvoluntary_ctxt_switches:\t1\n"
        );
        fake.write(&format!("proc/{pid}/task/{pid}/status"), &status);
        fake.write(
            &format!("proc/{pid}/limits"),
            "Max open files            1024                 4096                 files\n",
        );
    }

    fn stat_of(fake: &FakeHost, pid: u32, parent: u32, (ticks, pages): (u64, u64), threads: u64) {
        waited(fake, pid, parent, (ticks, pages), (threads, 0, 5));
    }

    /// Writes the stat of a process with the CPU time of its children and its start time, both in ticks.
    pub(crate) fn waited(
        fake: &FakeHost,
        pid: u32,
        parent: u32,
        (ticks, pages): (u64, u64),
        (threads, reaped, started): (u64, u64, u64),
    ) {
        let stat = format!(
            "{pid} (srv) S {parent} 1 1 0 -1 0 9 0 0 0 {ticks} 0 {reaped} 0 20 0 {threads} 0 {started} 100 {pages} 1\n"
        );
        fake.write(&format!("proc/{pid}/stat"), &stat);
    }

    #[test]
    fn a_process_is_looked_at_in_full_when_it_ran() {
        let fake = FakeHost::new(&[("proc/7/fd/0", ""), ("proc/7/fd/1", "")]);
        process(&fake, 7, 1, (10, 5), "900 70 3\n");
        let (source, mut buffer) = (fake.source(), Vec::new());
        let mut process_7 = Process::at("/proc/7");
        let first = process_7.read(&source, UNITS, &mut buffer).unwrap();
        let totals = ThreadTotals { wait: Some(70), voluntary: Some(10), involuntary: Some(1), busiest: Some(900) };
        let wanted = ProcessReading {
            cpu: 100_000_000,
            reaped: 0,
            parent: 1,
            started: 50_000_000,
            threads: 1,
            rss: 20_480,
            swap: Some(3072),
            descriptors: Some(2),
            descriptor_limit: Some(1024),
            totals,
            left_out: 0,
        };
        assert_eq!((first, process_7.busiest()), (wanted, Some((7, "srv 7"))));
        stat_of(&fake, 7, 1, (11, 6), 1);
        assert_eq!(process_7.read(&source, UNITS, &mut buffer), Some(first), "it did not run");
        // One of its threads ran and started another, which is detected by the number of threads.
        fake.write("proc/7/task/7/schedstat", "1000 70 4\n");
        fake.write("proc/7/task/9/schedstat", "5000 1 1\n");
        fake.write("proc/7/task/9/status", "Name:\thot\nvoluntary_ctxt_switches:\t2\nnonvoluntary_ctxt_switches:\t0\n");
        stat_of(&fake, 7, 1, (12, 6), 2);
        let then = process_7.read(&source, UNITS, &mut buffer).unwrap();
        let totals = ThreadTotals { wait: Some(71), voluntary: Some(12), involuntary: Some(1), busiest: Some(5900) };
        assert_eq!(then, ProcessReading { cpu: 120_000_000, threads: 2, rss: 24_576, totals, ..first });
        assert_eq!(process_7.busiest(), Some((9, "hot")));
    }

    #[test]
    fn a_process_that_ended_is_no_more() {
        let fake = FakeHost::new(&[]);
        process(&fake, 7, 1, (10, 5), "900 70 3\n");
        let (source, mut buffer) = (fake.source(), Vec::new());
        let mut process_7 = Process::at("/proc/7");
        assert!(process_7.read(&source, UNITS, &mut buffer).is_some());
        fake.write("proc/7/stat", "");
        fake.write("proc/7/task/7/schedstat", "");
        assert_eq!(process_7.read(&source, UNITS, &mut buffer), None);
        assert_eq!(Process::at("/proc/8").read(&source, UNITS, &mut buffer), None);
    }

    #[test]
    fn what_of_a_process_cannot_be_seen_is_said() {
        let fake = FakeHost::new(&[]);
        process(&fake, 7, 1, (10, 5), "0 0 0\n");
        let source = CounterSource { denied: vec!["/proc/7/fd"], ..fake.source() };
        let (mut process_7, mut sink) = (Process::at("/proc/7"), CounterSink::default());
        let looked = process_7.read(&source, UNITS, &mut Vec::new()).unwrap();
        assert_eq!((looked.descriptors, looked.totals.wait, looked.totals.voluntary), (None, None, Some(10)));
        process_7.report_unobservable("service.7", &looked, &source, &mut sink);
        let said = sink.take(Nanos::ZERO).unobservable;
        assert_eq!(said, ["service.7.fds: permission", "service.7.wait: the kernel does not count it"]);
    }

    #[test]
    fn words_of_others_do_not_part_names() {
        for (word, part) in [("worker-0", "worker-0"), ("tokio-runtime w.1", "tokio-runtime-w-1"), ("a\tb", "a-b")] {
            assert_eq!(name_part(word), part);
        }
    }
}
