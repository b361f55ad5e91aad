//! The process that reads the counters: the generator, thread by thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::CounterSink;
use crate::process::{Process, Units, name_part};
use crate::quotas::Quotas;
use crate::source::CounterSource;

/// Labels of this process's threads in samples, by thread id. Threads without a label use their own names.
#[derive(Clone, Debug, Default)]
pub struct ThreadLabels(Arc<Mutex<BTreeMap<u32, String>>>);

impl ThreadLabels {
    /// Labels a thread.
    pub fn set(&self, tid: u32, label: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(tid, label.into());
    }

    /// Labels the calling thread.
    pub fn set_this(&self, label: impl Into<String>) {
        self.set(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(), label);
    }

    fn get(&self, tid: u32) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&tid).cloned()
    }
}

/// Number of names of former threads that are remembered, so that no name is reused.
const NAMES: usize = 1024;

/// Unique names of threads. No two threads have the same name, not even one after the other, because they would share a
/// counter.
#[derive(Debug, Default)]
struct ThreadNames {
    /// The name that a thread requested and the name that it was given, by thread id.
    assigned: BTreeMap<u32, (String, String)>,
    tid_by_name: BTreeMap<String, u32>,
}

impl ThreadNames {
    fn unique_name(&mut self, tid: u32, wanted: &str) -> &str {
        if self.assigned.get(&tid).is_none_or(|(wants, _)| wants != wanted) {
            let holder = self.tid_by_name.get(wanted).is_none_or(|holder| *holder == tid);
            let name = if holder { wanted.to_owned() } else { format!("{wanted}:{tid}") };
            self.tid_by_name.insert(name.clone(), tid);
            self.assigned.insert(tid, (wanted.to_owned(), name));
        }
        &self.assigned[&tid].1
    }

    fn retain(&mut self, is_known: impl Fn(u32) -> bool) {
        self.assigned.retain(|tid, _| is_known(*tid));
        if self.tid_by_name.len() > NAMES {
            self.tid_by_name.retain(|_, tid| is_known(*tid));
        }
    }
}

/// The calling process.
#[derive(Debug)]
pub(crate) struct OwnProcess {
    pub labels: ThreadLabels,
    process: Process,
    quotas: Quotas,
    names: ThreadNames,
}

impl OwnProcess {
    pub fn new() -> OwnProcess {
        const FOLDER: &str = "/proc/self";
        let mut quotas = Quotas::default();
        quotas.follow(std::iter::once(FOLDER.to_owned()));
        OwnProcess {
            labels: ThreadLabels::default(),
            process: Process::at(FOLDER),
            quotas,
            names: ThreadNames::default(),
        }
    }

    /// Adds the counters of the process under `self`.
    pub fn report(&mut self, source: &CounterSource, units: Units, buffer: &mut Vec<u8>, sink: &mut CounterSink) {
        self.quotas.report(source, buffer, "self", sink);
        let Some(looked) = self.process.read(source, units, buffer) else {
            return sink.unobservable("self", "its files in /proc cannot be read");
        };
        sink.put(&["self", "rss"], looked.rss);
        sink.put_some(&["self", "fds"], looked.descriptors);
        sink.put_some(&["self", "fd_limit"], looked.descriptor_limit);
        self.process.report_unobservable("self", &looked, source, sink);
        let threads = &self.process.threads.known;
        for (tid, thread) in threads {
            let label = self.labels.get(*tid).unwrap_or_else(|| thread.name.clone());
            let name = self.names.unique_name(*tid, if label.is_empty() { "thread" } else { &label });
            let name = &*name_part(name);
            let mut put = |what, value| sink.put_some(&["self", "thread", name, what], value);
            put("cpu", thread.scheduled.map(|scheduled| scheduled.cpu));
            put("wait", thread.scheduled.map(|scheduled| scheduled.wait));
            put("voluntary", thread.switches.map(|(voluntary, _)| voluntary));
            put("involuntary", thread.switches.map(|(_, involuntary)| involuntary));
        }
        self.names.retain(|tid| threads.contains_key(&tid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{expected, found};
    use crate::fake_host::FakeHost;
    use crate::process::tests::UNITS;

    fn thread(fake: &FakeHost, tid: u32, name: &str, cpu: u64) {
        fake.write(&format!("proc/self/task/{tid}/schedstat"), &format!("{cpu} 5 1\n"));
        let status = format!("Name:\t{name}\nvoluntary_ctxt_switches:\t2\nnonvoluntary_ctxt_switches:\t1\n");
        fake.write(&format!("proc/self/task/{tid}/status"), &status);
    }

    fn stat(fake: &FakeHost, threads: u64) {
        let stat = format!("7 (brunt) S 1 1 1 0 -1 0 9 0 0 0 5 0 0 0 20 0 {threads} 0 5 100 3 1\n");
        fake.write("proc/self/stat", &stat);
    }

    fn times(own: &mut OwnProcess, fake: &FakeHost) -> Vec<(String, u64)> {
        let all = found(|sink| own.report(&fake.source(), UNITS, &mut Vec::new(), sink));
        all.into_iter().filter(|(name, _)| name.ends_with(".cpu")).collect()
    }

    #[test]
    fn each_thread_has_a_name_of_its_own_for_good() {
        let fake = FakeHost::new(&[("proc/self/cgroup", "0::/\n")]);
        thread(&fake, 70, "brunt", 1);
        thread(&fake, 71, "worker 0", 2);
        thread(&fake, 72, "worker 0", 3);
        stat(&fake, 3);
        let mut own = OwnProcess::new();
        own.labels.set(72, "a.b");
        let wanted = [("self.thread.a-b.cpu", 3), ("self.thread.brunt.cpu", 1), ("self.thread.worker-0.cpu", 2)];
        assert_eq!(times(&mut own, &fake), expected(&wanted));
        // A thread of the same name, started after the first has ended, has a separate counter.
        fake.remove("proc/self/task/71");
        thread(&fake, 73, "worker 0", 9);
        thread(&fake, 70, "brunt", 2);
        stat(&fake, 4);
        let wanted = [("self.thread.a-b.cpu", 3), ("self.thread.brunt.cpu", 2), ("self.thread.worker-0:73.cpu", 9)];
        assert_eq!(times(&mut own, &fake), expected(&wanted));
        own.labels.set(73, "reader");
        let wanted = [("self.thread.a-b.cpu", 3), ("self.thread.brunt.cpu", 2), ("self.thread.reader.cpu", 9)];
        assert_eq!(times(&mut own, &fake), expected(&wanted));
    }

    #[test]
    fn names_of_threads_that_ended_are_forgotten_in_time() {
        let mut names = ThreadNames::default();
        for tid in 0..10_000 {
            names.unique_name(tid, "lookup");
            names.retain(|known| known == tid);
        }
        assert!(names.assigned.len() == 1 && names.tid_by_name.len() <= NAMES + 1);
    }

    #[test]
    fn this_process_is_read_with_its_threads() {
        let mut own = OwnProcess::new();
        own.labels.set_this("the one that tests");
        let told = found(|sink| own.report(&CounterSource::here(), Units::of_this_system(), &mut Vec::new(), sink));
        let get = |name: &str| told.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value);
        for name in ["self.rss", "self.fds", "self.fd_limit", "self.thread.the-one-that-tests.voluntary"] {
            assert!(told.iter().any(|(known, _)| known == name), "{name}: {told:?}");
        }
        assert!(get("self.fds") >= 3 && get("self.rss") > 100_000, "{told:?}");
    }
}
