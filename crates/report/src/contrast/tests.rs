//! Verdicts on pairs of runs whose true difference is known.

use brunt_measure::{Nanos, Rng};
use brunt_record::{End, RunEnd, RunEvent, RunPart, Second};

use super::*;
use crate::summary::Summary;

/// Creates a second of the window with this many successes and failures.
fn second(at: i64, finished: u64, failed: u64) -> Second {
    Second {
        from_ns: at * 1_000_000_000,
        to_ns: (at + 1) * 1_000_000_000,
        part: RunPart::Window,
        due: finished + failed,
        finished,
        failed,
        ..Second::default()
    }
}

/// Creates a trusted run with these seconds.
fn run(seconds: Vec<Second>, reason: End) -> ComparedFigures {
    let within = seconds.iter().filter(|second| second.part == RunPart::Window).count();
    let window = Nanos::from_secs(within as u64);
    let ended = RunEvent::Ended(RunEnd { reason, window, elapsed: window });
    let events = seconds.iter().cloned().map(|second| RunEvent::Second(Box::new(second)));
    let summary = Summary::from_events(events.chain([ended]));
    let mut side = ComparedFigures::of(&summary, &seconds).expect("seconds");
    side.is_sound = true;
    side
}

/// Creates a run of `seconds` seconds; `of` returns the successes of each, their latency (µs), and the failures.
fn side(seconds: i64, of: impl Fn(i64) -> (u64, u64, u64)) -> ComparedFigures {
    let seconds = (0..seconds).map(|at| {
        let (finished, us, failed) = of(at);
        let mut second = second(at, finished, failed);
        second.latency.service.record_n(Nanos(us * 1000), finished);
        second
    });
    run(seconds.collect(), End::Completed)
}

fn verdicts(first: &ComparedFigures, second: &ComparedFigures) -> Vec<&'static str> {
    compare_figures(first, second).iter().map(|one| one.verdict.name()).collect()
}

#[test]
fn a_run_is_the_same_as_itself_and_worse_than_a_better_one() {
    let base = side(30, |at| (1000 + at as u64 % 3, 1000 + 10 * (at as u64 % 5), 0));
    let slow = side(30, |at| (700 + at as u64 % 3, 2000 + 20 * (at as u64 % 5), 50));
    assert_eq!(verdicts(&base, &base), ["same"; 5]);
    assert_eq!(verdicts(&base, &slow), ["worse"; 5]);
    assert_eq!(verdicts(&slow, &base), ["better"; 5]);
    let [throughput, p50, ..] = compare_figures(&base, &slow);
    let [low, high] = throughput.interval.expect("an interval");
    assert!(low <= throughput.change.expect("a change") && throughput.change.expect("a change") <= high);
    assert!((throughput.change.expect("a change") - 701.0 / 1001.0).abs() < 1e-9, "{throughput:?}");
    assert!(p50.interval.expect("an interval")[0] > 1.9, "{p50:?}");
}

#[test]
fn what_is_within_the_scatter_or_too_short_is_not_told() {
    let wild =
        |by: u64| side(12, move |at| if at % 2 == 0 { (40 + by, 500, 0) } else { (160 + by, 4000 + 10 * by, 0) });
    let found = compare_figures(&wild(0), &wild(20));
    assert_eq!(found[0].verdict, ChangeVerdict::CannotTell, "{found:?}");
    let short = side(3, |_| (100, 1000, 0));
    assert!(
        compare_figures(&short, &short)
            .iter()
            .all(|one| one.interval.is_none() && one.verdict == ChangeVerdict::CannotTell)
    );
}

#[test]
fn nothing_is_told_of_a_run_in_doubt_for_a_reason_without_a_size() {
    let (base, mut slow) = (side(30, |_| (100, 1000, 0)), side(30, |_| (100, 2000, 0)));
    assert_eq!(verdicts(&base, &slow)[1], "worse");
    slow.is_sound = false;
    assert_eq!([verdicts(&base, &slow), verdicts(&slow, &base)], [["cannot_tell"; 5]; 2]);
    assert!(compare_figures(&base, &slow)[1].interval.is_some(), "its figures are shown all the same");
}

