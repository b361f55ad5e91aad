//! The threads of a process: the scheduler's statistics of each, and totals.
//!
//! A thread whose CPU time is unchanged has not run, so none of its other counters can have changed: in a process with
//! hundreds of threads, only those that ran cost more than one short read. Totals still include threads that have
//! ended.

use std::collections::BTreeMap;
use std::io;

use crate::parse::process::{SchedulerStats, name, scheduled, swapped, switches};
use crate::source::{CounterSource, PersistentFile};

/// Maximum number of threads of a process that are read.
pub(crate) const MOST: usize = 256;

/// A single thread.
#[derive(Debug)]
pub(crate) struct ThreadCounters {
    schedstat: PersistentFile,
    status: PersistentFile,
    /// Name; empty if it cannot be read.
    pub name: String,
    pub scheduled: Option<SchedulerStats>,
    /// Voluntary and involuntary context switches.
    pub switches: Option<(u64, u64)>,
    /// Swapped memory of the whole process.
    pub swap: Option<u64>,
}

/// Outcome of reading a thread.
enum ThreadReading {
    Idle,
    Ran,
    Ended,
}

impl ThreadCounters {
    fn new(folder: &str, tid: u32) -> ThreadCounters {
        ThreadCounters {
            schedstat: PersistentFile::new(format!("{folder}/{tid}/schedstat")),
            status: PersistentFile::new(format!("{folder}/{tid}/status")),
            name: String::new(),
            scheduled: None,
            switches: None,
            swap: None,
        }
    }

    fn read(&mut self, source: &CounterSource, buffer: &mut Vec<u8>) -> ThreadReading {
        let (first, before) = (self.name.is_empty(), self.scheduled);
        let counted = self.schedstat.read(source, buffer);
        let uncounted = counted.is_err();
        self.scheduled = counted.ok().and_then(|text| scheduled(&text));
        // A kernel without these statistics returns three zeros and does not show whether a thread ran.
        if self.scheduled.is_some() && self.scheduled == before && !first {
            return ThreadReading::Idle;
        }
        let Ok(status) = self.status.read(source, buffer) else {
            return if uncounted { ThreadReading::Ended } else { ThreadReading::Ran };
        };
        self.switches = switches(&status);
        self.swap = swapped(&status);
        if let Some(called) = name(&status).filter(|called| *called != self.name) {
            self.name = called.to_owned();
        }
        ThreadReading::Ran
    }
}

/// Counts over all threads, past and present; counts that no thread reported are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTotals {
    /// Nanoseconds runnable without a core.
    pub wait: Option<u64>,
    pub voluntary: Option<u64>,
    pub involuntary: Option<u64>,
    /// Sum, over the intervals between readings, of the CPU time in nanoseconds of the thread that used the most.
    pub busiest: Option<u64>,
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    *sum = sum.map(|sum| sum.saturating_add(more.unwrap_or_default())).or(more);
}

/// The threads of one process.
#[derive(Debug)]
pub(crate) struct ProcessThreads {
    folder: String,
    pub known: BTreeMap<u32, ThreadCounters>,
    pub totals: ThreadTotals,
    /// Thread that used the most CPU time in the last interval in which any ran.
    pub busiest: Option<u32>,
    /// Largest CPU time of a thread in the current interval.
    top: Option<(u64, u32)>,
}

impl ProcessThreads {
    /// Creates a reader for the threads in a folder such as `/proc/7/task`.
    pub fn at(folder: String) -> ProcessThreads {
        ProcessThreads { folder, known: BTreeMap::new(), totals: ThreadTotals::default(), busiest: None, top: None }
    }

    /// Reads the known threads; returns `false` if none of them ran.
    pub fn read_known(&mut self, source: &CounterSource, buffer: &mut Vec<u8>) -> bool {
        self.top = None;
        let tids: Vec<u32> = self.known.keys().copied().collect();
        // Every thread must be read, whether or not an earlier one ran.
        tids.into_iter().filter(|tid| self.read_thread(*tid, source, buffer)).count() > 0
    }

    /// Lists the threads again, and reads the new ones.
    ///
    /// # Errors
    /// Returns the error if the threads cannot be listed.
    pub fn list(&mut self, source: &CounterSource, buffer: &mut Vec<u8>) -> io::Result<()> {
        let listed: Vec<u32> = source.numbers(&self.folder)?.collect();
        self.known.retain(|tid, _| listed.contains(tid));
        for tid in listed {
            if self.known.len() < MOST && !self.known.contains_key(&tid) {
                self.known.insert(tid, ThreadCounters::new(&self.folder, tid));
                self.read_thread(tid, source, buffer);
            }
        }
        Ok(())
    }

    /// Finishes a reading of all threads.
    pub fn finish_reading(&mut self) {
        if let Some((time, tid)) = self.top.take() {
            add(&mut self.totals.busiest, Some(time));
            if time > 0 {
                self.busiest = Some(tid);
            }
        }
    }

