//! Parsing of addresses: `10.0.0.1-10.0.0.9` for `--source`, curl's `HOST:PORT:HOST:PORT` for `--connect-to`.
//!
//! Ranges include both ends. They are expanded, because a load generator spreads its connections over all addresses.

use brunt_cause::{Complaint, complaint};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum number of addresses (or hosts × ports) of an option; more are considered a typing mistake.
const MOST: u128 = 65_536;

/// Parses the addresses of `--source`: single ones and ranges, separated by commas.
///
/// # Errors
/// The text is invalid; the error describes why and what to write instead.
pub fn sources(text: &str) -> Result<Vec<IpAddr>, Complaint> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        all.extend(range_of_addresses(part)?.ok_or_else(|| {
            complaint!(
                "`{part}` is not an IP address or range; use one such as 10.0.0.5 or 10.0.0.5-10.0.0.20",
                "`{part}` 不是 IP 地址或范围；请写，例如 10.0.0.5 或 10.0.0.5-10.0.0.20"
            )
        })?);
    }
    Ok(all)
}

/// Returns the addresses of `a` or of the range `a-b`; `None` if the text is not an address.
fn range_of_addresses(text: &str) -> Result<Option<Vec<IpAddr>>, Complaint> {
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (first.trim(), last.trim()),
        None => (text, text),
    };
    let (Some(first), Some(last)) = (address(first), address(last)) else { return Ok(None) };
    let (low, high) = match (first, last) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(u32::from(a)), u128::from(u32::from(b))),
        (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a), u128::from(b)),
        _ => {
            return Err(complaint!(
                "`{text}` starts with one IP version and ends with the other; use the same for both",
                "`{text}` 两端的 IP 版本不同；请用同一版本"
            ));
        }
    };
    if low > high {
        return Err(complaint!(
            "`{text}` begins above its end; write {last}-{first}",
            "`{text}` 的起点大于终点；请写 {last}-{first}"
        ));
    }
    if high - low >= MOST {
        return Err(complaint!(
            "`{text}` holds more than {MOST} addresses; use a smaller range",
            "`{text}` 包含超过 {MOST} 个地址；请用更小的范围"
        ));
    }
    let one = |n: u128| match first {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(n as u32)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(n)),
    };
    Ok(Some((low..=high).map(one).collect()))
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok()
}

/// A redirection of connections: requests to one host and port connect to another. URL, `Host` and SNI are unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTo {
    /// The host to which the rule applies; `None` for every host.
    pub host: Option<String>,
    /// The port to which the rule applies; `None` for every port.
    pub port: Option<u16>,
    /// The hosts to connect to instead, in turn; empty for the requested host.
    pub hosts: Vec<String>,
    /// The ports to connect to instead, in turn; empty for the requested port.
    pub ports: Vec<u16>,
}

impl ConnectTo {
    /// Parses `HOST:PORT:HOST:PORT`. Parts may be empty, IPv6 addresses are written in brackets, and the second host,
    /// if it is an address, and the second port may be a range `a-b`.
    ///
    /// # Errors
    /// The text is invalid; the error describes why and what to write instead.
    pub fn parse(text: &str) -> Result<ConnectTo, Complaint> {
        let wrong = || {
            complaint!(
                "`{text}` is not HOST:PORT:HOST:PORT; use one such as example.com:443:127.0.0.1:8443",
                "`{text}` 不是 HOST:PORT:HOST:PORT；请写，例如 example.com:443:127.0.0.1:8443"
            )
        };
        let parts = split_outside_brackets(text);
        let [host, from_port, to_host, to_port] = parts.as_slice() else { return Err(wrong()) };
        let port = match *from_port {
            "" => None,
            text => Some(one_port(text)?),
        };
        let hosts = match *to_host {
            "" => Vec::new(),
            name => match range_of_addresses(name)? {
                Some(addresses) => addresses.iter().map(ToString::to_string).collect(),
                None => vec![unbracketed(name)],
            },
        };
        let ports = range_of_ports(to_port)?;
        if hosts.len().max(1) as u128 * ports.len().max(1) as u128 > MOST {
            return Err(complaint!(
                "`{text}` spreads over more than {MOST} places; write smaller ranges",
                "`{text}` 涉及超过 {MOST} 个位置；请用更小的范围"
            ));
        }
        let host = (!host.is_empty()).then(|| unbracketed(host));
        Ok(ConnectTo { host, port, hosts, ports })
    }

    /// Returns `true` if the rule applies to connections to `host` and `port`.
    pub fn applies(&self, host: &str, port: u16) -> bool {
        self.host.as_ref().is_none_or(|mine| mine.eq_ignore_ascii_case(host))
            && self.port.is_none_or(|mine| mine == port)
    }

