//! Searches of services that hold exactly a known load, and of machines that do not.

use super::super::known::GoalCount;
use super::*;

const TRIAL: Nanos = Nanos::from_secs(10);

fn plan() -> SearchPlan {
    SearchPlan {
        goals: vec![Goal::of_requests(0.01, TRIAL)],
        lowest: 10.0,
        highest: 10_000.0,
        whole: false,
        width: 0.05,
        trial: TRIAL,
        warm_up: Nanos::from_secs(5),
    }
}

/// Answers with no loss at loads up to each goal's limit, and half of the requests lost above.
fn outcome(load: f64, duration: Nanos, limits: &[f64]) -> TrialOutcome {
    let due = (load * duration.as_secs_f64()).max(2000.0) as u64;
    let count =
        |limit: &f64| GoalCount { violations: if load > *limit { due / 2 } else { 0 }, due, design_effect: Some(1.0) };
    TrialOutcome { load, duration, counts: limits.iter().map(count).collect(), trusted: true }
}

/// Runs a search; returns its result with all loads that were tried.
fn search(plan: SearchPlan, mut answer: impl FnMut(f64, Nanos) -> TrialOutcome) -> (SearchResult, Vec<f64>) {
    let mut search = Search::new(plan);
    let mut tried = Vec::new();
    for _ in 0..1000 {
        match search.next() {
            SearchStep::WarmUp { duration, .. } => search.warmed_up(duration),
            SearchStep::Settle => search.settled(Nanos::from_secs(1)),
            SearchStep::Trial { load, duration } => {
                tried.push(load);
                search.add(answer(load, duration));
            }
            SearchStep::Done(_) => return (search.result(), tried),
        }
    }
    panic!("the search does not end: {tried:?}");
}

#[test]
fn bounds_end_up_as_close_as_was_asked_for() {
    for limit in [10.0, 33.3, 640.0, 641.0, 9_000.0] {
        let (result, tried) = search(plan(), |load, duration| outcome(load, duration, &[limit]));
        assert_eq!(result.end, Some(SearchEnd::Found), "{limit}");
        let (lower, upper) = (result.bounds.lower.expect("a lower"), result.bounds.upper.expect("an upper bound"));
        assert!(lower <= limit && limit < upper && upper <= lower * 1.025 * (1.0 + 1e-9), "{limit}: {lower} {upper}");
        assert_eq!(result.bounds.throughput, Some(lower));
        assert_eq!(tried.last(), Some(&lower), "the lower bound is tried after all overloads");
        assert!(tried.windows(2).all(|pair| pair[1] <= pair[0] * 2.0), "from below: {tried:?}");
    }
}

#[test]
fn users_are_whole_numbers() {
    let users = SearchPlan { lowest: 1.0, highest: 1000.0, whole: true, ..plan() };
    let (result, tried) = search(users, |load, duration| outcome(load, duration, &[5.0]));
    assert_eq!((result.bounds.lower, result.bounds.upper), (Some(5.0), Some(6.0)));
    assert!(tried.iter().all(|load| load.fract() == 0.0), "{tried:?}");
}

#[test]
fn the_ends_of_the_range_are_said() {
    let of = |limit: f64| search(plan(), |load, duration| outcome(load, duration, &[limit])).0;
    let all = of(1e9);
    assert_eq!((all.end, all.bounds.lower, all.bounds.upper), (Some(SearchEnd::HighestHeld), Some(10_000.0), None));
    let none = of(1.0);
    assert_eq!((none.end, none.bounds.lower, none.bounds.upper), (Some(SearchEnd::LowestMissed), None, Some(10.0)));
}

#[test]
fn each_goal_keeps_its_own_bounds() {
    let goals = [0.01, 0.001].map(|ratio| Goal::of_requests(ratio, TRIAL)).to_vec();
    let both = SearchPlan { goals, ..plan() };
    let (result, _) = search(both, |load, duration| outcome(load, duration, &[500.0, 900.0]));
    let (strict, other) = (result.goals[0], result.goals[1]);
    assert_eq!((result.bounds.lower, result.bounds.upper), (strict.lower, strict.upper));
    assert!(strict.lower < Some(500.0) && strict.upper > Some(500.0), "{result:?}");
    assert!(other.lower >= strict.lower && other.upper.is_none_or(|upper| upper > 900.0), "{result:?}");
}

#[test]
fn trials_in_doubt_are_no_evidence() {
    let mut seen = 0;
    let (result, _) = search(plan(), |load, duration| {
        seen += 1;
        // Every third trial is disturbed, and would mislead.
        let lost = outcome(load, duration, &[0.0]);
        if seen % 3 == 0 { TrialOutcome { trusted: false, ..lost } } else { outcome(load, duration, &[640.0]) }
    });
    assert_eq!(result.end, Some(SearchEnd::Found));
    assert!(result.bounds.lower > Some(600.0) && result.bounds.upper < Some(700.0), "{result:?}");
    let (result, _) =
        search(plan(), |load, duration| TrialOutcome { trusted: load < 300.0, ..outcome(load, duration, &[640.0]) });
    assert_eq!((result.end, result.bounds.upper), (Some(SearchEnd::GeneratorLimited), None));
    assert_eq!(result.bounds.lower, Some(160.0), "the last load to be trusted, tried fully: {result:?}");
}

