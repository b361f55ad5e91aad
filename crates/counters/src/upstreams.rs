//! The upstreams of a service on its own host: the processes behind the sockets that it connects to, such as php-fpm
//! behind nginx, or a database.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::parse::network::is_local;
use crate::sock_diag::{Socket, SocketQuery, TcpState, UnixSocket};
use crate::source::CounterSource;

/// Maximum number of descriptors examined of each process, and of processes.
const DESCRIPTORS: usize = 4096;
const PROCESSES: usize = 64;

/// Returns the inodes of the listening sockets to which these processes are connected, as clients, on this host.
pub(crate) fn upstream_listeners(source: &CounterSource, clients: impl Iterator<Item = u32>) -> BTreeSet<u32> {
    let held: HashSet<u32> = clients.take(PROCESSES).flat_map(|pid| socket_inodes(source, pid)).collect();
    let mut found = tcp_listeners(source, &held);
    found.extend(unix_listeners(source, &held));
    // What they listen at themselves is no upstream.
    found.retain(|inode| !held.contains(inode));
    found
}

fn socket_inodes(source: &CounterSource, pid: u32) -> Vec<u32> {
    let folder = format!("/proc/{pid}/fd");
    let inode = |descriptor: String| {
        let to = source.link(&format!("{folder}/{descriptor}")).ok()?;
        to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    source.list(&folder).into_iter().flatten().take(DESCRIPTORS).filter_map(inode).collect()
}

/// Returns the sockets of one state, of both families.
fn sockets(source: &CounterSource, state: TcpState) -> Vec<Socket> {
    let mut found = Vec::new();
    for v6 in [false, true] {
        let query = SocketQuery { v6, state, port: 0, peer: 0, sampled: false };
        // A kernel that answers no queries shows no upstreams.
        let _ = source.sockets(&query, &mut |socket| found.push(socket));
    }
    found
}

fn tcp_listeners(source: &CounterSource, held: &HashSet<u32>) -> BTreeSet<u32> {
    let listeners = sockets(source, TcpState::Listen);
    let text = |path| source.text(path).unwrap_or_default();
    let (routes, addresses) = (text("/proc/net/fib_trie"), text("/proc/net/if_inet6"));
    let listens_at = |port: u16| listeners.iter().any(|listener| listener.local.port() == port);
    let mut ends = HashSet::new();
    for socket in sockets(source, TcpState::Established) {
        // The side with the listener's port is the one that was connected to.
        if held.contains(&socket.inode) && !listens_at(socket.local.port()) {
            ends.insert((socket.peer.ip().to_canonical(), socket.peer.port()));
        }
    }
    ends.retain(|(ip, port)| listens_at(*port) && is_local(*ip, &routes, &addresses));
    let leads_to = |listener: &&Socket| {
        let local = (listener.local.ip().to_canonical(), listener.local.port());
        let any = local.0.is_unspecified() && ends.iter().any(|(_, port)| *port == local.1);
        any || ends.contains(&local)
    };
    listeners.iter().filter(leads_to).map(|listener| listener.inode).collect()
}

fn unix_listeners(source: &CounterSource, held: &HashSet<u32>) -> BTreeSet<u32> {
    let mut all: HashMap<u32, UnixSocket> = HashMap::new();
    let _ = source.unix_sockets(&mut |socket| drop(all.insert(socket.inode, socket)));
    // An accepted socket has the name of its listener; a connecting one has none.
    let peers = all.values().filter(|socket| held.contains(&socket.inode) && socket.name.is_empty());
    let names: HashSet<&[u8]> = peers
        .filter_map(|socket| all.get(&socket.peer?))
        .filter(|accepted| !accepted.name.is_empty())
        .map(|accepted| &accepted.name[..])
        .collect();
    all.values()
        .filter(|socket| socket.listens && names.contains(&socket.name[..]))
        .map(|socket| socket.inode)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;
    use crate::listener::tests::socket;

    fn connected(local: &str, peer: &str, inode: u32) -> Socket {
        Socket { peer: peer.parse().unwrap(), ..socket(local, TcpState::Established, inode, (0, 0)) }
    }

    fn unix(inode: u32, listens: bool, name: &str, peer: Option<u32>) -> UnixSocket {
        UnixSocket { inode, listens, name: name.as_bytes().to_vec(), peer }
    }

    #[test]
    fn what_a_service_connects_to_on_its_host_is_its_upstream() {
        let fake = FakeHost::new(&[("proc/self/stat", "")]);
        for (fd, inode) in [(3, 77), (4, 50), (5, 51), (6, 52), (7, 60), (8, 61)] {
            fake.link(&format!("proc/20/fd/{fd}"), &format!("socket:[{inode}]"));
        }
        let mut source = fake.source();
        source.sockets = vec![
            socket("0.0.0.0:80", TcpState::Listen, 77, (0, 128)),
            socket("127.0.0.1:9000", TcpState::Listen, 90, (0, 128)),
            socket("0.0.0.0:3306", TcpState::Listen, 91, (0, 128)),
            socket("127.0.0.1:6379", TcpState::Listen, 92, (0, 128)),
            connected("127.0.0.1:40000", "127.0.0.1:9000", 50),
            // A user of the service, and a database elsewhere with the port of one here.
            connected("127.0.0.1:80", "127.0.0.1:40001", 51),
            connected("127.0.0.1:40002", "192.0.2.9:3306", 52),
            // Somebody else's connection.
            connected("127.0.0.1:40003", "127.0.0.1:6379", 99),
        ];
        source.unix_sockets = vec![
            unix(95, true, "/run/php.sock", None),
            unix(60, false, "", Some(600)),
            unix(600, false, "/run/php.sock", Some(60)),
            // A pair of sockets within the service.
            unix(61, false, "", Some(610)),
            unix(610, false, "", Some(61)),
            unix(96, true, "/run/other.sock", None),
        ];
        let found = upstream_listeners(&source, [20].into_iter());
        assert_eq!(Vec::from_iter(found), [90, 95]);
        assert!(upstream_listeners(&source, [21].into_iter()).is_empty(), "it holds no sockets");
    }

    #[test]
    fn the_kernel_tells_who_is_connected_to_a_unix_listener() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        CounterSource::here().unix_sockets(&mut |socket| all.push(socket)).unwrap();
        let name = path.to_str().unwrap().as_bytes();
        let named =
            |listens: bool| all.iter().find(|socket| socket.name.starts_with(name) && socket.listens == listens);
        let served = named(false).expect("the accepted socket has the name of its listener");
        assert!(named(true).is_some());
        let other = all.iter().find(|socket| Some(socket.inode) == served.peer).expect("the client");
        assert!(other.name.is_empty() && other.peer == Some(served.inode));
        drop((client, accepted));
    }
}
