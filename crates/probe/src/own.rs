//! The process that reads the counters: the generator, thread by thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::Sink;
use crate::process::{Process, Units, as_part};
use crate::quotas::Quotas;
use crate::source::Source;

/// Labels of this process's threads in samples, by thread id. Threads without a label use their own names.
#[derive(Clone, Debug, Default)]
pub struct Labels(Arc<Mutex<BTreeMap<u32, String>>>);

impl Labels {
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

/// Number of names of former threads that are remembered, so that none is reused.
const NAMES: usize = 1024;

/// Unique names of threads. No two threads have the same name, even one after the other: that would be one counter.
#[derive(Debug, Default)]
struct Names {
    /// The name a thread requested and the one it got, by thread id.
    given: BTreeMap<u32, (String, String)>,
    taken: BTreeMap<String, u32>,
}

impl Names {
    fn of(&mut self, tid: u32, wanted: &str) -> &str {
        if self.given.get(&tid).is_none_or(|(wants, _)| wants != wanted) {
            let holder = self.taken.get(wanted).is_none_or(|holder| *holder == tid);
            let name = if holder { wanted.to_owned() } else { format!("{wanted}:{tid}") };
            self.taken.insert(name.clone(), tid);
            self.given.insert(tid, (wanted.to_owned(), name));
        }
        &self.given[&tid].1
    }

    fn forget(&mut self, is_known: impl Fn(u32) -> bool) {
        self.given.retain(|tid, _| is_known(*tid));
        if self.taken.len() > NAMES {
            self.taken.retain(|_, tid| is_known(*tid));
        }
    }
}

/// The calling process.
#[derive(Debug)]
pub(crate) struct Own {
    pub labels: Labels,
    process: Process,
    quotas: Quotas,
    names: Names,
}

impl Own {
    pub fn new() -> Own {
        const FOLDER: &str = "/proc/self";
        let mut quotas = Quotas::default();
        quotas.follow(std::iter::once(FOLDER.to_owned()));
        Own { labels: Labels::default(), process: Process::of(FOLDER), quotas, names: Names::default() }
    }

    /// Adds its counters under `self`.
    pub fn tell(&mut self, source: &Source, units: Units, buffer: &mut Vec<u8>, sink: &mut Sink) {
        self.quotas.tell(source, buffer, "self", sink);
        let Some(looked) = self.process.look(source, units, buffer) else {
            return sink.unobservable("self", "its files in /proc cannot be read");
        };
        sink.put(&["self", "rss"], looked.rss);
        sink.put_some(&["self", "fds"], looked.descriptors);
        sink.put_some(&["self", "fd_limit"], looked.descriptor_limit);
        self.process.excuse("self", &looked, source, sink);
        let threads = &self.process.threads.known;
        for (tid, thread) in threads {
            let label = self.labels.get(*tid).unwrap_or_else(|| thread.name.clone());
            let name = self.names.of(*tid, if label.is_empty() { "thread" } else { &label });
            let name = &*as_part(name);
            let mut put = |what, value| sink.put_some(&["self", "thread", name, what], value);
            put("cpu", thread.scheduled.map(|scheduled| scheduled.cpu));
            put("wait", thread.scheduled.map(|scheduled| scheduled.wait));
            put("voluntary", thread.switches.map(|(voluntary, _)| voluntary));
            put("involuntary", thread.switches.map(|(_, involuntary)| involuntary));
        }
        self.names.forget(|tid| threads.contains_key(&tid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{found, these};
    use crate::fake::Fake;
    use crate::process::tests::UNITS;

    fn thread(fake: &Fake, tid: u32, name: &str, cpu: u64) {
        fake.write(&format!("proc/self/task/{tid}/schedstat"), &format!("{cpu} 5 1\n"));
        let status = format!("Name:\t{name}\nvoluntary_ctxt_switches:\t2\nnonvoluntary_ctxt_switches:\t1\n");
        fake.write(&format!("proc/self/task/{tid}/status"), &status);
    }

    fn stat(fake: &Fake, threads: u64) {
        let stat = format!("7 (brunt) S 1 1 1 0 -1 0 9 0 0 0 5 0 0 0 20 0 {threads} 0 5 100 3 1\n");
        fake.write("proc/self/stat", &stat);
    }

    fn times(own: &mut Own, fake: &Fake) -> Vec<(String, u64)> {
        let all = found(|sink| own.tell(&fake.source(), UNITS, &mut Vec::new(), sink));
        all.into_iter().filter(|(name, _)| name.ends_with(".cpu")).collect()
    }

    #[test]
    fn each_thread_has_a_name_of_its_own_for_good() {
        let fake = Fake::new(&[("proc/self/cgroup", "0::/\n")]);
        thread(&fake, 70, "brunt", 1);
        thread(&fake, 71, "worker 0", 2);
        thread(&fake, 72, "worker 0", 3);
        stat(&fake, 3);
        let mut own = Own::new();
        own.labels.set(72, "a.b");
        let wanted = [("self.thread.a-b.cpu", 3), ("self.thread.brunt.cpu", 1), ("self.thread.worker-0.cpu", 2)];
        assert_eq!(times(&mut own, &fake), these(&wanted));
        // A thread of the same name, started after the first has ended, is a separate counter.
        fake.remove("proc/self/task/71");
        thread(&fake, 73, "worker 0", 9);
        thread(&fake, 70, "brunt", 2);
        stat(&fake, 4);
        let wanted = [("self.thread.a-b.cpu", 3), ("self.thread.brunt.cpu", 2), ("self.thread.worker-0:73.cpu", 9)];
        assert_eq!(times(&mut own, &fake), these(&wanted));
        own.labels.set(73, "reader");
        let wanted = [("self.thread.a-b.cpu", 3), ("self.thread.brunt.cpu", 2), ("self.thread.reader.cpu", 9)];
        assert_eq!(times(&mut own, &fake), these(&wanted));
    }

    #[test]
    fn names_of_threads_that_ended_are_forgotten_in_time() {
        let mut names = Names::default();
        for tid in 0..10_000 {
            names.of(tid, "lookup");
            names.forget(|known| known == tid);
        }
        assert!(names.given.len() == 1 && names.taken.len() <= NAMES + 1);
    }

    #[test]
    fn this_process_is_read_with_its_threads() {
        let mut own = Own::new();
        own.labels.set_this("the one that tests");
        let told = found(|sink| own.tell(&Source::here(), Units::of_this_system(), &mut Vec::new(), sink));
        let get = |name: &str| told.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value);
        for name in ["self.rss", "self.fds", "self.fd_limit", "self.thread.the-one-that-tests.voluntary"] {
            assert!(told.iter().any(|(known, _)| known == name), "{name}: {told:?}");
        }
        assert!(get("self.fds") >= 3 && get("self.rss") > 100_000, "{told:?}");
    }
}
