//! The bridge between threads, with the messenger of one process behind it.

use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::*;
use crate::{FrameId, LocalMessenger, Messenger, Presence, Undelivered};

const SOON: Duration = Duration::from_secs(20);

/// Connects a client through a bridge to a participant of a local fleet.
fn linked(hub: &LocalMessenger) -> LinkedMessenger {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let messenger: Arc<dyn Messenger> = Arc::new(hub.participant());
    std::thread::spawn(move || serve(theirs, messenger).unwrap());
    LinkedMessenger::connect(ours).unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_six_verbs_pass_the_bridge() {
    let hub = LocalMessenger::default();
    let (coordinator, agent) = (linked(&hub), linked(&hub));
    let there = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&there);
    let _watch = coordinator.watch(Box::new(move |who, is| told.lock().unwrap().push((who.clone(), is)))).unwrap();
    let a = Presence::draw("a");
    let here = agent.appear(&a).unwrap();
    until("it appears", || *there.lock().unwrap() == [(a.clone(), true)]);
    let answers = agent.answer("agent/a", Box::new(|question| [b"said ", question].concat())).unwrap();
    assert_eq!(coordinator.ask("agent/a", b"yes", SOON).unwrap(), b"said yes");
    let large = vec![7; 3 << 20];
    assert_eq!(coordinator.ask("agent/a", &large, SOON).unwrap().len(), large.len() + 5);
    assert!(coordinator.ask("agent/b", b"?", SOON).is_err());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&kept);
    let _receiving = coordinator
        .receive(
            "r",
            Box::new(move |id, frame| {
                seen.lock().unwrap().push((id.seq, frame.to_vec()));
                id.seq != 1
            }),
        )
        .unwrap();
    let id = |seq| FrameId { run: "r".into(), agent: "a".into(), epoch: 0, seq };
    assert_eq!(agent.deliver(&id(0), b"x", SOON), Ok(()));
    assert!(agent.deliver(&id(1), b"y", SOON).is_err(), "it was not kept");
    assert!(agent.deliver(&FrameId { run: "s".into(), ..id(2) }, b"z", SOON).is_err(), "nobody receives that run");
    assert_eq!(*kept.lock().unwrap(), [(0, b"x".to_vec()), (1, b"y".to_vec())]);
    drop((here, answers));
    until("it goes", || there.lock().unwrap().last() == Some(&(a.clone(), false)));
    until("nobody answers", || coordinator.ask("agent/a", b"?", SOON).is_err());
}

#[test]
fn calls_from_many_threads_get_their_own_answers() {
    let hub = LocalMessenger::default();
    let (coordinator, agent) = (linked(&hub), linked(&hub));
    let _answers = agent
        .answer(
            "agent/a",
            Box::new(|question| {
                std::thread::sleep(Duration::from_millis(u64::from(question[0] % 7)));
                question.to_vec()
            }),
        )
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let coordinator = &coordinator;
            scope.spawn(move || {
                for n in 0..50u8 {
                    assert_eq!(coordinator.ask("agent/a", &[n, thread], SOON).unwrap(), [n, thread]);
                }
            });
        }
    });
}

#[test]
fn a_client_that_is_gone_has_gone_from_the_fleet_and_one_whose_link_is_gone_is_told() {
    let hub = LocalMessenger::default();
    let coordinator = linked(&hub);
    let (told, heard) = channel();
    let _watch = coordinator
        .watch(Box::new(move |_, is| {
            let _ = told.send(is);
        }))
        .unwrap();
    let agent = linked(&hub);
    let here = agent.appear(&Presence::draw("a")).unwrap();
    assert_eq!(heard.recv_timeout(SOON), Ok(true));
    std::mem::forget(here);
    drop(agent);
    assert_eq!(heard.recv_timeout(SOON), Ok(false));

    let (ours, theirs) = UnixStream::pair().unwrap();
    let link = std::thread::spawn(move || {
        let mut theirs = theirs;
        PROTOCOL.write_hello(&mut theirs).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    });
    let client = LinkedMessenger::connect(ours).unwrap();
    assert_eq!(client.appear(&Presence::draw("a")).err(), Some(Undelivered("the link to the fleet has ended".into())));
    link.join().unwrap();
    assert!(!client.is_alive());
}

