//! A probe and its clients over loopback; arbitrary bytes in both directions.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;

use brunt_measure::{Clock, Nanos};
use brunt_record::{CounterValue, HostCounters};
use proptest::prelude::*;

use super::joined_probe::{JoinOptions, ProbeEvent};
use super::messages::{
    CLIENT_FRAMES, ClientMessage, CounterRequest, HostDescription, KernelNamespace, PROBE_FRAMES, ProbeMessage, prove,
    verify_proof,
};
use super::server::{ProbeServer, ProbeServerOptions, ServiceSelector, kernel_namespace};
use super::{ByteStream, TlsWrapper};
use crate::CounterSource;

fn bare() -> TlsWrapper {
    Box::new(|socket| Ok(Box::new(socket) as Box<dyn ByteStream>))
}

fn serving(token: Option<&str>, follow: ServiceSelector) -> ProbeServer {
    let facts =
        HostDescription { host: "db1".into(), kernel: "Linux 6".into(), cores: 2.0, ..HostDescription::default() };
    let granting = ProbeServerOptions {
        token: token.map(str::to_owned),
        service: follow,
        host: facts,
        tls: bare(),
        remark: Box::new(|_| ()),
    };
    ProbeServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), granting).unwrap()
}

fn joining(address: SocketAddr, token: Option<&str>, target: Option<SocketAddr>) -> Result<super::JoinedProbe, String> {
    JoinOptions { address: &address.to_string(), token, tls: bare(), target }.join()
}

/// Sends these bytes after a valid hello, and returns the messages received.
fn stranger(address: SocketAddr, said: &[u8]) -> Vec<ProbeMessage> {
    let mut socket = TcpStream::connect(address).unwrap();
    let mut from = BufReader::new(socket.try_clone().unwrap());
    PROBE_FRAMES.read_hello(&mut from).unwrap();
    let _ = socket.write_all(said);
    let heard = std::iter::from_fn(|| PROBE_FRAMES.read_frame(&mut from).ok().flatten());
    heard.map(|frame| ProbeMessage::parse(&frame).unwrap()).collect()
}

fn hello() -> Vec<u8> {
    let mut hello = Vec::new();
    CLIENT_FRAMES.write_hello(&mut hello).unwrap();
    hello
}

fn frame(asked: &ClientMessage) -> Vec<u8> {
    let ((kind, body), mut frame) = (asked.body(), Vec::new());
    CLIENT_FRAMES.write_frame(&mut frame, 0, kind, &body).unwrap();
    frame
}

#[test]
fn a_client_is_told_counters_on_its_own_clock_and_a_last_sample() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = target.local_addr().unwrap();
    let probe = serving(Some("open sesame"), ServiceSelector::Target);
    let before = Clock.now();
    let joined = joining(probe.address(), Some("open sesame"), Some(target)).unwrap();
    let facts = joined.facts().clone();
    assert_eq!((&*facts.host, facts.cores, facts.shares_kernel), ("db1", 2.0, true));
    // Both sides use the same clock.
    let clock = joined.clock();
    assert!(clock.ahead_ns.unsigned_abs() <= clock.error_ns, "{clock:?}");
    let (tell, news) = channel();
    let following = joined.follow(move |news| tell.send(news).unwrap()).unwrap();
    let sample = |news: ProbeEvent| match news {
        ProbeEvent::Sample(sample) => sample,
        ProbeEvent::Lost(why) => panic!("{why}"),
    };
    let first = sample(news.recv().unwrap());
    assert!(first.values.contains_key("cpu.count") && first.values.contains_key("Tcp.RetransSegs"), "{first:?}");
    let stopped = Clock.now();
    let last = following.stop().unwrap();
    assert!(last.ahead_ns.unsigned_abs() <= last.error_ns, "{last:?}");
    let rest: Vec<HostCounters> = news.iter().map(sample).collect();
    let moment = |sample: &HostCounters| Nanos(u64::try_from(sample.at_ns).unwrap());
    let within = Nanos(clock.error_ns + last.error_ns);
    assert!(moment(&first).0 + within.0 >= before.0);
    assert!(moment(rest.last().unwrap()).0 + within.0 >= stopped.0, "the last one is of the end");
}

