//! The rules, one a file, and the list of them in the order of a request's way.
//!
//! A rule knows nothing of the others; a new one is a file and a line in [`ALL`]. Each is tested with its fault and with a twin that
//! looks alike and has another cause.

mod accept_queue;
mod buffer_pool;
mod client_closed;
mod conntrack;
mod cores_full;
mod database_connections;
mod delayed_ack;
mod descriptors;
mod generator_full;
mod gone;
mod idle_closes;
mod leak;
mod limiter;
mod link;
mod logged;
mod lost_connects;
mod lost_segments;
mod mysql_churn;
mod mysql_commits;
mod mysql_crowd;
mod nginx_connections;
mod one_proxy_worker;
mod own_connections;
mod own_memory;
mod periodic_stalls;
mod pool;
mod ports;
mod proxy_descriptors;
mod proxy_ports;
mod quota;
mod receive_drops;
mod recycled_ports;
mod redis_clients;
mod redis_command;
mod redis_evictions;
mod redis_thread;
mod retransmits;
mod round_timeouts;
mod row_locks;
mod serial;
mod service_descriptors;
mod single_thread;
mod slow_reader;
mod steal;
mod stood_still;
mod stuck_listener;
mod syn_queue;
mod tcp_memory;
mod time_wait_table;
mod uneven_workers;
mod upstream_down;
mod upstream_slow;
mod waiting_for_disk;
mod whole_tables;

use crate::case::Case;
use crate::found::Found;
use crate::pages::Page;

/// A rule: what is to be read about it, and what it finds in a case, if anything.
pub(crate) struct Rule {
    pub page: Page,
    pub on: On,
    pub judge: fn(&Case) -> Option<Found>,
}

/// Whose counters it is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// Those of the machine that makes the load, and what services told it.
    Generator,
    /// Those of the machine of the service, where they were counted; else what is seen from here.
    Service,
    /// Those of either.
    Either,
}

impl Rule {
    /// What it finds; `there` is the case as the machine of the service saw it, where that is another one.
    pub fn find(&self, case: &Case, there: Option<&Case>) -> Option<Found> {
        let elsewhere = || {
            let host = case.elsewhere.as_ref().map(|elsewhere| elsewhere.host.clone());
            there.and_then(self.judge).map(|found| found.by(host))
        };
        match self.on {
            On::Generator => (self.judge)(case),
            On::Service if there.is_some() => elsewhere(),
            On::Service => (self.judge)(case),
            On::Either => (self.judge)(case).or_else(elsewhere),
        }
    }
}

