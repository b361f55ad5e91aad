//! Tests of simulated TLS: handshakes, records split anywhere, and each failure.

use brunt_contract::{
    ChannelProgress, ConnId, Network, NetworkEvent, Origin, OutputBuffer, SecureChannel, SecureChannelFactory,
};
use brunt_measure::Nanos;

use super::super::{FakeFailure, FakeSecurity, FakeSettings, SecurePeer, Sim, SimPeer, SimSettings};
use super::{EchoPeer, blob, connected, echo};

const SECOND: Nanos = Nanos::from_secs(1);

fn origin() -> Origin {
    Origin::tcp("a.test", 443, true)
}

type SecureSim = Sim<SecurePeer<EchoPeer>>;

fn secured(seed: u64, settings: SimSettings) -> SecureSim {
    Sim::new(seed, settings, Box::new(SecurePeer::new(EchoPeer::default())))
}

/// Observed events of a channel.
#[derive(Debug, Default)]
struct ChannelLog {
    plain: Vec<u8>,
    established: Option<Nanos>,
    ended: bool,
    failed: Option<String>,
    closed: bool,
}

/// Runs the simulation for a second, and lets the channel process everything that arrives.
fn follow<P: SimPeer>(sim: &mut Sim<P>, conn: ConnId, channel: &mut dyn SecureChannel, seen: &mut ChannelLog) {
    let end = sim.now() + SECOND;
    let mut cipher = OutputBuffer::default();
    while sim.now() < end {
        sim.wait(end);
        loop {
            match sim.next() {
                Some(NetworkEvent::Received(_, bytes)) => match channel.feed(bytes, &mut seen.plain, &mut cipher) {
                    Ok(ChannelProgress::Established) => seen.established = Some(sim.now()),
                    Ok(ChannelProgress::PeerFinished) => seen.ended = true,
                    Ok(ChannelProgress::More) => {}
                    Err(why) => seen.failed = Some(why.to_string()),
                },
                Some(NetworkEvent::Closed(..)) => seen.closed = true,
                Some(_) => {}
                None => break,
            }
            sim.send(conn, &mut cipher);
        }
    }
}

fn shaken(sim: &mut SecureSim, security: &FakeSecurity) -> (ConnId, Box<dyn SecureChannel>, ChannelLog) {
    let conn = connected(sim);
    let mut channel = security.client(&origin(), &[b"h2", b"http/1.1"]).unwrap();
    let (mut cipher, mut seen) = (OutputBuffer::default(), ChannelLog::default());
    channel.start(&mut cipher);
    sim.send(conn, &mut cipher);
    follow(sim, conn, &mut *channel, &mut seen);
    (conn, channel, seen)
}

fn say(sim: &mut SecureSim, conn: ConnId, channel: &mut dyn SecureChannel, bytes: &[u8]) {
    let (mut plain, mut cipher) = (OutputBuffer::default(), OutputBuffer::default());
    plain.put(bytes);
    channel.seal(&plain, &mut cipher);
    sim.send(conn, &mut cipher);
}

#[test]
fn a_handshake_takes_its_round_trips_and_data_goes_both_ways_in_any_split() {
    for rounds in [1, 2, 3] {
        for (seed, split) in [(1, 0.0), (2, 1.0), (3, 0.5)] {
            let mut sim = secured(seed, SimSettings { split, read_size: 700, ..SimSettings::default() });
            let security = FakeSecurity::new(FakeSettings { round_trips: rounds, ..FakeSettings::default() });
            let begun = sim.now() + Nanos::from_micros(100);
            let (conn, mut channel, mut seen) = shaken(&mut sim, &security);
            let took = seen.established.unwrap() - begun;
            if split == 0.0 {
                assert_eq!(took, Nanos::from_micros(100 * u64::from(rounds)));
            }
            let settled = channel.handshake().unwrap();
            assert_eq!((settled.alpn.as_deref(), settled.resumed), (Some(&b"http/1.1"[..]), false));
            let asked = blob(40_000);
            say(&mut sim, conn, &mut *channel, &asked);
            follow(&mut sim, conn, &mut *channel, &mut seen);
            assert!(seen.plain == asked && sim.peer().inner().received == asked);
            say(&mut sim, conn, &mut *channel, b"close");
            follow(&mut sim, conn, &mut *channel, &mut seen);
            if split == 0.0 {
                assert!(seen.plain.ends_with(b"last words") && seen.ended && seen.closed);
            }
        }
    }
}

#[test]
fn later_handshakes_resume_where_that_is_on() {
    for resume in [false, true] {
        let mut sim = secured(1, SimSettings::default());
        let security = FakeSecurity::new(FakeSettings { resume, ..FakeSettings::default() });
        let resumed = [(); 3].map(|()| shaken(&mut sim, &security).1.handshake().unwrap().resumed);
        assert_eq!(resumed, [false, resume, resume]);
    }
}

#[test]
fn each_failure_shows_as_it_would_in_life() {
    let fails = |failure| FakeSecurity::new(FakeSettings { failure: Some((failure, 2)), ..FakeSettings::default() });
    let cases = [
        (FakeFailure::BadCertificate, Some("certificate of a.test"), false),
        (FakeFailure::Refused, Some("a.test refused the handshake"), true),
        (FakeFailure::NoTls, Some("does not use TLS"), true),
        (FakeFailure::Silent, None, false),
    ];
    for (failure, expected, closed) in cases {
        let (mut sim, security) = (secured(1, SimSettings::default()), fails(failure));
        assert!(shaken(&mut sim, &security).2.established.is_some(), "only every second one fails");
        let (_, channel, seen) = shaken(&mut sim, &security);
        assert_eq!((seen.established, channel.handshake()), (None, None));
        assert_eq!(seen.closed, closed, "{failure:?}");
        match expected {
            Some(sentence) => assert!(seen.failed.as_ref().is_some_and(|s| s.contains(sentence)), "{seen:?}"),
            None => assert_eq!(seen.failed, None),
        }
    }
    let (mut sim, security) = (secured(1, SimSettings::default()), fails(FakeFailure::DamagedRecord));
    shaken(&mut sim, &security);
    let (conn, mut channel, mut seen) = shaken(&mut sim, &security);
    assert!(seen.established.is_some());
    say(&mut sim, conn, &mut *channel, b"hello");
    follow(&mut sim, conn, &mut *channel, &mut seen);
    assert!(seen.failed.unwrap().contains("cannot be decrypted") && seen.plain.is_empty());

    let security = fails(FakeFailure::BadName);
    assert!(security.client(&origin(), &[]).is_ok());
    assert!(security.client(&origin(), &[]).err().unwrap().to_string().contains("not a valid server name"));
}

#[test]
fn a_plain_peer_does_not_speak_tls() {
    let mut sim = echo(1, SimSettings::default());
    let conn = connected(&mut sim);
    let mut channel = FakeSecurity::new(FakeSettings::default()).client(&origin(), &[]).unwrap();
    let (mut cipher, mut seen) = (OutputBuffer::default(), ChannelLog::default());
    cipher.put(b"an echo comes back");
    sim.send(conn, &mut cipher);
    follow(&mut sim, conn, &mut *channel, &mut seen);
    assert_eq!(seen.failed.unwrap(), "a.test does not use TLS on this port");
}
