//! Routing of connections through a proxy: their first address, and the handshake there.
//!
//! The engine asks for addresses and channels by origin; only this module knows whether a proxy is
//! in between.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use brunt_cause::Cause;
use brunt_cause::complaint;
use brunt_contract::{
    Origin, PeerAddress, Proxy, ProxyException, ProxyKind, ProxyRules, SecureChannel, SecureChannelFactory, UsageError,
};
use brunt_engine::Resolver;
use brunt_net::tls::RustlsSecurity;
use brunt_net::tunnel::tunnel;
use brunt_plan::Plan;
use brunt_plan::address::ConnectTo;

use crate::guard::PublicAddressGuard;
use crate::resolver::SystemResolver;

/// Returns the proxies of a plan.
///
/// # Errors
/// Returns an error if a proxy of the plan is invalid.
pub fn proxies(plan: &Plan) -> Result<ProxyRules, UsageError> {
    let proxy = |text: &Option<String>| text.as_deref().map(Proxy::parse).transpose();
    let wrong = |trouble: brunt_cause::Complaint| UsageError::new("-x", trouble);
    Ok(ProxyRules {
        clear: proxy(&plan.proxies.clear).map_err(wrong)?.map(Arc::new),
        tls: proxy(&plan.proxies.tls).map_err(wrong)?.map(Arc::new),
        exceptions: ProxyException::parse_list(&plan.proxies.except),
    })
}

/// Rejects an explicitly set proxy for datagrams, which cannot go through one.
///
/// # Errors
/// Returns an error if the plan has both a datagram origin and such a proxy.
pub fn check(plan: &Plan, origins: &[Origin]) -> Result<(), UsageError> {
    let asked = !plan.proxies.is_none() && plan.proxies.variables.is_empty();
    match origins.iter().find(|origin| asked && origin.datagrams) {
        Some(_) => Err(UsageError::new(
            "-x",
            complaint!(
                "is for connections, which udp:// does not have; leave it out",
                "用于连接，而 udp:// 没有连接；请去掉"
            ),
        )),
        None => Ok(()),
    }
}

/// Addresses and channels of a run that may go through proxies.
pub struct ProxyRoute {
    proxies: Arc<ProxyRules>,
    guard: Arc<PublicAddressGuard>,
    /// Resolves the proxies themselves: `--connect-to` applies to targets only.
    direct: SystemResolver,
    tls: RustlsSecurity,
    rules: Vec<ConnectTo>,
    turn: AtomicUsize,
    /// Resolved names, for proxies that need addresses.
    found: RwLock<HashMap<(String, u16), IpAddr>>,
}

impl ProxyRoute {
    /// Creates the routing on top of direct connections.
    ///
    /// # Errors
    /// Returns a message that says what is wrong with a rule of `--connect-to`.
    pub fn new(
        plan: &Plan,
        proxies: Arc<ProxyRules>,
        guard: Arc<PublicAddressGuard>,
        tls: RustlsSecurity,
    ) -> Result<ProxyRoute, UsageError> {
        let wrong = |trouble: String| UsageError::new("--connect-to", trouble);
        let direct = Plan { connect_to: Vec::new(), unix_socket: None, ..plan.clone() };
        Ok(ProxyRoute {
            proxies,
            guard,
            direct: SystemResolver::new(&direct).map_err(wrong)?,
            tls,
            rules: plan
                .connect_to
                .iter()
                .map(|rule| ConnectTo::parse(rule).map_err(|trouble| wrong(trouble.into())))
                .collect::<Result<_, _>>()?,
            turn: AtomicUsize::new(0),
            found: RwLock::default(),
        })
    }

    /// Returns the destination that a proxy is asked to connect to: the origin, or the targets of `--connect-to` in
    /// turn.
    fn destination(&self, origin: &Origin) -> (String, u16) {
        let rule = self.rules.iter().find(|rule| rule.applies(&origin.host, origin.port));
        let places = rule.map(|rule| rule.destinations(&origin.host, origin.port)).unwrap_or_default();
        let turn = self.turn.fetch_add(usize::from(places.len() > 1), Ordering::Relaxed);
        places.get(turn % places.len().max(1)).cloned().unwrap_or_else(|| (origin.host.clone(), origin.port))
    }

