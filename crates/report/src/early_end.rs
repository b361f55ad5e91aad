//! Runs that ended early: how, and after what time.

use brunt_measure::Nanos;
use brunt_record::{End, Subject};

use crate::numbers;
use crate::sums::RunSums;
use crate::text::{Lang, Text, text};

const CUT: Text = text("cut after {after}", "运行 {after} 后中断");
const CUT_OF: Text = text("cut after {after} of {of}", "运行 {after} 后中断（计划 {of}）");
const STOPPED: Text = text("stopped after {after}", "运行 {after} 后停止");
const STOPPED_OF: Text = text("stopped after {after} of {of}", "运行 {after} 后停止（计划 {of}）");
const DRAINED: Text = text("drained after {after}", "运行 {after} 后排空并停止");
const DRAINED_OF: Text = text("drained after {after} of {of}", "运行 {after} 后排空并停止（计划 {of}）");

/// The kind of early end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyEndKind {
    /// Requests in flight were lost: the run was interrupted, killed, or could not continue.
    CutOff,
    /// An objective or a step stopped the run.
    Stopped,
    /// Sending stopped, and requests in flight could finish.
    Drained,
}

/// The early end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EarlyEnd {
    pub kind: EarlyEndKind,
    /// Actual length of the window.
    pub after: Nanos,
    /// Planned length of the window; `None` if unknown.
    pub planned: Option<Nanos>,
}

impl EarlyEnd {
    /// Returns the early end of a run; `None` if it lasted as planned, or had no window.
    pub fn of(run: &RunSums) -> Option<EarlyEnd> {
        let way = match run.end {
            _ if run.was_drained() => EarlyEndKind::Drained,
            _ if run.was_stopped() => EarlyEndKind::Stopped,
            // A run that lost a part lasts as planned, or until its rows are used up, unless it lost all.
            End::Partial if run.has_agents_left() => return None,
            End::Interrupted | End::CutOff | End::Aborted | End::Partial => EarlyEndKind::CutOff,
            End::Completed => return None,
        };
        let of = run.started.as_ref().and_then(|started| started.plan.duration);
        // What is as long as planned in the words of the report ended at its end.
        let is_shorter = |of: Nanos| run.window < of && numbers::duration(run.window) != numbers::duration(of);
        let ran = run.window > Nanos::ZERO && of.is_none_or(is_shorter);
        ran.then_some(EarlyEnd { kind: way, after: run.window, planned: of })
    }

    /// Formats the early end as part of a sentence.
    pub fn sentence(&self, lang: Lang) -> String {
        let after = numbers::duration(self.after);
        let words = match (self.kind, self.planned) {
            (EarlyEndKind::CutOff, None) => CUT,
            (EarlyEndKind::CutOff, Some(_)) => CUT_OF,
            (EarlyEndKind::Stopped, None) => STOPPED,
            (EarlyEndKind::Stopped, Some(_)) => STOPPED_OF,
            (EarlyEndKind::Drained, None) => DRAINED,
            (EarlyEndKind::Drained, Some(_)) => DRAINED_OF,
        };
        let of = self.planned.map(numbers::duration).unwrap_or_default();
        lang.fill(words, &[("after", &after), ("of", &of)])
    }

    /// Returns the identifier used in documents.
    pub fn name(&self) -> &'static str {
        match self.kind {
            EarlyEndKind::CutOff => "cut",
            EarlyEndKind::Stopped => "stopped",
            EarlyEndKind::Drained => "drained",
        }
    }
}

impl RunSums {
    /// Returns `true` for a run of agents some of which were not lost: these went on to its end.
    fn has_agents_left(&self) -> bool {
        let agents = self.started.as_ref().map_or(0, |started| started.agents.len());
        let lost = self.notices.iter().filter(|notice| notice.subject() == Some(Subject::AgentLost)).count();
        lost < agents
    }

