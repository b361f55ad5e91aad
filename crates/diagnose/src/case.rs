//! The input of a rule.

use crate::counter_summary::CounterSummary;
use crate::load_results::LoadResults;

/// A run, with the counters recorded during it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Results of the load, as recorded.
    pub run: LoadResults,
    /// Counters of the machine that generates the load, and of the service if it runs there too. For a rule about the
    /// service's machine, these are the counters of that machine ([`Case::on_service_host`]).
    pub counters: CounterSummary,
    /// The service's machine, if it is a different one and its counters were recorded.
    pub service_host: Option<ServiceHost>,
    /// Counters that services reported about themselves, on any machine.
    pub reported: Vec<CounterSummary>,
}

/// A machine that generates no load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceHost {
    /// Name of the machine.
    pub host: String,
    /// Counters of the machine.
    pub counters: CounterSummary,
    /// Set if it runs on the generator's kernel and thus shares its cores with the generator's threads (a container on
    /// the same machine).
    pub shares_kernel: bool,
}

impl Case {
    /// Returns the case as seen from the service's machine; `None` if that is the generator's machine, or has no
    /// counters.
    pub fn on_service_host(&self) -> Option<Case> {
        let elsewhere = self.service_host.as_ref()?;
        let mut run = self.run.clone();
        if !elsewhere.shares_kernel {
            // The generator uses none of the cores on that machine.
            (run.generator_cores, run.polled_cores) = (0.0, 0.0);
        }
        Some(Case { run, counters: elsewhere.counters.clone(), reported: self.reported.clone(), ..Case::default() })
    }

    /// Iterates over the reported counters whose names begin with the prefix `kind` (such as `redis.`).
    pub fn reported_by(&self, kind: &'static str) -> impl Iterator<Item = &CounterSummary> {
        self.reported.iter().filter(move |counted| counted.name_middles(kind, "").next().is_some())
    }
}