    /// Resolves a name for a proxy that needs its address.
    fn look_up(&self, origin: &Origin) -> Result<(), Cause> {
        let places = self.guard.resolve(origin)?;
        let address = places.iter().find_map(|place| match place {
            PeerAddress::Tcp(to) => Some(to.ip()),
            PeerAddress::Udp(_) | PeerAddress::Unix(_) => None,
        });
        if let (Some(address), Ok(mut found)) = (address, self.found.write()) {
            found.insert(self.destination(origin), address);
        }
        Ok(())
    }
}

impl Resolver for ProxyRoute {
    fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, Cause> {
        let Some(proxy) = self.proxies.for_origin(origin) else { return self.guard.resolve(origin) };
        self.guard.check_origin(origin)?;
        if proxy.kind == ProxyKind::Socks5 {
            self.look_up(origin)?;
        }
        let places = self
            .direct
            .resolve(&Origin::tcp(proxy.host.clone(), proxy.port, false))
            .map_err(|why| brunt_cause::proxy::not_found(proxy.to_string(), why))?;
        self.guard.check_proxy(&proxy.host, &places)?;
        Ok(places)
    }
}

impl SecureChannelFactory for ProxyRoute {
    fn client(&self, origin: &Origin, alpn: &[&'static [u8]]) -> Result<Box<dyn SecureChannel>, Cause> {
        self.tls.client(origin, alpn)
    }

    fn tunnel(&self, origin: &Origin) -> Result<Option<Box<dyn SecureChannel>>, Cause> {
        let Some(proxy) = self.proxies.for_origin(origin).filter(|_| !origin.forwarded) else { return Ok(None) };
        let (mut host, port) = self.destination(origin);
        if proxy.kind == ProxyKind::Socks5 && host.parse::<IpAddr>().is_err() {
            let known = self.found.read().ok().and_then(|found| found.get(&(host.clone(), port)).copied());
            host = known.ok_or_else(|| brunt_cause::proxy::unresolved(&host))?.to_string();
        }
        tunnel(proxy, &host, port).map(Some)
    }

    fn proxy(&self, origin: &Origin) -> Option<String> {
        self.proxies.for_origin(origin).map(ToString::to_string)
    }
}

/// Returns the proxies of a plan, without names and passwords.
pub fn shown_proxies(plan: &Plan) -> String {
    let shown = |proxy: &str| Proxy::parse(proxy).map_or_else(|_| proxy.to_owned(), |proxy| proxy.to_string());
    plan.proxies.all().into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use brunt_config::{Command, Defaults, read};
    use brunt_plan::OwnerTerms;

    use super::*;

    fn plan(words: &[&str]) -> Plan {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let defaults = Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
        let Ok(Command::Run(intent)) = read(&words, &brunt_protocols::all(), &defaults) else { panic!("{words:?}") };
        intent.plan
    }

    #[test]
    fn on_a_lent_machine_the_proxy_must_be_allowed_too_and_no_name_is_left_to_it() {
        let plan = plan(&["-x", "http://127.0.0.2:3128", "http://127.0.0.1/"]);
        let resolver = Arc::new(SystemResolver::new(&plan).unwrap());
        let places = |allow: &[&str], host: &str| {
            let guard = Arc::new(PublicAddressGuard::new(Arc::clone(&resolver) as Arc<dyn Resolver>));
            let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
            guard.hold_to(OwnerTerms { allow, ..OwnerTerms::default() }, false);
            let (proxies, tls) = (Arc::new(proxies(&plan).unwrap()), crate::checks::security(&plan).unwrap());
            ProxyRoute::new(&plan, proxies, guard, tls).unwrap().resolve(&Origin::tcp(host, 80, false))
        };
        assert!(places(&["127.0.0.1", "127.0.0.2"], "127.0.0.1").is_ok());
        let said = places(&["127.0.0.1"], "127.0.0.1").unwrap_err().to_string();
        assert!(said.contains("127.0.0.2"), "{said}");
        assert!(places(&["127.0.0.2"], "127.0.0.1").is_err());
        assert!(places(&["127.0.0.2"], "no such name").is_err());
    }
}
