//! Sums over all processes of a service, including those that ended.
//!
//! The kernel adds the CPU time of a process that ended to that of its parent, once the parent has waited for it. This
//! includes time that was already read from the child, which must not be counted twice.

use crate::counters::CounterSink;
use crate::process::{Process, ProcessReading};
use crate::programs::ProgramTimes;

/// A process of the service.
#[derive(Debug)]
pub(super) struct ServiceProcess {
    pub process: Process,
    /// Name of its program; empty before the first reading.
    pub program: String,
    /// Last reading; `None` before the first.
    pub last: Option<ProcessReading>,
    /// Time, already in the sums, of children that have ended but that the process has not waited for yet.
    unreaped: u64,
}

impl ServiceProcess {
    pub fn of(pid: u32) -> ServiceProcess {
        ServiceProcess { process: Process::at(format!("/proc/{pid}")), program: String::new(), last: None, unreaped: 0 }
    }

    /// Returns the CPU time, not in the sums yet, of children that the process has waited for. `before` is the previous
    /// reading, and `ended` the time already counted for its children that have ended since. The kernel does not pass
    /// on the time of children that are never waited for: such time is dropped at the next reading.
    pub fn new_child_time(&mut self, before: &ProcessReading, ended: u64) -> u64 {
        let Some(now) = self.last else { return 0 };
        let (came, known) = (now.reaped.saturating_sub(before.reaped), self.unreaped.saturating_add(ended));
        self.unreaped = known.saturating_sub(came).min(ended);
        came.saturating_sub(known)
    }
}

/// Sums over all processes, including those that ended.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceSums {
    pub cpu: u64,
    /// Parts of `cpu` by program.
    pub programs: ProgramTimes,
    wait: Option<u64>,
    voluntary: Option<u64>,
    involuntary: Option<u64>,
    busiest: Option<u64>,
    /// Id and name of the thread that recently used the most CPU time.
    busiest_thread: Option<(u32, String)>,
}

/// Totals of all processes at one moment.
#[derive(Debug, Default)]
pub(super) struct ServiceTotals {
    pub processes: usize,
    threads: u64,
    rss: u64,
    swap: Option<u64>,
    descriptors: Option<u64>,
    /// CPU time, in the current interval, of the thread that used the most.
    top: Option<u64>,
    /// Set if the value of some process is missing, which makes the sum incomplete.
    lacks_swap: bool,
    lacks_descriptors: bool,
    lacks_threads: bool,
}

impl ServiceTotals {
    pub fn add(&mut self, now: &ProcessReading, before: &ProcessReading, process: &Process, sums: &mut ServiceSums) {
        self.processes += 1;
        self.threads += now.threads;
        self.rss += now.rss;
        self.swap = sum(self.swap, now.swap);
        self.descriptors = sum(self.descriptors, now.descriptors);
        self.lacks_swap |= now.swap.is_none();
        self.lacks_descriptors |= now.descriptors.is_none();
        self.lacks_threads |= now.left_out > 0;
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or_default()));
        sums.cpu += now.cpu.saturating_sub(before.cpu);
        let (now, before) = (now.totals, before.totals);
        sums.wait = sum(sums.wait, since(now.wait, before.wait));
        sums.voluntary = sum(sums.voluntary, since(now.voluntary, before.voluntary));
        sums.involuntary = sum(sums.involuntary, since(now.involuntary, before.involuntary));
        let most = since(now.busiest, before.busiest);
        if most > self.top.max(Some(0)) {
            sums.busiest_thread = process.busiest().map(|(tid, comm)| (tid, comm.to_owned()));
        }
        self.top = self.top.max(most);
    }

    pub fn report(self, sums: &mut ServiceSums, sink: &mut CounterSink) {
        sums.busiest = sum(sums.busiest, self.top);
        sums.programs.report("service.program", sink);
        if let Some((tid, comm)) = sums.busiest_thread.as_ref().filter(|_| !self.lacks_threads) {
            sink.put(&["service.all.busiest.tid"], u64::from(*tid));
            sink.label(&["service.all.busiest.comm"], comm);
        }
        let mut put = |what, value| sink.put_some(&["service.all", what], value);
        put("processes", Some(self.processes as u64));
        put("cpu", Some(sums.cpu));
        put("wait", sums.wait);
        put("threads", Some(self.threads));
        put("rss", Some(self.rss));
        put("swap", self.swap.filter(|_| !self.lacks_swap));
        put("fds", self.descriptors.filter(|_| !self.lacks_descriptors));
        put("voluntary", sums.voluntary);
        put("involuntary", sums.involuntary);
        put("busiest.cpu", sums.busiest.filter(|_| !self.lacks_threads));
    }
}

fn sum(all: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (all, more) {
        (Some(all), Some(more)) => Some(all.saturating_add(more)),
        (one, other) => one.or(other),
    }
}
