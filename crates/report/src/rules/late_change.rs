//! The rule for changes of the load that reached agents late: until then, these sent another load than the record tells.

use brunt_record::Subject;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::text::{Text, text};

const LATE: Text = text(
    "a change of the load reached {n} {n|agent|agents} late, {agent} by {late}: until then the load was another",
    "负载的变更晚到达 {n} 个施压机（{agent} 晚 {late}）：在此之前的负载与设定不符",
);

/// Part of the window above which its figures are those of another load.
const FAIL: f64 = 0.05;

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let changed = run.notices.iter().filter(|notice| notice.subject() == Some(Subject::AgentChangedLate));
    let late = changed.filter_map(|notice| {
        let fact = |name: &str| notice.facts.get(name).cloned();
        Some((fact("late_ms")?.parse::<u64>().ok()?, fact("agent")?, fact("late")?))
    });
    let all: Vec<_> = late.collect();
    let (most, agent, late) = all.iter().max()?;
    let part = *most as f64 * 1e6 / run.window.0.max(1) as f64;
    let mut agents: Vec<&String> = all.iter().map(|(_, agent, _)| agent).collect();
    agents.sort();
    agents.dedup();
    let facts = [
        ("n", agents.len().to_string()),
        ("agent", crate::agents::shown_name(agent)),
        ("late", brunt_measure::sanitize::text(late).into_owned()),
    ];
    Some(Finding::new("late_change", if part > FAIL { Grade::Fail } else { Grade::Warn }, LATE, facts))
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;
    use brunt_record::{Notice, RunEnd, RunEvent};

    use super::*;
    use crate::rules::SumsRule;
    use crate::rules::tests::found;
    use crate::text::Lang;

    #[test]
    fn a_change_that_came_late_is_a_caution_and_one_for_a_part_of_the_run_costs_the_trust() {
        let run = |late: &[(&str, u64)]| {
            let notices = late.iter().map(|(agent, ms)| {
                let facts = [("agent", (*agent).to_owned()), ("late", format!("{ms} ms")), ("late_ms", ms.to_string())];
                RunEvent::Notice(Notice::new(Subject::AgentChangedLate, facts))
            });
            let ended = RunEvent::Ended(RunEnd { window: Nanos::from_secs(10), ..RunEnd::default() });
            found(SumsRule(judge), notices.chain([ended])).pop()
        };
        assert!(run(&[]).is_none());
        assert_eq!(run(&[("a", 400)]).unwrap().grade, Grade::Warn);
        let worst = run(&[("a", 400), ("b", 6100), ("a", 200)]).unwrap();
        assert_eq!(worst.grade, Grade::Fail);
        let said = worst.sentence(Lang::En);
        assert!(said.contains("2 agents late, b by 6100 ms"), "{said}");
    }
}
