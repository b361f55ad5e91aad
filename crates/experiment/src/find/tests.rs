//! What a search says and writes, for each way in which it may end.

use brunt_record::{Failure, RunEnd, RunEvent, RunListener, Second};
use brunt_report::{Lang, ObjectiveOutcome};
use serde_json::Value;

use super::*;
use crate::report::text as said;
use crate::runner::tests::started;
use crate::search::GoalBounds;

fn outcome(end: SearchEnd, lower: Option<f64>, upper: Option<f64>) -> FindOutcome {
    let bounds = GoalBounds { lower, upper, throughput: lower, inverted: false };
    let result = SearchResult {
        end: Some(end),
        bounds,
        bracket: [lower, upper],
        goals: vec![bounds],
        elapsed: Nanos::from_secs(200),
        trials: 18,
    };
    FindOutcome {
        target: "http://h/".into(),
        result,
        objectives: vec!["p99<50ms".into()],
        is_rate: true,
        width: 0.05,
        rows: Vec::new(),
        limit: None,
        failing: None,
        too_few: None,
        doubts: Vec::new(),
        refused: None,
        unsettled: 0,
        unreachable: false,
        lost_part: None,
    }
}

fn judged(text: &str, measured: &str, outcome: ObjectiveOutcome) -> JudgedObjective {
    JudgedObjective { outcome, measured: measured.into(), ..JudgedObjective::unreadable(text) }
}

fn row() -> TrialRow {
    TrialRow {
        load: 1500.0,
        duration: Nanos::from_secs(10),
        objectives: vec![judged("p99<50ms", "p99 31.2 ms", ObjectiveOutcome::Met)],
        trusted: true,
        bracket: [Some(1500.0), None],
        remaining: Nanos::from_secs(150),
        elapsed: Nanos::from_secs(30),
    }
}

#[test]
fn each_end_has_its_sentence_and_its_exit_code() {
    use SearchEnd::{Found, GeneratorLimited, HighestHeld, LowestMissed, OutOfTime, Stopped};
    let table = [
        (
            outcome(Found, Some(1500.0), Some(1530.0)),
            0,
            "at least 1,500/s, less than 1,530/s",
            "不低于 1,500/s，低于 1,530/s",
        ),
        (outcome(HighestHeld, Some(1500.0), None), 0, "the maximum was not reached", "尚未达到上限"),
        (outcome(LowestMissed, None, Some(10.0)), 10, "Not even 10.0/s", "起始负载 10.0/s 就未满足"),
        (outcome(GeneratorLimited, Some(1500.0), None), 20, "at least 1,500/s. Generator-limited", "受发压端限制"),
        (outcome(OutOfTime, Some(1500.0), None), 21, "So far 1,500/s seems to keep p99<50ms.", "搜索未完成"),
        (outcome(Stopped, None, None), 21, "Not finished. Nothing is known yet.", "搜索未完成。目前尚无结论。"),
    ];
    for (outcome, code, en, zh) in table {
        assert_eq!(outcome.exit().code(), code, "{en}");
        let [in_english, in_chinese] = [Lang::En, Lang::Zh].map(|lang| said(&outcome, lang));
        assert!(in_english.contains(en), "{in_english}");
        assert!(in_english.ends_with(&format!("18 trials in 3 min; exit code {code}.")), "{in_english}");
        assert!(in_chinese.contains(zh) && in_chinese.contains("退出码"), "{in_chinese}");
    }
    let mut too_many = outcome(GeneratorLimited, Some(1500.0), None);
    too_many.refused = Some(UsageError::new("-c", "9000 connections are too many"));
    assert!(said(&too_many, Lang::En).contains("The next load was not sent: -c: 9000 connections are too many."));
    let mut from_short_trials = outcome(GeneratorLimited, None, None);
    from_short_trials.result.bracket = [Some(1500.0), None];
    let told = said(&from_short_trials, Lang::En);
    assert!(told.starts_with("No load was shown to keep p99<50ms") && !told.contains("1,500"), "{told}");
    let unsettled = FindOutcome { unsettled: 2, ..outcome(Found, Some(1500.0), Some(1530.0)) };
    assert!(said(&unsettled, Lang::En).contains("2 times the service had not recovered"));
    let lost = FindOutcome { unreachable: true, ..outcome(Stopped, None, None) };
    assert_eq!(lost.exit().code(), 30);
    assert!(said(&lost, Lang::En).contains("the target could no longer be reached"));
}