/// Creates a run of 2 ms times `slower`, a tenth of whose requests brunt may have delayed by `own` of their latency.
fn disturbed(slower: f64, own: f64) -> ComparedFigures {
    let seconds = (0..30).map(|at| {
        let mut second = second(at, 1000, 0);
        let latency = Nanos((2e6 * slower) as u64);
        second.latency.service.record_n(latency, 1000);
        second.latency.service_delayed.record_n(latency, 1000);
        second.latency.service_undelayed.record_n(Nanos((latency.0 as f64 * (1.0 - own)) as u64), 1000);
        second
    });
    run(seconds.collect(), End::Completed)
}

#[test]
fn a_change_beyond_both_bands_is_told_and_one_within_them_is_not() {
    let quiet = disturbed(1.0, 0.0);
    for (a, b, word) in [
        (&disturbed(1.0, 0.05), &disturbed(1.38, 0.05), "worse"),
        (&disturbed(1.38, 0.05), &disturbed(1.0, 0.05), "better"),
        // A band may explain the whole change, on either side.
        (&quiet, &disturbed(1.38, 0.4), "cannot_tell"),
        (&disturbed(1.38, 0.4), &quiet, "cannot_tell"),
        (&quiet, &disturbed(1.38, 0.2), "worse"),
        (&quiet, &disturbed(1.0, 0.3), "cannot_tell"),
    ] {
        let [_, p50, ..] = compare_figures(a, b);
        assert_eq!(p50.verdict.name(), word, "{p50:?}");
        let (change, [low, high]) = (p50.change.expect("a change"), p50.interval.expect("an interval"));
        assert!(low <= change && change <= high, "{p50:?}");
    }
    let [_, p50, ..] = compare_figures(&quiet, &disturbed(1.38, 0.2));
    let document = serde_json::to_value(p50.document()).expect("JSON");
    assert!(document["bands"][0].is_null() && document["bands"][1][0].is_number(), "{document}");
}

#[test]
fn users_who_stood_still_with_brunt_widen_the_change_of_throughput() {
    let away = |finished, away_ns| {
        let seconds = (0..30).map(|at| Second { away_ns, ..second(at, finished, 0) });
        compare_figures(&run(seconds.collect(), End::Completed), &side(30, |_| (1000, 1000, 0)))[0].verdict
    };
    assert_eq!(away(800, 0), ChangeVerdict::Better);
    assert_eq!(away(800, 300_000_000), ChangeVerdict::CannotTell);
    assert_eq!(away(500, 300_000_000), ChangeVerdict::Better);
}

#[test]
fn the_same_runs_give_the_same_answer() {
    let (a, b) = (side(20, |at| (100 + at as u64, 1000 + at as u64, 0)), side(20, |at| (90 + at as u64, 1100, 1)));
    assert_eq!(compare_figures(&a, &b), compare_figures(&a, &b));
}

#[test]
fn a_change_lies_within_its_interval() {
    let constant = |us: u64| side(8, move |_| (600, us, 0));
    // Beyond the threshold, within it, and too close to it for buckets of 0.4 %.
    for (a, b, word) in [
        (67_200, 70_900, ChangeVerdict::Worse),
        (537_800, 569_500, ChangeVerdict::Worse),
        (334_000, 347_700, ChangeVerdict::Same),
        (100_000, 105_000, ChangeVerdict::CannotTell),
    ] {
        let [_, p50, ..] = compare_figures(&constant(a), &constant(b));
        let (change, [low, high]) = (p50.change.expect("a change"), p50.interval.expect("an interval"));
        assert!((change - b as f64 / a as f64).abs() < 0.004, "{p50:?}");
        assert!(low <= change && change <= high && high - low < 0.02, "{p50:?}");
        assert_eq!(p50.verdict, word, "{p50:?}");
    }
    for us in (1000..40_000).step_by(1371) {
        for found in compare_figures(&constant(us), &constant(us * 23 / 20)) {
            let (change, [low, high]) = (found.change.expect("a change"), found.interval.expect("an interval"));
            assert!(low <= change && change <= high, "{found:?}");
        }
    }
}

