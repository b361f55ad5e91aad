//! Tests that the simulation behaves like TCP as programs see it, and that the same seed produces
//! the same run.

mod datagrams;
mod faults;
mod order;
mod secure;
mod served;
mod timing;

use std::net::{Ipv4Addr, SocketAddr};

use brunt_contract::{ConnId, ConnectParameters, Errno, Network, NetworkEvent, OutputBuffer, PeerAddress};
use brunt_measure::Nanos;

use super::{PeerActions, Sim, SimPeer, SimSettings};

/// A peer that echoes everything at once, and obeys "close" and "reset".
#[derive(Default)]
struct EchoPeer {
    opened: u64,
    closed: u64,
    received: Vec<u8>,
    heard_at: Vec<Nanos>,
}

impl SimPeer for EchoPeer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {
        self.opened += 1;
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        self.heard_at.push(now);
        match bytes {
            b"close" => {
                say.send(conn, b"last words");
                say.close(conn);
            }
            b"reset" => {
                say.send(conn, b"lost words");
                say.reset(conn);
            }
            _ => {
                self.received.extend_from_slice(bytes);
                say.send(conn, bytes);
            }
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {
        self.closed += 1;
    }
}

/// An arrival, in a form that outlives the call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SimEvent {
    Connected(u32),
    Bytes(u32, Vec<u8>),
    Sent(u32),
    Closed(u32, Option<i32>),
}

fn dial() -> ConnectParameters {
    ConnectParameters {
        to: PeerAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80))),
        source: None,
        single_use: false,
    }
}

fn echo(seed: u64, settings: SimSettings) -> Sim<EchoPeer> {
    Sim::new(seed, settings, Box::new(EchoPeer::default()))
}

fn send<P: SimPeer>(sim: &mut Sim<P>, conn: ConnId, bytes: &[u8]) {
    let mut out = OutputBuffer::default();
    out.put(bytes);
    sim.send(conn, &mut out);
    assert!(out.is_empty());
}

/// Waits once, and returns the arrivals with their times.
fn turn<P: SimPeer>(sim: &mut Sim<P>, until: Nanos) -> Vec<(Nanos, SimEvent)> {
    let before = sim.now();
    sim.wait(until);
    assert!(sim.now() >= before, "time went back");
    let mut told = Vec::new();
    while let Some(arrival) = sim.next() {
        let news = match arrival {
            NetworkEvent::Connected(c) => SimEvent::Connected(c.0),
            NetworkEvent::Received(c, bytes) => SimEvent::Bytes(c.0, bytes.to_vec()),
            NetworkEvent::Closed(c, why) => SimEvent::Closed(c.0, why.map(|e| e.0)),
            NetworkEvent::Sent(c) => SimEvent::Sent(c.0),
            NetworkEvent::Accepted(..) => panic!("nobody listens"),
        };
        told.push((sim.now(), news));
    }
    told
}

/// Waits repeatedly until `span` has passed.
fn turns<P: SimPeer>(sim: &mut Sim<P>, span: Nanos) -> Vec<(Nanos, SimEvent)> {
    let end = sim.now() + span;
    let mut told = Vec::new();
    while sim.now() < end {
        told.extend(turn(sim, end));
    }
    told
}

fn just(told: &[(Nanos, SimEvent)]) -> Vec<SimEvent> {
    told.iter().map(|(_, t)| t.clone()).collect()
}

/// Returns an established connection.
fn connected<P: SimPeer>(sim: &mut Sim<P>) -> ConnId {
    let conn = sim.connect(&dial()).unwrap();
    let end = sim.now() + Nanos::from_secs(1);
    assert_eq!(just(&turn(sim, end)), [SimEvent::Connected(conn.0)]);
    conn
}

fn refused(errno: i32) -> Result<ConnId, Errno> {
    Err(Errno(errno))
}

fn blob(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}
