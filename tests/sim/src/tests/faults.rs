//! Tests of refusals, resets and closes, limits of descriptors and ports, and the reuse of slots.

use brunt_contract::{ConnId, Network, PeerAddress};
use brunt_measure::Nanos;

use super::super::{ConnectDecision, PeerActions, Sim, SimDelay, SimPeer, SimSettings};
use super::{SimEvent, blob, connected, dial, echo, just, refused, send, turn, turns};

const SECOND: Nanos = Nanos::from_secs(1);

#[test]
fn a_refused_connection_is_told_after_the_connect_delay_and_never_within_the_call() {
    let mut sim = echo(1, SimSettings { refuse: 1.0, ..SimSettings::default() });
    let conn = sim.connect(&dial()).unwrap();
    assert!(sim.next().is_none());
    let told = turn(&mut sim, SECOND + SECOND);
    assert_eq!(told, [(SECOND + Nanos::from_micros(100), SimEvent::Closed(conn.0, Some(libc::ECONNREFUSED)))]);
    assert_eq!((sim.peer().opened, sim.peer().closed), (0, 0));
    sim.close(conn);
    assert_eq!(sim.connect(&dial()), Ok(conn), "the slot is given out again");
}

/// A peer that ignores connections before the first time, and refuses them before the second.
struct LateListener(Nanos, Nanos);

impl SimPeer for LateListener {
    fn connecting(&mut self, now: Nanos, _to: &PeerAddress) -> ConnectDecision {
        match now {
            _ if now < self.0 => ConnectDecision::Ignore,
            _ if now < self.1 => ConnectDecision::Refuse,
            _ => ConnectDecision::Accept,
        }
    }
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, _conn: u32, _bytes: &[u8], _say: &mut PeerActions) {}
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn a_server_may_be_silent_then_down_then_up() {
    let at = |s| SECOND + Nanos::from_secs(s);
    let mut sim = Sim::new(1, SimSettings::default(), Box::new(LateListener(at(1), at(2))));
    let silent = sim.connect(&dial()).unwrap();
    assert_eq!(turns(&mut sim, Nanos::from_millis(1500)), []);
    sim.abort(silent);
    let down = sim.connect(&dial()).unwrap();
    assert_eq!(just(&turns(&mut sim, SECOND)), [SimEvent::Closed(down.0, Some(libc::ECONNREFUSED))]);
    sim.close(down);
    connected(&mut sim);
}

#[test]
fn the_peer_closes_in_order_and_its_last_words_arrive_first() {
    let settings = SimSettings { split: 1.0, ..SimSettings::default() };
    for seed in 0..20 {
        let mut sim = echo(seed, SimSettings { split: 0.0, ..settings.clone() });
        let conn = connected(&mut sim);
        send(&mut sim, conn, b"close");
        let told = just(&turns(&mut sim, SECOND));
        assert_eq!(told, [SimEvent::Bytes(conn.0, b"last words".to_vec()), SimEvent::Closed(conn.0, None)]);
        send(&mut sim, conn, b"into the void");
        assert_eq!(turns(&mut sim, SECOND), []);
        assert_eq!(sim.peer().closed, 0, "the peer knows: it closed itself");
        sim.close(conn);
        assert_eq!(connected(&mut sim), conn);
    }
}

#[test]
fn a_reset_drops_what_is_on_its_way_and_not_what_had_arrived() {
    let mut sim = echo(1, SimSettings::default());
    let conn = connected(&mut sim);
    send(&mut sim, conn, b"reset");
    assert_eq!(just(&turns(&mut sim, SECOND)), [SimEvent::Closed(conn.0, Some(libc::ECONNRESET))]);
    sim.close(conn);

    // The client is busy while a response and then a reset arrive: it reads the response first.
    let mut sim = echo(1, SimSettings { send_cost: Nanos::from_millis(1), ..SimSettings::default() });
    let conn = connected(&mut sim);
    send(&mut sim, conn, b"hello");
    send(&mut sim, conn, b"reset");
    send(&mut sim, conn, b"never heard");
    let told = just(&turns(&mut sim, SECOND));
    assert_eq!(told, [SimEvent::Bytes(conn.0, b"hello".to_vec()), SimEvent::Closed(conn.0, Some(libc::ECONNRESET))]);
    assert_eq!(sim.peer().received, b"hello");
}

