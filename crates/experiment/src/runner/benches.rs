//! Runs made with benches.

use std::time::Instant;

use brunt_bench::Bench;
use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::Nanos;
use brunt_plan::Trial;
use brunt_record::{End, Kind, Phase, RunListener};
use brunt_report::{AgentSummary, Exit, Summary};

use super::{RunOf, RunResult, TrialRunner};

/// What is done before (`true`) and after each run of a subject.
type AroundRun<'a> = Box<dyn FnMut(usize, bool) -> Result<(), UsageError> + 'a>;

/// A maker of runs with benches whose first answers are known.
pub struct BenchRunner<'a> {
    benches: Vec<&'a Bench>,
    around: AroundRun<'a>,
    began: Instant,
    /// Time after which no run ends, if it can be helped; the first is always made.
    limit: Option<Nanos>,
    made: usize,
    /// The longest time that a run took beyond its length.
    longest_extra: Nanos,
}

impl<'a> BenchRunner<'a> {
    /// Creates the runner of an experiment with one bench for each subject.
    pub fn new(benches: impl IntoIterator<Item = &'a Bench>) -> BenchRunner<'a> {
        BenchRunner {
            benches: benches.into_iter().collect(),
            around: Box::new(|_, _| Ok(())),
            began: Instant::now(),
            limit: None,
            made: 0,
            longest_extra: Nanos::ZERO,
        }
    }

    /// Sets the time after which no run shall end; the first one is made in any case.
    #[must_use]
    pub fn until(self, limit: Option<Nanos>) -> BenchRunner<'a> {
        BenchRunner { limit, ..self }
    }

    /// Sets what is done before (`true`) and after each run of a subject.
    #[must_use]
    pub fn around(self, around: impl FnMut(usize, bool) -> Result<(), UsageError> + 'a) -> BenchRunner<'a> {
        BenchRunner { around: Box::new(around), ..self }
    }
}

impl TrialRunner for BenchRunner<'_> {
    fn run(
        &mut self,
        of: RunOf,
        trial: &Trial,
        stop: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError> {
        let before = self.elapsed();
        let ends = before.saturating_add(trial.lasts()).saturating_add(self.longest_extra);
        if self.made > 0 && self.limit.is_some_and(|limit| ends > limit) {
            return Ok(RunResult::OutOfTime);
        }
        (self.around)(of.subject, true)?;
        let measured = self.benches[of.subject].measure(trial, stop, listeners);
        (self.around)(of.subject, false)?;
        self.made += 1;
        self.longest_extra = self.longest_extra.max((self.elapsed() - before) - trial.lasts());
        Ok(match measured {
            Err(why) if self.benches[of.subject].lacks_agents() => RunResult::Partial(UsageError::whole(why.problem)),
            Err(complaint) => RunResult::Refused(complaint),
            Ok(summary) => match summary.exit {
                Exit::Unreachable => RunResult::Lost,
                Exit::Interrupted if is_partial(&summary) && !stop.requested() => {
                    RunResult::Partial(lost_part(&summary))
                }
                Exit::Interrupted => RunResult::Stopped,
                // What waits for a service to recover decides itself for how long.
                _ if !of.is_aside && is_lost(&summary) => RunResult::Lost,
                _ => RunResult::Made(Box::new(summary)),
            },
        })
    }

    fn elapsed(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }
}

/// Returns `true` if the load was not that which was asked for, because part of what made it was lost.
fn is_partial(summary: &Summary) -> bool {
    summary.end == End::Partial || summary.agents.iter().any(AgentSummary::is_lost)
}

/// Says what was lost in the middle of a run.
fn lost_part(summary: &Summary) -> UsageError {
    let names: Vec<&str> =
        summary.agents.iter().filter(|agent| agent.is_lost()).map(|agent| &*agent.head.name).collect();
    let (en, zh) = (names.join(", "), names.join("、"));
    UsageError::whole(match names.len() {
        0 => complaint!("a process was lost in the middle of a run", "有进程在运行途中丢失"),
        1 => complaint!("agent {en} was lost in the middle of a run", "施压机 {zh} 在运行途中丢失"),
        _ => complaint!("agents {en} were lost in the middle of a run", "施压机 {zh} 在运行途中丢失"),
    })
}

/// Returns `true` if nothing was there to connect to during the whole run: what is measured after that says nothing about the
/// service. A service that refuses some of its connections, or answers with errors, is there.
fn is_lost(summary: &Summary) -> bool {
    let totals = &summary.totals;
    let nobody = [Kind::Refused.name(), Kind::Unreachable.name()];
    let mut failures = totals.failures.iter().map(|failure| (&*failure.phase, &*failure.kind));
    totals.finished == 0
        && totals.failed > 0
        && failures.all(|(phase, kind)| phase == Phase::Connect.name() && nobody.contains(&kind))
}

#[cfg(test)]
mod tests {
    use brunt_record::{AgentHead, Failure, RunEnd, RunEvent, Second};

    use super::*;

    fn run(finished: u64, failures: &[(Kind, Phase, u64)]) -> Summary {
        let of = |(kind, phase, count): &(Kind, Phase, u64)| {
            let (kind, phase) = (kind.name().to_owned(), phase.name().to_owned());
            Failure { kind, phase, errno: None, count: *count }
        };
        let failed = failures.iter().map(|(_, _, count)| count).sum();
        let failures = failures.iter().map(of).collect();
        let second = Second { finished, failed, failures, due: finished + failed, ..Second::default() };
        let started = crate::runner::tests::started();
        Summary::from_events([started, RunEvent::Second(Box::new(second)), RunEvent::Ended(RunEnd::default())])
    }

    #[test]
    fn a_run_that_lost_an_agent_is_partial_and_names_it() {
        let of = |names: &[&str], reason| {
            let RunEvent::Started(mut head) = crate::runner::tests::started() else { panic!("a start") };
            head.agents = names.iter().map(|name| AgentHead { name: (*name).into(), ..AgentHead::default() }).collect();
            let ended = RunEnd { reason, ..RunEnd::default() };
            Summary::from_events([RunEvent::Started(head), RunEvent::Ended(ended)])
        };
        // Neither agent told of its end.
        let both = of(&["a1", "a2"], End::Aborted);
        assert!(is_partial(&both), "with --on-lost abort");
        assert_eq!(lost_part(&both).to_string(), "agents a1, a2 were lost in the middle of a run");
        assert_eq!(lost_part(&both).zh(), "施压机 a1、a2 在运行途中丢失");
        assert!(is_partial(&of(&[], End::Partial)) && !is_partial(&of(&[], End::Aborted)));
    }

    #[test]
    fn a_target_is_lost_if_nobody_listened_all_the_time() {
        let table = [
            (run(0, &[(Kind::Refused, Phase::Connect, 9)]), true),
            (run(0, &[(Kind::Refused, Phase::Connect, 9), (Kind::Unreachable, Phase::Connect, 1)]), true),
            (run(1, &[(Kind::Refused, Phase::Connect, 9)]), false),
            (run(0, &[(Kind::Refused, Phase::Connect, 9), (Kind::Timeout, Phase::Connect, 1)]), false),
            (run(0, &[(Kind::WrongStatus, Phase::Transfer, 9)]), false),
            (run(0, &[]), false),
        ];
        for (number, (summary, lost)) in table.iter().enumerate() {
            assert_eq!(is_lost(summary), *lost, "{number}");
        }
    }
}
