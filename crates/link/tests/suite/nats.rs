//! A NATS server that dies, is silent, or keeps what it should not.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use brunt_link::NatsMessenger;
use brunt_messenger::{Messenger, Presence};
use futures_util::TryStreamExt;

use crate::fleets::{NatsFleet, bridged};
use crate::networks::{BUSY, hand_in};
use crate::proxies::StreamProxy;
use crate::{Attendance, KeptFrames, SOON, deliver, id, until};

/// Time within which whatever waits for a silent server gives up.
const GIVES_UP: Duration = Duration::from_secs(10);

#[test]
fn a_server_that_is_killed_and_started_again_loses_no_frame_and_nobody_who_is_there() {
    let Some(server) = NatsFleet::start() else { return };
    let (coordinator, agent) = (bridged(server.connect()), bridged(server.connect()));
    let (kept, attendance) = (KeptFrames::default(), Attendance::default());
    let _held = (kept.receive(&*coordinator), attendance.watch(&*coordinator));
    let _here = agent.appear(&Presence::draw("a")).unwrap();
    attendance.until("a", true, Instant::now() - SOON);
    let number = hand_in(&*agent, "a", |handed_in| {
        for round in 1..3 {
            until("some more", || handed_in() > round * 20);
            server.kill();
            server.start_again();
        }
        until("some after it", || handed_in() > 60);
    });
    until("all are kept", || kept.of("a").len() as u64 >= number);
    kept.assert_whole("a", number);
    // Watched from now on, too.
    let since = Instant::now();
    let (late, own) = (Attendance::default(), bridged(server.connect()));
    let _watch = late.watch(&*own);
    late.until("a", true, since);
    until("it is still there", || attendance.said().last() == Some(&("a".to_owned(), true)));
}

#[test]
fn a_server_that_loses_its_disk_gets_the_stream_again() {
    let Some(server) = NatsFleet::start() else { return };
    let (coordinator, agent) = (bridged(server.connect()), bridged(server.connect()));
    let kept = KeptFrames::default();
    let _receiving = kept.receive(&*coordinator);
    deliver(&*agent, &id("a", 0), b"x");
    until("it is kept", || kept.of("a") == [0]);
    server.kill();
    server.lose_disk();
    server.start_again();
    deliver(&*agent, &id("a", 1), b"x");
    until("the next is kept", || kept.of("a") == [0, 1]);
}

#[test]
fn runs_that_are_over_leave_nothing_on_the_server() {
    let Some(server) = NatsFleet::start() else { return };
    let (coordinator, agent) = (server.connect(), server.connect());
    let kept = KeptFrames::default();
    let receiving = [kept.receive(&*coordinator), coordinator.receive("s", Box::new(|_, _| true)).unwrap()];
    deliver(&*agent, &id("a", 0), b"x");
    until("it is kept", || kept.of("a") == [0]);
    let looked_at = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let context = async_nats::jetstream::new(async_nats::connect(&server.url()).await.unwrap());
            let streams: Vec<String> = context.stream_names().try_collect().await.unwrap();
            let [stream] = &streams[..] else { panic!("{streams:?}") };
            let mut stream = context.get_stream(stream).await.unwrap();
            let consumers: Vec<String> = stream.consumer_names().try_collect().await.unwrap();
            (consumers.len(), stream.info().await.unwrap().state.messages)
        })
    };
    assert_eq!(looked_at().0, 2);
    drop(receiving);
    until("it is empty", || looked_at() == (0, 0));
}

#[test]
fn nothing_waits_for_ever_for_a_server_that_is_silent() {
    let Some(server) = NatsFleet::start() else { return };
    let proxy = StreamProxy::start(server.url().trim_start_matches("nats://"));
    let url = format!("nats://{}", proxy.address);
    let messenger = NatsFleet::reach(&url);
    proxy.stall(true);
    // Each with whether its outcome is wrong.
    type Call = Box<dyn FnOnce(&dyn Messenger) -> bool + Send>;
    let reach = url.clone();
    let calls: [(&str, Call); 7] = [
        ("connect", Box::new(move |_| NatsMessenger::connect(&reach).is_ok())),
        // What is held may be made later, when the server speaks again.
        ("appear", Box::new(|own| own.appear(&Presence::draw("a")).is_err())),
        ("watch", Box::new(|own| own.watch(Box::new(|_, _| ())).is_err())),
        ("answer", Box::new(|own| own.answer("agent/a", Box::new(|_| Vec::new())).is_err())),
        ("receive", Box::new(|own| own.receive("r", Box::new(|_, _| true)).is_ok())),
        ("ask", Box::new(|own| own.ask("agent/a", b"?", Duration::from_secs(1)).is_ok())),
        ("deliver", Box::new(|own| own.deliver(&id("a", 0), b"x", Duration::from_secs(1)).is_ok())),
    ];
    let (told, outcomes) = channel();
    let number = calls.len();
    for (what, call) in calls {
        let (messenger, told) = (Arc::clone(&messenger), told.clone());
        std::thread::spawn(move || told.send((what, call(&*messenger))));
    }
    let end = Instant::now() + GIVES_UP + BUSY;
    for _ in 0..number {
        let left = end.saturating_duration_since(Instant::now());
        let (what, is_wrong) = outcomes.recv_timeout(left).expect("something waits for ever");
        assert!(!is_wrong, "{what}");
    }
}

#[test]
fn a_frame_that_grew_until_it_was_tried_again_is_another_one() {
    let Some(server) = NatsFleet::start() else { return };
    let (coordinator, agent) = (bridged(server.connect()), bridged(server.connect()));
    let (told, lengths) = channel();
    let keep = move |_: &_, frame: &[u8]| told.send(frame.len()).is_ok();
    let _receiving = coordinator.receive("r", Box::new(keep)).unwrap();
    // What came twice because its acknowledgement was late, and what the agent added to it meanwhile.
    for frame in [&b"one"[..], b"one", b"onetwo"] {
        deliver(&*agent, &id("a", 0), frame);
    }
    assert_eq!((lengths.recv_timeout(SOON), lengths.recv_timeout(SOON)), (Ok(3), Ok(6)));
}