#[test]
fn a_client_that_says_nothing_is_not_there_until_it_does() {
    let hub = LocalMessenger::default();
    let there = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&there);
    let _watch = hub.watch(Box::new(move |_, is| told.lock().unwrap().push(is))).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let messenger: Arc<dyn Messenger> = Arc::new(hub.participant());
    std::thread::spawn(move || serve(theirs, messenger).unwrap());
    PROTOCOL.write_hello(&mut ours).unwrap();
    message::Message::Appear(Presence::draw("a")).write(&mut ours, 1).unwrap();
    until("it froze", || *there.lock().unwrap() == [true, false]);
    message::Message::Beat.write(&mut ours, 0).unwrap();
    until("it goes on", || *there.lock().unwrap() == [true, false, true]);
}

#[test]
fn a_client_that_reads_nothing_holds_up_nobody_who_comes_or_goes() {
    let hub = LocalMessenger::default();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let messenger: Arc<dyn Messenger> = Arc::new(hub.participant());
    std::thread::spawn(move || serve(theirs, messenger).unwrap());
    PROTOCOL.write_hello(&mut ours).unwrap();
    message::Message::Watch.write(&mut ours, 1).unwrap();
    message::Message::Answer("agent/c".into()).write(&mut ours, 2).unwrap();
    let mut reader = std::io::BufReader::new(ours);
    PROTOCOL.read_hello(&mut reader).unwrap();
    let done = message::Message::Done;
    for call in [1, 2] {
        assert_eq!(message::Message::read(&mut reader).unwrap(), Some((call, done.clone())));
    }
    // Longer than what fits between the two: whoever passes it on waits for the client to read.
    assert!(hub.ask("agent/c", &vec![0; 3 << 20], Duration::from_millis(300)).is_err());
    let (told, returned) = channel();
    let came = hub.participant();
    let a = Presence::draw("a");
    let comes = a.clone();
    std::thread::spawn(move || told.send(came.appear(&comes).map(|_goes_again| ())));
    assert_eq!(returned.recv_timeout(SOON / 2), Ok(Ok(())), "it waits for a client that stands still");
    let presence = |is_there| message::Message::Presence { presence: a.clone(), is_there };
    let read = [0; 3].map(|_| message::Message::read(&mut reader).unwrap().unwrap().1);
    assert!(matches!(&read[0], message::Message::Question { question, .. } if question.len() == 3 << 20));
    assert_eq!(read[1..], [presence(true), presence(false)]);
}

#[test]
fn any_bytes_are_read_without_harm() {
    let id = FrameId { run: "r".into(), agent: "a".into(), epoch: 1, seq: 9 };
    let mut bytes = Vec::new();
    for message in [
        message::Message::Ask { address: "agent/a".into(), within_ms: 9, question: vec![1, 2] },
        message::Message::Deliver { id: id.clone(), within_ms: 1, frame: vec![3; 40] },
        message::Message::Frame { held: 4, id, frame: Vec::new() },
        message::Message::Presence { presence: Presence::draw("a"), is_there: true },
    ] {
        message.write(&mut bytes, 7).unwrap();
    }
    // Those with which the fuzz target begins: each message of a side once.
    let seeds = [
        &include_bytes!("../../../../fuzz/seeds/bridge/asked")[..],
        include_bytes!("../../../../fuzz/seeds/bridge/told"),
    ];
    for (mut seed, number) in seeds.into_iter().zip([10, 6]) {
        oracle(seed);
        bytes.extend(seed);
        let read = std::iter::from_fn(|| message::Message::read(&mut seed).unwrap());
        assert_eq!(read.count(), number);
    }
    oracle(&bytes);
    for at in 0..bytes.len() {
        oracle(&bytes[..at]);
        let mut bad = bytes.clone();
        bad[at] ^= 0x41;
        oracle(&bad);
    }
}
