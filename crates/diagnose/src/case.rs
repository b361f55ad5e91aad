//! The input of a rule.

use crate::counted::Counted;
use crate::run::Run;

/// A run, with the counters recorded during it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Results of the load, as recorded.
    pub run: Run,
    /// Counters of the machine that generates the load, and of the service if it runs there too. A rule about the
    /// service's machine gets that machine's counters here ([`Case::there`]).
    pub here: Counted,
    /// The service's machine, if it is a different one and its counters were recorded.
    pub elsewhere: Option<Elsewhere>,
    /// Counters that services reported about themselves, on any machine.
    pub told: Vec<Counted>,
}

/// A machine that generates no load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elsewhere {
    /// Name of the machine.
    pub host: String,
    /// Counters of the machine.
    pub counted: Counted,
    /// Set if it runs on the kernel of the generator, whose threads use its cores too: a container on the same
    /// machine.
    pub shares_kernel: bool,
}

impl Case {
    /// Returns the case as seen from the service's machine; `None` if that is the generator's machine, or has no
    /// counters.
    pub fn there(&self) -> Option<Case> {
        let elsewhere = self.elsewhere.as_ref()?;
        let mut run = self.run.clone();
        if !elsewhere.shares_kernel {
            // The generator uses none of the cores on that machine.
            (run.generator_cores, run.polled_cores) = (0.0, 0.0);
        }
        Some(Case { run, here: elsewhere.counted.clone(), told: self.told.clone(), ..Case::default() })
    }

    /// Iterates over the reported counters whose names begin with this prefix: `redis.`.
    pub fn told(&self, kind: &'static str) -> impl Iterator<Item = &Counted> {
        self.told.iter().filter(move |counted| counted.between(kind, "").next().is_some())
    }
}
