//! TCP statistics of some connections: whether sending waits for the peer to read, and how much received data is
//! waiting to be read here.
//!
//! Up to 64 connections are followed while they are open. Activity of a connection before it was first seen is not
//! counted: the sums cover only the time in which it was observed.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use brunt_measure::{Clock, Nanos};

use crate::counters::CounterSink;
use crate::cpu_budget::CpuBudget;
use crate::sock_diag::{Socket, SocketQuery, TcpState, TcpStats};
use crate::source::{CounterSource, reason};

/// Maximum number of connections followed.
const MOST: usize = 64;

/// The end of a connection that an address identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionEnd {
    /// The local end.
    Local,
    /// The remote end.
    Remote,
}

/// A sample of the connections at an address, or to an address.
#[derive(Debug)]
pub(crate) struct TcpSample {
    address: SocketAddr,
    end: ConnectionEnd,
    /// Last statistics of each connection, by its cookie.
    known: BTreeMap<u64, TcpStats>,
    last_read: Nanos,
    sums: TcpSums,
    pace: CpuBudget,
}

/// Sums over all connections, for the time in which they were followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TcpSums {
    time_us: u64,
    busy: u64,
    window_limited: u64,
    buffer_limited: u64,
    retransmits: u64,
}

impl TcpSums {
    fn add(&mut self, before: &TcpStats, now: &TcpStats, time_us: u64) {
        self.time_us += time_us;
        self.busy += now.busy.saturating_sub(before.busy);
        self.window_limited += now.window_limited.saturating_sub(before.window_limited);
        self.buffer_limited += now.buffer_limited.saturating_sub(before.buffer_limited);
        self.retransmits += u64::from(now.retransmits.saturating_sub(before.retransmits));
    }
}

impl TcpSample {
    /// Creates a sample of the connections from this host to an address, of any process.
    pub fn to_target(target: SocketAddr) -> TcpSample {
        TcpSample::at(SocketAddr::new(target.ip().to_canonical(), target.port()), ConnectionEnd::Remote)
    }

    /// Creates a sample of the connections that a service of this host accepted.
    pub fn of_service(listener: SocketAddr) -> TcpSample {
        TcpSample::at(listener, ConnectionEnd::Local)
    }

    fn at(address: SocketAddr, end: ConnectionEnd) -> TcpSample {
        TcpSample {
            address,
            end,
            known: BTreeMap::new(),
            last_read: Nanos::ZERO,
            sums: TcpSums::default(),
            pace: CpuBudget::at_most_every(Nanos::ZERO),
        }
    }

    /// Returns `true` if this samples the connections at, or to, this address.
    pub fn is_of(&self, address: SocketAddr) -> bool {
        self.address == address
    }

    /// Adds the statistics, as rarely as needed to keep the cost negligible.
    pub fn report(&mut self, source: &CounterSource, now: Nanos, sink: &mut CounterSink) {
        if !self.pace.is_due(now) {
            return;
        }
        let before = Clock.thread_cpu_time();
        self.read(source, now, sink);
        self.pace.spend(now, Clock.thread_cpu_time() - before);
    }

    fn read(&mut self, source: &CounterSource, now: Nanos, sink: &mut CounterSink) {
        let name = match self.end {
            ConnectionEnd::Local => "service.tcp",
            ConnectionEnd::Remote => "target.tcp",
        };
        let mut found = Vec::new();
        let asked = source.sockets(&self.query(), &mut |socket| {
            if self.matches(&socket) {
                found.push(socket);
            }
        });
        if let Err(error) = asked {
            return sink.unobservable(name, reason(&error));
        }
        if !found.is_empty() && found.iter().all(|socket| socket.tcp.is_none()) {
            return sink.unobservable(name, "the kernel does not report it");
        }
        // Connections that were followed before are preferred.
        found.sort_by_key(|socket| !self.known.contains_key(&socket.cookie));
        found.truncate(MOST);
        self.follow(&found, now);
        self.put(&found, name, sink);
    }

    fn query(&self) -> SocketQuery {
        let (port, peer) = match self.end {
            ConnectionEnd::Local => (self.address.port(), 0),
            ConnectionEnd::Remote => (0, self.address.port()),
        };
        SocketQuery { v6: self.address.is_ipv6(), state: TcpState::Established, port, peer, sampled: true }
    }

    fn matches(&self, socket: &Socket) -> bool {
        match self.end {
            ConnectionEnd::Local => self.address.ip().is_unspecified() || socket.local == self.address,
            ConnectionEnd::Remote => socket.peer.ip().to_canonical() == self.address.ip(),
        }
    }

    fn follow(&mut self, found: &[Socket], now: Nanos) {
        let time_us = now.0.saturating_sub(self.last_read.0) / 1000;
        let seen: BTreeMap<u64, TcpStats> =
            found.iter().filter_map(|socket| Some((socket.cookie, socket.tcp?))).collect();
        for (cookie, tcp) in &seen {
            if let Some(before) = self.known.get(cookie) {
                self.sums.add(before, tcp, time_us);
            }
        }
        (self.known, self.last_read) = (seen, now);
    }

