//! Tests of virtual time: exact latencies and waits, processor cost, and speed.

use std::time::Instant;

use brunt_contract::Network;
use brunt_measure::Nanos;

use super::super::{PeerActions, Sim, SimDelay, SimInterval, SimPeer, SimSettings};
use super::{SimEvent, connected, echo, just, send, turn, turns};

const SECOND: Nanos = Nanos::from_secs(1);

#[test]
fn everything_takes_exactly_as_long_as_was_set() {
    let settings = SimSettings {
        latency: SimDelay::fixed(Nanos::from_millis(3)),
        connect_delay: SimDelay::fixed(Nanos::from_millis(7)),
        ..SimSettings::default()
    };
    let mut sim = echo(1, settings);
    assert_eq!(sim.now(), SECOND);
    let conn = connected(&mut sim);
    assert_eq!(sim.now(), Nanos::from_millis(1007));
    send(&mut sim, conn, b"hello");
    let told = turn(&mut sim, SECOND + SECOND);
    assert_eq!(told, [(Nanos::from_millis(1013), SimEvent::Bytes(conn.0, b"hello".to_vec()))]);
    sim.wait(Nanos::from_millis(1500));
    assert_eq!(sim.now(), Nanos::from_millis(1500));
    assert!(sim.next().is_none());
    sim.wait(Nanos::from_millis(1400));
    assert_eq!(sim.now(), Nanos::from_millis(1500), "a wait for the past takes no time");
}

#[test]
fn bandwidth_takes_its_time_and_an_outage_holds_back() {
    let mut settings = SimSettings { bandwidth: Some(1_000_000), ..SimSettings::default() };
    settings.latency = SimDelay::fixed(Nanos::from_millis(1));
    let mut sim = echo(1, settings.clone());
    let conn = connected(&mut sim);
    let start = sim.now();
    send(&mut sim, conn, &[1; 1000]);
    send(&mut sim, conn, &[2; 1000]);
    let told = turns(&mut sim, SECOND);
    let at: Vec<u64> = told.iter().map(|(at, _)| (*at - start).0 / 1_000_000).collect();
    assert_eq!(at, [4, 5], "1 ms a thousand bytes each way, and 1 ms of latency each way");

    let dark = SimInterval { from: start + Nanos(1), to: start + SECOND };
    let mut sim = echo(1, SimSettings { outages: vec![dark], bandwidth: None, ..settings });
    let conn = connected(&mut sim);
    send(&mut sim, conn, b"x");
    let told = turns(&mut sim, SECOND + SECOND);
    assert_eq!(told[0].0, dark.to + Nanos::from_millis(1));
}

#[test]
fn a_busy_client_reads_late_and_all_at_once_but_the_peer_is_on_time() {
    let cost = Nanos::from_millis(10);
    let settings = SimSettings { send_cost: cost, event_cost: Nanos::from_millis(1), ..SimSettings::default() };
    let mut sim = echo(1, settings);
    let conn = connected(&mut sim);
    let start = sim.now();
    for part in [b"ab", b"cd", b"ef"] {
        send(&mut sim, conn, part);
    }
    let told = turn(&mut sim, start + SECOND);
    assert_eq!(told, [(start + Nanos::from_millis(31), SimEvent::Bytes(conn.0, b"abcd".to_vec()))]);
    let leg = Nanos::from_micros(50);
    let heard: Vec<Nanos> = sim.peer().heard_at.iter().map(|at| *at - start).collect();
    assert_eq!(heard[..2], [cost + leg, cost + cost + leg]);
    let told = turn(&mut sim, start + SECOND);
    assert_eq!(just(&told), [SimEvent::Bytes(conn.0, b"ef".to_vec())]);
}

#[test]
fn the_clock_and_the_wait_may_cost_time() {
    let settings = SimSettings { clock_cost: Nanos(20), wait_cost: Nanos(1000), ..SimSettings::default() };
    let mut sim = echo(1, settings);
    assert_eq!((sim.now(), sim.now()), (SECOND + Nanos(20), SECOND + Nanos(40)));
    sim.wait(SECOND);
    assert_eq!(sim.now(), SECOND + Nanos(1060));
}

