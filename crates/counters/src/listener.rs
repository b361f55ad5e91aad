//! The sockets that listen at an address.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::counters::CounterSink;
use crate::sock_diag::{Socket, SocketQuery, TcpState};
use crate::source::CounterSource;

/// A listener that accepts the connections to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TargetListener {
    /// Address it is bound to: `0.0.0.0:80` for a target `127.0.0.1:80`.
    pub address: SocketAddr,
}

impl TargetListener {
    /// Returns the listener that the kernel would choose; `None` if no socket listens.
    ///
    /// # Errors
    /// Returns the error of the kernel's socket query.
    pub fn for_target(source: &CounterSource, target: SocketAddr) -> io::Result<Option<TargetListener>> {
        let target = SocketAddr::new(target.ip().to_canonical(), target.port());
        let mut best: Option<(u8, SocketAddr)> = None;
        for v6 in [false, true] {
            let query = SocketQuery { v6, state: TcpState::Listen, port: target.port(), peer: 0, sampled: false };
            source.sockets(&query, &mut |socket| {
                let fits = match_quality(target.ip(), &socket).map(|fit| (fit, socket.local));
                best = best.max(fits);
            })?;
        }
        Ok(best.map(|(_, address)| TargetListener { address }))
    }

    /// Returns the listener at a port, at any address; one bound to all addresses is preferred.
    ///
    /// # Errors
    /// Returns the error of the kernel's socket query.
    pub fn at_port(source: &CounterSource, port: u16) -> io::Result<Option<TargetListener>> {
        let mut best: Option<(bool, SocketAddr)> = None;
        for v6 in [false, true] {
            let query = SocketQuery { v6, state: TcpState::Listen, port, peer: 0, sampled: false };
            source.sockets(&query, &mut |socket| {
                best = best.max(Some((socket.local.ip().is_unspecified(), socket.local)));
            })?;
        }
        Ok(best.map(|(_, address)| TargetListener { address }))
    }

    /// Returns the sockets of the listener: several, if they share the port (`SO_REUSEPORT`).
    ///
    /// # Errors
    /// Returns the error of the kernel's socket query.
    pub fn sockets(self, source: &CounterSource) -> io::Result<Vec<Socket>> {
        let mut found = Vec::new();
        source.sockets(&self.query(TcpState::Listen), &mut |socket| {
            if socket.local == self.address {
                found.push(socket);
            }
        })?;
        Ok(found)
    }

    /// Returns the number of established connections.
    ///
    /// # Errors
    /// Returns the error of the kernel's socket query.
    pub fn connections(self, source: &CounterSource) -> io::Result<u64> {
        let any = self.address.ip().is_unspecified();
        let mut count = 0;
        source.sockets(&self.query(TcpState::Established), &mut |socket| {
            count += u64::from(any || socket.local == self.address);
        })?;
        Ok(count)
    }

    fn query(self, state: TcpState) -> SocketQuery {
        SocketQuery { v6: self.address.is_ipv6(), state, port: self.address.port(), peer: 0, sampled: false }
    }

    /// Adds the sockets under `listener.ADDRESS`: the queue and limit of the fullest, and the drops of all.
    pub fn report(self, sockets: &[Socket], sink: &mut CounterSink) {
        let address = self.address.to_string();
        let mut put = |what, value| sink.put(&["listener", &address, what], value);
        let fuller = |socket: &&Socket| (u64::from(socket.queue) << 32) / u64::from(socket.limit.max(1));
        let Some(fullest) = sockets.iter().max_by_key(fuller) else { return };
        put("queue", u64::from(fullest.queue));
        put("limit", u64::from(fullest.limit));
        put("sockets", sockets.len() as u64);
        let drops: Vec<u64> = sockets.iter().filter_map(|socket| socket.drops).map(u64::from).collect();
        if drops.len() == sockets.len() {
            put("drops", drops.iter().sum());
        }
    }
}

/// Returns the inodes that the sockets' descriptors link to.
pub(crate) fn inodes(sockets: &[Socket]) -> BTreeSet<u32> {
    sockets.iter().map(|socket| socket.inode).collect()
}

