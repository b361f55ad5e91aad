//! A finding of a rule.

use words::text::{Text, text};
use words::{Lang, Said};

/// Strength of the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// A counter with no other meaning increased within the window.
    Proved,
    /// The generator's observations match this cause; no counter confirms it.
    Consistent,
}

impl Proof {
    /// Returns the name used in documents.
    pub fn name(self) -> &'static str {
        match self {
            Proof::Proved => "proved",
            Proof::Consistent => "consistent",
        }
    }
}

/// Position on the request path: the earliest limit hides those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The load generator.
    Generator,
    /// The kernel of the generator.
    ClientKernel,
    /// The network in between.
    Network,
    /// A proxy or a limiter in front of the service.
    Proxy,
    /// The kernel of the service.
    ServerKernel,
    /// The service itself.
    Service,
    /// A dependency that the service waits for.
    Dependency,
}

impl Stage {
    /// Returns the name used in documents.
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

/// A limit or a fault, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Identifier of the rule: `N2`.
    pub rule: &'static str,
    /// Position on the request path.
    pub stage: Stage,
    /// Strength of the evidence.
    pub proof: Proof,
    /// Set if it prevents the requested load; otherwise it only slows responses down, and is never the principal
    /// limit.
    pub is_limit: bool,
    /// Machine of the evidence, if it is not the generator's.
    pub host: Option<String>,
    pub(crate) claim: Said,
    pub(crate) evidence: Said,
    pub(crate) remedy: Text,
    pub(crate) experiment: Said,
}

const THERE: Text = text("{evidence} (counted on {host})", "{evidence}（{host} 的计数）");

impl Found {
    /// Returns the claim, without a full stop.
    pub fn claim(&self, lang: Lang) -> String {
        self.claim.of(lang)
    }

    /// Returns the counters that support the claim.
    pub fn evidence(&self, lang: Lang) -> String {
        let evidence = self.evidence.of(lang);
        match &self.host {
            Some(host) => lang.fill(THERE, &[("evidence", &evidence), ("host", host)]),
            None => evidence,
        }
    }

    /// Returns what to change.
    pub fn remedy(&self, lang: Lang) -> String {
        lang.of(self.remedy).to_owned()
    }

    /// Returns the experiment that would refute the claim.
    pub fn experiment(&self, lang: Lang) -> String {
        self.experiment.of(lang)
    }
}

/// The result of a rule for a case. Stage, remedy and experiment are the rule's unless set here.
pub(crate) struct Verdict {
    pub proof: Proof,
    pub claim: Said,
    pub evidence: Said,
    pub is_limit: bool,
    pub host: Option<String>,
    pub stage: Option<Stage>,
    pub remedy: Option<Text>,
    pub experiment: Option<Text>,
    /// Placeholder values of the experiment.
    pub facts: Vec<(&'static str, String)>,
}

/// Creates a verdict from a claim and counters with no other meaning.
pub(crate) fn proved(claim: impl Into<Said>, evidence: impl Into<Said>) -> Verdict {
    Verdict::new(Proof::Proved, claim, evidence)
}

/// Creates a verdict from a claim and matching observations of the generator.
pub(crate) fn consistent(claim: impl Into<Said>, evidence: impl Into<Said>) -> Verdict {
    Verdict::new(Proof::Consistent, claim, evidence)
}

impl Verdict {
    pub fn new(proof: Proof, claim: impl Into<Said>, evidence: impl Into<Said>) -> Verdict {
        let (claim, evidence, facts) = (claim.into(), evidence.into(), Vec::new());
        let (host, stage, remedy, experiment) = Default::default();
        Verdict { proof, claim, evidence, is_limit: true, host, stage, remedy, experiment, facts }
    }

    /// Overrides the rule's stage.
    pub fn at(self, stage: Stage) -> Verdict {
        Verdict { stage: Some(stage), ..self }
    }

    /// Overrides the rule's remedy.
    pub fn remedy(self, remedy: Text) -> Verdict {
        Verdict { remedy: Some(remedy), ..self }
    }

    /// Overrides the rule's experiment.
    pub fn experiment(self, experiment: Text) -> Verdict {
        Verdict { experiment: Some(experiment), ..self }
    }

    /// Sets the placeholder values of the experiment.
    pub fn experiment_with<const N: usize>(self, facts: [(&'static str, String); N]) -> Verdict {
        Verdict { facts: facts.into(), ..self }
    }

    /// Sets whether the finding is a limit.
    pub fn limiting(self, is_limit: bool) -> Verdict {
        Verdict { is_limit, ..self }
    }

    /// Sets the machine whose counters are the evidence.
    pub fn by(self, host: Option<String>) -> Verdict {
        Verdict { host, ..self }
    }
}