/// A function that generates a synthetic run with the given number of seconds.
type MakeSide = fn(&mut Rng, i64) -> ComparedFigures;

/// Returns, for each figure, the share of pairs of runs whose verdict is better or worse.
fn share_told_apart(pairs: u64, seconds: i64, like: [MakeSide; 2]) -> [f64; MEASURES.len()] {
    let mut told = [0; MEASURES.len()];
    for pair in 0..pairs {
        let mut random = Rng::new(1000 + pair);
        let [a, b] = like.map(|like| like(&mut random, seconds));
        for (told, one) in told.iter_mut().zip(compare_figures(&a, &b)) {
            *told += u64::from(matches!(one.verdict, ChangeVerdict::Better | ChangeVerdict::Worse));
        }
    }
    told.map(|told| told as f64 / pairs as f64)
}

fn failing(random: &mut Rng, seconds: i64, share: f64, each: u64) -> ComparedFigures {
    let seconds = (0..seconds).map(|at| {
        let failed = (0..each).filter(|_| random.f64() < share).count() as u64;
        let mut second = second(at, each - failed, failed);
        second.latency.service.record_n(Nanos::from_millis(75), each - failed);
        second
    });
    run(seconds.collect(), End::Completed)
}

#[test]
fn of_equal_runs_failures_are_seldom_told_apart_and_of_others_they_are() {
    let one_percent: MakeSide = |random, seconds| failing(random, seconds, 0.01, 134);
    for seconds in [5, 6, 10] {
        let [.., failed] = share_told_apart(100, seconds, [one_percent; 2]);
        assert!(failed <= 0.05, "{seconds} s: {failed}");
    }
    let none: MakeSide = |random, seconds| failing(random, seconds, 0.0, 134);
    let [.., failed] = share_told_apart(50, 30, [none, one_percent]);
    assert!(failed >= 0.9, "{failed}");
}

#[test]
fn where_there_is_too_little_nothing_is_told_of_failures() {
    let few = |failed: u64| side(6, move |at| (9, 2000, if at == 3 { failed } else { 0 }));
    for (a, b) in [(0, 0), (0, 1), (1, 1)] {
        let [.., failed] = compare_figures(&few(a), &few(b));
        let [low, high] = failed.interval.expect("an interval");
        assert!(low < -0.02 && high > 0.05 && failed.verdict == ChangeVerdict::CannotTell, "{failed:?}");
    }
}

/// Creates a run with 300 arrivals per second at a server that is busy four fifths of the time and serves one request
/// at a time, so that requests behind a slow one are slow as well.
fn queueing(random: &mut Rng, seconds: i64) -> ComparedFigures {
    let (mut all, mut now, mut wait): (Vec<Second>, _, _) = (Vec::new(), -5.0, 0.0_f64);
    all.extend((0..seconds).map(|at| second(at, 0, 0)));
    loop {
        let gap = random.exponential() / 300.0;
        now += gap;
        if now >= seconds as f64 {
            return run(all, End::Completed);
        }
        wait = (wait - gap).max(0.0) + random.exponential() * 0.8 / 300.0;
        if now >= 0.0 {
            let second = &mut all[((now + wait) as usize).min(seconds as usize - 1)];
            second.due += 1;
            second.finished += 1;
            second.latency.response.record(Nanos::from_secs_f64(wait));
        }
    }
}

/// Creates a run against a server whose speed changes by about 10 % from second to second.
fn wavering(random: &mut Rng, seconds: i64, slower: f64) -> ComparedFigures {
    let seconds = (0..seconds).map(|at| {
        let mean = 0.05 * slower * (0.1 * random.normal()).exp();
        let finished = (10.0 / mean) as u64;
        let mut second = second(at, finished, 0);
        for _ in 0..finished {
            second.latency.service.record(Nanos::from_secs_f64(mean * (0.5 * random.normal()).exp()));
        }
        second
    });
    run(seconds.collect(), End::Completed)
}

