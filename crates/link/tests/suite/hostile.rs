//! An agent that has turned: with its own token and Zenoh itself, it tries what the link never would.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use brunt_messenger::{Messenger, Presence};
use serde_json::json;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

use crate::fleets::ZenohFleet;
use crate::processes::Processes;
use crate::{Attendance, KeptFrames, answered, deliver, id, until};

/// Time within which what is forbidden would have happened.
const SETTLED: Duration = Duration::from_secs(2);
/// Questions that the hostile agent sends, unless `SUITE_QUESTIONS` says so.
const QUESTIONS: usize = 20_000;
/// Length of its longest messages.
const BODY: usize = 100 << 20;
/// Memory of the coordinator's link meanwhile: it holds at most what it allows to be under way.
const BOUNDED_KB: u64 = 300 << 10;

/// Opens a session with a fleet's coordinator that keeps to no rules.
fn turned(fleet: &ZenohFleet, name: &str) -> Session {
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let identity = fleet.identity(name);
    let tls = json!({
        "root_ca_certificate_base64": base64(&identity.ca),
        "connect_certificate_base64": base64(&identity.cert),
        "connect_private_key_base64": base64(&identity.key),
        "enable_mtls": true,
        "verify_name_on_connect": false,
    });
    let config = json!({
        "mode": "client",
        "connect": { "endpoints": [format!("quic/{}", fleet.address)], "timeout_ms": 10_000, "exit_on_failure": true },
        "scouting": { "multicast": { "enabled": false } },
        "transport": { "link": { "tls": tls } },
    });
    zenoh::open(Config::from_json5(&config.to_string()).unwrap()).wait().unwrap()
}

