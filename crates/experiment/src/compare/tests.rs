//! What a comparison says and writes.

use brunt_report::contrast::ComparedFigures;
use serde_json::Value;

use super::*;
use crate::report::{ReportBlock, Reported, Tone, text as said};
use crate::runs::compare_figures;

fn plan(runs: usize) -> ComparePlan {
    ComparePlan {
        names: ["http://a/".into(), "http://b/".into()],
        trials: [(); 2].map(|()| with_warm_up(Trial::users(1, Nanos::from_secs(10)))),
        baseline: None,
        runs,
        shuffle: false,
        seed: 1,
        margin: None,
    }
}

/// Creates an outcome with these medians of the second side, where the first has 100, and six runs of each that vary by
/// 1 %.
fn found(second: f64, runs: usize, made: usize) -> CompareOutcome {
    let values = |centre: f64| (0..runs).map(|n| (centre * (1.0 + 0.002 * n as f64), None)).collect::<Vec<_>>();
    let changes = MEASURES.map(|measure| match measure.is_share {
        true => compare_figures(measure, &values(0.0), &values(0.0)),
        false => compare_figures(measure, &values(100.0), &values(second)),
    });
    let row = |n: usize| ComparedRunRow {
        side: alternating(runs)[n],
        figures: ComparedFigures::of_sums(&Summary::from_events([])),
        named: Vec::new(),
        doubt: None,
    };
    let rows = (0..made).map(row).collect();
    CompareOutcome {
        plan: plan(runs),
        rows,
        changes,
        named: Vec::new(),
        elapsed: Nanos::from_secs(130),
        unreachable: false,
        lost_part: None,
    }
}

#[test]
fn a_slower_side_is_named_with_the_exit_code_of_a_regression() {
    let slower = found(120.0, 6, 12);
    assert_eq!(slower.exit_code(), 11);
    let text = said(&slower, brunt_report::Lang::En);
    assert!(text.starts_with("B is worse than A in p50, p95, p99, and better in throughput."), "{text}");
    assert!(text.contains("+20.0 %") && text.ends_with("12 runs in 2 min; exit code 11."), "{text}");
    let zh = said(&slower, brunt_report::Lang::Zh);
    assert!(zh.contains("更差") && zh.contains("退出码 11"), "{zh}");
    let same = found(100.1, 6, 12);
    assert_eq!(same.exit_code(), 0);
    assert!(said(&same, brunt_report::Lang::En).starts_with("A and B are the same, as far as matters"));
}

/// A fleet that has lost an agent.
struct NoAgents;

impl TrialRunner for NoAgents {
    fn run(
        &mut self,
        _: RunOf,
        _: &Trial,
        _: &Stop,
        _: &mut [&mut dyn brunt_record::RunListener],
    ) -> Result<RunResult, UsageError> {
        Ok(RunResult::Partial(UsageError::whole("agent a2 was lost")))
    }

    fn elapsed(&self) -> Nanos {
        Nanos::ZERO
    }
}

#[test]
fn a_comparison_that_lost_an_agent_is_not_finished() {
    let found = compare(&plan(6), &mut NoAgents, &Stop::default(), &mut |_, _| {}).expect("an outcome");
    assert_eq!(found.exit_code(), 21);
    let text = said(&found, brunt_report::Lang::En);
    assert!(
        text.contains("0 of 12 runs were made.") && text.contains("No further run counts: agent a2 was lost."),
        "{text}"
    );
    let mut written = Vec::new();
    document::write_json(&found, &mut written).expect("memory");
    let json: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(json["doubts"], serde_json::json!(["agent a2 was lost"]));
}

