//! What a ladder says and writes.

use brunt_report::Lang;
use serde_json::Value;

use super::*;
use crate::report::text as said;

fn rung(name: &str, alone_ms: f64, throughputs: &[f64], cpu_ms: Option<f64>) -> ClimbedRung {
    let run = |(at, throughput): (usize, &f64)| RungRun {
        users: 1 << at,
        throughput_per_s: *throughput,
        median_s: Some(if at == 0 { alone_ms / 1e3 } else { f64::from(1 << at) / throughput }),
        cpu_s: cpu_ms.map(|ms| ms / 1e3),
        is_met: true,
        doubt: None,
    };
    ClimbedRung { name: name.into(), runs: throughputs.iter().enumerate().map(run).collect(), is_full: true }
}

fn ladder(rungs: Vec<ClimbedRung>, pools: &[u32]) -> LadderOutcome {
    let trial = || Trial::users(1, Nanos::from_secs(10));
    let planned = rungs.iter().map(|rung| RungPlan { name: rung.name.clone(), trial: trial() }).collect();
    let cores = rungs.first().and_then(|rung| rung.runs[0].cpu_s).map(|_| 4.0);
    LadderOutcome {
        plan: LadderPlan { rungs: planned, up_to: 64, pools: pools.to_vec(), seed: 1 },
        rungs,
        cores,
        elapsed: Nanos::from_secs(40),
        unreachable: false,
        lost_part: None,
        is_complete: true,
    }
}

#[test]
fn what_each_rung_adds_is_told_with_its_rule() {
    let empty = || rung("empty", 0.2, &[4_900.0, 9_800.0, 18_000.0, 20_000.0], Some(0.15));
    let redis = rung("redis", 2.2, &[450.0, 900.0, 1_800.0, 3_600.0, 3_980.0], Some(0.16));
    let with_pool = ladder(vec![empty(), redis.clone()], &[8]);
    let text = said(&with_pool, Lang::En);
    assert!(text.contains("redis adds +2.00 ms to the response of a user alone"), "{text}");
    assert!(text.contains("keeps 19.9 % of the capacity: a pool of 8 in front of what it adds limits it."), "{text}");
    assert_eq!(with_pool.exit().code(), 0);
    let unknown = said(&ladder(vec![empty(), redis], &[]), Lang::En);
    assert!(unknown.contains("about 8.0 requests are in what it adds at a time"), "{unknown}");
    let same = rung("again", 0.2, &[4_900.0, 9_800.0, 18_000.0, 19_500.0], None);
    let free = said(&ladder(vec![empty(), same], &[]), Lang::Zh);
    assert!(free.contains("增加的部分没有代价"), "{free}");
}

#[test]
fn a_rung_that_keeps_more_than_all_costs_nothing() {
    let rungs = vec![rung("a", 1.0, &[1_000.0, 1_500.0], None), rung("b", 0.5, &[2_000.0, 2_400.0], None)];
    let text = said(&ladder(rungs, &[]), Lang::En);
    assert!(text.starts_with("No rung costs capacity."), "{text}");
    assert!(text.contains("its capacity is higher than that of the rung below") && !text.contains("pool"), "{text}");
}

#[test]
fn the_cpu_of_a_request_is_not_that_of_an_overload() {
    let mut climbed = rung("a", 1.0, &[1_000.0, 2_000.0, 1_500.0], Some(0.5));
    climbed.runs[2].cpu_s = Some(0.009);
    assert_eq!(climbed.measured().and_then(|rung| rung.cpu_s), Some(0.0005));
}

#[test]
fn a_rung_in_doubt_or_still_rising_is_said() {
    let mut rising = rung("a", 1.0, &[1_000.0, 2_000.0], None);
    rising.is_full = false;
    let mut doubtful = rung("b", 1.0, &[900.0], None);
    doubtful.runs[0].median_s = None;
    let found = ladder(vec![rising, doubtful], &[]);
    let text = said(&found, Lang::En);
    for said in
        ["a was still rising at 2 users", "b: cannot be told.", "The CPU of a request is not known", "exit code 20"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let cut = LadderOutcome { is_complete: false, ..found };
    assert_eq!(cut.exit().code(), 21);
    assert!(said(&cut, Lang::En).contains("Not finished: 2 of 2 rungs were begun."));
}

#[test]
fn a_run_that_missed_its_objectives_is_no_capacity() {
    let mut climbed = rung("a", 1.0, &[1_000.0, 2_000.0, 2_500.0], None);
    climbed.runs[2].is_met = false;
    assert_eq!(climbed.measured().map(|rung| rung.capacity_per_s), Some(2_000.0));
}

#[test]
fn the_document_holds_what_the_text_says() {
    let rungs = vec![rung("empty", 0.2, &[4_900.0, 20_000.0], None), rung("lock", 2.2, &[450.0, 495.0], None)];
    let mut written = Vec::new();
    let why = Some(UsageError::whole("agent a2 was lost"));
    let found = LadderOutcome { lost_part: why, is_complete: false, ..ladder(rungs, &[]) };
    document::write_json(&found, &mut written).expect("memory");
    let json: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!((&json["rungs"][0]["step"], &json["rungs"][1]["step"]["cost"]), (&Value::Null, &"serial".into()));
    assert_eq!(json["rungs"][1]["runs"][1]["users"], 2);
    assert_eq!((&json["doubts"][0], &json["exit_code"]), (&"agent a2 was lost".into(), &21.into()));
}

#[test]
fn a_rung_ends_after_two_runs_that_do_not_rise() {
    let run = |throughput_per_s| RungRun {
        users: 1,
        throughput_per_s,
        median_s: None,
        cpu_s: None,
        is_met: true,
        doubt: None,
    };
    let flat = |all: &[f64]| flat_runs(&all.iter().copied().map(run).collect::<Vec<_>>());
    assert_eq!([flat(&[100.0]), flat(&[100.0, 90.0]), flat(&[100.0, 90.0, 180.0])], [0, 1, 0]);
    assert_eq!([flat(&[100.0, 200.0, 204.0, 190.0]), flat(&[0.0, 0.0])], [2, 0]);
}
