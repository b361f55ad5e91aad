//! Bad networks: what is lost, late or out of order on the way, and a way that is cut.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use brunt_messenger::{Messenger, Presence};

use crate::fleets::{NatsFleet, ZenohFleet, bridged};
use crate::proxies::{CUT, DatagramProxy, FINE, StreamProxy, Weather};
use crate::{Attendance, KeptFrames, deliver, id, until};

/// Time within which a cut is noticed, and all frames are handed in after it.
pub const NOTICED: Duration = Duration::from_millis(3500);
pub const CAUGHT_UP: Duration = Duration::from_secs(10);
/// What a busy machine adds to both.
pub const BUSY: Duration = Duration::from_secs(3);
/// Length of a cut.
pub const AWAY: Duration = Duration::from_secs(10);
/// Interval of the frames of an agent.
const FRAME_EVERY: Duration = Duration::from_millis(50);

/// Hands in frames from an agent until `meanwhile` is over, which may look at how many were; returns their number.
pub fn hand_in(agent: &dyn Messenger, name: &str, meanwhile: impl FnOnce(&dyn Fn() -> u64)) -> u64 {
    let (is_over, handed_in) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                deliver(agent, &id(name, seq), &[3; 5000]);
                handed_in.store(seq + 1, Ordering::Relaxed);
                std::thread::sleep(FRAME_EVERY);
            }
        });
        let ending = EndOf(&is_over);
        meanwhile(&|| handed_in.load(Ordering::Relaxed));
        drop(ending);
    });
    handed_in.into_inner()
}

/// Sets a flag when dropped, also by a test that fails: its threads would go on otherwise.
struct EndOf<'a>(&'a AtomicBool);

impl Drop for EndOf<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn frames_come_once_over_a_network_that_loses_delays_and_reorders_and_nobody_seems_gone() {
    let fleet = ZenohFleet::make(&["a", "b"]);
    let weather = Weather { lost_per_mille: 70, shortest_ms: 2, longest_ms: 25 };
    let proxy = DatagramProxy::start(&fleet.address, weather);
    let coordinator = bridged(fleet.coordinator());
    let (kept, attendance) = (KeptFrames::default(), Attendance::default());
    let _held = (kept.receive(&*coordinator), attendance.watch(&*coordinator));
    let agents = ["a", "b"].map(|name| (name, bridged(fleet.joined(name, &proxy.address).messenger())));
    let _here = agents.each_ref().map(|(name, agent)| agent.appear(&Presence::draw(name)).unwrap());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for (name, agent) in &agents {
            scope.spawn(|| (0..60).for_each(|seq| deliver(&**agent, &id(name, seq), &vec![1; 10_000])));
        }
    });
    println!("7 % lost: 60 frames of 10 kB from each of two agents took {:.1} s", began.elapsed().as_secs_f64());
    // Longer than what makes a silent agent seem gone.
    std::thread::sleep(NOTICED);
    for (name, _) in &agents {
        assert_eq!(kept.of(name), (0..60).collect::<Vec<_>>(), "{name}");
    }
    let mut said = attendance.said();
    said.sort();
    assert_eq!(said, [("a".to_owned(), true), ("b".to_owned(), true)]);
}

#[test]
fn a_cut_is_noticed_and_everything_handed_in_after_it() {
    let fleet = ZenohFleet::make(&["a"]);
    let proxy = DatagramProxy::start(&fleet.address, FINE);
    let coordinator = bridged(fleet.coordinator());
    let (kept, attendance) = (KeptFrames::default(), Attendance::default());
    let _held = (kept.receive(&*coordinator), attendance.watch(&*coordinator));
    let agent = bridged(fleet.joined("a", &proxy.address).messenger());
    let _here = agent.appear(&Presence::draw("a")).unwrap();
    let cut = || proxy.set(CUT);
    let mend = || proxy.set(FINE);
    noticed_and_caught_up("a cut", &*agent, &kept, &|since| attendance.until("a", false, since), (&cut, &mend));
}

/// Breaks something for a while beneath an agent that hands in frames, and mends it; `noticed` waits until that is noticed
/// and returns how long it took.
#[track_caller]
pub fn noticed_and_caught_up(
    what: &str,
    agent: &dyn Messenger,
    kept: &KeptFrames,
    noticed: &dyn Fn(Instant) -> Duration,
    (break_it, mend): (&dyn Fn(), &dyn Fn()),
) {
    let number = hand_in(agent, "a", |handed_in| {
        until("the first frames", || kept.of("a").len() > 9);
        let broken = Instant::now();
        break_it();
        let noticed = noticed(broken);
        std::thread::sleep(AWAY.saturating_sub(broken.elapsed()));
        let (mended, before) = (Instant::now(), handed_in());
        mend();
        // What was under way, and some more.
        until("it hands in again", || handed_in() > before + 1);
        let caught_up = mended.elapsed();
        let seconds = [noticed, caught_up].map(|took| took.as_secs_f64());
        println!("{what}: noticed after {:.1} s, caught up after {:.1} s", seconds[0], seconds[1]);
        assert!(noticed <= NOTICED + BUSY, "{what}: {noticed:?}");
        assert!(caught_up <= CAUGHT_UP + BUSY, "{what}: {caught_up:?}");
    });
    until("all are kept", || kept.of("a").len() as u64 >= number);
    kept.assert_whole("a", number);
}

#[test]
fn a_nats_server_whose_connection_stalls_loses_nothing() {
    let Some(server) = NatsFleet::start() else { return };
    let proxy = StreamProxy::start(server.url().trim_start_matches("nats://"));
    let coordinator = bridged(server.connect());
    let (kept, attendance) = (KeptFrames::default(), Attendance::default());
    let _held = (kept.receive(&*coordinator), attendance.watch(&*coordinator));
    let agent = bridged(NatsFleet::reach(&format!("nats://{}", proxy.address)));
    let _here = agent.appear(&Presence::draw("a")).unwrap();
    let (stall, go_on) = (|| proxy.stall(true), || proxy.stall(false));
    noticed_and_caught_up(
        "a stalled stream",
        &*agent,
        &kept,
        &|since| attendance.until("a", false, since),
        (&stall, &go_on),
    );
}

#[test]
fn what_is_delivered_while_the_coordinator_is_away_arrives_later() {
    let fleet = ZenohFleet::make(&["a"]);
    let agent = fleet.agent("a");
    let kept = KeptFrames::default();
    let mut coordinator = fleet.coordinator();
    let mut receiving = kept.receive(&*coordinator);
    std::thread::scope(|scope| {
        let handing_in = scope.spawn(|| {
            (0..60).for_each(|seq| {
                deliver(&*agent, &id("a", seq), &[7; 20_000]);
                std::thread::sleep(Duration::from_millis(20));
            })
        });
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(300));
            drop(receiving);
            drop(coordinator);
            std::thread::sleep(Duration::from_millis(700));
            coordinator = fleet.coordinator();
            receiving = kept.receive(&*coordinator);
        }
        handing_in.join().unwrap();
    });
    assert_eq!(kept.of("a"), (0..60).collect::<Vec<_>>());
}
