//! What every engine must do, tried in the same way on each: within a process, on Zenoh with certificates, and on NATS; the
//! last two through the bridge, as brunt uses them. Then what becomes of it on bad networks, and when something dies.

mod access;
mod fleets;
mod hostile;
mod joining;
mod nats;
mod networks;
mod processes;
mod proxies;
mod verbs;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_messenger::{FrameId, Held, Messenger, Presence};

const SOON: Duration = Duration::from_secs(30);

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn id(agent: &str, seq: u64) -> FrameId {
    FrameId { run: "r".into(), agent: agent.into(), epoch: 0, seq }
}

/// Delivers until it is acknowledged, as agents do.
#[track_caller]
fn deliver(agent: &dyn Messenger, id: &FrameId, frame: &[u8]) {
    let end = Instant::now() + SOON;
    while let Err(why) = agent.deliver(id, frame, Duration::from_secs(3)) {
        assert!(Instant::now() < end, "{id:?}: {why}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until a question is answered.
#[track_caller]
fn answered(by: &dyn Messenger, address: &str, question: &[u8]) -> Vec<u8> {
    let end = Instant::now() + SOON;
    loop {
        match by.ask(address, question, Duration::from_secs(2)) {
            Ok(answer) if !answer.is_empty() || question.is_empty() => return answer,
            other => assert!(Instant::now() < end, "{address}: {other:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What a coordinator keeps: the numbers of the frames of each agent, each once, in the order in which they came.
#[derive(Clone, Default)]
struct KeptFrames(Arc<Mutex<BTreeMap<String, Vec<u64>>>>);

impl KeptFrames {
    fn receive(&self, coordinator: &dyn Messenger) -> Held {
        let kept = self.clone();
        let keep = move |id: &FrameId, _: &[u8]| {
            let mut kept = kept.0.lock().unwrap();
            let own = kept.entry(id.agent.clone()).or_default();
            if !own.contains(&id.seq) {
                own.push(id.seq);
            }
            true
        };
        coordinator.receive("r", Box::new(keep)).unwrap()
    }

    fn of(&self, agent: &str) -> Vec<u64> {
        self.0.lock().unwrap().get(agent).cloned().unwrap_or_default()
    }

    #[track_caller]
    fn assert_whole(&self, agent: &str, number: u64) {
        let mut own = self.of(agent);
        // A durable stream may bring one again after later ones; who keeps them sorts that out.
        own.sort_unstable();
        assert_eq!(own, (0..number).collect::<Vec<_>>(), "{agent}");
    }
}

/// Who came and went, with the moment at which it was said.
#[derive(Clone, Default)]
struct Attendance(Arc<Mutex<Vec<(String, bool, Instant)>>>);

impl Attendance {
    fn watch(&self, coordinator: &dyn Messenger) -> Held {
        let told = self.clone();
        let watch = move |who: &Presence, is: bool| told.0.lock().unwrap().push((who.name.clone(), is, Instant::now()));
        coordinator.watch(Box::new(watch)).unwrap()
    }

    /// Waits until it was said since a moment that an agent came or went; returns how long that took.
    #[track_caller]
    fn until(&self, agent: &str, is_there: bool, since: Instant) -> Duration {
        let end = Instant::now() + SOON;
        loop {
            let said = self.0.lock().unwrap();
            let found = said.iter().find(|(name, is, at)| name == agent && *is == is_there && *at >= since);
            if let Some((.., at)) = found {
                return at.duration_since(since);
            }
            drop(said);
            assert!(Instant::now() < end, "never: {agent} {is_there}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn said(&self) -> Vec<(String, bool)> {
        self.0.lock().unwrap().iter().map(|(name, is, _)| (name.clone(), *is)).collect()
    }
}
