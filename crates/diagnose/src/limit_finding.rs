//! A finding of a rule.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, LocalizedSentence};

use crate::repeat_command::ExperimentLoad;
use crate::stated_bound::StatedBound;

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
pub enum PathStage {
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

impl PathStage {
    /// Returns the name used in documents.
    pub fn name(self) -> &'static str {
        match self {
            PathStage::Generator => "generator",
            PathStage::ClientKernel => "client_kernel",
            PathStage::Network => "network",
            PathStage::Proxy => "proxy",
            PathStage::ServerKernel => "server_kernel",
            PathStage::Service => "service",
            PathStage::Dependency => "dependency",
        }
    }
}

/// A limit or a fault, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitFinding {
    /// Identifier of the rule: `N2`.
    pub rule: &'static str,
    /// Position on the request path.
    pub stage: PathStage,
    /// Strength of the evidence.
    pub proof: Proof,
    /// Set if the finding prevents the requested load; otherwise it only slows down responses and is never the
    /// principal limit.
    pub is_limit: bool,
    /// Machine that the evidence comes from; `None` for the generator's.
    pub host: Option<String>,
    pub(crate) claim: LocalizedSentence,
    pub(crate) evidence: LocalizedSentence,
    pub(crate) remedy: Text,
    pub(crate) experiment: LocalizedSentence,
}

const THERE: Text = text("{evidence} (counted on {host})", "{evidence}（{host} 的计数器）");

impl LimitFinding {
    /// Returns the same finding with more before and after its claim: whose machine it is about, and since when.
    pub fn within(self, before: LocalizedSentence, after: LocalizedSentence) -> LimitFinding {
        LimitFinding { claim: before.followed_by(self.claim).followed_by(after), ..self }
    }

    /// Returns the claim, without a full stop.
    pub fn claim(&self, lang: Lang) -> String {
        self.claim.render(lang)
    }

    /// Returns the counters and observations that support the claim.
    pub fn evidence(&self, lang: Lang) -> String {
        let evidence = self.evidence.render(lang);
        match &self.host {
            Some(host) => lang.fill(THERE, &[("evidence", &evidence), ("host", host)]),
            None => evidence,
        }
    }

    /// Returns the recommended change.
    pub fn remedy(&self, lang: Lang) -> String {
        lang.of(self.remedy).to_owned()
    }

    /// Returns the experiment that would refute the claim.
    pub fn experiment(&self, lang: Lang) -> String {
        self.experiment.render(lang)
    }
}

/// The result of a rule for a case. Stage, remedy and experiment override those of the rule.
pub(crate) struct RuleVerdict {
    pub proof: Proof,
    pub claim: LocalizedSentence,
    pub evidence: LocalizedSentence,
    pub is_limit: bool,
    pub host: Option<String>,
    pub stage: Option<PathStage>,
    pub remedy: Option<Text>,
    pub experiment: Option<Text>,
    /// Placeholder values of the experiment.
    pub facts: Vec<(&'static str, String)>,
    /// Load of the experiment, if it is this run with another load.
    pub load: Option<ExperimentLoad>,
    /// Bounds and sizes that the claim states.
    pub bounds: Vec<StatedBound>,
}

/// Creates a verdict from a claim and counters with no other meaning.
pub(crate) fn proved(claim: impl Into<LocalizedSentence>, evidence: impl Into<LocalizedSentence>) -> RuleVerdict {
    RuleVerdict::new(Proof::Proved, claim, evidence)
}

/// Creates a verdict from a claim and matching observations of the generator.
pub(crate) fn consistent(claim: impl Into<LocalizedSentence>, evidence: impl Into<LocalizedSentence>) -> RuleVerdict {
    RuleVerdict::new(Proof::Consistent, claim, evidence)
}

impl RuleVerdict {
    pub fn new(
        proof: Proof,
        claim: impl Into<LocalizedSentence>,
        evidence: impl Into<LocalizedSentence>,
    ) -> RuleVerdict {
        let (claim, evidence, facts) = (claim.into(), evidence.into(), Vec::new());
        let (host, stage, remedy, experiment) = Default::default();
        let (load, bounds) = (None, Vec::new());
        RuleVerdict { proof, claim, evidence, is_limit: true, host, stage, remedy, experiment, facts, load, bounds }
    }

    /// Overrides the rule's stage.
    pub fn at(self, stage: PathStage) -> RuleVerdict {
        RuleVerdict { stage: Some(stage), ..self }
    }

    /// Overrides the rule's remedy.
    pub fn remedy(self, remedy: Text) -> RuleVerdict {
        RuleVerdict { remedy: Some(remedy), ..self }
    }

    /// Overrides the rule's experiment.
    pub fn experiment(self, experiment: Text) -> RuleVerdict {
        RuleVerdict { experiment: Some(experiment), ..self }
    }

    /// Sets the placeholder values of the experiment.
    pub fn experiment_with<const N: usize>(self, facts: [(&'static str, String); N]) -> RuleVerdict {
        RuleVerdict { facts: facts.into(), ..self }
    }

    /// Sets the load with which the experiment repeats the run; its command ends the sentence.
    pub fn repeated_with(self, load: ExperimentLoad) -> RuleVerdict {
        RuleVerdict { load: Some(load), ..self }
    }

    /// Adds a bound that the claim states.
    pub fn stating(mut self, bound: StatedBound) -> RuleVerdict {
        self.bounds.push(bound);
        self
    }

    /// Sets whether the finding is a limit.
    pub fn limiting(self, is_limit: bool) -> RuleVerdict {
        RuleVerdict { is_limit, ..self }
    }

    /// Sets the machine whose counters are the evidence.
    pub fn on_host(self, host: Option<String>) -> RuleVerdict {
        RuleVerdict { host, ..self }
    }
}