#[test]
fn a_trial_is_one_line() {
    let line = trial_line(3, &row(), true, Lang::En);
    assert_eq!(line, "  3       1,500/s   10.0 s  p99 31.2 ms  held; left: 1,500/s to ?, about 2 min");
    let doubtful = TrialRow { trusted: false, ..row() };
    assert!(trial_line(3, &doubtful, true, Lang::En).contains("in doubt, no evidence"));
    let missed = TrialRow { objectives: vec![judged("p99<50ms", "p99 61 ms", ObjectiveOutcome::Missed)], ..row() };
    assert!(trial_line(3, &missed, false, Lang::Zh).contains("1,500 个用户"), "users");
    assert!(trial_line(3, &missed, false, Lang::Zh).contains("p99 61 ms  未满足；剩余区间"));
}

#[test]
fn the_document_holds_what_the_text_says() {
    let mut found = outcome(SearchEnd::Found, Some(1500.0), Some(1530.0));
    found.rows.push(row());
    found.limit = Some((1530.0, Summary::from_events([]).limits));
    let mut text = Vec::new();
    document::write_json(&found, &mut text).expect("memory");
    let json: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((&json["end"], &json["load"], &json["exit_code"]), (&"found".into(), &"rate".into(), &0.into()));
    assert_eq!((json["bounds"]["lower"].as_f64(), json["bounds"]["upper"].as_f64()), (Some(1500.0), Some(1530.0)));
    assert_eq!(json["objectives"][0]["objective"], "p99<50ms");
    assert_eq!(json["objectives"][0]["upper"].as_f64(), Some(1530.0));
    assert_eq!(json["trials"][0]["outcomes"][0], "met");
    assert_eq!((json["limit"]["load"].as_f64(), &json["limit"]["rule"]), (Some(1530.0), &Value::Null));
}

#[test]
fn a_bound_of_too_few_requests_is_none() {
    let mut found = outcome(SearchEnd::HighestHeld, Some(4.0), None);
    let objective = "p99.9<200ms".to_owned();
    found.too_few = Some(TooFewRequests { objective, made: 12, least: 2995, trial: Nanos::from_secs(250) });
    assert_eq!(found.exit(), Exit::NotTrusted);
    let text = said(&found, Lang::En);
    assert!(
        text.starts_with(
            "4.00/s seems to keep p99<50ms, but 12 requests at it are too few to show p99.9<200ms: it takes 2,995."
        ),
        "{text}"
    );
    assert!(text.contains("Use trials of 4 min or more (-d)"), "{text}");
}

#[test]
fn the_limit_is_that_of_a_load_above_the_bound() {
    let unknown = || Summary::from_events([]).limits;
    let missed = |load| MissedTrial { load, limit: unknown(), failing: None };
    let at = |lower| limit_above([1600.0, 1500.0, 3000.0].map(missed).into(), lower).map(|trial| trial.load);
    assert_eq!([at(Some(1500.0)), at(None), at(Some(4000.0))], [Some(1600.0), Some(1500.0), None]);
}

/// A service that crashes at a load, and answers again after so many runs of the wait that follows.
struct CrashingService {
    most: f64,
    is_down: bool,
    down_for: usize,
    waits: usize,
    spent: Nanos,
}