#[test]
fn the_service_is_found_by_the_address_under_load_or_by_what_the_probe_was_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap();
    let nobody: SocketAddr = "127.0.0.1:1".parse().unwrap();
    for (follow, asked, holds, told) in [
        (ServiceSelector::Target, Some(target), true, true),
        (ServiceSelector::Target, Some(nobody), false, false),
        (ServiceSelector::Target, None, false, false),
        (ServiceSelector::Port(target.port()), None, false, true),
        (ServiceSelector::Port(target.port()), Some(nobody), false, true),
    ] {
        let probe = serving(None, follow);
        let joined = joining(probe.address(), None, asked).unwrap();
        assert_eq!(joined.facts().holds_target, holds, "{follow:?} {asked:?}");
        let (tell, news) = channel();
        let following = joined.follow(move |news| tell.send(news).unwrap()).unwrap();
        let ProbeEvent::Sample(first) = news.recv().unwrap() else { panic!("lost") };
        drop(following);
        let name = format!("listener.{target}.queue");
        assert_eq!(first.values.contains_key(&name), told, "{follow:?} {asked:?}");
    }
    drop(listener);
    let probe = serving(None, ServiceSelector::Port(target.port()));
    let refused = joining(probe.address(), None, None).err().unwrap();
    assert_eq!(refused, format!("port {}: nothing listens there", target.port()));
}

#[test]
fn loopback_is_an_address_of_this_host_only_for_those_who_share_its_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Some(listener.local_addr().unwrap());
    let probe = serving(None, ServiceSelector::Target);
    let here = kernel_namespace(&CounterSource::here());
    let holds = |place: KernelNamespace| {
        let ask = ClientMessage::Ask(CounterRequest { target, place, ..CounterRequest::default() });
        let last = frame(&ClientMessage::Last);
        let told = stranger(probe.address(), &[hello(), frame(&ask), last.clone(), last].concat());
        told.into_iter()
            .find_map(|told| if let ProbeMessage::Welcome(facts) = told { Some(facts.holds_target) } else { None })
    };
    assert_eq!(holds(here.clone()), Some(true));
    for place in [
        KernelNamespace { network: "net:[1]".into(), ..here.clone() },
        KernelNamespace { boot: "x".into(), ..here },
        KernelNamespace::default(),
    ] {
        assert_eq!(holds(place.clone()), Some(false), "{place:?}");
    }
}

#[test]
fn who_does_not_have_the_token_is_told_so_and_nothing_else() {
    let probe = serving(Some("right"), ServiceSelector::Target);
    for (token, said) in
        [(None, "it requires a token"), (Some("wrong"), "the token is wrong"), (Some("righ"), "the token is wrong")]
    {
        assert_eq!(joining(probe.address(), token, None).err().as_deref(), Some(said));
    }
    assert!(joining(probe.address(), Some("right"), None).is_ok());
    // A proof is valid only once, and does not contain the token.
    let (one, other) = ([1; 32], [2; 32]);
    let proof = prove("right", &one);
    assert!(
        verify_proof("right", &one, &proof)
            && !verify_proof("right", &other, &proof)
            && !verify_proof("r", &one, &proof)
    );
}

#[test]
fn another_version_and_what_is_no_brunt_are_told_apart() {
    let probe = serving(None, ServiceSelector::Target);
    for (said, why) in [
        (&b"brunt-probe 99 7.7\n"[..], "it is brunt 7.7 with version 99 of the probe's protocol"),
        (b"GET / HTTP/1.1\r\n\r\n", "the other end is not brunt"),
    ] {
        let told = stranger(probe.address(), said);
        let Some(ProbeMessage::Refused(refused)) = told.last() else { panic!("{told:?}") };
        assert!(refused.contains(why), "{refused}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        for said in ["brunt-probe 99 7.7\n", "220 mail ESMTP\r\n", ""] {
            let (mut peer, _) = listener.accept().unwrap();
            peer.write_all(said.as_bytes()).unwrap();
            let _ = peer.shutdown(std::net::Shutdown::Write);
            let _ = peer.read_to_end(&mut Vec::new());
        }
    });
    for why in ["it is brunt 7.7 with version 99", "it sent `220 mail ESMTP`", "it closed the connection"] {
        let refused = joining(address, None, None).err().unwrap();
        assert!(refused.starts_with(why), "{refused}");
    }
    server.join().unwrap();
}

