//! The six verbs, tried in the same way on each engine.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_messenger::{LocalMessenger, Messenger, Presence};

use crate::fleets::{NatsFleet, ZenohFleet, bridged};
use crate::{SOON, answered, deliver, id, until};

/// Time for which one that stands still answers nothing.
const FROZEN: Duration = Duration::from_secs(60);

/// Makes the participant for an agent of this name.
type MakeAgent = Box<dyn Fn(&str) -> Arc<dyn Messenger>>;

/// An engine under test: makes participants of one fleet.
struct Engine {
    coordinator: Arc<dyn Messenger>,
    agent: MakeAgent,
}

/// The suite; agents `a` and `b` may come.
fn suite(engine: &Engine) {
    let coordinator = &*engine.coordinator;
    presence_and_questions(engine, coordinator);
    two_of_one_name(engine, coordinator);
    frames(engine, coordinator);
    pieces(engine, coordinator);
}

fn presence_and_questions(engine: &Engine, coordinator: &dyn Messenger) {
    let there = Arc::<Mutex<Vec<(String, bool)>>>::default();
    let told = Arc::clone(&there);
    let watch = coordinator.watch(Box::new(move |who, is| told.lock().unwrap().push((who.name.clone(), is)))).unwrap();
    let agent = (engine.agent)("a");
    let here = agent.appear(&Presence::draw("a")).unwrap();
    until("it appears", || there.lock().unwrap().contains(&("a".into(), true)));
    let answers = agent
        .answer(
            "agent/a",
            Box::new(|question| {
                std::thread::sleep(Duration::from_millis(u64::from(question[0])));
                question.to_vec()
            }),
        )
        .unwrap();
    assert_eq!(answered(coordinator, "agent/a", b"\x00x"), b"\x00x");
    // A slow answer holds up no other; large ones arrive.
    std::thread::scope(|scope| {
        for n in 0..8u8 {
            scope.spawn(move || assert_eq!(coordinator.ask("agent/a", &[n * 20, n], SOON).unwrap(), [n * 20, n]));
        }
    });
    let large = vec![0; 900 << 10];
    assert_eq!(coordinator.ask("agent/a", &large, SOON).unwrap().len(), large.len());
    assert!(coordinator.ask("agent/nobody", b"\x00", Duration::from_millis(500)).is_err());
    assert!(coordinator.ask("agent/a", &[250], Duration::from_millis(50)).is_err(), "it is too slow");
    drop((here, answers));
    until("it goes", || there.lock().unwrap().last() == Some(&("a".into(), false)));
    drop(watch);
}

/// Agents that share a token are two, and one of them stays when the other goes.
fn two_of_one_name(engine: &Engine, coordinator: &dyn Messenger) {
    let there = Arc::<Mutex<BTreeSet<Presence>>>::default();
    let told = Arc::clone(&there);
    let change = move |who: &Presence, is: bool| {
        let mut there = told.lock().unwrap();
        let _changed = if is { there.insert(who.clone()) } else { there.remove(who) };
    };
    let watch = coordinator.watch(Box::new(change)).unwrap();
    let agents = [(); 2].map(|()| (engine.agent)("a"));
    let [one, other] = [1, u16::MAX].map(|instance| Presence { name: "a".into(), instance });
    let (first, second) = (agents[0].appear(&one).unwrap(), agents[1].appear(&other).unwrap());
    let both = BTreeSet::from([one, other.clone()]);
    until("both are there", || *there.lock().unwrap() == both);
    drop(first);
    until("the other is alone", || *there.lock().unwrap() == BTreeSet::from([other.clone()]));
    drop((second, watch));
}

fn frames(engine: &Engine, coordinator: &dyn Messenger) {
    let (a, b) = ((engine.agent)("a"), (engine.agent)("b"));
    let kept = Arc::<Mutex<Vec<(String, u64, usize)>>>::default();
    let (seen, refused) = (Arc::clone(&kept), Arc::new(AtomicBool::new(false)));
    let once = Arc::clone(&refused);
    let receiving = coordinator
        .receive(
            "r",
            Box::new(move |id, frame| {
                // The third of a is refused once: a disk may be full.
                if (&*id.agent, id.seq) == ("a", 2) && !once.swap(true, Ordering::Relaxed) {
                    return false;
                }
                let mut seen = seen.lock().unwrap();
                let known = seen.iter().any(|(agent, seq, _)| *agent == id.agent && *seq == id.seq);
                if !known {
                    seen.push((id.agent.clone(), id.seq, frame.len()));
                }
                true
            }),
        )
        .unwrap();
    std::thread::scope(|scope| {
        for (name, agent) in [("a", &a), ("b", &b)] {
            scope.spawn(move || {
                for seq in 0..50 {
                    deliver(&**agent, &id(name, seq), &vec![1; seq as usize * 1000]);
                }
                deliver(&**agent, &id(name, 49), &vec![1; 49_000]);
            });
        }
    });
    until("all are kept", || kept.lock().unwrap().len() == 100);
    for name in ["a", "b"] {
        let mut own: Vec<(u64, usize)> = kept
            .lock()
            .unwrap()
            .iter()
            .filter(|(agent, ..)| agent == name)
            .map(|(_, seq, length)| (*seq, *length))
            .collect();
        // A durable stream may bring the refused one again after later ones; who keeps them sorts that out.
        own.sort_unstable();
        assert_eq!(own, (0..50).map(|seq| (seq, seq as usize * 1000)).collect::<Vec<_>>(), "{name}");
    }
    drop(receiving);
}

/// Agents pull a bundle in pieces; one that stands still holds up nobody.
fn pieces(engine: &Engine, coordinator: &dyn Messenger) {
    const PIECES: u8 = 80;
    let bundle = coordinator.answer("run/r", Box::new(|question| vec![question[0]; 256 << 10])).unwrap();
    let frozen = (engine.agent)("b");
    let _never = frozen.answer(
        "agent/b",
        Box::new(|_| {
            std::thread::sleep(FROZEN);
            Vec::new()
        }),
    );
    let number = std::env::var("SUITE_AGENTS").map_or(4, |number| number.parse().unwrap());
    let agents: Vec<Arc<dyn Messenger>> = (0..number).map(|_| (engine.agent)("a")).collect();
    let began = Instant::now();
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for agent in &agents {
            scope.spawn(|| {
                for piece in 0..PIECES {
                    let got = answered(&**agent, "run/r", &[piece + 1]);
                    assert!(got.len() == 256 << 10 && got[9] == piece + 1);
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), agents.len());
    println!("{number} agents pulled 20 MB each in {:.2} s, one frozen beside them", began.elapsed().as_secs_f64());
    drop(bundle);
}

#[test]
fn within_a_process() {
    let hub = LocalMessenger::default();
    let agents = hub.clone();
    let agent = move |_: &str| Arc::new(agents.participant()) as Arc<dyn Messenger>;
    suite(&Engine { coordinator: Arc::new(hub.participant()), agent: Box::new(agent) });
}

#[test]
fn on_zenoh_over_quic_with_certificates() {
    let fleet = ZenohFleet::make(&["a", "b"]);
    let coordinator = bridged(fleet.coordinator());
    suite(&Engine { coordinator, agent: Box::new(move |name| bridged(fleet.agent(name)) as Arc<dyn Messenger>) });
}

#[test]
fn on_nats_jetstream() {
    let Some(server) = NatsFleet::start() else { return };
    let coordinator = bridged(server.connect());
    suite(&Engine { coordinator, agent: Box::new(move |_| bridged(server.connect()) as Arc<dyn Messenger>) });
}
