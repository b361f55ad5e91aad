//! The network's counters: `/proc/net/{snmp,netstat,sockstat,sockstat6,dev,stat/nf_conntrack,fib_trie,if_inet6}`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{number, numbers};
use crate::counters::CounterSink;

/// Parses `/proc/net/snmp` and `/proc/net/netstat`: a line of names and a line of values per protocol. Includes every
/// name the kernel has; −1 (no limit) is left out.
pub(crate) fn tables(text: &str, sink: &mut CounterSink) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((table, names)), Some((of, values))) = (names.split_once(':'), values.split_once(':')) else {
            continue;
        };
        if table != of {
            continue;
        }
        for (name, value) in names.split_ascii_whitespace().zip(values.split_ascii_whitespace()) {
            sink.put_some(&[table, name], value.parse().ok());
        }
    }
}

/// Parses `/proc/net/snmp6`: a name and its value per line, prefixed by the table (`Ip6`, `Icmp6`, `Udp6`,
/// `UdpLite6`). ICMP messages by type are left out.
pub(crate) fn lines(text: &str, sink: &mut CounterSink) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
        let table = ["Ip6", "Udp6"].into_iter().find(|table| name.starts_with(table));
        let Some((table, rest)) = table.and_then(|table| Some((table, name.strip_prefix(table)?))) else { continue };
        sink.put_some(&[table, rest], value.parse().ok());
    }
}

/// Parses `/proc/net/sockstat` and `/proc/net/sockstat6`: a protocol followed by pairs of name and value.
pub(crate) fn sockstat(text: &str, sink: &mut CounterSink) {
    for line in text.lines() {
        let Some((protocol, pairs)) = line.split_once(':') else { continue };
        let mut words = pairs.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            sink.put_some(&["sockstat", protocol, name], value.parse().ok());
        }
    }
}

/// Parses `/proc/net/stat/nf_conntrack`: hexadecimal, a line per core; the lines are summed.
pub(crate) fn conntrack(text: &str, sink: &mut CounterSink) {
    let mut lines = text.lines();
    let Some(names) = lines.next() else { return };
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split_ascii_whitespace().collect()).collect();
    for (column, name) in names.split_ascii_whitespace().enumerate() {
        if ["drop", "early_drop", "insert_failed"].contains(&name) {
            let value = |row: &Vec<&str>| u64::from_str_radix(row.get(column)?, 16).ok();
            let of_all: Vec<u64> = rows.iter().filter_map(value).collect();
            sink.put_some(&["conntrack", name], (!of_all.is_empty()).then(|| of_all.iter().sum()));
        }
    }
}

/// The counters of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface<'a> {
    pub name: &'a str,
    columns: [u64; 16],
}

impl Interface<'_> {
    /// Returns the bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.columns[0].saturating_add(self.columns[8])
    }

    /// Adds the counters of the interface under `net.NAME`. Drops include packets for which there was no buffer
    /// (`missed`).
    pub fn report(&self, sink: &mut CounterSink) {
        const COLUMNS: [(&str, usize); 5] =
            [("rx_bytes", 0), ("rx_errors", 2), ("rx_dropped", 3), ("tx_bytes", 8), ("tx_dropped", 11)];
        COLUMNS.iter().for_each(|&(name, index)| sink.put(&["net", self.name, name], self.columns[index]));
    }
}

/// Parses `/proc/net/dev`: two lines of headings, then a line per interface.
pub(crate) fn interfaces(text: &str) -> impl Iterator<Item = Interface<'_>> {
    text.lines().filter_map(|line| {
        let (name, counters) = line.split_once(':')?;
        let columns: Vec<u64> = numbers(counters).collect();
        Some(Interface { name: name.trim(), columns: columns.try_into().ok()? })
    })
}

/// Parses `/sys/class/net/NAME/speed`, in Mbit/s; `None` if the driver does not know it (−1).
pub(crate) fn speed(text: &str) -> Option<u64> {
    number(text).filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX))
}

/// Returns `true` if an address belongs to this host, from `/proc/net/fib_trie` and `/proc/net/if_inet6`.
pub(crate) fn is_local(address: IpAddr, fib_trie: &str, if_inet6: &str) -> bool {
    match address.to_canonical() {
        address if address.is_loopback() || address.is_unspecified() => true,
        IpAddr::V4(address) => is_local_v4(address, fib_trie),
        IpAddr::V6(address) => {
            let hex = |address: Ipv6Addr| format!("{:032x}", address.to_bits());
            if_inet6.lines().any(|line| line.starts_with(&hex(address)))
        }
    }
}