#[test]
fn what_is_worse_by_name_only_is_the_answer() {
    let named = vec![("pay".to_owned(), found(120.0, 6, 12).changes), ("look".to_owned(), found(100.1, 6, 12).changes)];
    let one = CompareOutcome { named, ..found(100.1, 6, 12) };
    assert_eq!(one.exit_code(), 11);
    let text = said(&one, brunt_report::Lang::En);
    assert!(text.starts_with("B is worse than A: pay (p50, p95, p99)."), "{text}");
    let tone = one.blocks(brunt_report::Lang::En).into_iter().find_map(|block| match block {
        ReportBlock::Answer { tone, .. } => Some(tone),
        _ => None,
    });
    assert_eq!(tone, Some(Tone::Bad));
}

#[test]
fn failures_alone_do_not_make_sides_the_same() {
    let mut untold = found(100.1, 6, 12);
    for change in untold.changes.iter_mut().filter(|change| !change.measure.is_share) {
        change.verdict = ChangeVerdict::CannotTell;
    }
    assert_eq!(untold.exit_code(), 20);
    assert!(said(&untold, brunt_report::Lang::En).starts_with("Whether A and B differ cannot be told."));
    untold.changes[0].verdict = ChangeVerdict::Same;
    assert_eq!(untold.exit_code(), 0);
    let text = said(&untold, brunt_report::Lang::En);
    assert!(
        text.starts_with("No difference that matters in throughput, failed; of p50, p95, p99 it cannot be told."),
        "{text}"
    );
}

#[test]
fn few_runs_are_called_indicative() {
    let of = |runs: usize| {
        (found(120.0, runs, 2 * runs).exit_code(), said(&found(120.0, runs, 2 * runs), brunt_report::Lang::En))
    };
    let (code, one) = of(1);
    assert_eq!(code, 20);
    assert!(one.starts_with("Whether A and B differ cannot be told.") && one.contains("indicative only"), "{one}");
    assert!(!one.contains("would likely tell"), "four runs make an interval, which is no promise: {one}");
    assert!(of(3).1.contains("show a spread, but no interval"), "{}", of(3).1);
    assert!(!of(6).1.contains("indicative") && !of(6).1.contains("spread"), "{}", of(6).1);
}

#[test]
fn what_was_cut_short_says_so() {
    let cut = found(120.0, 6, 7);
    assert_eq!(cut.exit_code(), 21);
    assert!(said(&cut, brunt_report::Lang::En).contains("Not finished: 7 of 12 runs were made."));
    let lost = CompareOutcome { unreachable: true, ..found(120.0, 6, 7) };
    assert_eq!(lost.exit_code(), 30);
    assert!(said(&lost, brunt_report::Lang::En).contains("could no longer be reached"));
}

#[test]
fn a_level_run_gets_a_warm_up_and_others_keep_theirs() {
    let level = |duration, warmup| {
        let stages = vec![Stage { lasts: Nanos::from_secs(10), from: 8.0, to: 8.0 }];
        let load = Load::Closed { stages, think: None, together: false };
        with_warm_up(Trial { load, duration, warmup, requests: None, seed: None, scenario: None })
    };
    let own = level(Some(Nanos::from_secs(10)), Nanos::ZERO);
    assert_eq!((own.warmup, own.load.stages()[0].lasts), (Nanos::from_secs(1), Nanos::from_secs(11)));
    assert_eq!(level(Some(Nanos::from_secs(10)), Nanos::from_secs(3)).warmup, Nanos::from_secs(3));
    assert_eq!(level(None, Nanos::ZERO).warmup, Nanos::ZERO, "a number of requests");
}

#[test]
fn the_document_holds_what_the_text_says() {
    let mut text = Vec::new();
    document::write_json(&found(120.0, 6, 12), &mut text).expect("memory");
    let json: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((&json["sides"][1], &json["exit_code"]), (&"http://b/".into(), &11.into()));
    let p50 = json["changes"].as_array().unwrap().iter().find(|one| one["name"] == "p50_us").unwrap();
    assert_eq!((&p50["verdict"], &p50["more_runs"]), (&"worse".into(), &Value::Null));
    assert!(p50["p"].as_f64().unwrap() < 0.01 && (p50["change"].as_f64().unwrap() - 1.2).abs() < 0.01, "{p50}");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(12));
}