    /// Returns the destinations of connections to `host` and `port`: every host with every port.
    pub fn destinations(&self, host: &str, port: u16) -> Vec<(String, u16)> {
        let hosts = if self.hosts.is_empty() { vec![host.to_string()] } else { self.hosts.clone() };
        let ports = if self.ports.is_empty() { vec![port] } else { self.ports.clone() };
        ports.iter().flat_map(|port| hosts.iter().map(|host| (host.clone(), *port))).collect()
    }
}

fn unbracketed(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_string()
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ':' && depth == 0
    })
    .collect()
}

fn range_of_ports(text: &str) -> Result<Vec<u16>, Complaint> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (one_port(first)?, one_port(last)?);
    if first > last {
        return Err(complaint!(
            "`{text}` begins above its end; write {last}-{first}",
            "`{text}` 的起点大于终点；请写 {last}-{first}"
        ));
    }
    Ok((first..=last).collect())
}

fn one_port(text: &str) -> Result<u16, Complaint> {
    match text.trim().parse() {
        Ok(0) | Err(_) => Err(complaint!(
            "`{text}` is not a port; use a port from 1 to 65535",
            "`{text}` 不是端口；请用 1 到 65535 的端口"
        )),
        Ok(port) => Ok(port),
    }
}

/// Returns `true` for an address on the public Internet, where the load may hit someone else's machine.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => {
            let [first, second, ..] = a.octets();
            let shared = first == 100 && (64..128).contains(&second);
            let benchmarks = first == 198 && (second == 18 || second == 19);
            !(a.is_private()
                || a.is_loopback()
                || a.is_link_local()
                || a.is_unspecified()
                || a.is_multicast()
                || a.is_broadcast()
                || shared
                || benchmarks)
        }
        IpAddr::V6(a) => match a.to_ipv4_mapped() {
            Some(v4) => is_public(IpAddr::V4(v4)),
            None => {
                !(a.is_loopback()
                    || a.is_unspecified()
                    || a.is_unique_local()
                    || a.is_unicast_link_local()
                    || a.is_multicast())
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_ranges() {
        let shown = |text| sources(text).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        let table = [
            ("10.0.0.5", "10.0.0.5"),
            ("10.0.0.254-10.0.1.1", "10.0.0.254 10.0.0.255 10.0.1.0 10.0.1.1"),
            ("127.0.0.2,127.0.0.4-127.0.0.5", "127.0.0.2 127.0.0.4 127.0.0.5"),
            ("fd00::fe-fd00::100", "fd00::fe fd00::ff fd00::100"),
        ];
        for (text, addresses) in table {
            assert_eq!(shown(text).as_deref(), Ok(addresses), "{text}");
        }
        let wrong = [
            ("eth0", "not an IP address or range"),
            ("10.0.0.9-10.0.0.1", "write 10.0.0.1-10.0.0.9"),
            ("10.0.0.1-fd00::1", "one IP version"),
            ("10.0.0.0-10.9.0.0", "more than 65536"),
            ("10.0.0.1,", "not an IP address"),
        ];
        for (text, said) in wrong {
            let complaint = shown(text).unwrap_err();
            assert!(complaint.contains(said), "{text}: {complaint}");
        }
    }

    #[test]
    fn redirections() {
        let table = [
            ("a.example:80:127.0.0.1:8080", "127.0.0.1:8080"),
            ("::127.0.0.1:8080", "127.0.0.1:8080"),
            (":::9000", "a.example:9000"),
            ("a.example::[::1]:", "::1:80"),
            ("::10.0.0.1-10.0.0.2:8000-8001", "10.0.0.1:8000 10.0.0.2:8000 10.0.0.1:8001 10.0.0.2:8001"),
            ("::web-1:", "web-1:80"),
        ];
        for (text, places) in table {
            let rule = ConnectTo::parse(text).unwrap();
            assert!(rule.applies("A.example", 80), "{text}");
            let got: Vec<String> = rule.destinations("a.example", 80).iter().map(|(h, p)| format!("{h}:{p}")).collect();
            assert_eq!(got.join(" "), places, "{text}");
        }
        let rule = ConnectTo::parse("a.example:81:b:1").unwrap();
        assert!(!rule.applies("a.example", 80) && !rule.applies("b.example", 81));
        for text in ["a:80", "a:x:b:1", "a:80:b:99999", "a:80:b:9-8", "::[::1:8080", "a:b:c:d:e", "::h:0"] {
            assert!(ConnectTo::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn public_addresses() {
        let public = ["8.8.8.8", "203.0.113.1", "2001:db8::1", "100.128.0.1", "2606:4700::1", "::ffff:8.8.8.8"];
        let own = [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.31.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "198.18.0.1",
        ];
        for text in public {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in own {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }
}
