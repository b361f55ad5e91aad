//! The rule for changes of the load that reached agents late: until then, these sent another load than the record tells.

use std::collections::BTreeSet;

use brunt_record::{Notice, Subject};

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::text::{Text, text};

const LATE: Text = text(
    "a change of the load reached {n} {n|agent|agents} late, {agent} by {late}: until then the load was another",
    "负载的变更晚到达 {n} 个施压机（{agent} 晚 {late}）：在此之前的负载与设定不符",
);

/// Part of the window above which its figures are those of another load.
const FAIL: f64 = 0.05;

/// Returns how late a change reached an agent, in seconds, if the notice is of that.
pub(crate) fn seconds_late(notice: &Notice) -> Option<f64> {
    let is_late = notice.subject() == Some(Subject::AgentChangedLate);
    notice.facts.get("late").filter(|_| is_late)?.strip_suffix(" s")?.parse().ok()
}

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let late = run.notices.iter().filter_map(|notice| Some((seconds_late(notice)?, notice.facts.get("agent")?)));
    let all: Vec<_> = late.collect();
    let (most, agent) = all.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let part = most * 1e9 / run.window.0.max(1) as f64;
    let agents: BTreeSet<&String> = all.iter().map(|(_, agent)| *agent).collect();
    let facts = [
        ("n", agents.len().to_string()),
        ("agent", crate::agents::shown_name(agent)),
        ("late", format!("{most:.1} s")),
    ];
    Some(Finding::new("late_change", if part > FAIL { Grade::Fail } else { Grade::Warn }, LATE, facts))
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;
    use brunt_record::{RunEnd, RunEvent};

    use super::*;
    use crate::rules::SumsRule;
    use crate::rules::tests::found;
    use crate::text::Lang;

    #[test]
    fn a_change_that_came_late_is_a_caution_and_one_for_a_part_of_the_run_costs_the_trust() {
        let run = |late: &[(&str, f64)]| {
            let notices = late.iter().map(|(agent, late)| {
                let facts = [("agent", (*agent).to_owned()), ("late", format!("{late:.1} s"))];
                RunEvent::Notice(Notice::new(Subject::AgentChangedLate, facts))
            });
            let ended = RunEvent::Ended(RunEnd { window: Nanos::from_secs(10), ..RunEnd::default() });
            found(SumsRule(judge), notices.chain([ended])).pop()
        };
        assert!(run(&[]).is_none());
        assert_eq!(run(&[("a", 0.4)]).unwrap().grade, Grade::Warn);
        let worst = run(&[("a", 0.4), ("b", 6.1), ("a", 0.2)]).unwrap();
        assert_eq!(worst.grade, Grade::Fail);
        let said = worst.sentence(Lang::En);
        assert!(said.contains("2 agents late, b by 6.1 s"), "{said}");
        assert_eq!(run(&[("a", 6.1), ("a", 0.2)]).unwrap().grade, Grade::Fail, "a later one that was less late");
    }
}
