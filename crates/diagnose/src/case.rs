//! What a rule judges by.

use crate::counted::Counted;
use crate::run::Run;

/// A run, and what was counted beside it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The load as it was kept.
    pub run: Run,
    /// Counters of the machine that makes the load, and of the service where it runs there too. A rule about the service's machine
    /// finds that machine's here ([`Case::there`]).
    pub here: Counted,
    /// The machine of the service, where that is another one and was counted.
    pub elsewhere: Option<Elsewhere>,
    /// What services told of themselves, wherever they are.
    pub told: Vec<Counted>,
}

/// A machine that makes no load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elsewhere {
    /// What it is called.
    pub host: String,
    /// What it counted.
    pub counted: Counted,
    /// It runs on the kernel of the generator, whose threads take of its cores, too: a container beside it.
    pub shares_kernel: bool,
}

impl Case {
    /// The same run as the machine of the service saw it; None where that is the machine of the generator, or nobody counted there.
    pub fn there(&self) -> Option<Case> {
        let elsewhere = self.elsewhere.as_ref()?;
        let mut run = self.run.clone();
        if !elsewhere.shares_kernel {
            // The generator takes nothing of the cores over there.
            (run.generator_cores, run.polled_cores) = (0.0, 0.0);
        }
        Some(Case { run, here: elsewhere.counted.clone(), told: self.told.clone(), ..Case::default() })
    }

    /// What services told whose counters begin so: `redis.`.
    pub fn told(&self, kind: &'static str) -> impl Iterator<Item = &Counted> {
        self.told.iter().filter(move |counted| counted.between(kind, "").next().is_some())
    }
}