/// All of them.
pub(crate) const ALL: &[Rule] = &[
    Rule { page: uneven_workers::PAGE, on: On::Generator, judge: uneven_workers::judge },
    Rule { page: generator_full::PAGE, on: On::Generator, judge: generator_full::judge },
    Rule { page: steal::PAGE, on: On::Either, judge: steal::judge },
    Rule { page: descriptors::PAGE, on: On::Generator, judge: descriptors::judge },
    Rule { page: ports::PAGE, on: On::Generator, judge: ports::judge },
    Rule { page: own_connections::PAGE, on: On::Generator, judge: own_connections::judge },
    Rule { page: own_memory::PAGE, on: On::Generator, judge: own_memory::judge },
    Rule { page: link::PAGE, on: On::Either, judge: link::judge },
    Rule { page: retransmits::PAGE, on: On::Either, judge: retransmits::judge },
    Rule { page: lost_segments::PAGE, on: On::Generator, judge: lost_segments::judge },
    Rule { page: lost_connects::PAGE, on: On::Generator, judge: lost_connects::judge },
    Rule { page: conntrack::PAGE, on: On::Either, judge: conntrack::judge },
    Rule { page: tcp_memory::PAGE, on: On::Either, judge: tcp_memory::judge },
    Rule { page: receive_drops::PAGE, on: On::Either, judge: receive_drops::judge },
    Rule { page: time_wait_table::PAGE, on: On::Either, judge: time_wait_table::judge },
    Rule { page: limiter::PAGE, on: On::Generator, judge: limiter::judge },
    Rule { page: one_proxy_worker::PAGE, on: On::Service, judge: one_proxy_worker::judge },
    Rule { page: nginx_connections::PAGE, on: On::Generator, judge: nginx_connections::judge },
    Rule { page: proxy_descriptors::PAGE, on: On::Generator, judge: proxy_descriptors::judge },
    Rule { page: proxy_ports::PAGE, on: On::Generator, judge: proxy_ports::judge },
    Rule { page: upstream_down::PAGE, on: On::Generator, judge: upstream_down::judge },
    Rule { page: upstream_slow::PAGE, on: On::Generator, judge: upstream_slow::judge },
    Rule { page: client_closed::PAGE, on: On::Generator, judge: client_closed::judge },
    Rule { page: accept_queue::PAGE, on: On::Service, judge: accept_queue::judge },
    Rule { page: syn_queue::PAGE, on: On::Service, judge: syn_queue::judge },
    Rule { page: recycled_ports::PAGE, on: On::Service, judge: recycled_ports::judge },
    Rule { page: stuck_listener::PAGE, on: On::Service, judge: stuck_listener::judge },
    Rule { page: service_descriptors::PAGE, on: On::Service, judge: service_descriptors::judge },
    Rule { page: gone::PAGE, on: On::Generator, judge: gone::judge },
    Rule { page: idle_closes::PAGE, on: On::Generator, judge: idle_closes::judge },
    Rule { page: delayed_ack::PAGE, on: On::Generator, judge: delayed_ack::judge },
    Rule { page: redis_clients::PAGE, on: On::Generator, judge: redis_clients::judge },
    Rule { page: redis_evictions::PAGE, on: On::Generator, judge: redis_evictions::judge },
    Rule { page: database_connections::PAGE, on: On::Generator, judge: database_connections::judge },
    Rule { page: whole_tables::PAGE, on: On::Generator, judge: whole_tables::judge },
    Rule { page: row_locks::PAGE, on: On::Generator, judge: row_locks::judge },
    Rule { page: mysql_churn::PAGE, on: On::Generator, judge: mysql_churn::judge },
    Rule { page: quota::PAGE, on: On::Service, judge: quota::judge },
    Rule { page: cores_full::PAGE, on: On::Service, judge: cores_full::judge },
    Rule { page: redis_command::PAGE, on: On::Generator, judge: redis_command::judge },
    Rule { page: redis_thread::PAGE, on: On::Generator, judge: redis_thread::judge },
    Rule { page: single_thread::PAGE, on: On::Service, judge: single_thread::judge },
    Rule { page: slow_reader::PAGE, on: On::Generator, judge: slow_reader::judge },
    Rule { page: waiting_for_disk::PAGE, on: On::Service, judge: waiting_for_disk::judge },
    Rule { page: leak::PAGE, on: On::Service, judge: leak::judge },
    Rule { page: periodic_stalls::PAGE, on: On::Generator, judge: periodic_stalls::judge },
    Rule { page: stood_still::PAGE, on: On::Generator, judge: stood_still::judge },
    Rule { page: pool::PAGE, on: On::Service, judge: pool::judge },
    Rule { page: serial::PAGE, on: On::Service, judge: serial::judge },
    Rule { page: buffer_pool::PAGE, on: On::Service, judge: buffer_pool::judge },
    Rule { page: mysql_commits::PAGE, on: On::Service, judge: mysql_commits::judge },
    Rule { page: mysql_crowd::PAGE, on: On::Service, judge: mysql_crowd::judge },
    Rule { page: round_timeouts::PAGE, on: On::Generator, judge: round_timeouts::judge },
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
        proof(rule, change, Case { here, ..Case::default() })
    }

    /// The same where a service told these counters.
    pub fn judged_told(
        rule: fn(&Case) -> Option<Found>,
        change: impl FnOnce(&mut Run),
        told: Counted,
    ) -> Option<&'static str> {
        proof(rule, change, Case { told: vec![told], ..Case::default() })
    }

    fn proof(rule: fn(&Case) -> Option<Found>, change: impl FnOnce(&mut Run), mut case: Case) -> Option<&'static str> {
        case.run = run();
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
