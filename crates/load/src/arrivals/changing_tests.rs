//! Changes of the rate during a run: arrivals already due are unchanged, every arrival is due exactly once in one
//! share, and all shares agree.

use proptest::prelude::*;

use super::*;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

const LASTS: Nanos = Nanos::from_secs(10);
const KINDS: [Arrivals; 3] = [Arrivals::Constant, Arrivals::Burst, Arrivals::Poisson];

/// A run of stages of ten seconds.
#[derive(Clone, Debug)]
struct ChangedRun {
    stages: Vec<Stage>,
    arrivals: Arrivals,
    warmup: Nanos,
    requests: Option<u64>,
    seed: u64,
}

impl ChangedRun {
    fn level(arrivals: Arrivals, rate: f64) -> ChangedRun {
        let stages = vec![Stage { lasts: LASTS, from: rate, to: rate }];
        ChangedRun { stages, arrivals, warmup: Nanos::ZERO, requests: None, seed: 1 }
    }

    /// Returns the send times of a share that learns of each change `before` in advance.
    fn share(&self, share: Share, changes: &[(Nanos, Change)], before: Nanos) -> Vec<Nanos> {
        let load = Load::Open { stages: self.stages.clone(), arrivals: self.arrivals };
        let mut schedule = super::arrivals(&load, self.warmup, self.requests, Some(LASTS), share, self.seed);
        let (mut sent, mut changes) = (Vec::new(), changes.iter().peekable());
        let mut due = schedule.next_due();
        loop {
            let told = |change: &&&(Nanos, Change)| due.is_none_or(|due| due >= change.0 - before);
            if let Some((at, change)) = changes.next_if(|change| told(&change)) {
                due = schedule.change(*at, *change);
            } else if let Some(now) = due {
                sent.push(now);
                due = schedule.next_due();
            } else {
                return sent;
            }
        }
    }

    /// Returns the arrivals of all shares.
    fn split(&self, of: u32, changes: &[(Nanos, Change)]) -> Vec<Nanos> {
        let shares = (0..of).flat_map(|index| self.share(Share { index, of }, changes, Nanos::ZERO));
        let mut all: Vec<Nanos> = shares.collect();
        all.sort_unstable();
        all
    }

    fn whole(&self, changes: &[(Nanos, Change)]) -> Vec<Nanos> {
        self.split(1, changes)
    }
}

fn between(all: &[Nanos], from: u64, to: u64) -> usize {
    all.iter().filter(|due| (ms(from)..ms(to)).contains(due)).count()
}

#[test]
fn a_constant_rate_goes_on_at_another_and_stays_in_step() {
    let run = ChangedRun::level(Arrivals::Constant, 100.0);
    for (changes, counts) in [
        (vec![(ms(1500), Change::Rate(200.0))], [150, 1700]),
        (vec![(ms(1500), Change::Rate(50.0)), (ms(5500), Change::Rate(1000.0))], [150, 200 + 4500]),
        (vec![(ms(1500), Change::Pause)], [150, 0]),
        (vec![(ms(1500), Change::Pause), (ms(2500), Change::Resume)], [150, 750]),
        // The rate changes during a pause, and holds after it.
        (vec![(ms(1500), Change::Pause), (ms(2000), Change::Rate(10.0)), (ms(2500), Change::Resume)], [150, 75]),
        (vec![(Nanos::ZERO, Change::Rate(10.0))], [15, 85]),
        (vec![(LASTS, Change::Rate(1e6))], [150, 850]),
    ] {
        let all = run.whole(&changes);
        let found = [between(&all, 0, 1500), between(&all, 1500, 20_000)];
        assert_eq!(found, counts, "{changes:?}");
        assert!(changes[0].0 == Nanos::ZERO || all[..150] == run.whole(&[])[..150], "what was due before stays");
        for of in [2, 3, 7] {
            assert_eq!(run.split(of, &changes), all, "{of} shares");
        }
    }
    // In the middle of a gap: half an arrival was due by then, the other half comes in half of the new gap.
    let halfway = run.whole(&[(ms(1505), Change::Rate(10.0))]);
    assert_eq!(halfway[150..153], [ms(1500), ms(1555), ms(1655)]);
}

#[test]
fn resumed_stages_are_where_they_would_be() {
    let stage = |seconds, from, to| Stage { lasts: Nanos::from_secs(seconds), from, to };
    let run = ChangedRun {
        stages: vec![stage(4, 0.0, 400.0), stage(6, 50.0, 50.0)],
        ..ChangedRun::level(Arrivals::Constant, 1.0)
    };
    let all = run.whole(&[(ms(1000), Change::Pause), (ms(3000), Change::Resume)]);
    // The ramp: 50 in its first second, 350 in its last.
    let found = [(0, 1000), (1000, 3000), (3000, 4000), (4000, 10_000)].map(|(from, to)| between(&all, from, to));
    assert_eq!(found, [50, 0, 350, 300]);
}

#[test]
fn a_burst_that_came_is_not_taken_back_and_the_next_one_is_of_the_new_size() {
    let run = ChangedRun::level(Arrivals::Burst, 100.0);
    let changes = [(ms(2500), Change::Rate(7.0)), (ms(4001), Change::Pause), (ms(6000), Change::Resume)];
    for of in [1, 2, 5] {
        let all = run.split(of, &changes);
        let sizes: Vec<usize> = (0..10).map(|second| between(&all, second * 1000, second * 1000 + 1)).collect();
        assert_eq!(sizes, [100, 100, 100, 7, 7, 0, 7, 7, 7, 7], "{of} shares");
        assert_eq!(all.len(), sizes.iter().sum::<usize>(), "nothing between");
    }
}

