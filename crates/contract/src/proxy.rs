//! Proxies between brunt and the target.
//!
//! The proxy of a connection depends on its origin alone, so a pool of connections to one origin uses a single proxy.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brunt_cause::{Complaint, complaint};

use crate::Origin;

/// Default port of a proxy, as in curl.
const PORT: u16 = 1080;

/// Protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// HTTP: requests in cleartext are sent to the proxy itself; everything else goes through a tunnel (CONNECT).
    Http,
    /// SOCKS5 (RFC 1928) with addresses: names are resolved locally.
    Socks5,
    /// SOCKS5 with names, which the proxy resolves.
    Socks5h,
}

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Protocol of the proxy.
    pub kind: ProxyKind,
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// User name and password, percent-decoded.
    pub user: Option<(String, String)>,
}

impl Proxy {
    /// Parses `http://user:password@host:port`, with curl's defaults: the scheme http and the port 1080.
    ///
    /// # Errors
    /// Returns what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Proxy, Complaint> {
        const ONE: &str = "http://proxy:3128";
        const OTHER: &str = "socks5h://user:password@proxy:1080";
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let kind = match scheme.to_ascii_lowercase().as_str() {
            "http" => ProxyKind::Http,
            "socks5" => ProxyKind::Socks5,
            "socks5h" => ProxyKind::Socks5h,
            "https" => {
                return Err(complaint!(
                    "https:// to the proxy itself is not supported; use http:// if it listens without TLS",
                    "不支持用 https:// 连接代理本身；若代理不使用 TLS，请用 http://"
                ));
            }
            "socks4" | "socks4a" | "socks" => {
                return Err(complaint!(
                    "{scheme}:// is an old version of SOCKS; use socks5:// or socks5h://",
                    "{scheme}:// 是旧版 SOCKS；请用 socks5:// 或 socks5h://"
                ));
            }
            _ => {
                return Err(complaint!(
                    "{scheme}:// is not a supported proxy; use one such as {ONE} or {OTHER}",
                    "不支持 {scheme}:// 代理；请写，例如 {ONE} 或 {OTHER}"
                ));
            }
        };
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => place.rsplit_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None | Some("") => PORT,
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                complaint!(
                    "the port of a proxy is a number from 1 to 65535, not `{port}`; use one such as {ONE} or {OTHER}",
                    "代理的端口应为 1 到 65535，而不是 `{port}`；请写，例如 {ONE} 或 {OTHER}"
                )
            })?,
        };
        if host.is_empty()
            || host.contains(|c: char| c.is_whitespace() || c.is_control() || c == ':' && !place.starts_with('['))
        {
            return Err(complaint!(
                "has no host; use one such as {ONE} or {OTHER}",
                "缺少主机；请写，例如 {ONE} 或 {OTHER}"
            ));
        }
        let user = user.filter(|user| !user.is_empty()).map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (decoded(name), decoded(password))
        });
        if let (Some((name, password)), true) = (&user, kind != ProxyKind::Http)
            && (name.is_empty() || name.len() > 255 || password.len() > 255)
        {
            return Err(complaint!(
                "name and password for SOCKS take 1 to 255 bytes each; use shorter ones",
                "SOCKS 的用户名和密码各为 1 到 255 字节；请用更短的"
            ));
        }
        Ok(Proxy { kind, host: host.to_owned(), port, user })
    }

    /// Returns the value of `Proxy-Authorization` for an HTTP proxy, if there are credentials.
    pub fn authorization_header(&self) -> Option<String> {
        let (name, password) = self.user.as_ref()?;
        Some(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
    }
}

impl fmt::Display for Proxy {
    /// Formats the proxy as users write it, without name and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.kind {
            ProxyKind::Http => "http",
            ProxyKind::Socks5 => "socks5",
            ProxyKind::Socks5h => "socks5h",
        };
        write!(f, "{scheme}://{}:{}", bracketed(&self.host), self.port)
    }
}

