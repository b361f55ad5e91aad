//! Connections owned by a user during its iteration: no other user sends on them, and the loss of one is reported.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, OnFailure, Pause, Step};
use brunt_plan::{Arrivals, WeightedUrl};
use brunt_protocols::redis::RedisProtocol;
use brunt_sim::{PeerActions, SimPeer};

use super::harness::{MS, SECOND, SimPlan, each_seed};

/// A server that records which user began on a connection (`SET user`), and which continued (`GET user`).
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<LedgerState>>);

#[derive(Default)]
struct LedgerState {
    /// The user whose turn it is, by connection.
    by: HashMap<u32, String>,
    begun: u64,
    went_on: u64,
    /// Number of times a user continued on a connection on which another had begun.
    mistaken: u64,
    opened: u64,
    closes: bool,
}

impl SimPeer for Ledger {
    fn opened(&mut self, _now: Nanos, conn: u32) {
        let mut seen = self.0.lock().expect("one thread");
        seen.by.remove(&conn);
        seen.opened += 1;
    }
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let user = text.trim_end().rsplit("\r\n").next().unwrap_or_default().to_owned();
        let mut seen = self.0.lock().expect("one thread");
        if text.contains("SET") {
            seen.begun += 1;
            seen.by.insert(conn, user);
            say.send(conn, b"+OK\r\n");
            if seen.closes {
                say.close(conn);
            }
            return;
        }
        seen.went_on += 1;
        seen.mistaken += u64::from(seen.by.remove(&conn) != Some(user));
        say.send(conn, b"$1\r\na\r\n");
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// Creates a scene in which each user sends `SET` with its name, pauses, and sends `GET` with it.
fn scene(scene: SimPlan) -> SimPlan {
    scene.with(|plan| {
        let url = |command: &str| {
            let mut url = WeightedUrl::plain("redis://test");
            url.options.insert("command".into(), vec![format!("{command} {{counter}}")]);
            url
        };
        let send = |url| Step::Request { url, on_failure: OnFailure::default() };
        let pause = Step::Pause(Pause::Uniform { from: MS, to: Nanos::from_millis(5) });
        plan.urls = vec![url("SET"), url("GET")].into();
        plan.flow = Some(Flow { steps: vec![send(0), pause, send(1)], ..Flow::default() });
    })
}

#[test]
fn what_a_user_begins_on_a_connection_it_goes_on_with_there_and_nobody_comes_between() {
    each_seed(1..8, |seed| {
        for open in [false, true] {
            let played = match open {
                true => SimPlan::open(900.0, Arrivals::Poisson, SECOND),
                false => SimPlan::closed(7, SECOND),
            };
            let scene = scene(played).with(|plan| (plan.seed, plan.max_connections) = (seed, 4));
            let ledger = Ledger::default();
            let peer = ledger.clone();
            let played = scene.play_protocol(&RedisProtocol, Arc::default(), move |_| Box::new(peer.clone()));
            let seen = ledger.0.lock().expect("one thread");
            assert!(seen.begun > 300 && seen.mistaken == 0, "{} of {} mistaken", seen.mistaken, seen.begun);
            assert_eq!(played.sum.due, played.sum.finished + played.sum.failed + played.sum.censored);
            assert_eq!(played.sum.failed, 0, "{:?}", played.sum.failures);
            let most = if open { 4 } else { 7 };
            assert!(seen.opened <= most, "they are used again: {}", seen.opened);
        }
    });
}

#[test]
fn users_of_two_scenarios_go_on_with_what_they_began_each_on_connections_of_its_own() {
    each_seed(1..8, |seed| {
        let scene = scene(SimPlan::closed(1, SECOND)).with(|plan| {
            let flow = plan.flow.take().expect("a flow");
            let scenario = |name: &str, load: brunt_plan::Load| brunt_plan::ScenarioPlan {
                name: name.into(),
                load,
                start: Nanos::ZERO,
                duration: Some(SECOND),
                iterations: None,
                iterations_per_user: None,
                graceful_stop: SECOND,
                spawn_rate: None,
                max_users: None,
                max_connections: 3,
                flow: flow.clone(),
            };
            let level = |level: f64| vec![brunt_plan::Stage { lasts: SECOND, from: level, to: level }];
            let closed = brunt_plan::Load::Closed { stages: level(4.0), think: None, together: false };
            let open = brunt_plan::Load::Open { stages: level(300.0), arrivals: Arrivals::Poisson };
            plan.scenarios = vec![scenario("closed", closed), scenario("open", open)];
            (plan.seed, plan.duration, plan.load) = (seed, None, brunt_plan::scenarios::total_load(&plan.scenarios));
        });
        let ledger = Ledger::default();
        let peer = ledger.clone();
        let played = scene.play_protocol(&RedisProtocol, Arc::default(), move |_| Box::new(peer.clone()));
        let seen = ledger.0.lock().expect("one thread");
        assert!(seen.begun > 500 && seen.begun == seen.went_on, "{} begun, {} went on", seen.begun, seen.went_on);
        assert_eq!((seen.mistaken, played.sum.failed), (0, 0), "{:?}", played.sum.failures);
        assert!(seen.opened <= 7, "four users, and three connections of those who come: {}", seen.opened);
    });
}

#[test]
fn a_connection_that_is_lost_between_two_steps_fails_the_next_one_on_it() {
    let scene = scene(SimPlan::closed(3, SECOND)).with(|plan| (plan.requests, plan.duration) = (Some(20), None));
    let ledger = Ledger::default();
    ledger.0.lock().expect("one thread").closes = true;
    let peer = ledger.clone();
    let played = scene.play_protocol(&RedisProtocol, Arc::default(), move |_| Box::new(peer.clone()));
    let seen = ledger.0.lock().expect("one thread");
    assert_eq!((seen.begun, seen.went_on), (20, 0), "nothing is said on another connection in its place");
    assert_eq!((played.sum.due, played.sum.finished, played.sum.failed), (40, 20, 20), "{:?}", played.sum.failures);
    assert_eq!(played.sum.failures("closed"), 20, "{:?}", played.sum.failures);
    let why = &played.examples.first().expect("an example").detail;
    assert!(why.starts_with("the user's connection was closed before this step"), "{why}");
}
