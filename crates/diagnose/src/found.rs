//! What a rule found.

use words::{Lang, Said, Text};

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// A counter that means nothing else moved within the window.
    Proved,
    /// What the generator saw is what this cause looks like; no counter says so.
    Consistent,
}

impl Proof {
    /// Its word in documents.
    pub fn name(self) -> &'static str {
        match self {
            Proof::Proved => "proved",
            Proof::Consistent => "consistent",
        }
    }
}

/// Where on a request's way: the earliest limit hides those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The program that makes the load.
    Generator,
    /// The kernel it runs on.
    ClientKernel,
    /// What lies between.
    Network,
    /// A proxy or a limiter in front of the service.
    Proxy,
    /// The kernel of the service.
    ServerKernel,
    /// The service.
    Service,
    /// What the service waits for.
    Dependency,
}

impl Stage {
    /// Its word in documents.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Generator => "generator",
            Stage::ClientKernel => "client_kernel",
            Stage::Network => "network",
            Stage::Proxy => "proxy",
            Stage::ServerKernel => "server_kernel",
            Stage::Service => "service",
            Stage::Dependency => "dependency",
        }
    }
}

/// A limit or a fault, with what proves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The rule: `N2`.
    pub rule: &'static str,
    /// Where.
    pub stage: Stage,
    /// How sure.
    pub proof: Proof,
    claim: Said,
    evidence: Said,
    remedy: Said,
    experiment: Said,
}

impl Found {
    /// What is claimed, and the counters that say so.
    pub(crate) fn new(rule: &'static str, stage: Stage, proof: Proof, claim: Said, evidence: Said) -> Found {
        Found { rule, stage, proof, claim, evidence, remedy: Said::default(), experiment: Said::default() }
    }

    /// What to change, and what would refute it.
    pub(crate) fn then(self, remedy: Said, experiment: Said) -> Found {
        Found { remedy, experiment, ..self }
    }

    /// What is claimed, without a full stop.
    pub fn claim(&self, lang: Lang) -> String {
        self.claim.of(lang)
    }

    /// The counters that say so.
    pub fn evidence(&self, lang: Lang) -> String {
        self.evidence.of(lang)
    }

    /// What to change.
    pub fn remedy(&self, lang: Lang) -> String {
        self.remedy.of(lang)
    }

    /// What would refute it.
    pub fn experiment(&self, lang: Lang) -> String {
        self.experiment.of(lang)
    }
}

/// A sentence without facts.
pub(crate) fn plain(text: Text) -> Said {
    Said::new(text, [])
}
