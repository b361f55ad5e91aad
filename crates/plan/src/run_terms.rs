//! The terms of a run on many machines.

use std::str::FromStr;

use brunt_cause::{Complaint, complaint};
use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

/// What happens when an agent is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossPolicy {
    /// The others go on with their shares; the missing one is shown for each second.
    #[default]
    GoOn,
    /// The others take over its load from then on.
    Redistribute,
    /// The run stops.
    Abort,
}

impl FromStr for LossPolicy {
    type Err = Complaint;
    fn from_str(text: &str) -> Result<LossPolicy, Complaint> {
        match text {
            "go-on" => Ok(LossPolicy::GoOn),
            "redistribute" => Ok(LossPolicy::Redistribute),
            "abort" => Ok(LossPolicy::Abort),
            _ => Err(complaint!(
                "write go-on, redistribute or abort, not `{text}`",
                "请写 go-on、redistribute 或 abort，而不是“{text}”"
            )),
        }
    }
}

/// The terms of a run on many machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTerms {
    /// What happens when an agent is lost.
    pub on_lost: LossPolicy,
    /// Time without figures after which an agent counts as lost.
    pub lost_after: Nanos,
    /// Time without a coordinator after which an agent stops its load by itself.
    pub orphan_timeout: Nanos,
}

impl Default for RunTerms {
    fn default() -> RunTerms {
        RunTerms { on_lost: LossPolicy::GoOn, lost_after: Nanos::from_secs(90), orphan_timeout: Nanos::from_secs(120) }
    }
}
