//! Users that disconnect and reconnect: each `close` costs a connect when its user returns, and the size of the pool
//! stays the same.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use brunt_contract::Protocol;
use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, OnFailure, Pause, Step};
use brunt_plan::{Arrivals, WeightedUrl};
use brunt_protocols::http::Http;
use brunt_protocols::redis::RedisProtocol;
use brunt_sim::{PeerActions, SimPeer};

use super::harness::{MS, SECOND, SimPlan, each_seed};
use super::sim_result::SimResult;

/// A server that counts connections, and the requests (`back`) that should have been the first on their connection but
/// were not.
#[derive(Clone)]
struct ConnectionCounter(Arc<Mutex<ConnectionCounts>>, &'static [u8]);

#[derive(Default)]
struct ConnectionCounts {
    opened: u64,
    open: HashSet<u32>,
    most: usize,
    used: HashSet<u32>,
    back: u64,
    not_first: u64,
}

impl SimPeer for ConnectionCounter {
    fn opened(&mut self, _now: Nanos, conn: u32) {
        let mut seen = self.0.lock().expect("one thread");
        seen.opened += 1;
        seen.open.insert(conn);
        seen.used.remove(&conn);
        seen.most = seen.most.max(seen.open.len());
    }
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        let mut seen = self.0.lock().expect("one thread");
        let first = seen.used.insert(conn);
        if bytes.windows(4).any(|word| word == b"back") {
            seen.back += 1;
            seen.not_first += u64::from(!first);
        }
        say.send(conn, self.1);
    }
    fn closed(&mut self, _now: Nanos, conn: u32) {
        self.0.lock().expect("one thread").open.remove(&conn);
    }
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn send(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

fn close(servers: &[&str]) -> Step {
    Step::Close { servers: servers.iter().map(|server| (*server).to_owned()).collect() }
}

fn pause() -> Step {
    Step::Pause(Pause::Uniform { from: MS, to: Nanos::from_millis(4) })
}

/// Adds the URLs `first` and `back`, and a page of another server.
fn scene(scene: SimPlan, steps: Vec<Step>) -> SimPlan {
    scene.with(|plan| {
        plan.urls =
            ["http://test/first", "http://test/back", "http://test:81/other"].map(WeightedUrl::plain).to_vec().into();
        plan.flow = Some(Flow { steps, ..Flow::default() });
    })
}

fn play(scene: &SimPlan, protocol: &impl Protocol, reply: &'static [u8]) -> (SimResult, ConnectionCounts) {
    let door = ConnectionCounter(Arc::default(), reply);
    let peer = door.clone();
    let played = scene.play_protocol(protocol, Arc::default(), move |_| Box::new(peer.clone()));
    let seen = std::mem::take(&mut *door.0.lock().expect("one thread"));
    let sum = &played.sum;
    assert_eq!((sum.due, sum.failed), (sum.finished + sum.censored, 0), "{:?}", sum.failures);
    assert_eq!(sum.opened, seen.opened, "both sides count the same");
    (played, seen)
}

fn of_a_hundred(users: u32, steps: Vec<Step>, seed: u64) -> SimPlan {
    scene(SimPlan::closed(users, Nanos::from_secs(3600)), steps)
        .with(|plan| (plan.requests, plan.duration, plan.seed) = (Some(100), None, seed))
}

#[test]
fn each_iteration_of_users_who_go_away_at_its_end_connects_once() {
    each_seed(1..8, |seed| {
        let steps = vec![send(0), pause(), send(0), close(&[]), pause()];
        let (_, seen) = play(&of_a_hundred(7, steps, seed), &Http, OK);
        assert_eq!(seen.opened, 100);
        assert!(seen.most <= 7, "{}", seen.most);
        let (_, seen) = play(&of_a_hundred(7, vec![send(0), pause(), send(0)], seed), &Http, OK);
        assert_eq!(seen.opened, 7, "others keep what they have");
    });
}

#[test]
fn who_comes_back_is_the_first_on_its_connection_and_others_keep_theirs() {
    each_seed(1..8, |seed| {
        let steps = vec![send(0), send(0), close(&["http://test"]), pause(), send(1), send(0)];
        let (_, seen) = play(&of_a_hundred(7, steps, seed), &Http, OK);
        assert_eq!((seen.opened, seen.back, seen.not_first), (7 + 100, 100, 0));
        assert!(seen.most <= 7, "{}", seen.most);
    });
}

#[test]
fn only_the_server_that_is_named_is_gone_away_from() {
    let steps = vec![send(0), send(2), close(&["http://test:81/anything"]), send(0), send(2)];
    let (_, seen) = play(&of_a_hundred(1, steps, 1), &Http, OK);
    assert_eq!(seen.opened, 1 + 1 + 100, "one to the first, and another to the second after each close");
    let steps = vec![send(0), send(2), close(&[]), send(0), send(2)];
    let (_, seen) = play(&of_a_hundred(1, steps, 1), &Http, OK);
    assert_eq!(seen.opened, 2 + 200);
}

#[test]
fn arrivals_come_back_on_connections_of_their_own_within_the_bound() {
    each_seed(1..8, |seed| {
        let steps = vec![send(0), close(&[]), pause(), send(1)];
        let scene = scene(SimPlan::open(400.0, Arrivals::Poisson, SECOND), steps)
            .with(|plan| (plan.seed, plan.max_connections) = (seed, 5));
        let (played, seen) = play(&scene, &Http, OK);
        assert!(seen.back > 200 && played.sum.finished > 400, "{} came back", seen.back);
        assert_eq!(seen.not_first, 0);
        assert!(seen.opened >= seen.back && seen.most <= 5, "{} opened, {} at once", seen.opened, seen.most);
    });
}

#[test]
fn what_is_a_users_for_its_iteration_is_closed_too() {
    each_seed(1..8, |seed| {
        let steps = vec![send(0), close(&["redis://test"]), pause(), send(1)];
        let scene = of_a_hundred(5, steps, seed).with(|plan| {
            let url = |command: &str| {
                let mut url = WeightedUrl::plain("redis://test");
                url.options.insert("command".into(), vec![command.into()]);
                url
            };
            plan.urls = vec![url("GET first"), url("GET back")].into();
        });
        let (_, seen) = play(&scene, &RedisProtocol, b"$2\r\nok\r\n");
        assert_eq!((seen.back, seen.not_first), (100, 0));
        assert!((100..=105).contains(&seen.opened) && seen.most <= 5, "{} opened, {} at once", seen.opened, seen.most);
    });
}