    /// Returns the identifier of the run's end for documents: the recorded one, or `stopped` or `drained` for a
    /// requested early end.
    pub fn end_code(&self) -> &'static str {
        match EarlyEnd::of(self) {
            Some(cut) if cut.kind != EarlyEndKind::CutOff => cut.name(),
            _ => self.end.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_plan::Change;
    use brunt_record::{LoadChange, Notice, RunEnd, RunEvent, RunStarted};

    use super::*;
    use crate::exit::Exit;
    use crate::summary::Summary;

    fn line(lasts: Option<Nanos>, window: u64, end: Option<End>, more: Vec<RunEvent>, lang: Lang) -> String {
        crate::verdict_line::verdict_line(&summary(lasts, window, end, more), lang)
    }

    fn summary(lasts: Option<Nanos>, window: u64, end: Option<End>, more: Vec<RunEvent>) -> Summary {
        let head = include_str!("../../record/src/version-1.jsonl").lines().next().expect("a head");
        let mut started: RunStarted = serde_json::from_str(head).expect("a head");
        started.plan.duration = lasts;
        let second = brunt_record::Second {
            part: brunt_record::RunPart::Window,
            to_ns: Nanos::from_secs(window).0 as i64,
            ..brunt_record::Second::default()
        };
        let window = Nanos::from_secs(window);
        let ended = end.map(|reason| RunEvent::Ended(RunEnd { reason, window, elapsed: window }));
        let events = [RunEvent::Started(Box::new(started)), RunEvent::Second(Box::new(second))];
        Summary::from_events(events.into_iter().chain(more).chain(ended))
    }

    #[test]
    fn the_headline_says_after_how_much_of_its_time_a_run_ended() {
        let (s, minute) = (Nanos::from_secs, Some(Nanos::from_secs(60)));
        let begins = |line: String, wanted: &str| assert!(line.starts_with(wanted), "{line}");
        let cut = Some(End::Interrupted);
        begins(line(minute, 12, cut, Vec::new(), Lang::En), "cut after 12.0 s of 60.0 s; ");
        begins(line(minute, 12, cut, Vec::new(), Lang::Zh), "运行 12.0 s 后中断（计划 60.0 s）；");
        begins(line(None, 12, None, Vec::new(), Lang::En), "cut after 12.0 s; ");
        // All agents were lost.
        begins(line(minute, 12, Some(End::Partial), Vec::new(), Lang::En), "cut after 12.0 s of 60.0 s; ");
        let stop = RunEvent::Notice(Notice::new(Subject::ObjectiveStop, []));
        begins(line(minute, 12, cut, vec![stop], Lang::En), "stopped after 12.0 s of 60.0 s; ");
        let drain = RunEvent::Changed(LoadChange { at_ns: s(12).0 as i64, change: Change::Drain });
        let whole = Some(End::Completed);
        begins(line(minute, 12, whole, vec![drain.clone()], Lang::En), "drained after 12.0 s of 60.0 s; ");
        begins(line(None, 12, whole, vec![drain.clone()], Lang::En), "drained after 12.0 s; ");
        begins(line(minute, 12, cut, vec![drain], Lang::En), "cut after 12.0 s of 60.0 s; ");
        // A run that ended before its drain began was not drained.
        let late = RunEvent::Changed(LoadChange { at_ns: s(13).0 as i64, change: Change::Drain });
        assert!(!line(None, 12, whole, vec![late], Lang::En).starts_with("drained"));
    }

    #[test]
    fn a_drained_run_is_no_interrupted_one_unless_its_drain_was_cut_short() {
        let drain = RunEvent::Changed(LoadChange { at_ns: Nanos::from_secs(12).0 as i64, change: Change::Drain });
        let judged = |end| summary(Some(Nanos::from_secs(60)), 12, Some(end), vec![drain.clone()]);
        let interrupted = |summary: &Summary| summary.trust.findings.iter().any(|found| found.code == "interrupted");
        let (whole, cut) = (judged(End::Completed), judged(End::Interrupted));
        assert_eq!((whole.sums.end_code(), cut.sums.end_code()), ("drained", "interrupted"));
        assert_eq!((interrupted(&whole), interrupted(&cut)), (false, true));
        assert_eq!((whole.exit == Exit::Interrupted, cut.exit), (false, Exit::Interrupted));
    }

    #[test]
    fn a_run_that_others_took_to_its_end_was_not_cut() {
        let head = include_str!("../../record/src/version-1.jsonl").lines().next().expect("a head");
        let mut started: RunStarted = serde_json::from_str(head).expect("a head");
        started.plan.duration = Some(Nanos::from_secs(8));
        started.agents = vec![brunt_record::AgentHead::default(), brunt_record::AgentHead::default()];
        started.agents[1].name = "eu-1".into();
        let cut = |lost: &[&str], window: Nanos| {
            let to_ns = window.0 as i64;
            let second = brunt_record::Second { to_ns, ..brunt_record::Second::default() };
            let lost = lost
                .iter()
                .map(|name| RunEvent::Notice(Notice::new(Subject::AgentLost, [("agent", (*name).to_owned())])));
            let ended = RunEvent::Ended(RunEnd { reason: End::Partial, window, elapsed: window });
            let events = [RunEvent::Started(Box::new(started.clone())), RunEvent::Second(Box::new(second))];
            let summary = Summary::from_events(events.into_iter().chain(lost).chain([ended]));
            EarlyEnd::of(&summary).map(|cut| cut.sentence(Lang::En))
        };
        assert_eq!(cut(&["", "eu-1"], Nanos::from_secs(5)), Some("cut after 5.00 s of 8.00 s".into()));
        assert_eq!(cut(&["eu-1"], Nanos::from_secs(5)), None, "its rows were used up");
        assert_eq!(cut(&["", "eu-1"], Nanos::from_millis(7_999)), None, "at its end");
    }

    #[test]
    fn a_run_that_was_to_end_by_itself_is_told_as_such() {
        let minute = Some(Nanos::from_secs(60));
        let whole = line(minute, 60, Some(End::Completed), Vec::new(), Lang::En);
        assert!(!whole.contains(" of 60.0 s"), "{whole}");
    }
}