    /// Reads a thread; returns `true` if it ran or has ended.
    fn read_thread(&mut self, tid: u32, source: &CounterSource, buffer: &mut Vec<u8>) -> bool {
        let Some(thread) = self.known.get_mut(&tid) else { return false };
        let (before, switched) = (thread.scheduled.unwrap_or_default(), thread.switches.unwrap_or_default());
        match thread.read(source, buffer) {
            ThreadReading::Idle => return false,
            ThreadReading::Ended => {
                self.known.remove(&tid);
                return true;
            }
            ThreadReading::Ran => {}
        }
        if let Some(now) = thread.scheduled {
            add(&mut self.totals.wait, Some(now.wait.saturating_sub(before.wait)));
            let time = now.cpu.saturating_sub(before.cpu);
            self.top = self.top.max(Some((time, tid)));
        }
        if let Some((voluntary, involuntary)) = thread.switches {
            add(&mut self.totals.voluntary, Some(voluntary.saturating_sub(switched.0)));
            add(&mut self.totals.involuntary, Some(involuntary.saturating_sub(switched.1)));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn thread(fake: &FakeHost, tid: u32, schedstat: &str, switches: (u64, u64)) {
        fake.write(&format!("proc/7/task/{tid}/schedstat"), schedstat);
        let (voluntary, involuntary) = switches;
        let status = format!(
            "Name:\tt{tid}\nVmSwap:\t1 kB\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
        );
        fake.write(&format!("proc/7/task/{tid}/status"), &status);
    }

    fn end(fake: &FakeHost, tid: u32) {
        for file in ["schedstat", "status"] {
            // In an ordinary folder, an open file would stay readable; in /proc, reading it fails once its thread has
            // ended.
            fake.remove(&format!("proc/7/task/{tid}/{file}"));
        }
        fake.remove(&format!("proc/7/task/{tid}"));
    }

    /// Reads known threads and lists them again, like a caller that knows that threads have started or ended.
    fn look(threads: &mut ProcessThreads, source: &CounterSource) -> ThreadTotals {
        let mut buffer = Vec::new();
        threads.read_known(source, &mut buffer);
        threads.list(source, &mut buffer).unwrap();
        threads.finish_reading();
        threads.totals
    }

    fn totals(wait: u64, voluntary: u64, involuntary: u64, busiest: u64) -> ThreadTotals {
        let [wait, voluntary, involuntary, busiest] = [wait, voluntary, involuntary, busiest].map(Some);
        ThreadTotals { wait, voluntary, involuntary, busiest }
    }

    #[test]
    fn sums_go_on_when_threads_come_and_go() {
        let fake = FakeHost::new(&[]);
        thread(&fake, 7, "100 10 1\n", (5, 1));
        thread(&fake, 8, "300 20 1\n", (6, 2));
        let source = fake.source();
        let mut threads = ProcessThreads::at("/proc/7/task".into());
        assert_eq!((look(&mut threads, &source), threads.busiest), (totals(30, 11, 3, 300), Some(8)));
        thread(&fake, 7, "600 15 2\n", (7, 1));
        thread(&fake, 8, "400 20 1\n", (6, 4));
        assert_eq!((look(&mut threads, &source), threads.busiest), (totals(35, 13, 5, 800), Some(7)));
        end(&fake, 8);
        thread(&fake, 9, "50 1 1\n", (1, 0));
        assert_eq!((look(&mut threads, &source), threads.busiest), (totals(36, 14, 5, 850), Some(9)));
        assert_eq!(threads.known.values().map(|thread| &*thread.name).collect::<Vec<_>>(), ["t7", "t9"]);
        assert_eq!(look(&mut threads, &source), totals(36, 14, 5, 850), "nobody ran");
    }

    #[test]
    fn a_thread_that_did_not_run_is_not_looked_at_further() {
        let fake = FakeHost::new(&[]);
        thread(&fake, 7, "100 10 1\n", (5, 1));
        let (source, mut buffer) = (fake.source(), Vec::new());
        let mut threads = ProcessThreads::at("/proc/7/task".into());
        threads.list(&source, &mut buffer).unwrap();
        fake.write("proc/7/task/7/status", "Name:\tother\n");
        assert!(!threads.read_known(&source, &mut buffer));
        assert_eq!(threads.known[&7].name, "t7");
        fake.write("proc/7/task/7/schedstat", "100 10 2\n");
        assert!(threads.read_known(&source, &mut buffer));
        assert_eq!((&*threads.known[&7].name, threads.known[&7].switches), ("other", None));
    }

    #[test]
    fn what_the_kernel_does_not_count_is_missing() {
        let fake = FakeHost::new(&[]);
        thread(&fake, 7, "0 0 0\n", (5, 1));
        let source = fake.source();
        let mut threads = ProcessThreads::at("/proc/7/task".into());
        let counted = ThreadTotals { voluntary: Some(5), involuntary: Some(1), ..ThreadTotals::default() };
        assert_eq!(look(&mut threads, &source), counted);
        thread(&fake, 7, "0 0 0\n", (9, 1));
        assert_eq!(look(&mut threads, &source), ThreadTotals { voluntary: Some(9), ..counted });
        let mut missing = ProcessThreads::at("/proc/8/task".into());
        assert!(missing.list(&source, &mut Vec::new()).is_err());
        assert_eq!(missing.totals, ThreadTotals::default());
    }

    #[test]
    fn of_very_many_threads_a_part_is_followed() {
        let fake = FakeHost::new(&[]);
        (0..300).for_each(|tid| thread(&fake, 1000 + tid, "1 1 1\n", (1, 1)));
        let mut threads = ProcessThreads::at("/proc/7/task".into());
        look(&mut threads, &fake.source());
        assert_eq!(threads.known.len(), MOST);
    }
}