#[test]
fn of_equal_runs_latency_and_throughput_are_seldom_told_apart_and_of_others_they_are() {
    let equal: MakeSide = |random, seconds| wavering(random, seconds, 1.0);
    let slow: MakeSide = |random, seconds| wavering(random, seconds, 1.4);
    for like in [queueing as MakeSide, equal] {
        for seconds in [5, 10] {
            let told = share_told_apart(60, seconds, [like; 2]);
            assert!(told.iter().all(|share| *share <= 0.05), "{seconds} s: {told:?}");
        }
    }
    let told = share_told_apart(30, 20, [equal, slow]);
    assert!(told[..3].iter().all(|share| *share >= 0.9), "{told:?}");
}

/// Creates a run of ten seconds; in each, some of 100 requests hang until the end of the run.
fn hanging(each: impl Fn(i64) -> u64, reason: End) -> ComparedFigures {
    let mut seconds: Vec<Second> = Vec::new();
    let mut last = Second { part: RunPart::Drain, ..second(10, 0, 0) };
    for at in 0..10 {
        let hang = each(at);
        let mut second = second(at, 100 - hang, 0);
        second.due = 100;
        second.latency.service.record_n(Nanos::from_millis(80), 100 - hang);
        last.censored += hang;
        last.latency.service_at_least.record_n(Nanos::from_millis((10 - at) as u64 * 1000 + 500), hang);
        seconds.push(second);
    }
    seconds.push(last);
    run(seconds, reason)
}

#[test]
fn requests_without_an_end_count_as_failed_where_they_began() {
    let (well, each) = (hanging(|_| 0, End::Completed), hanging(|_| 4, End::Completed));
    let [.., failed] = compare_figures(&well, &each);
    assert_eq!(failed.values, [Some(0.0), Some(0.04)], "as objectives count them");
    assert_eq!(failed.verdict, ChangeVerdict::Worse, "{failed:?}");
    // The same number, but all in one stall, which may be chance.
    let [.., stalled] = compare_figures(&well, &hanging(|at| if at == 2 { 40 } else { 0 }, End::Completed));
    assert_eq!((stalled.values, stalled.verdict), (failed.values, ChangeVerdict::CannotTell), "{stalled:?}");
    // Requests cut off by a stop could still have been answered.
    let [.., cut] = compare_figures(&well, &hanging(|_| 4, End::Interrupted));
    assert_eq!(cut.values, [Some(0.0), Some(0.0)], "{cut:?}");
}

#[test]
fn users_and_a_rate_are_compared_by_service_time() {
    let alike = |open: bool| {
        let seconds = (0..10).map(|at| {
            let mut second = second(at, 40, 0);
            second.latency.service.record_n(Nanos::from_millis(50), 40);
            if open {
                second.latency.response.record_n(Nanos::from_millis(128), 40);
            }
            second
        });
        run(seconds.collect(), End::Completed)
    };
    let (users, rate) = (alike(false), alike(true));
    for (a, b, value, latency) in
        [(&users, &rate, 50.0, "service"), (&users, &users, 50.0, "service"), (&rate, &rate, 128.0, "response")]
    {
        let [throughput, p50, ..] = compare_figures(a, b);
        assert_eq!((throughput.latency, p50.latency), (None, Some(latency)));
        let near = |found: Option<f64>| found.is_some_and(|us| (us / 1e3 / value - 1.0).abs() < 0.005);
        assert!(p50.values.into_iter().all(near) && p50.verdict == ChangeVerdict::Same, "{p50:?}");
    }
}

#[test]
fn an_interval_may_have_no_upper_end() {
    // The upper bound of the 99th percentile of 300 requests is near the slowest one, or above it.
    let base = side(30, |_| (1000, 1000, 0));
    let few = side(6, |_| (50, 3000, 0));
    let p99 = compare_figures(&base, &few)[3];
    let [low, high] = p99.interval.expect("an interval");
    assert!(low > 2.5 && high.is_infinite() && p99.verdict == ChangeVerdict::Worse, "{p99:?}");
    let document = serde_json::to_value(p99.document()).expect("JSON");
    assert!(document["interval"][1].is_null() && document["interval"][0].is_number(), "{document}");
}
