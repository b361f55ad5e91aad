//! The notices that are kept of a run. Verdicts rest on some of them, so that no number of others may leave these out.

use std::collections::{BTreeMap, BTreeSet};

use brunt_record::{AgentHead, Notice, Subject};

use crate::rules::late_change;

/// Maximum number of remarks, and of notices of unknown codes and agents, that are kept. All others are few by their
/// nature: one for each subject, or for each subject and agent of the run.
const REMARKS: usize = 64;

/// What a notice is about: of several, the last is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NoticeTopic {
    code: String,
    /// The agent, since each has notices of its own.
    agent: Option<String>,
    /// What the agent remarks: each remark is a notice of its own.
    remark: Option<String>,
}

impl NoticeTopic {
    fn of(notice: &Notice) -> NoticeTopic {
        let is = |subject| notice.subject() == Some(subject);
        let fact = |name: &str| notice.facts.get(name).cloned();
        NoticeTopic {
            code: notice.code.clone(),
            agent: fact(if is(Subject::AgentsReplaced) { "agents" } else { "agent" }),
            remark: fact("remark").filter(|_| is(Subject::AgentRemark)),
        }
    }

    /// Returns `true` if there may be any number of such notices.
    fn is_unbounded(&self, agents: &BTreeSet<String>) -> bool {
        let subject = Subject::of(&self.code);
        let is_foreign = self.agent.as_ref().is_some_and(|agent| !agents.contains(agent));
        is_foreign || subject.is_none_or(|subject| subject == Subject::AgentRemark)
    }
}

/// The notices that are kept of a run, and the number of those left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptNotices {
    /// Names of the run's agents.
    agents: BTreeSet<String>,
    /// The notices, each with its number in the run.
    kept: BTreeMap<NoticeTopic, (u64, Notice)>,
    /// Number of notices seen.
    seen: u64,
    /// Number of those kept of which there may be any number.
    remarks: usize,
    left_out: u64,
}

impl KeptNotices {
    /// Notes the agents of the run.
    pub fn expect(&mut self, agents: &[AgentHead]) {
        self.agents = agents.iter().map(|agent| agent.name.clone()).collect();
    }

    /// Keeps a notice, whose texts are bounded, in place of an earlier one of the same. Of changes that reached an agent
    /// late, the latest counts.
    pub fn add(&mut self, notice: Notice) {
        self.drop_reason_of_loss(&notice);
        let topic = NoticeTopic::of(&notice);
        let known = self.kept.get(&topic).map(|(_, known)| known);
        if known.is_some_and(|known| late_change::seconds_late(known) > late_change::seconds_late(&notice)) {
            return;
        }
        if known.is_none() && topic.is_unbounded(&self.agents) {
            if self.remarks == REMARKS {
                self.left_out += 1;
                return;
            }
            self.remarks += 1;
        }
        self.seen += 1;
        self.kept.insert(topic, (self.seen, notice));
    }

    /// Drops the remark with which an agent said why it stops, once it is told as lost for that reason.
    fn drop_reason_of_loss(&mut self, notice: &Notice) {
        let Some(why) = notice.facts.get("why").filter(|_| notice.subject() == Some(Subject::AgentLost)) else {
            return;
        };
        let agent = notice.facts.get("agent");
        let says_why = |topic: &NoticeTopic| {
            topic.agent.as_ref() == agent && topic.remark.as_ref().is_some_and(|remark| why.starts_with(remark))
        };
        let before = self.kept.len();
        self.kept.retain(|topic, _| !says_why(topic));
        self.remarks -= before - self.kept.len();
    }

    /// Returns the notices in their order, and one that counts those left out.
    pub fn finish(self) -> Vec<Notice> {
        let mut kept: Vec<(u64, Notice)> = self.kept.into_values().collect();
        kept.sort_by_key(|(number, _)| *number);
        let left_out =
            (self.left_out > 0).then(|| Notice::new(Subject::NoticesLeftOut, [("n", self.left_out.to_string())]));
        kept.into_iter().map(|(_, notice)| notice).chain(left_out).collect()
    }
}
