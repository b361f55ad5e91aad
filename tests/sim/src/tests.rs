//! Tests of the simulation: it behaves as programs on TCP may rely on, and the same seed gives the same run.

mod datagrams;
mod faults;
mod order;
mod secure;
mod served;
mod timing;

use std::net::{Ipv4Addr, SocketAddr};

use measure::Nanos;
use wire::{Arrival, ConnId, Dial, Errno, Network, Out, Place};

use super::{Peer, Say, Sim, SimSettings};

/// A peer that echoes everything at once, and obeys "close" and "reset".
#[derive(Default)]
struct Echo {
    opened: u64,
    closed: u64,
    heard: Vec<u8>,
    heard_at: Vec<Nanos>,
}

impl Peer for Echo {
    fn opened(&mut self, _now: Nanos, _conn: u32) {
        self.opened += 1;
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say) {
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
                self.heard.extend_from_slice(bytes);
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
enum Told {
    Stands(u32),
    Bytes(u32, Vec<u8>),
    Sent(u32),
    Over(u32, Option<i32>),
}

fn dial() -> Dial {
    Dial { to: Place::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80))), source: None, once: false }
}

fn echo(seed: u64, settings: SimSettings) -> Sim<Echo> {
    Sim::new(seed, settings, Box::new(Echo::default()))
}

fn send<P: Peer>(sim: &mut Sim<P>, conn: ConnId, bytes: &[u8]) {
    let mut out = Out::default();
    out.put(bytes);
    sim.send(conn, &mut out);
    assert!(out.is_empty());
}

/// Waits once, and returns the arrivals with their times.
fn turn<P: Peer>(sim: &mut Sim<P>, until: Nanos) -> Vec<(Nanos, Told)> {
    let before = sim.now();
    sim.wait(until);
    assert!(sim.now() >= before, "time went back");
    let mut told = Vec::new();
    while let Some(arrival) = sim.next() {
        let news = match arrival {
            Arrival::Connected(c) => Told::Stands(c.0),
            Arrival::Received(c, bytes) => Told::Bytes(c.0, bytes.to_vec()),
            Arrival::Closed(c, why) => Told::Over(c.0, why.map(|e| e.0)),
            Arrival::Sent(c) => Told::Sent(c.0),
            Arrival::Accepted(..) => panic!("nobody listens"),
        };
        told.push((sim.now(), news));
    }
    told
}

/// Waits repeatedly until `span` has passed.
fn turns<P: Peer>(sim: &mut Sim<P>, span: Nanos) -> Vec<(Nanos, Told)> {
    let end = sim.now() + span;
    let mut told = Vec::new();
    while sim.now() < end {
        told.extend(turn(sim, end));
    }
    told
}

fn just(told: &[(Nanos, Told)]) -> Vec<Told> {
    told.iter().map(|(_, t)| t.clone()).collect()
}

/// Returns an established connection.
fn connected<P: Peer>(sim: &mut Sim<P>) -> ConnId {
    let conn = sim.connect(&dial()).unwrap();
    let end = sim.now() + Nanos::from_secs(1);
    assert_eq!(just(&turn(sim, end)), [Told::Stands(conn.0)]);
    conn
}

fn refused(errno: i32) -> Result<ConnId, Errno> {
    Err(Errno(errno))
}

fn blob(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}
