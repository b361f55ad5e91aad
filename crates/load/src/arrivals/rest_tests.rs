//! Arrivals taken at once equal those drawn one by one.

use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

fn stages() -> Vec<Stage> {
    let stage = |seconds, from, to| Stage { lasts: Nanos::from_secs(seconds), from, to };
    vec![stage(2, 300.0, 300.0), stage(3, 300.0, 2000.0), stage(1, 7.5, 7.5)]
}

/// Draws some arrivals and takes the rest until a given time; returns the number drawn within the window, and the
/// lumps.
fn taken(schedule: &mut dyn Schedule, draw: usize, until: Nanos) -> (u64, Vec<(Nanos, u64)>) {
    let drawn = std::iter::from_fn(|| schedule.next_due()).take(draw).filter(|due| *due >= SECOND).count() as u64;
    let mut lumps = Vec::new();
    schedule.take_rest(SECOND, until, &mut |due, many| lumps.push((due, many)));
    (drawn, lumps)
}

#[test]
fn numbered_arrivals_are_as_many_as_come_one_by_one_and_none_is_later_than_it_is() {
    for arrivals in [Arrivals::Constant, Arrivals::Burst] {
        let load = Load::Open { stages: stages(), arrivals };
        for (of, requests, until) in
            [(1, None, 9_000), (3, None, 4_321), (3, Some(1000), 9_000), (2, None, 1_000), (1, None, 999), (1, None, 0)]
        {
            let until = Nanos::from_millis(until);
            for index in 0..of {
                let make = || super::arrivals(&load, SECOND, requests, None, Share { index, of }, 1);
                let mut one_by_one = make();
                let all = std::iter::from_fn(|| one_by_one.next_due()).filter(|due| (SECOND..=until).contains(due));
                let all: Vec<Nanos> = all.collect();
                for draw in [0, 1, 100, 700] {
                    let mut schedule = make();
                    let (drawn, lumps) = taken(&mut *schedule, draw, until);
                    let rest: u64 = lumps.iter().map(|(_, many)| many).sum();
                    let expected = (all.len() as u64).saturating_sub(drawn);
                    assert_eq!(rest, expected, "{arrivals:?} {index}/{of} {requests:?} until {until}, {draw} drawn");
                    let mut so_far = drawn.min(all.len() as u64);
                    for (due, many) in lumps {
                        so_far += many;
                        assert_eq!(due, all[so_far as usize - 1], "a lump is as late as its last");
                    }
                }
            }
        }
    }
}

#[test]
fn a_billion_a_second_is_counted_to_the_last_and_in_few_lumps() {
    let load = Load::Open { stages: vec![Stage { lasts: SECOND, from: 1e9, to: 1e9 }], arrivals: Arrivals::Constant };
    let (day, of) = (Nanos::from_secs(86_400), 7);
    let mut sum = 0;
    for index in 0..of {
        let mut schedule = super::arrivals(&load, SECOND, None, Some(day), Share { index, of }, 1);
        let (drawn, lumps) = taken(&mut *schedule, 0, Nanos::MAX);
        assert!(lumps.len() as u64 <= LUMPS && lumps.is_sorted());
        sum += drawn + lumps.iter().map(|(_, many)| many).sum::<u64>();
    }
    assert_eq!(sum, 86_400 * 1_000_000_000);
}

#[test]
fn poisson_arrivals_are_as_many_as_the_integral_says_and_a_number_of_them_is_kept() {
    // 600 + 3450 + 7.5 for the window, after a warm-up of 1 s.
    let load = Load::Open { stages: stages(), arrivals: Arrivals::Poisson };
    let mut sum = 0.0;
    for index in 0..4 {
        let mut schedule = super::arrivals(&load, SECOND, None, None, Share { index, of: 4 }, 5);
        let (drawn, lumps) = taken(&mut *schedule, 80, Nanos::from_secs(9));
        assert!(lumps.iter().all(|(due, _)| *due >= SECOND && *due <= Nanos::from_secs(7)) && lumps.is_sorted());
        let rest: u64 = lumps.iter().map(|(_, many)| many).sum();
        sum += (drawn + rest) as f64;
        assert_eq!(schedule.next_due().filter(|due| *due < Nanos::from_secs(7)), None, "nothing is left");
    }
    // 320 were drawn, and only these are random.
    assert!((sum - 4057.5).abs() < 6.0 * 320f64.sqrt(), "{sum}");
    for (until, expected) in [(60, 1000.0), (2, 300.0)] {
        let mut sum = 0;
        for index in 0..3 {
            let mut schedule = super::arrivals(&load, SECOND, Some(1000), None, Share { index, of: 3 }, 5);
            // Each has a hundred arrivals in the warm-up, which are not counted.
            let (drawn, lumps) = taken(&mut *schedule, 0, Nanos::from_secs(until));
            sum += drawn + lumps.iter().map(|(_, many)| many).sum::<u64>();
        }
        assert!((f64::from(u32::try_from(sum).unwrap()) - expected).abs() < 0.1 * expected, "{sum} until {until} s");
        assert!(until < 60 || sum == 1000, "{sum}: all of a number are due in the end");
    }
}