#[test]
fn a_client_can_ask_for_the_time_and_for_the_end_and_nothing_else() {
    let probe = serving(None, ServiceSelector::Target);
    let welcome = [hello(), frame(&ClientMessage::Ask(CounterRequest::default()))].concat();
    let refused = |said: Vec<u8>| {
        let told = stranger(probe.address(), &[welcome.clone(), said].concat());
        match told.last() {
            Some(ProbeMessage::Refused(why)) => why.clone(),
            _ => format!("{} frames", told.len()),
        }
    };
    let nothing = "it got an invalid request";
    assert_eq!(refused(frame(&ClientMessage::Ask(CounterRequest::default()))), nothing);
    assert_eq!(
        refused([frame(&ClientMessage::Last), frame(&ClientMessage::Last)].concat()),
        nothing,
        "there is one end"
    );
    assert_eq!(refused(vec![6, 0, 0, 0, 0, 0, 0, 0, 99, 1]), nothing);
    assert_eq!(refused(frame(&ClientMessage::Time(Nanos(7))).repeat(5_000)), "it gets too many requests");
    let told = stranger(probe.address(), &[hello(), frame(&ClientMessage::Last)].concat());
    assert_eq!(told.last(), Some(&ProbeMessage::Refused("the first message was not a request for counters".into())));
    // A frame whose announced length exceeds that of any client frame ends the connection at once, and so does a
    // truncated one.
    let told = stranger(probe.address(), &[welcome.clone(), u32::MAX.to_le_bytes().to_vec()].concat());
    assert!(!told.iter().any(|told| matches!(told, ProbeMessage::Timestamps(_))));
}

#[test]
fn no_more_are_served_at_once_than_it_says_and_a_place_is_free_again_when_one_goes() {
    let probe = serving(None, ServiceSelector::Target);
    let mut all: Vec<_> = (0..8).map(|_| joining(probe.address(), None, None).unwrap()).collect();
    assert_eq!(joining(probe.address(), None, None).err().as_deref(), Some("it already serves eight clients"));
    all.pop();
    // The thread that serves the client notices a moment later.
    let again = (0..2_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        joining(probe.address(), None, None).ok()
    });
    assert!(again.is_some());
    drop(probe);
    let (tell, news) = channel();
    let following = all.pop().unwrap().follow(move |news| drop(tell.send(news))).unwrap();
    let lost = news.iter().find_map(|news| if let ProbeEvent::Lost(why) = news { Some(why) } else { None });
    assert!(lost.is_some(), "it has ended");
    drop(following);
}

