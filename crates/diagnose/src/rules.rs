//! The rules, one a file, and the list of them in the order of a request's way.
//!
//! A rule knows nothing of the others; a new one is a file and a line in [`ALL`]. Each is tested with its fault and with a twin that
//! looks alike and has another cause.

mod accept_queue;
mod conntrack;
mod cores_full;
mod descriptors;
mod generator_full;
mod leak;
mod limiter;
mod link;
mod own_connections;
mod pool;
mod ports;
mod quota;
mod receive_drops;
mod retransmits;
mod serial;
mod service_descriptors;
mod single_thread;
mod steal;
mod stuck_listener;
mod syn_queue;
mod tcp_memory;
mod time_wait_table;
mod waiting_for_disk;

use crate::case::Case;
use crate::found::Found;
use crate::pages::Page;

/// A rule: what is to be read about it, and what it finds in a case, if anything.
pub(crate) struct Rule {
    pub page: Page,
    pub judge: fn(&Case) -> Option<Found>,
}

/// All of them.
pub(crate) const ALL: &[Rule] = &[
    Rule { page: generator_full::PAGE, judge: generator_full::judge },
    Rule { page: steal::PAGE, judge: steal::judge },
    Rule { page: descriptors::PAGE, judge: descriptors::judge },
    Rule { page: ports::PAGE, judge: ports::judge },
    Rule { page: own_connections::PAGE, judge: own_connections::judge },
    Rule { page: link::PAGE, judge: link::judge },
    Rule { page: retransmits::PAGE, judge: retransmits::judge },
    Rule { page: conntrack::PAGE, judge: conntrack::judge },
    Rule { page: tcp_memory::PAGE, judge: tcp_memory::judge },
    Rule { page: receive_drops::PAGE, judge: receive_drops::judge },
    Rule { page: time_wait_table::PAGE, judge: time_wait_table::judge },
    Rule { page: limiter::PAGE, judge: limiter::judge },
    Rule { page: accept_queue::PAGE, judge: accept_queue::judge },
    Rule { page: syn_queue::PAGE, judge: syn_queue::judge },
    Rule { page: stuck_listener::PAGE, judge: stuck_listener::judge },
    Rule { page: service_descriptors::PAGE, judge: service_descriptors::judge },
    Rule { page: quota::PAGE, judge: quota::judge },
    Rule { page: cores_full::PAGE, judge: cores_full::judge },
    Rule { page: single_thread::PAGE, judge: single_thread::judge },
    Rule { page: waiting_for_disk::PAGE, judge: waiting_for_disk::judge },
    Rule { page: leak::PAGE, judge: leak::judge },
    Rule { page: pool::PAGE, judge: pool::judge },
    Rule { page: serial::PAGE, judge: serial::judge },
];

/// Cases for tests: a closed run of 50 users, pressed and healthy, and counters that rise.
#[cfg(test)]
pub(crate) mod made_up {
    use crate::counted::Counted;
    use crate::run::{Run, Spread};
    use crate::{Case, Found};

    /// Fifty users against a service that is alike all the time.
    pub fn run() -> Run {
        Run {
            url: "http://127.0.0.1:8080/".into(),
            users: 50,
            window_s: 10.0,
            scheduled: 10_000,
            succeeded_per_s: 1000.0,
            in_flight: 50.0,
            service: Spread {
                count: 10_000,
                min: 0.03,
                mean: 0.05,
                deviation: 0.04,
                longest: 0.0,
                second_or_more: 0.0,
            },
            opened: 50,
            ..Run::default()
        }
    }

    /// Counters that were so at the start of the window and so at its end, ten seconds later.
    pub fn counted(courses: &[(&str, f64, f64)]) -> Counted {
        let mut counted = Counted::default();
        for at in 0..=10 {
            let share = f64::from(at) / 10.0;
            let values = courses.iter().map(|(name, from, to)| (*name, from + (to - from) * share));
            counted.see(i64::from(at) * 1_000_000_000, values);
        }
        counted
    }

    /// Two cores of which so many were busy, beside other counters.
    pub fn cores(busy: f64, others: &[(&str, f64, f64)]) -> Counted {
        let zero = |name| (name, 0.0, 0.0);
        let mut all = vec![
            ("cpu.all.user", 0.0, busy * 1e10),
            ("cpu.all.idle", 0.0, (2.0 - busy) * 1e10),
            ("cpu.count", 2.0, 2.0),
        ];
        all.extend(["cpu.all.system", "cpu.all.irq", "cpu.all.softirq", "cpu.all.steal", "cpu.all.iowait"].map(zero));
        all.extend_from_slice(others);
        counted(&all)
    }

    /// What a rule finds where the run was changed so and these counters moved.
    pub fn judged(
        rule: fn(&Case) -> Option<Found>,
        change: impl FnOnce(&mut Run),
        here: Counted,
    ) -> Option<&'static str> {
        let mut case = Case { run: run(), here };
        change(&mut case.run);
        let found = rule(&case)?;
        for lang in [words::Lang::En, words::Lang::Zh] {
            for said in [found.claim(lang), found.evidence(lang), found.remedy(lang), found.experiment(lang)] {
                assert!(!said.is_empty() && !said.contains(['{', '}']), "{}: {said}", found.rule);
            }
        }
        Some(found.proof.name())
    }
}