    fn put(&self, found: &[Socket], name: &str, sink: &mut CounterSink) {
        let TcpSums { time_us, busy, window_limited, buffer_limited, retransmits } = self.sums;
        let sums = [
            ("time", time_us),
            ("busy", busy),
            ("window_limited", window_limited),
            ("buffer_limited", buffer_limited),
            ("retransmits", retransmits),
        ];
        sums.iter().for_each(|(what, sum)| sink.put(&[name, what], *sum));
        // Without connections there is no mean.
        if !self.known.is_empty() {
            let count = self.known.len() as u64;
            let round_trips: u64 = self.known.values().map(|tcp| u64::from(tcp.rtt)).sum();
            sink.put(&[name, "sockets"], count);
            sink.put(&[name, "unread"], found.iter().map(|socket| u64::from(socket.queue)).sum());
            sink.put(&[name, "rtt"], round_trips / count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counters;
    use crate::fake_host::FakeHost;
    use crate::listener::tests::socket;

    const TARGET: &str = "10.0.0.1:80";

    fn connection(cookie: u64, peer: &str, busy: u64, window_limited: u64) -> Socket {
        let tcp =
            TcpStats { rtt: 100 * cookie as u32, retransmits: busy as u32, busy, window_limited, buffer_limited: 1 };
        let near = socket("10.0.0.9:5000", TcpState::Established, 0, (7, 0));
        Socket { cookie, peer: peer.parse().unwrap(), tcp: Some(tcp), ..near }
    }

    fn told(sampled: &mut TcpSample, at_s: u64, sockets: Vec<Socket>) -> Counters {
        let (fake, mut sink) = (FakeHost::new(&[]), CounterSink::default());
        let source = CounterSource { sockets, ..fake.source() };
        // The sample is due again at once, however long the last reading took.
        sampled.pace = CpuBudget::at_most_every(Nanos::ZERO);
        sampled.report(&source, Nanos::from_secs(at_s), &mut sink);
        sink.take(Nanos::from_secs(at_s))
    }

    #[test]
    fn only_what_happens_while_they_are_followed_is_summed_up() {
        let mut sampled = TcpSample::to_target(TARGET.parse().unwrap());
        let first = told(&mut sampled, 10, vec![connection(1, TARGET, 500, 400), connection(9, "10.0.0.2:80", 1, 1)]);
        let sum = |counters: &Counters, what: &str| counters.get(&format!("target.tcp.{what}"));
        assert_eq!((sum(&first, "busy"), sum(&first, "sockets"), sum(&first, "unread")), (Some(0), Some(1), Some(7)));
        // A new connection starts at its current values; the other one's busy time rose by 700, 600 of them limited by
        // the window.
        let both = vec![connection(2, TARGET, 9_000, 9_000), connection(1, TARGET, 1_200, 1_000)];
        let second = told(&mut sampled, 12, both);
        let sums = ["busy", "window_limited", "buffer_limited", "retransmits", "time", "rtt", "sockets"];
        let values = sums.map(|what| sum(&second, what).unwrap());
        assert_eq!(values, [700, 600, 0, 700, 2_000_000, 150, 2]);
        // All are closed: the sums stay, and there is no mean.
        let last = told(&mut sampled, 13, Vec::new());
        assert_eq!((sum(&last, "busy"), sum(&last, "rtt"), sum(&last, "unread")), (Some(700), None, None));
    }

    #[test]
    fn those_that_were_followed_are_followed_on() {
        let mut sampled = TcpSample::to_target(TARGET.parse().unwrap());
        told(&mut sampled, 1, vec![connection(1_000, TARGET, 0, 0)]);
        let mut many: Vec<Socket> = (0..90).map(|cookie| connection(cookie, TARGET, 0, 0)).collect();
        many.push(connection(1_000, TARGET, 50, 50));
        let counters = told(&mut sampled, 2, many);
        let get = |what: &str| counters.get(&format!("target.tcp.{what}"));
        assert_eq!((get("sockets"), get("busy")), (Some(MOST as u64), Some(50)));
    }

    #[test]
    fn a_service_has_those_at_its_address_and_a_kernel_that_says_nothing_is_told() {
        let mut sampled = TcpSample::of_service("10.0.0.9:5000".parse().unwrap());
        let counters = told(&mut sampled, 1, vec![connection(1, "10.0.0.2:7", 5, 5)]);
        assert_eq!(counters.get("service.tcp.sockets"), Some(1));
        let silent = Socket { tcp: None, ..connection(1, "10.0.0.2:7", 5, 5) };
        let counters = told(&mut sampled, 2, vec![silent]);
        assert_eq!(counters.unobservable, ["service.tcp: the kernel does not report it"]);
        assert_eq!(counters.get("service.tcp.busy"), None);
    }
}