#[test]
fn who_is_slow_to_say_hello_has_to_go() {
    let probe = serving(Some("t"), ServiceSelector::Target);
    // One byte at a time: each arrives in time, but the complete hello does not.
    let mut socket = TcpStream::connect(probe.address()).unwrap();
    let mut read = socket.try_clone().unwrap();
    let dribble = std::thread::spawn(move || {
        while socket.write_all(b"b").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    let _ = read.read_to_end(&mut Vec::new());
    dribble.join().unwrap();
    assert!(joining(probe.address(), Some("t"), None).is_ok(), "others are served");
}

#[test]
fn a_probe_that_is_lost_tells_that_nothing_of_it_can_be_read() {
    let probe = serving(None, ServiceSelector::Target);
    let joined = joining(probe.address(), None, None).unwrap();
    let (tell, news) = channel();
    let following = joined.follow(move |news| tell.send(news).unwrap()).unwrap();
    let ProbeEvent::Sample(first) = news.recv().unwrap() else { panic!("lost at once") };
    drop(probe);
    let mut rest: Vec<ProbeEvent> = Vec::new();
    while !matches!(rest.last(), Some(ProbeEvent::Lost(_))) {
        rest.push(news.recv().unwrap());
    }
    let Some(ProbeEvent::Sample(gone)) = rest.iter().rev().nth(1) else { panic!("{rest:?}") };
    assert!(gone.gone.len() >= first.values.len() / 2 && gone.values.is_empty(), "{gone:?}");
    assert!(gone.unobservable[0].starts_with("probe 127.0.0.1:"), "{gone:?}");
    drop(following);
}

#[test]
fn what_a_host_cannot_be_called_is_no_sample() {
    let sample = |name: &str, word: &str| {
        let values = [(name.to_owned(), CounterValue::Whole(1))].into();
        let unobservable = vec![word.to_owned()];
        ProbeMessage::Sample(HostCounters { values, unobservable, ..HostCounters::default() })
    };
    let read = |told: &ProbeMessage| {
        let ((kind, body), mut frame) = (told.body(), Vec::new());
        PROBE_FRAMES.write_frame(&mut frame, 0, kind, &body).unwrap();
        ProbeMessage::parse(&frame[4..])
    };
    let good = sample("Tcp.OutSegs", "psi: permission");
    assert_eq!(read(&good).as_ref(), Some(&good));
    for bad in [
        sample("a\u{1b}[2J", ""),
        sample("", ""),
        sample(&"n".repeat(301), ""),
        sample("a\n", ""),
        sample("a", &"w".repeat(501)),
    ] {
        assert_eq!(read(&bad), None, "{bad:?}");
    }
    let facts = HostDescription { host: format!("\u{1b}[2Jdb{}", "x".repeat(5_000)), ..HostDescription::default() };
    let Some(ProbeMessage::Welcome(facts)) = read(&ProbeMessage::Welcome(facts)) else { panic!("no welcome") };
    assert!(!facts.host.contains('\u{1b}') && facts.host.len() < 1_000, "{}", facts.host.len());
}

proptest! {
    /// Frames with arbitrary content of any kind.
    #[test]
    fn any_bytes_are_read_alike(kind in 0u8..10, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut frame = Vec::new();
        CLIENT_FRAMES.write_frame(&mut frame, 0, kind, &bytes).unwrap();
        super::oracle::check_messages(&frame);
        super::oracle::check_messages(&bytes);
    }

    /// A sample with one byte changed.
    #[test]
    fn a_garbled_sample_is_read_alike(at in 0usize..300, with in any::<u8>()) {
        let values = [("Tcp.OutSegs".to_owned(), CounterValue::Whole(7)), ("load".to_owned(), CounterValue::Real(0.5))].into();
        let labels = [("setting.clocksource".to_owned(), "tsc".to_owned())].into();
        let gone = vec!["service.7.cpu".to_owned()];
        let sample = HostCounters { at_ns: 9, host: "db1".into(), values, labels, gone, unobservable: vec!["psi: permission".into()] };
        for told in [ProbeMessage::Sample(sample.clone()), ProbeMessage::LastSample(sample), ProbeMessage::Welcome(HostDescription { host: "db1".into(), ..HostDescription::default() })] {
            let ((kind, body), mut frame) = (told.body(), Vec::new());
            PROBE_FRAMES.write_frame(&mut frame, 0, kind, &body).unwrap();
            let at = at % frame.len();
            frame[at] = with;
            super::oracle::check_messages(&frame);
        }
    }

    /// A conversation with one changed byte is either parsed or refused.
    #[test]
    fn a_garbled_conversation_ends(at in 0usize..120, with in any::<u8>()) {
        let probe = serving(Some("t"), ServiceSelector::Target);
        let mut said = [hello(), frame(&ClientMessage::Ask(CounterRequest { proof: vec![1; 32], ..CounterRequest::default() }))].concat();
        let at = at % said.len();
        said[at] = with;
        let mut socket = TcpStream::connect(probe.address()).unwrap();
        socket.write_all(&said).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        let _ = socket.read_to_end(&mut heard);
        prop_assert!(!heard.windows(9).any(|nine| nine == b"cpu.count"), "nobody proved anything");
    }
}

#[test]
fn silent_connections_keep_no_client_out_and_are_remarked_upon() {
    let (tell, told) = channel();
    let granting = ProbeServerOptions {
        token: None,
        service: ServiceSelector::Target,
        host: HostDescription { cores: 2.0, ..HostDescription::default() },
        tls: bare(),
        remark: Box::new(move |remark| tell.send(remark).expect("a listening test")),
    };
    let server = ProbeServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), granting).unwrap();
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    drop(joining(server.address(), None, None).unwrap());
    let super::ProbeRemark::ClosedSilent(n) = told.recv().unwrap();
    assert!((1..=300).contains(&n), "{n}");
    drop(silent);
}
