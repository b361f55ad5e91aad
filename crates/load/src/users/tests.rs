use proptest::prelude::*;

use super::*;

fn closed(stages: &[(u64, f64, f64)]) -> Load {
    let stages = stages.iter().map(|&(ms, from, to)| Stage { lasts: Nanos::from_millis(ms), from, to }).collect();
    Load::Closed { stages, think: None, together: false }
}

/// Returns all changes of a share as time and new number of users.
fn changes(users: &UserProfile) -> Vec<(u64, u32)> {
    let mut at = Nanos::ZERO;
    std::iter::from_fn(|| {
        at = users.next_change(at)?;
        Some((at.0, users.at(at)))
    })
    .take(10_000)
    .collect()
}

#[test]
fn a_level_never_changes() {
    let load = closed(&[(10_000, 10.0, 10.0)]);
    for (index, users_of_share) in [(0, 4), (1, 3), (2, 3)] {
        let users = UserProfile::new(&load, Nanos::from_secs(3), Share { index, of: 3 });
        for time in [0, 2_999_999_999, 3_000_000_000, 13_000_000_000, 1 << 50, u64::MAX] {
            assert_eq!(users.at(Nanos(time)), users_of_share);
        }
        assert_eq!((users.next_change(Nanos::ZERO), users.peak(), users.ends()), (None, users_of_share, None));
    }
}

#[test]
fn a_ramp_up_adds_users_one_by_one() {
    let users = UserProfile::new(&closed(&[(4000, 0.0, 4.0)]), Nanos::ZERO, Share::WHOLE);
    assert_eq!(users.at(Nanos::ZERO), 0);
    let half = 500_000_000;
    assert_eq!(changes(&users), [(half, 1), (3 * half, 2), (5 * half, 3), (7 * half, 4)]);
    assert_eq!(users.peak(), 4);
}

#[test]
fn stages_of_a_share() {
    // Up to 6, a drop to 2, then down to none, with a warm-up at the first level.
    let load = closed(&[(2000, 2.0, 6.0), (1000, 2.0, 2.0), (1000, 2.0, 0.0)]);
    let share = |index| UserProfile::new(&load, Nanos::from_secs(1), Share { index, of: 2 });
    // 3 from 1.25 s, 4 from 1.75 s, 5 from 2.25 s, 6 from 2.75 s, 2 from 3 s, 1 after 4.25 s, 0 after 4.75 s. A level
    // of exactly a half still rounds up, hence the nanosecond.
    assert_eq!(changes(&share(0)), [(1_250_000_000, 2), (2_250_000_000, 3), (3_000_000_000, 1), (4_750_000_001, 0)]);
    assert_eq!(changes(&share(1)), [(1_750_000_000, 2), (2_750_000_000, 3), (3_000_000_000, 1), (4_250_000_001, 0)]);
    assert_eq!((share(0).peak(), share(1).peak()), (3, 3));
    assert_eq!(share(0).ends(), Some(Nanos::from_secs(5)));
    assert_eq!(share(0).next_change(Nanos(2_250_000_000)), Some(Nanos(3_000_000_000)));
}

#[test]
fn a_jump_between_stages_is_a_change_at_that_moment() {
    let users =
        UserProfile::new(&closed(&[(1000, 1.0, 1.0), (0, 50.0, 70.0), (1000, 5.0, 5.0)]), Nanos::ZERO, Share::WHOLE);
    assert_eq!(changes(&users), [(1_000_000_000, 5)]);
    assert_eq!(users.next_change(Nanos(999_999_999)), Some(Nanos(1_000_000_000)));
    assert_eq!(users.next_change(Nanos(1_000_000_000)), None);
}

#[test]
fn requests_go_to_the_shares_as_their_users_do() {
    let of_share = |users, total, of| -> Vec<u64> {
        let share = |index| {
            UserProfile::new(&closed(&[(1000, users, users)]), Nanos::ZERO, Share { index, of }).of_requests(total)
        };
        (0..of).map(share).collect()
    };
    assert_eq!(of_share(3.0, 30, 2), [20, 10]);
    assert_eq!(of_share(10.0, 100, 4), [30, 30, 20, 20]);
    assert_eq!(of_share(2.0, 100, 4), [50, 50, 0, 0]);
    assert_eq!(of_share(7.0, u64::MAX, 3).iter().sum::<u64>(), u64::MAX);
}