/// Returns how well a socket matches an address; the kernel takes the best match.
fn match_quality(target: IpAddr, socket: &Socket) -> Option<u8> {
    let own = socket.local.ip();
    match (target, own) {
        _ if own.to_canonical() == target => Some(3),
        _ if !own.is_unspecified() => None,
        (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => Some(2),
        (IpAddr::V4(_), IpAddr::V6(_)) if !socket.only_v6 => Some(1),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::counters::{expected, found};
    use crate::fake_host::FakeHost;
    use crate::sock_diag::TcpStats;

    pub(crate) fn socket(local: &str, state: TcpState, inode: u32, (queue, limit): (u32, u32)) -> Socket {
        let local = local.parse().unwrap();
        Socket {
            state: state as u8,
            local,
            peer: "0.0.0.0:0".parse().unwrap(),
            cookie: u64::from(inode),
            queue,
            limit,
            inode,
            drops: Some(inode),
            only_v6: false,
            tcp: (state == TcpState::Established).then(TcpStats::default),
        }
    }

    fn listening(all: &[&str]) -> CounterSource {
        let sockets = all.iter().map(|local| {
            let only = local.starts_with("only ");
            let local = local.trim_start_matches("only ");
            Socket { only_v6: only, ..socket(local, TcpState::Listen, 1, (0, 1)) }
        });
        CounterSource { sockets: sockets.collect(), ..FakeHost::new(&[]).source() }
    }

    #[test]
    fn the_listener_that_fits_best_is_found() {
        let all = ["[::]:80", "0.0.0.0:80", "127.0.0.1:80", "10.0.0.7:80", "127.0.0.1:81"];
        for (listening_at, target, found) in [
            (&all[..], "127.0.0.1:80", Some("127.0.0.1:80")),
            (&all[..2], "127.0.0.1:80", Some("0.0.0.0:80")),
            (&all[..1], "127.0.0.1:80", Some("[::]:80")),
            (&all[..], "[::1]:80", Some("[::]:80")),
            (&all[..], "[::ffff:10.0.0.7]:80", Some("10.0.0.7:80")),
            (&["[::ffff:10.0.0.7]:80"], "10.0.0.7:80", Some("[::ffff:10.0.0.7]:80")),
            (&["only [::]:80"], "127.0.0.1:80", None),
            (&["only [::]:80"], "[::1]:80", Some("[::]:80")),
            (&["0.0.0.0:80"], "[::1]:80", None),
            (&all[..], "127.0.0.1:82", None),
        ] {
            let listener = TargetListener::for_target(&listening(listening_at), target.parse().unwrap()).unwrap();
            assert_eq!(listener.map(|l| l.address), found.map(|a| a.parse().unwrap()), "{target} of {listening_at:?}");
        }
    }

    #[test]
    fn whoever_listens_at_a_port_is_found_whatever_the_address() {
        let source = listening(&["127.0.0.1:80", "0.0.0.0:80", "10.0.0.7:81", "[::1]:82"]);
        for (port, found) in [(80, Some("0.0.0.0:80")), (81, Some("10.0.0.7:81")), (82, Some("[::1]:82")), (83, None)] {
            let listener = TargetListener::at_port(&source, port).unwrap();
            assert_eq!(listener.map(|l| l.address), found.map(|a| a.parse().unwrap()), "{port}");
        }
    }

    #[test]
    fn of_several_sockets_the_fullest_is_told_and_the_drops_of_all() {
        let listener = TargetListener { address: "0.0.0.0:80".parse().unwrap() };
        let sockets = [(0, 511), (30, 128), (40, 511)].iter().zip(1..);
        let sockets: Vec<Socket> =
            sockets.map(|(full, inode)| socket("0.0.0.0:80", TcpState::Listen, inode, *full)).collect();
        let wanted = [
            ("listener.0.0.0.0:80.drops", 6),
            ("listener.0.0.0.0:80.limit", 128),
            ("listener.0.0.0.0:80.queue", 30),
            ("listener.0.0.0.0:80.sockets", 3),
        ];
        assert_eq!(found(|sink| listener.report(&sockets, sink)), expected(&wanted));
        assert_eq!(inodes(&sockets), BTreeSet::from([1, 2, 3]));
        // A backlog of 0 still accepts one connection.
        let none = [Socket { drops: None, ..socket("0.0.0.0:80", TcpState::Listen, 1, (1, 0)) }];
        let wanted = expected(&[
            ("listener.0.0.0.0:80.limit", 0),
            ("listener.0.0.0.0:80.queue", 1),
            ("listener.0.0.0.0:80.sockets", 1),
        ]);
        assert_eq!(found(|sink| listener.report(&none, sink)), wanted);
        assert_eq!(found(|sink| listener.report(&[], sink)), []);
    }

    #[test]
    fn connections_are_those_to_the_address() {
        let mut source = listening(&["0.0.0.0:80"]);
        for local in ["127.0.0.1:80", "10.0.0.7:80", "10.0.0.7:81", "[::1]:80"] {
            source.sockets.push(socket(local, TcpState::Established, 1, (0, 0)));
        }
        for (address, count) in [("0.0.0.0:80", 2), ("127.0.0.1:80", 1), ("[::]:80", 1), ("10.0.0.8:80", 0)] {
            let listener = TargetListener { address: address.parse().unwrap() };
            assert_eq!(listener.connections(&source).unwrap(), count, "{address}");
        }
    }
}