#[test]
fn a_hostile_agent_sees_and_changes_nothing_of_others() {
    let fleet = ZenohFleet::make(&["a", "b"]);
    let coordinator = fleet.coordinator();
    let (kept, attendance) = (KeptFrames::default(), Attendance::default());
    let _held = (kept.receive(&*coordinator), attendance.watch(&*coordinator));
    let _bundle = coordinator.answer("run/r", Box::new(|_| b"plan".to_vec())).unwrap();
    // Apart, so that what one session says itself is not what another sees.
    let [hostile, listening, asking] = [(); 3].map(|()| turned(&fleet, "a"));
    let seen = Arc::<AtomicUsize>::default();
    let count = |seen: &Arc<AtomicUsize>| {
        let seen = Arc::clone(seen);
        move || {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    };
    // It listens to everything, …
    let (told, noted) = (count(&seen), count(&seen));
    let _subscriber = listening.declare_subscriber("brunt/**").callback(move |_| told()).wait().unwrap();
    let presence = listening.liveliness().declare_subscriber("brunt/**").history(true);
    let _presence = presence.callback(move |_| noted()).wait().unwrap();
    // … answers for everybody, …
    let _forged: Vec<_> = ["brunt/ask/agent/b", "brunt/ask/run/r", "brunt/ask/**", "brunt/frame/**", "brunt/member/b"]
        .map(|key| {
            let asked = count(&seen);
            let forge = move |query: zenoh::query::Query| {
                asked();
                let _ = query.reply(query.key_expr().clone(), "forged").wait();
            };
            hostile.declare_queryable(key).complete(true).callback(forge).wait().unwrap()
        })
        .into();
    // … appears as another, and publishes.
    let _appears = ["brunt/here/b", "brunt/here/b/1", "brunt/here/*/1", "brunt/here/a/*"]
        .map(|key| hostile.liveliness().declare_token(key).wait().unwrap());
    for key in ["brunt/frame/r/b", "brunt/ask/agent/b", "brunt/ask/run/r", "brunt/here/b"] {
        hostile.put(key, "forged").wait().unwrap();
        hostile.delete(key).wait().unwrap();
    }
    std::thread::sleep(SETTLED);
    assert_eq!(attendance.said(), [], "it appeared as another");
    let honest = fleet.agent("b");
    let asked = Arc::<AtomicUsize>::default();
    let heard = count(&asked);
    let respond = move |_: &[u8]| {
        heard();
        b"b".to_vec()
    };
    let _here = (honest.answer("agent/b", Box::new(respond)).unwrap(), honest.appear(&Presence::draw("b")).unwrap());
    assert_eq!(answered(&*coordinator, "agent/b", b"?"), b"b");
    let before = asked.load(Ordering::Relaxed);
    // It asks others and for others, and hands in as another.
    let body = [&[0; 12][..], b"forged"].concat();
    let keys = [
        "brunt/ask/agent/b",
        "brunt/ask/agent/*",
        "brunt/**",
        "brunt/frame/r/b",
        "brunt/frame/*/*",
        "brunt/member/b",
        "@/**",
    ];
    // What a session says of itself comes from itself.
    let own = format!("@/{}/", asking.zid());
    for key in keys {
        let answers = asking.get(key).payload(body.clone()).timeout(SETTLED / 4).wait().unwrap();
        let answers = answers.into_iter().filter_map(|answer| answer.into_result().ok());
        let answers: Vec<_> = answers.filter(|sample| !sample.key_expr().starts_with(&own)).collect();
        assert!(answers.is_empty(), "{key}: {answers:?}");
    }
    let there = asking.liveliness().get("brunt/**").timeout(SETTLED / 4).wait().unwrap();
    assert_eq!(there.into_iter().filter(|answer| answer.result().is_ok()).count(), 0, "it sees who is there");
    for seq in 0..20 {
        deliver(&*honest, &id("b", seq), b"x");
        assert_eq!(answered(&*coordinator, "agent/b", b"?"), b"b");
        assert_eq!(answered(&*honest, "run/r", b"?"), b"plan");
    }
    assert_eq!(asked.load(Ordering::Relaxed), before + 20, "it asked another");
    kept.assert_whole("b", 20);
    assert!(kept.of("a").is_empty());
    assert_eq!(attendance.said(), [("b".to_owned(), true)]);
    assert_eq!(seen.load(Ordering::Relaxed), 0, "it saw or was asked something of others");
}

#[test]
fn a_flood_is_bounded_and_others_get_through() {
    let Processes { fleet, coordinator: link, agent: lent } = Processes::start();
    let coordinator = &*link.messenger;
    let kept = KeptFrames::default();
    let _receiving = kept.receive(coordinator);
    let answers = |question: &[u8]| {
        std::thread::sleep(Duration::from_millis(5));
        question[..1].to_vec()
    };
    let _bundle = coordinator.answer("run/r", Box::new(answers)).unwrap();
    deliver(&*lent.messenger, &id("a", 0), b"x");
    let questions = std::env::var("SUITE_QUESTIONS").map_or(QUESTIONS, |number| number.parse().unwrap());
    let (is_over, worst) = (Arc::<Mutex<bool>>::default(), Mutex::new(Duration::ZERO));
    let hostile = turned(&fleet, "b");
    let send = |key: &str, body: Vec<u8>| {
        let query = hostile.get(key).payload(body).congestion_control(CongestionControl::Block);
        query.timeout(Duration::from_secs(60)).callback(|_| ()).wait().unwrap();
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            (0..questions).for_each(|_| send("brunt/ask/run/r", vec![1; 1000]));
            // Whole ones of the greatest length that passes, and longer ones.
            (0..12).for_each(|_| send("brunt/frame/r/b", vec![1; 15 << 20]));
            ["brunt/ask/run/r", "brunt/frame/r/b"].iter().for_each(|key| send(key, vec![1; BODY]));
            *is_over.lock().unwrap() = true;
        });
        let mut seq = 1;
        while !*is_over.lock().unwrap() && !flood.is_finished() {
            let due = Instant::now();
            deliver(&*lent.messenger, &id("a", seq), &[1; 5000]);
            assert_eq!(answered(&*lent.messenger, "run/r", b"?"), b"?");
            let mut worst = worst.lock().unwrap();
            *worst = due.elapsed().max(*worst);
            seq += 1;
        }
    });
    let worst = worst.into_inner().unwrap().as_secs_f64();
    let peak = link.peak_kb();
    let took = began.elapsed().as_secs_f64();
    println!(
        "{questions} questions and more in {took:.1} s: at most {} MB, a frame and a question of another took {worst:.1} s at most",
        peak >> 10
    );
    assert!(peak < BOUNDED_KB, "{peak} kB");
    let after = Instant::now();
    until("it is as before", || lent.messenger.ask("run/r", b"?", SETTLED).is_ok());
    println!("another is answered {:.1} s after it", after.elapsed().as_secs_f64());
}