#[test]
fn more_shares_than_users() {
    let load = closed(&[(1000, 2.0, 2.0)]);
    let of_share = |index| UserProfile::new(&load, Nanos::ZERO, Share { index, of: 4 }).peak();
    assert_eq!([0, 1, 2, 3].map(of_share), [1, 1, 0, 0]);
}

#[test]
fn nobody() {
    let open = Load::Open {
        stages: vec![Stage { lasts: Nanos::from_secs(1), from: 9.0, to: 9.0 }],
        arrivals: brunt_plan::Arrivals::Constant,
    };
    for load in [open, closed(&[]), closed(&[(1000, -5.0, f64::NAN)])] {
        let users = UserProfile::new(&load, Nanos::from_secs(1), Share::WHOLE);
        let found = (users.at(Nanos::ZERO), users.at(Nanos::MAX), users.peak(), users.next_change(Nanos::ZERO));
        assert_eq!(found, (0, 0, 0, None), "{load:?}");
    }
}

fn any_stages() -> impl Strategy<Value = Vec<(u64, f64, f64)>> {
    let level = prop_oneof![Just(0.0), 0.0f64..60.0, (0u32..60).prop_map(f64::from)];
    prop::collection::vec((0u64..3000, level.clone(), level), 1..5)
}

proptest! {
    #[test]
    fn shares_add_up_to_the_whole(stages in any_stages(), of in 1u32..6, time in 0u64..15_000_000_000) {
        let load = closed(&stages);
        let at = |index, of| UserProfile::new(&load, Nanos::from_millis(500), Share { index, of }).at(Nanos(time));
        let shares: Vec<u32> = (0..of).map(|index| at(index, of)).collect();
        prop_assert_eq!(shares.iter().sum::<u32>(), at(0, 1));
        prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
    }

    #[test]
    fn nothing_changes_between_changes(stages in any_stages(), index in 0u32..3, times in prop::collection::vec(0u64..15_000_000_000, 50)) {
        let users = UserProfile::new(&closed(&stages), Nanos::from_millis(500), Share { index, of: 3 });
        let changes = changes(&users);
        for &(at, number) in &changes {
            prop_assert_ne!(users.at(Nanos(at - 1)), number);
        }
        for time in times {
            let expected = changes.iter().rev().find(|(at, _)| *at <= time).map_or(users.at(Nanos::ZERO), |c| c.1);
            prop_assert_eq!(users.at(Nanos(time)), expected);
            prop_assert!(users.at(Nanos(time)) <= users.peak());
        }
    }
}

#[test]
fn users_are_changed_on_the_way_and_shares_add_up() {
    let stages = vec![
        Stage { lasts: Nanos::from_secs(10), from: 0.0, to: 100.0 },
        Stage { lasts: Nanos::from_secs(10), from: 30.0, to: 30.0 },
    ];
    let load = Load::Closed { stages, think: None, together: false };
    let at = |changes: &[(u64, Change)], second: u64, of: u32| -> u32 {
        let share = |index| {
            let mut users = UserProfile::new(&load, Nanos::ZERO, Share { index, of });
            changes.iter().for_each(|(at, change)| users.change(Nanos::from_secs(*at), *change));
            let at = Nanos::from_secs(second);
            // Waiting for the next change finds every change.
            let before = Nanos(at.0.saturating_sub(1));
            assert!(users.at(before) == users.at(at) || users.next_change(before) == Some(at), "{changes:?} {second}");
            users.at(at)
        };
        (0..of).map(share).sum()
    };
    let (rest, on) = (Change::Pause, Change::Resume);
    for (changes, second, users) in [
        (&[][..], 5, 50),
        (&[(5, Change::Users(7))][..], 4, 40),
        (&[(5, Change::Users(7))][..], 5, 7),
        (&[(5, Change::Users(7))][..], 1000, 7),
        (&[(5, rest)][..], 5, 0),
        (&[(5, rest)][..], 15, 0),
        (&[(5, rest), (8, on)][..], 8, 80),
        (&[(5, rest), (12, on)][..], 12, 30),
        (&[(5, rest), (6, Change::Users(9))][..], 7, 0),
        (&[(5, rest), (6, Change::Users(9)), (8, on)][..], 9, 9),
        (&[(2, Change::Users(200)), (3, Change::Users(1))][..], 2, 200),
        (&[(2, Change::Users(200)), (3, Change::Users(1))][..], 3, 1),
    ] {
        for of in [1, 3, 8] {
            assert_eq!(at(changes, second, of), users, "{changes:?} at {second} s over {of}");
        }
    }
}