#[test]
fn resets_by_chance_end_both_sides_once() {
    let mut sim = echo(9, SimSettings { reset: 0.2, ..SimSettings::default() });
    let (mut resets, mut echoes, mut sends) = (0, 0, 0);
    for _ in 0..200 {
        let conn = connected(&mut sim);
        for _ in 0..5 {
            send(&mut sim, conn, b"ping");
            sends += 1;
            let told = just(&turns(&mut sim, Nanos::from_millis(1)));
            match told.as_slice() {
                [SimEvent::Bytes(_, bytes)] if bytes == b"ping" => echoes += 1,
                [SimEvent::Closed(_, Some(libc::ECONNRESET))] => {
                    resets += 1;
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        sim.close(conn);
        turns(&mut sim, Nanos::from_millis(1));
    }
    assert_eq!(resets + echoes, sends);
    assert!((100..170).contains(&resets), "{resets} of 200 connections, 1 - 0.8^5 of them expected");
    assert_eq!((sim.peer().opened, sim.peer().closed), (200, 200));
}

#[test]
fn after_close_nothing_arrives_and_the_peer_hears_everything_first() {
    let mut sim = echo(1, SimSettings::default());
    let conn = connected(&mut sim);
    send(&mut sim, conn, b"goodbye");
    sim.close(conn);
    let other = sim.connect(&dial()).unwrap();
    assert_ne!(other, conn, "the peer does not know yet");
    assert_eq!(just(&turns(&mut sim, SECOND)), [SimEvent::Connected(other.0)]);
    assert_eq!((sim.peer().received.as_slice(), sim.peer().closed), (&b"goodbye"[..], 1));

    send(&mut sim, other, b"unheard");
    sim.abort(other);
    assert_eq!(turns(&mut sim, SECOND), []);
    assert_eq!((sim.peer().received.as_slice(), sim.peer().closed), (&b"goodbye"[..], 2));
}

#[test]
fn closing_what_just_arrived_takes_its_news_away() {
    let mut sim = echo(1, SimSettings::default());
    let conns = [(); 3].map(|()| connected(&mut sim));
    conns.iter().for_each(|c| send(&mut sim, *c, b"x"));
    sim.wait(SECOND + SECOND);
    conns.iter().for_each(|c| sim.close(*c));
    assert!(sim.next().is_none());
    turns(&mut sim, SECOND);
    let again: Vec<ConnId> = (0..3).map(|_| sim.connect(&dial()).unwrap()).collect();
    let told = just(&turns(&mut sim, SECOND));
    assert_eq!(told, again.iter().map(|c| SimEvent::Connected(c.0)).collect::<Vec<_>>());
}

#[test]
fn descriptors_and_ports_run_out_with_the_right_numbers() {
    let mut sim = echo(1, SimSettings { max_descriptors: Some(2), ..SimSettings::default() });
    let first = connected(&mut sim);
    connected(&mut sim);
    assert_eq!(sim.connect(&dial()), refused(libc::EMFILE));
    sim.close(first);
    connected(&mut sim);

    let mut sim = echo(1, SimSettings { max_ports: Some(2), ..SimSettings::default() });
    let (closed, aborted) = (connected(&mut sim), connected(&mut sim));
    assert_eq!(sim.connect(&dial()), refused(libc::EADDRNOTAVAIL));
    sim.abort(aborted);
    let again = connected(&mut sim);
    sim.close(closed);
    assert_eq!(sim.connect(&dial()), refused(libc::EADDRNOTAVAIL), "its port rests");
    turns(&mut sim, Nanos::from_secs(59));
    assert_eq!(sim.connect(&dial()), refused(libc::EADDRNOTAVAIL));
    turns(&mut sim, Nanos::from_secs(1));
    connected(&mut sim);
    send(&mut sim, again, b"close");
    turns(&mut sim, SECOND);
    sim.close(again);
    connected(&mut sim);
}

#[test]
fn beyond_the_window_bytes_are_unsent_and_close_drops_them() {
    let latency = SimDelay::fixed(Nanos::from_millis(1));
    let mut sim = echo(1, SimSettings { window: Some(1000), latency, ..SimSettings::default() });
    let conn = connected(&mut sim);
    let all = blob(1700);
    send(&mut sim, conn, &all[..900]);
    send(&mut sim, conn, &all[900..]);
    assert_eq!((sim.unsent(conn), sim.bytes_sent()), (700, 1000));
    sim.close(conn);
    turns(&mut sim, SECOND);
    assert_eq!(sim.peer().received, all[..1000]);
}

#[test]
fn the_end_of_waiting_is_told_once() {
    let latency = SimDelay::fixed(Nanos::from_millis(1));
    let mut sim = echo(1, SimSettings { window: Some(1000), latency, ..SimSettings::default() });
    let conn = connected(&mut sim);
    send(&mut sim, conn, &blob(900));
    let told = turns(&mut sim, Nanos::from_millis(10));
    assert!(!told.iter().any(|(_, told)| *told == SimEvent::Sent(conn.0)), "nothing had to wait: {told:?}");
    send(&mut sim, conn, &blob(600));
    send(&mut sim, conn, &blob(600));
    assert_eq!(sim.unsent(conn), 200);
    let begun = sim.now();
    let told = turns(&mut sim, Nanos::from_millis(10));
    let sent: Vec<_> =
        told.iter().filter(|(_, told)| *told == SimEvent::Sent(conn.0)).map(|(at, _)| *at - begun).collect();
    assert_eq!((sent, sim.unsent(conn)), (vec![Nanos::from_millis(1)], 0));
}

#[test]
fn nobody_listens_here() {
    let mut sim = echo(1, SimSettings::default());
    assert_eq!(sim.listen(&dial().to, 5, false).map(|_| ()), Err(brunt_contract::Errno(libc::EOPNOTSUPP)));
}

#[test]
fn connections_that_come_and_go_leave_nothing_behind() {
    let mut sim = echo(1, SimSettings { max_ports: Some(5000), ..SimSettings::default() });
    let mut churn = |rounds: usize| {
        for _ in 0..rounds {
            let conn = connected(&mut sim);
            send(&mut sim, conn, &[1; 300]);
            turns(&mut sim, Nanos::from_millis(20));
            sim.close(conn);
            sim.peer_mut().received.clear();
            sim.peer_mut().heard_at.clear();
        }
        sim.memory()
    };
    let early = churn(4000);
    assert_eq!(churn(4000), early);
}

#[test]
fn what_no_socket_took_before_the_end_was_never_sent() {
    type EndAction = fn(&mut Sim<super::EchoPeer>, ConnId);
    let ends: [EndAction; 2] = [|sim, conn| sim.close(conn), |sim, conn| sim.abort(conn)];
    for end in ends {
        let mut sim = echo(1, SimSettings { window: Some(10), ..SimSettings::default() });
        let conn = connected(&mut sim);
        send(&mut sim, conn, &[b'x'; 100]);
        assert_eq!((sim.bytes_sent(), sim.unsent(conn)), (10, 90));
        end(&mut sim, conn);
        assert_eq!(sim.bytes_sent(), 10);
        turns(&mut sim, Nanos::from_secs(1));
        assert_eq!(sim.bytes_sent(), 10, "nothing leaves a connection that is closed");
    }
    // The same applies to a reset by the peer.
    let mut sim = echo(1, SimSettings { window: Some(3), ..SimSettings::default() });
    let conn = connected(&mut sim);
    send(&mut sim, conn, b"reset");
    send(&mut sim, conn, &[b'x'; 100]);
    let before = sim.bytes_sent();
    turns(&mut sim, Nanos::from_secs(1));
    assert!((before..105).contains(&sim.bytes_sent()), "{before} {}", sim.bytes_sent());
}
