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
    pub(crate) claim: Said,
    pub(crate) evidence: Said,
    pub(crate) remedy: Text,
    pub(crate) experiment: Said,
}

const THERE: Text = text("{evidence} (counted on {host})", "{evidence}（{host} 的计数）");

impl Found {
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
        lang.of(self.remedy).to_owned()
    }

    /// What would refute it.
    pub fn experiment(&self, lang: Lang) -> String {
        self.experiment.of(lang)
    }
}

/// What a rule says of a case. Where it stands, what to change and what would refute it say the rule itself, unless the verdict says so.
pub(crate) struct Verdict {
    pub proof: Proof,
    pub claim: Said,
    pub evidence: Said,
    pub is_limit: bool,
    pub host: Option<String>,
    pub stage: Option<Stage>,
    pub remedy: Option<Text>,
    pub experiment: Option<Text>,
    /// The facts of the experiment.
    pub facts: Vec<(&'static str, String)>,
}

/// A claim, and the counters that mean nothing else.
pub(crate) fn proved(claim: impl Into<Said>, evidence: impl Into<Said>) -> Verdict {
    Verdict::new(Proof::Proved, claim, evidence)
}

/// A claim, and what the generator saw that looks like it.
pub(crate) fn consistent(claim: impl Into<Said>, evidence: impl Into<Said>) -> Verdict {
    Verdict::new(Proof::Consistent, claim, evidence)
}

impl Verdict {
    pub fn new(proof: Proof, claim: impl Into<Said>, evidence: impl Into<Said>) -> Verdict {
        let (claim, evidence, facts) = (claim.into(), evidence.into(), Vec::new());
        let (host, stage, remedy, experiment) = Default::default();
        Verdict { proof, claim, evidence, is_limit: true, host, stage, remedy, experiment, facts }
    }

    /// Another place on a request's way than the rule's.
    pub fn at(self, stage: Stage) -> Verdict {
        Verdict { stage: Some(stage), ..self }
    }

    /// Another change than the rule's.
    pub fn remedy(self, remedy: Text) -> Verdict {
        Verdict { remedy: Some(remedy), ..self }
    }

    /// Another experiment than the rule's.
    pub fn experiment(self, experiment: Text) -> Verdict {
        Verdict { experiment: Some(experiment), ..self }
    }

    /// Facts of the experiment.
    pub fn experiment_with<const N: usize>(self, facts: [(&'static str, String); N]) -> Verdict {
        Verdict { facts: facts.into(), ..self }
    }

    /// A limit, or only something beside it.
    pub fn limiting(self, is_limit: bool) -> Verdict {
        Verdict { is_limit, ..self }
    }

    /// Judged by the counters of this machine.
    pub fn by(self, host: Option<String>) -> Verdict {
        Verdict { host, ..self }
    }
}
