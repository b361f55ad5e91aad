//! What a rule found.

use words::text::{Text, text};
use words::{Lang, Said};

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

/// Where on the request's path: the earliest limit hides those behind it.
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
    /// It keeps what was asked for from being done; otherwise it only makes responses slower, and is never the principal limit.
    pub is_limit: bool,
    /// The machine whose counters say so, where it is not that of the generator.
    pub host: Option<String>,
    claim: Said,
    evidence: Said,
    remedy: Said,
    experiment: Said,
}

const THERE: Text = text("{evidence} (counted on {host})", "{evidence}（{host} 的计数）");

impl Found {
    /// What is claimed, and the counters that say so.
    pub(crate) fn new(rule: &'static str, stage: Stage, proof: Proof, claim: Said, evidence: Said) -> Found {
        let (remedy, experiment) = Default::default();
        Found { rule, stage, proof, is_limit: true, host: None, claim, evidence, remedy, experiment }
    }

    /// What to change, and what would refute it.
    pub(crate) fn then(self, remedy: Said, experiment: Said) -> Found {
        Found { remedy, experiment, ..self }
    }

    /// A limit, or only something beside it.
    pub(crate) fn limiting(self, is_limit: bool) -> Found {
        Found { is_limit, ..self }
    }

    /// Judged by the counters of this machine.
    pub(crate) fn by(self, host: Option<String>) -> Found {
        Found { host, ..self }
    }

    /// What is claimed, without a full stop.
    pub fn claim(&self, lang: Lang) -> String {
        self.claim.of(lang)
    }

    /// The counters that say so.
    pub fn evidence(&self, lang: Lang) -> String {
        let evidence = self.evidence.of(lang);
        match &self.host {
            Some(host) => lang.fill(THERE, &[("evidence", &evidence), ("host", host)]),
            None => evidence,
        }
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