#[test]
fn a_number_of_requests_stays_that_number() {
    for arrivals in KINDS {
        let run = ChangedRun { requests: Some(500), ..ChangedRun::level(arrivals, 100.0) };
        for (at, rate) in [(ms(1000), 200.0), (ms(3000), 95.0), (ms(0), 1000.0)] {
            for of in [1, 4] {
                assert_eq!(run.split(of, &[(at, Change::Rate(rate))]).len(), 500, "{arrivals:?} {rate} over {of}");
            }
        }
        let rested = run.split(3, &[(ms(1500), Change::Pause), (ms(3500), Change::Resume)]);
        assert_eq!(rested.len(), 500, "{arrivals:?}");
    }
}

#[test]
fn warm_up_and_window_are_changed_alike() {
    for arrivals in KINDS {
        for requests in [None, Some(400)] {
            let warmup = ms(2000);
            let run = ChangedRun { warmup, requests, ..ChangedRun::level(arrivals, 100.0) };
            // The change is announced during the warm-up, when the first arrival of the window may have been drawn
            // already.
            for (at, in_warmup) in [(ms(1000), 100 + 1000), (ms(1999), 200)] {
                let all = run.split(3, &[(at, Change::Rate(1000.0))]);
                let (warm, first) = (between(&all, 0, 2000), between(&all, 2000, 2300));
                let (burst, poisson) = (arrivals == Arrivals::Burst, arrivals == Arrivals::Poisson);
                let slack = if poisson { 170 } else { 1 };
                assert!(warm.abs_diff(in_warmup) <= slack, "{arrivals:?} {requests:?} {at:?}: {warm}");
                let window = if burst { requests.unwrap_or(1000) as usize } else { 300 };
                assert!(first.abs_diff(window) <= slack, "{arrivals:?} {requests:?} {at:?}: {first}");
            }
        }
    }
}

#[test]
fn poisson_arrivals_are_as_many_as_the_rates_say() {
    let changes = [(ms(2000), Change::Rate(3000.0)), (ms(4000), Change::Pause), (ms(5000), Change::Resume)];
    for of in [1, 5] {
        let all = ChangedRun::level(Arrivals::Poisson, 1000.0).split(of, &changes);
        for (from, to, expected) in
            [(0, 2000, 2000.0_f64), (2000, 4000, 6000.0), (4000, 5000, 0.0), (5000, 10_000, 15_000.0)]
        {
            let found = between(&all, from, to) as f64;
            assert!((found - expected).abs() <= 5.0 * expected.sqrt(), "{from} to {to} over {of}: {found}");
        }
    }
}

fn a_change() -> impl Strategy<Value = Change> {
    prop_oneof![(1.0..500.0_f64).prop_map(Change::Rate), Just(Change::Pause), Just(Change::Resume)]
}

proptest! {
    #[test]
    fn any_changes_leave_shares_that_agree_and_nothing_in_a_pause(
        kind in 0..3_usize,
        rates in (0.0..300.0_f64, 0.0..300.0_f64),
        mut changes in prop::collection::vec((0..12_000_u64, a_change()), 0..6),
        of in 1..6_u32,
        warmup in prop::sample::select(vec![0, 1500]),
        requests in prop::sample::select(vec![None, Some(700)]),
        before in 0..400_u64,
        seed in 0..1000_u64,
    ) {
        changes.sort_by_key(|(at, _)| *at);
        let changes: Vec<(Nanos, Change)> = changes.into_iter().map(|(at, change)| (ms(at), change)).collect();
        let stages = vec![Stage { lasts: LASTS, from: rates.0, to: rates.1 }];
        let run = ChangedRun { stages, arrivals: KINDS[kind], warmup: ms(warmup), requests, seed };
        let all = run.split(of, &changes);
        if run.arrivals != Arrivals::Poisson {
            prop_assert_eq!(&all, &run.whole(&changes), "the shares are the whole");
        }
        let first = changes.first().map_or(Nanos::MAX, |(at, _)| *at);
        let until = |all: Vec<Nanos>| all.into_iter().take_while(|due| *due < first).collect::<Vec<_>>();
        prop_assert_eq!(until(all.clone()), until(run.split(of, &[])), "what is due before a change stays");
        if let Some(requests) = requests {
            let counted = all.iter().filter(|due| **due >= run.warmup).count() as u64;
            prop_assert!(counted <= requests, "{} of {}", counted, requests);
        }
        for index in 0..of {
            let share = Share { index, of };
            let on_time = run.share(share, &changes, Nanos::ZERO);
            prop_assert!(on_time.is_sorted());
            // If changes are far enough apart, a share may learn of them early.
            if changes.windows(2).all(|pair| pair[1].0 - pair[0].0 > ms(before)) {
                prop_assert_eq!(run.share(share, &changes, ms(before)), on_time, "told early");
            }
        }
        if run.arrivals != Arrivals::Burst {
            let mut paused = None;
            for (at, change) in changes.iter().chain([&(LASTS + ms(5000), Change::Resume)]) {
                match (change, paused) {
                    (Change::Pause, None) => paused = Some(*at),
                    (Change::Resume, Some(from)) => {
                        prop_assert!(!all.iter().any(|due| *due > from && due < at), "due between {:?} and {:?}", from, at);
                        paused = None;
                    }
                    _ => {}
                }
            }
        }
    }
}