/// Returns the host as in a URL or a `Host` header: IPv6 addresses are put in brackets.
pub fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Decodes percent-encoding.
fn decoded(text: &str) -> String {
    let (mut bytes, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = text.as_bytes().get(at) {
        let hex = text.as_bytes().get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                at += 3;
            }
            None => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The proxies of a run, and the hosts that are reached directly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyRules {
    /// Proxy for connections without TLS.
    pub clear: Option<Arc<Proxy>>,
    /// Proxy for connections with TLS.
    pub tls: Option<Arc<Proxy>>,
    /// Hosts that are reached without a proxy.
    pub exceptions: Vec<ProxyException>,
}

impl ProxyRules {
    /// Returns the proxy for connections to `origin`; `None` if they are direct.
    pub fn for_origin(&self, origin: &Origin) -> Option<&Arc<Proxy>> {
        let proxy = if origin.tls { self.tls.as_ref() } else { self.clear.as_ref() };
        proxy.filter(|_| !origin.datagrams && !self.exceptions.iter().any(|except| except.matches(&origin.host)))
    }

    /// Like [`ProxyRules::for_origin`], but only if the proxy reads the requests itself, as an HTTP proxy does with
    /// cleartext HTTP: for protocols that support this ([`Origin::forwarded`]).
    pub fn forwarding_for(&self, origin: &Origin) -> Option<&Arc<Proxy>> {
        self.for_origin(origin).filter(|proxy| proxy.kind == ProxyKind::Http && !origin.tls)
    }

    /// Returns `true` if all connections are direct.
    pub fn is_empty(&self) -> bool {
        self.clear.is_none() && self.tls.is_none()
    }
}

/// An entry of `no_proxy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyException {
    /// `*`: every host.
    AllHosts,
    /// A domain and its subdomains.
    Domain(String),
    /// An address and the length of its network prefix in bits.
    Net(IpAddr, u8),
}

impl ProxyException {
    /// Parses a list in curl's format: hosts, domains, addresses and networks (`10.0.0.0/8`), separated by commas,
    /// spaces or tabs.
    pub fn parse_list(text: &str) -> Vec<ProxyException> {
        let parts = text.split([',', ' ', '\t']).map(str::trim).filter(|part| !part.is_empty());
        parts.map(ProxyException::parse).collect()
    }

    fn parse(part: &str) -> ProxyException {
        if part == "*" {
            return ProxyException::AllHosts;
        }
        let bare = part.trim_start_matches('[').trim_end_matches(']');
        let (address, bits) = bare.split_once('/').map_or((bare, None), |(address, bits)| (address, bits.parse().ok()));
        match address.parse::<IpAddr>() {
            Ok(ip) => {
                let all = if ip.is_ipv4() { 32 } else { 128 };
                ProxyException::Net(ip, bits.filter(|bits| *bits <= all).unwrap_or(all))
            }
            Err(_) => ProxyException::Domain(part.trim_matches('.').to_ascii_lowercase()),
        }
    }

    /// Returns `true` if the entry matches this host.
    pub fn matches(&self, host: &str) -> bool {
        match self {
            ProxyException::AllHosts => true,
            ProxyException::Domain(domain) => {
                let host = host.trim_end_matches('.').to_ascii_lowercase();
                host == *domain || host.strip_suffix(domain.as_str()).is_some_and(|below| below.ends_with('.'))
            }
            ProxyException::Net(net, bits) => {
                let widened = |ip: IpAddr| match ip {
                    IpAddr::V4(ip) => (u128::from(u32::from(ip)) << 96, true),
                    IpAddr::V6(ip) => (u128::from(ip), false),
                };
                let Ok(ip) = host.split('%').next().unwrap_or(host).parse::<IpAddr>() else { return false };
                let ((a, a4), (b, b4)) = (widened(*net), widened(ip));
                a4 == b4 && (a ^ b).checked_shr(128 - u32::from(*bits)).unwrap_or(0) == 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_as_people_write_them() {
        for (text, shown) in [
            ("proxy", "http://proxy:1080"),
            ("proxy:3128", "http://proxy:3128"),
            ("http://proxy:3128/", "http://proxy:3128"),
            ("HTTP://proxy", "http://proxy:1080"),
            ("socks5://10.0.0.1", "socks5://10.0.0.1:1080"),
            ("socks5h://[fd00::1]:9050", "socks5h://[fd00::1]:9050"),
            ("http://ann:pw@proxy:3128", "http://proxy:3128"),
        ] {
            assert_eq!(Proxy::parse(text).map(|proxy| proxy.to_string()), Ok(shown.to_owned()), "{text}");
        }
        let proxy = Proxy::parse("http://an%40n:p%3Aw%zz@proxy").unwrap();
        assert_eq!(proxy.user, Some(("an@n".into(), "p:w%zz".into())));
        assert_eq!(
            Proxy::parse("http://Aladdin:open%20sesame@p").unwrap().authorization_header().unwrap(),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
        for (text, said) in [
            ("", "has no host"),
            ("http://:3128", "has no host"),
            ("https://proxy", "https:// to the proxy itself"),
            ("socks4a://proxy", "use socks5:// or socks5h://"),
            ("ftp://proxy", "ftp:// is not a supported proxy"),
            ("proxy:port", "not `port`"),
            ("proxy:0", "not `0`"),
            ("a b:1", "has no host"),
            ("fd00::1", "has no host"),
            ("socks5://:pw@proxy", "1 to 255 bytes"),
        ] {
            let trouble = Proxy::parse(text).unwrap_err();
            assert!(trouble.contains(said), "{text}: {trouble}");
        }
    }

    #[test]
    fn hosts_without_a_proxy() {
        let except = ProxyException::parse_list("local.com, .corp.example 10.0.0.0/8,[::1],192.168.1.7, fd00::/16");
        let holds = |host: &str| except.iter().any(|except| except.matches(host));
        for host in [
            "local.com",
            "www.LOCAL.com",
            "local.com.",
            "a.corp.example",
            "corp.example",
            "10.9.8.7",
            "::1",
            "192.168.1.7",
            "fd00::5",
        ] {
            assert!(holds(host), "{host}");
        }
        for host in
            ["nolocal.com", "local.com.org", "11.0.0.1", "192.168.1.8", "::2", "fd01::1", "10.example", "::a00:1"]
        {
            assert!(!holds(host), "{host}");
        }
        assert!(ProxyException::parse_list("*")[0].matches("anything") && ProxyException::parse_list(" , ").is_empty());
        assert!(
            ProxyException::parse_list("0.0.0.0/0")[0].matches("8.8.8.8")
                && !ProxyException::parse_list("0.0.0.0/0")[0].matches("::1")
        );
    }

    #[test]
    fn a_proxy_is_chosen_by_origin() {
        let proxy = |text: &str| Some(Arc::new(Proxy::parse(text).unwrap()));
        let proxies = ProxyRules {
            clear: proxy("http://a"),
            tls: proxy("socks5://b"),
            exceptions: ProxyException::parse_list("inside"),
        };
        let of = |origin: &Origin| proxies.for_origin(origin).map(|proxy| proxy.host.clone());
        let (clear, tls) = (Origin::tcp("h", 80, false), Origin::tcp("h", 443, true));
        assert_eq!((of(&clear).as_deref(), of(&tls).as_deref()), (Some("a"), Some("b")));
        assert_eq!(of(&Origin::tcp("x.inside", 80, false)), None);
        assert_eq!(of(&Origin { datagrams: true, ..clear.clone() }), None);
        assert!(proxies.forwarding_for(&clear).is_some() && proxies.forwarding_for(&tls).is_none());
        assert!(!proxies.is_empty() && ProxyRules::default().is_empty());
    }
}