/// Searches the trie, in which each address has its own line, with its type on the line below.
fn is_local_v4(address: Ipv4Addr, fib_trie: &str) -> bool {
    let mut at = false;
    fib_trie.lines().any(|line| match line.trim_start().strip_prefix("|-- ") {
        Some(leaf) => {
            at = leaf.trim_end().parse() == Ok(address);
            false
        }
        None => at && line.trim() == "/32 host LOCAL",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{expected, found};

    #[test]
    fn tables_are_read_by_name_whatever_the_kernel_has() {
        // From Linux 6.18, which counts PAWSTimewait, and from 4.15, which has PAWSPassive.
        let new = "TcpExt: SyncookiesSent PAWSTimewait ListenOverflows\nTcpExt: 0 2 18446744073709551615\nIpExt: InOctets OutOctets\nIpExt: 71855051 137020\n";
        let old = "TcpExt: SyncookiesSent PAWSPassive ListenOverflows\nTcpExt: 0 5 7\n";
        let snmp = "Tcp: RtoMax MaxConn RetransSegs\nTcp: 120000 -1 3\nIcmpMsg: InType3 OutType8\nIcmpMsg: 1 2\n";
        let told = |text| found(|sink| tables(text, sink));
        let wanted = [
            ("IpExt.InOctets", 71_855_051),
            ("IpExt.OutOctets", 137_020),
            ("TcpExt.ListenOverflows", u64::MAX),
            ("TcpExt.PAWSTimewait", 2),
            ("TcpExt.SyncookiesSent", 0),
        ];
        assert_eq!(told(new), expected(&wanted));
        let wanted = [("TcpExt.ListenOverflows", 7), ("TcpExt.PAWSPassive", 5), ("TcpExt.SyncookiesSent", 0)];
        assert_eq!(told(old), expected(&wanted));
        let wanted = [("IcmpMsg.InType3", 1), ("IcmpMsg.OutType8", 2), ("Tcp.RetransSegs", 3), ("Tcp.RtoMax", 120_000)];
        assert_eq!(told(snmp), expected(&wanted));
    }

    #[test]
    fn tables_that_are_cut_or_mixed_up_tell_what_is_certain() {
        let told = |text| found(|sink| tables(text, sink));
        assert_eq!(told("Tcp: A B C\nTcp: 1 2"), expected(&[("Tcp.A", 1), ("Tcp.B", 2)]));
        assert_eq!(told("Tcp: A B\nUdp: 1 2\nUdp: C\nUdp: 3\n"), expected(&[("Udp.C", 3)]));
        assert_eq!(told("Tcp: A B\nTcp: x 2\n"), expected(&[("Tcp.B", 2)]));
        for text in ["", "Tcp: A", "A\nB\n", "\n\n", "Tcp:\nTcp:\n"] {
            assert_eq!(told(text), [], "{text:?}");
        }
    }

    #[test]
    fn sockets_in_use() {
        let text = "sockets: used 16\nTCP: inuse 1 orphan 0 tw 9 alloc 1 mem 433\nUDP: inuse x mem 0\nFRAG: inuse 0 memory\nhello\n";
        let wanted = [
            ("sockstat.FRAG.inuse", 0),
            ("sockstat.TCP.alloc", 1),
            ("sockstat.TCP.inuse", 1),
            ("sockstat.TCP.mem", 433),
            ("sockstat.TCP.orphan", 0),
            ("sockstat.TCP.tw", 9),
            ("sockstat.UDP.mem", 0),
            ("sockstat.sockets.used", 16),
        ];
        assert_eq!(found(|sink| sockstat(text, sink)), expected(&wanted));
    }

    #[test]
    fn conntrack_is_summed_over_cores_by_name() {
        // Linux 6.18, with its double spaces; 3.10 has other columns.
        let new = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error\n00000011  00000000 0 0 0 0 0 0 0 0000000a 00000001 00000002 0\n00000011  00000000 0 0 0 0 0 0 0 00000001 00000001 00000000 0\n";
        let told = |text| found(|sink| conntrack(text, sink));
        let wanted = [("conntrack.drop", 2), ("conntrack.early_drop", 2), ("conntrack.insert_failed", 11)];
        assert_eq!(told(new), expected(&wanted));
        assert_eq!(told("entries drop\n00000001 000000ff\n"), expected(&[("conntrack.drop", 255)]));
        for text in ["", "entries drop\n", "entries drop\n1\n", "entries drop\n1 x\n"] {
            assert_eq!(told(text), [], "{text:?}");
        }
    }

    #[test]
    fn interfaces_are_read_whatever_their_names() {
        let text = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo:    1234      10    0    0    0     0          0         0     4321      10    0    0    0     0       0          0\neth0.100:71885796   60  1    2    0     0          0         0 137020      1512    3    4    0     0       0          0\n  cut: 1 2 3\n";
        let all: Vec<Interface<'_>> = interfaces(text).collect();
        assert_eq!(
            all.iter().map(|i| (i.name, i.bytes())).collect::<Vec<_>>(),
            [("lo", 5555), ("eth0.100", 72_022_816)]
        );
        let wanted = [
            ("net.eth0.100.rx_bytes", 71_885_796),
            ("net.eth0.100.rx_dropped", 2),
            ("net.eth0.100.rx_errors", 1),
            ("net.eth0.100.tx_bytes", 137_020),
            ("net.eth0.100.tx_dropped", 4),
        ];
        assert_eq!(found(|sink| all[1].report(sink)), expected(&wanted));
        for (text, mbps) in
            [("10000\n", Some(10_000)), ("-1\n", None), ("4294967295\n", None), ("0\n", None), ("", None)]
        {
            assert_eq!(speed(text), mbps, "{text:?}");
        }
    }

    #[test]
    fn which_addresses_are_this_hosts() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 10.0.0.0/24 2 0 2\n        |-- 10.0.0.0\n           /24 link UNICAST\n        |-- 10.0.0.7\n           /32 host LOCAL\n        |-- 10.0.0.255\n           /32 link BROADCAST\nLocal:\n  |-- 10.0.0.9\n     /24 link UNICAST\n     /32 host LOCAL\n";
        let v6 = "00000000000000000000000000000001 01 80 10 80       lo\nfe800000000000000000000000000007 02 40 20 80     eth0\n";
        for (address, local) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("0.0.0.0", true),
            ("::1", true),
            ("10.0.0.7", true),
            ("10.0.0.9", true),
            ("::ffff:10.0.0.7", true),
            ("10.0.0.255", false),
            ("10.0.0.0", false),
            ("10.0.0.70", false),
            ("fe80::7", true),
            ("fe80::8", false),
        ] {
            assert_eq!(is_local(address.parse().unwrap(), trie, v6), local, "{address}");
        }
        assert!(!is_local("10.0.0.7".parse().unwrap(), "", ""));
    }
}
