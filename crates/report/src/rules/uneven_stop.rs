//! The rule for agents that were told to stop and did so at different times: one that stood still hears of it last. The window
//! of the whole ends with the last of them, and rates per second are over a time in which the others did not send.

use std::collections::BTreeMap;

use brunt_measure::Nanos;
use brunt_record::RunEvent;

use super::{Evidence, TrustRule};
use crate::early_end::EarlyEnd;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const UNEVEN: Text = text(
    "{agents} stopped up to {by} after the other agents: the rates of the whole are too low, over a time in which not all sent",
    "{agents} 比其他施压机最多晚 {by} 才停止：整体的速率因此偏低，其时间内并非所有施压机都在发送",
);

/// Parts of the window that are negligible, and above which its rates are not those of the load.
const OK: f64 = 0.01;
const FAIL: f64 = 0.05;
/// Maximum number of agents named.
const AGENTS: usize = 3;

/// The windows of the agents, by index.
#[derive(Debug, Default)]
pub(super) struct UnevenStopRule {
    windows: BTreeMap<u16, Nanos>,
}

impl TrustRule for UnevenStopRule {
    fn see(&mut self, event: &RunEvent) {
        if let RunEvent::OfAgent(told) = event
            && let RunEvent::Ended(ended) = &*told.event
        {
            self.windows.insert(told.agent, ended.window);
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        self.found(run).into_iter().collect()
    }
}

impl UnevenStopRule {
    fn found(&self, run: &Evidence<'_>) -> Option<Finding> {
        // A run that was not told to stop lasts until its last request by itself.
        EarlyEnd::of(run)?;
        let (first, last) = (self.windows.values().min()?, self.windows.values().max()?);
        let part = |window: Nanos| (window.0 - first.0) as f64 / last.0.max(1) as f64;
        if part(*last) <= OK {
            return None;
        }
        let heads = run.started.as_ref().map_or(&[][..], |started| &started.agents);
        let late = self.windows.iter().filter(|(_, window)| part(**window) > OK);
        let names: Vec<String> = late
            .filter_map(|(agent, _)| heads.get(usize::from(*agent)))
            .map(|head| crate::agents::shown_name(&head.name))
            .take(AGENTS)
            .collect();
        let by = numbers::duration(Nanos(last.0 - first.0));
        let grade = if part(*last) > FAIL { Grade::Fail } else { Grade::Warn };
        Some(Finding::new("uneven_stop", grade, UNEVEN, [("agents", brunt_i18n::listed(&names)), ("by", by)]))
    }
}

#[cfg(test)]
mod tests {
    use brunt_record::{AgentEvent, End, RunEnd};

    use super::*;
    use crate::rules::tests::found;
    use crate::text::Lang;

    /// Judges a run that ended in this way, with two agents whose windows lasted so many milliseconds.
    fn of(reason: End, windows: [u64; 2]) -> Option<Finding> {
        let line = include_str!("../../../record/src/version-1.jsonl").lines().next().unwrap();
        let RunEvent::Started(mut started) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
        let head = |name: &str| brunt_record::AgentHead { name: name.into(), ..brunt_record::AgentHead::default() };
        started.agents = vec![head("a"), head("b")];
        started.plan.duration = Some(Nanos::from_secs(10));
        let ended = |ms: u64| RunEvent::Ended(RunEnd { reason, window: Nanos::from_millis(ms), ..RunEnd::default() });
        let told = (0..).zip(windows).map(|(agent, ms)| RunEvent::OfAgent(AgentEvent::of(agent, &ended(ms)).unwrap()));
        let whole = ended(windows[0].max(windows[1]));
        found(UnevenStopRule::default(), [RunEvent::Started(started)].into_iter().chain(told).chain([whole])).pop()
    }

    #[test]
    fn an_agent_that_hears_of_the_stop_last_makes_rates_too_low() {
        let found = of(End::Interrupted, [3_500, 5_800]).unwrap();
        assert_eq!(found.grade, Grade::Fail);
        let said = found.sentence(Lang::En);
        assert!(said.starts_with("b stopped up to 2.30 s after the other agents: the rates"), "{said}");
        assert_eq!(of(End::Interrupted, [5_650, 5_800]).unwrap().grade, Grade::Warn);
        assert!(of(End::Interrupted, [5_790, 5_800]).is_none());
        assert!(of(End::Completed, [3_500, 5_800]).is_none(), "a number of requests takes each its time");
    }
}
