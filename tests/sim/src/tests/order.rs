//! Tests of determinism, and of the order of bytes under all kinds of network behaviour.

use brunt_contract::Network;
use brunt_measure::{Nanos, Rng};
use proptest::prelude::*;

use super::super::{SimDelay, SimSettings};
use super::{SimEvent, blob, connected, echo, send, turns};

fn rough() -> SimSettings {
    SimSettings {
        latency: SimDelay { fixed: Nanos::from_micros(30), jitter: Nanos::from_micros(200) },
        connect_delay: SimDelay { fixed: Nanos::from_micros(30), jitter: Nanos::from_micros(200) },
        split: 0.5,
        merge: 0.3,
        loss: 0.02,
        bandwidth: Some(100_000_000),
        event_cost: Nanos(700),
        send_cost: Nanos(900),
        ..SimSettings::default()
    }
}

/// Runs a client that sends at random on ten connections. Returns its arrivals and the trace.
fn wander(seed: u64, settings: SimSettings) -> (Vec<(Nanos, SimEvent)>, u64) {
    let mut sim = echo(seed, settings);
    let mut rng = Rng::new(7);
    let conns = [(); 10].map(|()| connected(&mut sim));
    let mut told = Vec::new();
    for _ in 0..300 {
        let conn = conns[rng.below(10) as usize];
        send(&mut sim, conn, &blob(1 + rng.below(3000) as usize));
        told.extend(turns(&mut sim, Nanos(rng.below(200_000))));
    }
    told.extend(turns(&mut sim, Nanos::from_secs(5)));
    (told, sim.trace())
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let first = wander(42, SimSettings { reset: 0.01, ..rough() });
    assert_eq!(first, wander(42, SimSettings { reset: 0.01, ..rough() }));
    let other = wander(43, SimSettings { reset: 0.01, ..rough() });
    assert_ne!(first.1, other.1);
    assert_ne!(first.0, other.0);
}

#[test]
fn what_the_trace_is_worth_over_twenty_seeds() {
    let mut traces: Vec<u64> = (0..20).map(|seed| wander(seed, rough()).1).collect();
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len(), 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn bytes_keep_their_order(
        seed: u64, split in 0.0..1.0f64, merge in 0.0..1.0f64, loss in 0.0..0.1f64, jitter in 0u64..500_000,
        read_size in 1usize..5000, sizes in prop::collection::vec(1usize..4000, 1..40), gap in 0u64..300_000,
    ) {
        let settings = SimSettings {
            latency: SimDelay { fixed: Nanos(1000), jitter: Nanos(jitter) },
            split, merge, loss, read_size,
            ..SimSettings::default()
        };
        let mut sim = echo(seed, settings);
        let conn = connected(&mut sim);
        let all = blob(sizes.iter().sum());
        let (mut from, mut told) = (0, Vec::new());
        for size in sizes {
            send(&mut sim, conn, &all[from..from + size]);
            from += size;
            told.extend(turns(&mut sim, Nanos(gap)));
        }
        told.extend(turns(&mut sim, Nanos::from_secs(60)));
        let mut back = Vec::new();
        for (_, news) in told {
            let SimEvent::Bytes(_, bytes) = news else { panic!("{news:?}") };
            prop_assert!(!bytes.is_empty() && bytes.len() <= read_size);
            back.extend(bytes);
        }
        prop_assert!(sim.peer().received == all, "on the way to the peer");
        prop_assert!(back == all, "on the way back");
        prop_assert_eq!(sim.bytes_sent(), all.len() as u64);
    }
}

#[test]
fn splitting_cuts_and_merging_joins() {
    let pieces = |split, merge| {
        let mut sim = echo(5, SimSettings { split, merge, ..SimSettings::default() });
        let conn = connected(&mut sim);
        for _ in 0..100 {
            send(&mut sim, conn, &blob(100));
            turns(&mut sim, Nanos::from_micros(10));
        }
        turns(&mut sim, Nanos::from_secs(1));
        assert_eq!(sim.peer().received.len(), 10_000);
        sim.peer().heard_at.len()
    };
    assert_eq!(pieces(0.0, 0.0), 100);
    assert!(pieces(1.0, 0.0) > 250);
    assert!(pieces(0.0, 0.8) < 60);
}