impl TrialRunner for CrashingService {
    fn run(
        &mut self,
        of: RunOf,
        trial: &Trial,
        _: &Stop,
        _: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError> {
        self.spent += trial.lasts();
        self.waits += usize::from(self.is_down && of.is_aside);
        if self.is_down && of.is_aside && self.waits > self.down_for {
            self.is_down = false;
        }
        if self.is_down && !of.is_aside {
            return Ok(RunResult::Lost);
        }
        self.is_down |= trial.load.peak() > self.most;
        let n = (trial.load.peak() * trial.lasts().as_secs_f64()) as u64;
        let mut second = Second { to_ns: trial.lasts().0 as i64, due: n, ..Second::default() };
        if self.is_down {
            let refused = Failure { kind: "refused".into(), phase: "connect".into(), errno: None, count: n };
            (second.failed, second.failures) = (n, vec![refused]);
        } else {
            second.finished = n;
            second.latency.service.record_n(Nanos::from_millis(5), n);
        }
        let mut started = started();
        if let RunEvent::Started(head) = &mut started {
            head.plan.objectives = vec!["failed<1%".into()];
        }
        let ended = RunEnd { window: trial.lasts(), ..RunEnd::default() };
        let events = [started, RunEvent::Second(Box::new(second)), RunEvent::Ended(ended)];
        Ok(RunResult::Made(Box::new(Summary::from_events(events))))
    }

    fn elapsed(&self) -> Nanos {
        self.spent
    }
}

/// Returns a search of the number of users that fail in less than 1 %.
fn search_of_users() -> FindPlan {
    FindPlan {
        target: "http://h/".into(),
        objectives: vec!["failed<1%".into()],
        load: Trial::users(100, Nanos::from_secs(10)).load,
        scenario: None,
        highest: 1600.0,
        width: 0.5,
        trial: Nanos::from_secs(10),
        warm_up: Nanos::from_secs(1),
        seed: 1,
    }
}

/// A service that holds every load, on agents of which one is lost after so many trials.
struct LosingAgent {
    service: CrashingService,
    trials: usize,
}

impl TrialRunner for LosingAgent {
    fn run(
        &mut self,
        of: RunOf,
        trial: &Trial,
        stop: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError> {
        if self.trials == 0 {
            return Ok(RunResult::Partial(UsageError::whole("agent a2 was lost")));
        }
        self.trials -= usize::from(!of.is_aside);
        self.service.run(of, trial, stop, listeners)
    }

    fn elapsed(&self) -> Nanos {
        self.service.elapsed()
    }
}

#[test]
fn a_search_that_lost_an_agent_is_not_finished_and_keeps_what_was_shown() {
    let search = |trials| {
        let service =
            CrashingService { most: f64::INFINITY, is_down: false, down_for: 0, waits: 0, spent: Nanos::ZERO };
        let found = find(&search_of_users(), &mut LosingAgent { service, trials }, &Stop::default(), &mut |_| {});
        found.expect("a search")
    };
    for (trials, known) in [(0, "Nothing is known yet."), (2, "So far 200 users seems to keep failed<1%.")] {
        let found = search(trials);
        let text = said(&found, Lang::En);
        assert_eq!((found.exit().code(), found.rows.len()), (21, trials), "{text}");
        assert!(text.starts_with(&format!("Not finished: agent a2 was lost. {known}")), "{text}");
        let mut document = Vec::new();
        document::write_json(&found, &mut document).expect("memory");
        let json: Value = serde_json::from_slice(&document).expect("JSON");
        assert_eq!((&json["end"], &json["doubts"][0]), (&"stopped".into(), &"agent a2 was lost".into()));
    }
}

#[test]
fn a_service_that_crashed_is_waited_for_and_then_given_up() {
    let plan = search_of_users();
    let search = |down_for| {
        let mut service = CrashingService { most: 500.0, is_down: false, down_for, waits: 0, spent: Nanos::ZERO };
        let found = find(&plan, &mut service, &Stop::default(), &mut |_| {}).expect("a search");
        (found.exit().code(), service.waits, found.result.bounds.lower)
    };
    assert_eq!(search(usize::MAX), (30, MOST_PROBES as usize, None), "it is not said to hold or to miss anything");
    let (code, waits, lower) = search(3);
    assert!(code == 0 && waits > 3 && lower.is_some_and(|lower| lower <= 500.0), "{code} {waits} {lower:?}");
}