#[test]
fn what_only_short_trials_held_is_not_said_where_the_generator_ends() {
    // The load below the doubtful ones passes when it is short, and misses in full.
    let slow = |load, duration: Nanos| {
        let limit = if duration < TRIAL { 1000.0 } else { 100.0 };
        TrialOutcome { trusted: load < 300.0, ..outcome(load, duration, &[limit]) }
    };
    let (result, _) = search(plan(), slow);
    assert_eq!(result.end, Some(SearchEnd::Found), "the limit is below the doubtful loads: {result:?}");
    assert!(result.bounds.lower <= Some(100.0) && result.bounds.upper <= Some(105.0), "{result:?}");
    // Full trials are all in doubt: nothing is known.
    let (result, _) =
        search(plan(), |load, duration| TrialOutcome { trusted: duration < TRIAL, ..slow(load, duration) });
    assert_eq!((result.end, result.bounds.lower), (Some(SearchEnd::GeneratorLimited), None), "{result:?}");
}

#[test]
fn what_is_known_survives_a_stop_and_an_end_of_time() {
    let mut late = Search::new(plan());
    for _ in 0..12 {
        match late.next() {
            SearchStep::WarmUp { duration, .. } => late.warmed_up(duration),
            SearchStep::Settle => late.settled(Nanos::ZERO),
            SearchStep::Trial { load, duration } => late.add(outcome(load, duration, &[740.0])),
            SearchStep::Done(end) => panic!("{end:?}"),
        }
    }
    late.run_out_of_time();
    assert_eq!(late.next(), SearchStep::Done(SearchEnd::OutOfTime));
    let [Some(low), Some(high)] = late.result().bracket else { panic!("{:?}", late.result()) };
    assert!(low <= 740.0 && high > 740.0, "{:?}", late.result());
    let mut search = Search::new(plan());
    search.stop();
    assert_eq!(search.next(), SearchStep::Done(SearchEnd::Stopped));
    assert_eq!((search.result().bounds.lower, search.remaining()), (None, Nanos::ZERO));
}

#[test]
fn a_lower_bound_that_does_not_hold_again_is_none() {
    // After the first load above 600 the service is slower: nothing above 400 is held any more.
    let mut limit = 600.0;
    let (result, _) = search(plan(), |load, duration| {
        let found = outcome(load, duration, &[limit]);
        if duration == TRIAL && (590.0..600.0).contains(&load) {
            limit = 400.0;
        }
        found
    });
    assert_eq!(result.end, Some(SearchEnd::Found));
    assert!(result.bounds.lower <= Some(400.0), "{result:?}");
}

#[test]
fn an_undecided_trial_is_extended_three_times() {
    let mut search = Search::new(SearchPlan { warm_up: Nanos::ZERO, lowest: 1000.0, highest: 1000.0, ..plan() });
    let mut lengths = Vec::new();
    while let SearchStep::Trial { load, duration } = search.next() {
        lengths.push(duration);
        let count = GoalCount { violations: 95, due: 10_000, design_effect: Some(1.0) };
        search.add(TrialOutcome { load, duration, counts: vec![count], trusted: true });
    }
    // A short one on the way up, then one trial of three parts, long enough to decide alone.
    assert_eq!(lengths, [Nanos(TRIAL.0 / 4), TRIAL, TRIAL, TRIAL]);
    assert_eq!(search.result().end, Some(SearchEnd::HighestHeld));
}

#[test]
fn the_highest_load_alone_takes_a_few_trials() {
    let mut search = Search::new(SearchPlan { warm_up: Nanos::ZERO, highest: 10.0, ..plan() });
    let SearchStep::Trial { load, duration } = search.next() else { panic!("a trial") };
    search.add(outcome(load, duration, &[1e9]));
    assert!(search.remaining() < Nanos(TRIAL.0 * 4), "{}", search.remaining());
}

#[test]
fn the_estimate_of_what_remains_shrinks_with_the_bracket() {
    let mut search = Search::new(plan());
    let mut estimates = vec![search.remaining()];
    loop {
        match search.next() {
            SearchStep::WarmUp { duration, .. } => search.warmed_up(duration),
            SearchStep::Settle => search.settled(Nanos::ZERO),
            SearchStep::Trial { load, duration } => search.add(outcome(load, duration, &[640.0])),
            SearchStep::Done(_) => break,
        }
        estimates.push(search.remaining());
    }
    assert!(estimates.windows(2).all(|pair| pair[1] <= pair[0]), "{estimates:?}");
    let total = search.result().elapsed.as_secs_f64();
    assert!((0.5..2.0).contains(&(estimates[0].as_secs_f64() / total)), "{} against {total} s", estimates[0]);
}
