//! Selection of source addresses, so that many connections to one destination find free ports.
//!
//! A connection is identified by source address, source port, destination address and port, so one source has one
//! ephemeral port range per destination. Long before the range is used up, the kernel's search for a free port becomes
//! slow: with more than about a third in use, connects fell from 45,000 to 600 a second in a measurement. The host's
//! own 127.0.0.0/8 contains 16 million further sources, which need no configuration.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;

/// The file with Linux's range of ephemeral ports, as two numbers.
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// The default range since Linux 4.2.
const USUAL: RangeInclusive<u16> = 32_768..=60_999;
/// Maximum number of sources: enough for 2^27 connections with the usual range.
const MOST: usize = 16_384;

/// Returns sources for this many connections to `to`, to be used in turn, each for at most a third of the ephemeral
/// ports. Empty if none are needed or none are available: only 127.0.0.0/8 has addresses that belong to this host
/// without configuration.
pub fn spread(to: SocketAddr, connections: usize) -> Vec<IpAddr> {
    let range = std::fs::read_to_string(RANGE).ok().and_then(|text| read(&text)).unwrap_or(USUAL);
    spread_over(&range, to, connections)
}

/// Like [`spread`], with this range of ephemeral ports.
pub fn spread_over(range: &RangeInclusive<u16>, to: SocketAddr, connections: usize) -> Vec<IpAddr> {
    let third = (range.len() / 3).max(1);
    let needed = connections.div_ceil(third);
    match to.ip().to_canonical() {
        IpAddr::V4(at) if at.is_loopback() && to.is_ipv4() && needed > 1 => {
            (0..needed.min(MOST)).map(|nth| IpAddr::V4(source(nth))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the nth source: 127.0.0.1 first, as usual, then 127.1.0.1, 127.1.0.2 … 127.1.0.250, 127.1.1.1 …, avoiding
/// addresses that are commonly given to local services (127.0.0.53, 127.0.1.1).
fn source(nth: usize) -> Ipv4Addr {
    match nth.checked_sub(1) {
        None => Ipv4Addr::LOCALHOST,
        Some(nth) => Ipv4Addr::new(127, 1, (nth / 250) as u8, (nth % 250) as u8 + 1),
    }
}

fn read(text: &str) -> Option<RangeInclusive<u16>> {
    let mut words = text.split_whitespace();
    let (low, high) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (low <= high).then_some(low..=high)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const USUAL_THIRD: usize = 28_232 / 3;

    fn count(range: RangeInclusive<u16>, to: &str, connections: usize) -> usize {
        spread_over(&range, to.parse().unwrap(), connections).len()
    }

    #[test]
    fn as_many_as_keep_each_below_a_third() {
        for (range, to, connections, sources) in [
            (USUAL, "127.0.0.1:80", 0, 0),
            (USUAL, "127.0.0.1:80", 1, 0),
            (USUAL, "127.0.0.1:80", USUAL_THIRD, 0),
            (USUAL, "127.0.0.1:80", USUAL_THIRD + 1, 2),
            (USUAL, "127.9.8.7:80", 2 * USUAL_THIRD + 1, 3),
            (USUAL, "127.0.0.1:80", 1_000_000, 107),
            (1024..=65_535, "127.0.0.1:80", 1_000_000, 47),
            (40_000..=40_999, "127.0.0.1:80", 334, 2),
            (40_000..=40_000, "127.0.0.1:80", 3, 3),
            (USUAL, "127.0.0.1:80", usize::MAX, MOST),
            // For other destinations there are no such addresses: the user must specify the sources.
            (USUAL, "10.0.0.1:80", 1_000_000, 0),
            (USUAL, "[::1]:80", 1_000_000, 0),
            (USUAL, "[::ffff:127.0.0.1]:80", 1_000_000, 0),
        ] {
            assert_eq!(count(range.clone(), to, connections), sources, "{connections} to {to} of {range:?}");
        }
    }

    #[test]
    fn sources_are_distinct_loopback_addresses() {
        let all = spread_over(&USUAL, "127.0.0.1:80".parse().unwrap(), usize::MAX);
        assert!(all.iter().all(IpAddr::is_loopback));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), MOST);
        assert_eq!(all[..3], ["127.0.0.1", "127.1.0.1", "127.1.0.2"].map(|a| a.parse::<IpAddr>().unwrap()));
    }

    #[test]
    fn the_kernel_s_range_is_read() {
        assert_eq!(read("32768\t60999\n"), Some(32_768..=60_999));
        for text in ["", "1", "a b", "70000 80000", "60999 32768"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