#[test]
fn a_pause_makes_work_and_waking_late() {
    let at = |ms| SECOND + Nanos::from_millis(ms);
    let pauses = vec![
        SimInterval { from: at(10), to: at(30) },
        SimInterval { from: at(40), to: at(45) },
        SimInterval { from: at(60), to: at(90) },
    ];
    let settings = SimSettings { pauses, send_cost: Nanos::from_millis(2), ..SimSettings::default() };
    let mut sim = echo(1, settings);
    let conn = connected(&mut sim);
    sim.wait(at(9));
    assert_eq!(sim.now(), at(9));
    send(&mut sim, conn, b"x");
    assert_eq!(sim.now(), at(31), "one millisecond before the pause, one after it");
    while sim.next().is_some() {}
    turn(&mut sim, at(32));
    sim.wait(at(50));
    assert_eq!(sim.now(), at(50), "slept through the second one");
    sim.wait(at(70));
    assert_eq!(sim.now(), at(90));
}

/// A peer that wakes up at the given times and sends a byte on connection 0 each time.
struct TimerPeer(Vec<Nanos>, Vec<Nanos>);

impl SimPeer for TimerPeer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, _conn: u32, _bytes: &[u8], _say: &mut PeerActions) {}
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
    fn next_timer(&self) -> Option<Nanos> {
        self.0.last().copied()
    }
    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        self.0.pop();
        self.1.push(now);
        say.send(0, b"!");
    }
}

#[test]
fn timers_of_the_peer_are_exact() {
    let at = |ns: u64| SECOND + Nanos(ns);
    let moments = [at(777_777), at(777_777), at(777_778), at(5_000_000_001)];
    let mut sim =
        Sim::new(1, SimSettings::default(), Box::new(TimerPeer(moments.iter().rev().copied().collect(), Vec::new())));
    connected(&mut sim);
    let told = turns(&mut sim, Nanos::from_secs(10));
    assert_eq!(sim.peer().1, moments);
    let leg = Nanos::from_micros(50);
    let expected = [moments[0], moments[2], moments[3]].map(|m| m + leg);
    assert_eq!(told.iter().map(|(at, _)| *at).collect::<Vec<_>>(), expected);
}

#[test]
#[should_panic(expected = "waits for ever")]
fn waiting_for_nothing_for_ever_is_told() {
    echo(1, SimSettings::default()).wait(Nanos::MAX);
}

#[test]
fn an_hour_of_load_holds_no_more_memory_than_a_minute_and_runs_fast() {
    let jitter = Nanos::from_micros(300);
    let settings = SimSettings {
        latency: SimDelay { fixed: Nanos(50_000), jitter },
        split: 0.1,
        merge: 0.1,
        ..SimSettings::default()
    };
    let mut sim = echo(3, settings);
    let conns: Vec<_> = (0..20).map(|_| connected(&mut sim)).collect();
    for conn in &conns {
        send(&mut sim, *conn, &[7; 200]);
    }
    let mut out = brunt_contract::OutputBuffer::default();
    let mut run = |sim: &mut Sim<super::EchoPeer>, events: u64| {
        let end = sim.events() + events;
        while sim.events() < end {
            let until = sim.now() + SECOND;
            sim.wait(until);
            while let Some(brunt_contract::NetworkEvent::Received(conn, bytes)) = sim.next() {
                out.put(bytes);
                sim.send(conn, &mut out);
            }
            sim.peer_mut().received.clear();
            sim.peer_mut().heard_at.clear();
        }
        sim.memory()
    };
    let early = run(&mut sim, 100_000);
    let begun = Instant::now();
    let late = run(&mut sim, 1_000_000);
    println!("1e6 events in {:?}, virtual time {}", begun.elapsed(), sim.now());
    assert!(late <= early + early / 2, "{early} bytes grew to {late}");
}
