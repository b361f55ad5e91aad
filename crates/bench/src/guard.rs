//! Protection of public addresses: heavy load on one needs confirmation, even if only a redirect or a name resolved
//! during the run leads there.
//!
//! All connections go through a resolver. This one knows the hosts on public addresses that the user has confirmed, and
//! fails to resolve any other: nothing is sent, and the requests fail with that reason.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, RwLock};

use brunt_cause::Cause;
use brunt_contract::{Origin, PeerAddress};
use brunt_engine::Resolver;
use brunt_plan::{OwnerTerms, address};

use crate::resolver::SystemResolver;

/// A resolver that returns a public address only if its host is confirmed.
pub struct PublicAddressGuard {
    inner: Arc<dyn Resolver>,
    /// The hosts on public addresses that are allowed; `None` allows all.
    allowed: RwLock<Option<Vec<String>>>,
    /// Hosts that were requested and are not allowed.
    refused: Mutex<BTreeMap<String, IpAddr>>,
    /// The terms on which this machine is lent to the run; `None` if it is the user's own.
    lent: RwLock<Option<LentTerms>>,
}

/// The terms on which this machine is lent to a run.
#[derive(Clone)]
struct LentTerms {
    terms: OwnerTerms,
    /// Set if the plan says where names lead, so that a name says nothing of what is loaded.
    is_mapped: bool,
}

/// Returns the error for the first of these addresses of a host that the owner does not allow to be loaded.
fn check_places(terms: &OwnerTerms, shown: &str, name: Option<&str>, places: &[PeerAddress]) -> Result<(), Cause> {
    let refused = places.iter().find_map(|place| match place {
        PeerAddress::Tcp(to) | PeerAddress::Udp(to) => (!terms.allows(name, to.ip())).then(|| to.ip().to_string()),
        // The sockets of a machine are its owner's.
        PeerAddress::Unix(path) => Some(path.display().to_string()),
    });
    refused.map_or(Ok(()), |to| Err(brunt_cause::connecting::not_lent(shown, to)))
}

impl PublicAddressGuard {
    /// Creates a guard that allows everything `within` resolves.
    pub fn new(within: Arc<dyn Resolver>) -> PublicAddressGuard {
        PublicAddressGuard {
            inner: within,
            allowed: RwLock::default(),
            refused: Mutex::default(),
            lent: RwLock::default(),
        }
    }

    /// Creates a guard over the resolver of the system, which tries no connection that the owner of the machine does not allow.
    pub fn of_system(resolver: &Arc<SystemResolver>) -> Arc<PublicAddressGuard> {
        let guard = Arc::new(PublicAddressGuard::new(Arc::clone(resolver) as Arc<dyn Resolver>));
        let asked = Arc::downgrade(&guard);
        resolver.try_only_if(move |origin, places| {
            asked.upgrade().is_none_or(|guard| guard.check_origin_places(origin, places).is_ok())
        });
        guard
    }

    /// Allows only these hosts on public addresses from now on.
    pub fn restrict_to(&self, hosts: Vec<String>) {
        if let Ok(mut allowed) = self.allowed.write() {
            *allowed = Some(hosts);
        }
    }

    /// Holds all addresses to the terms of the owner of this machine from now on. With `is_mapped`, the plan says where
    /// names lead, and only addresses count.
    pub fn hold_to(&self, terms: OwnerTerms, is_mapped: bool) {
        if let Ok(mut lent) = self.lent.write() {
            *lent = Some(LentTerms { terms, is_mapped });
        }
    }

    fn lent(&self) -> Option<LentTerms> {
        self.lent.read().map_or_else(|poisoned| poisoned.into_inner().clone(), |lent| lent.clone())
    }

    /// Checks addresses of an origin against the terms of the owner, if this machine is lent.
    fn check_origin_places(&self, origin: &Origin, places: &[PeerAddress]) -> Result<(), Cause> {
        let Some(LentTerms { terms, is_mapped }) = self.lent() else { return Ok(()) };
        check_places(&terms, &origin.host, (!is_mapped).then_some(&*origin.host), places)
    }

    /// Checks the addresses of a proxy, whose name only this machine resolves, against the terms of the owner.
    ///
    /// # Errors
    /// Returns an error if the owner does not allow it.
    pub fn check_proxy(&self, host: &str, places: &[PeerAddress]) -> Result<(), Cause> {
        self.lent().map_or(Ok(()), |lent| check_places(&lent.terms, host, Some(host), places))
    }

    /// Checks an origin against the terms of the owner. A name that cannot be resolved is a failure of requests, here as
    /// anywhere.
    ///
    /// # Errors
    /// Returns an error if the owner does not allow it.
    pub fn check_lent(&self, origin: &Origin) -> Result<(), Cause> {
        self.inner.resolve(origin).map_or(Ok(()), |places| self.check_origin_places(origin, &places))
    }

    /// Allows these hosts as well.
    pub fn allow(&self, hosts: impl IntoIterator<Item = String>) {
        if let Ok(mut allowed) = self.allowed.write()
            && let Some(allowed) = allowed.as_mut()
        {
            allowed.extend(hosts);
        }
    }

    /// Returns the hosts that are allowed; `None` if all are.
    pub fn allowed(&self) -> Option<Vec<String>> {
        self.allowed.read().ok()?.clone()
    }

    /// Takes the hosts that were refused, with their addresses.
    pub fn take_refused(&self) -> BTreeMap<String, IpAddr> {
        self.refused.lock().map(|mut refused| std::mem::take(&mut *refused)).unwrap_or_default()
    }

    /// Checks that an origin may be loaded although a proxy resolves its name. A name that cannot be resolved here is
    /// left to the proxy, except on a lent machine, whose owner allows no address that is not known.
    ///
    /// # Errors
    /// Returns an error if the origin is on a public address that was not confirmed, or not allowed by the owner.
    pub fn check_origin(&self, origin: &Origin) -> Result<(), Cause> {
        let is_lent = self.lent().is_some();
        match (is_lent || self.allowed().is_some()).then(|| self.inner.resolve(origin)) {
            Some(Ok(_)) => self.resolve(origin).map(drop),
            Some(Err(why)) if is_lent => Err(why),
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// Returns the public address of an origin, confirmed or not.
    pub fn public_address(&self, origin: &Origin) -> Option<IpAddr> {
        public_address_of(&self.inner.resolve(origin).ok()?)
    }
}

fn public_address_of(places: &[PeerAddress]) -> Option<IpAddr> {
    places.iter().find_map(|place| match place {
        PeerAddress::Tcp(to) | PeerAddress::Udp(to) if address::is_public(to.ip()) => Some(to.ip()),
        _ => None,
    })
}

impl Resolver for PublicAddressGuard {
    fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, Cause> {
        let places = self.inner.resolve(origin)?;
        self.check_origin_places(origin, &places)?;
        let Some(address) = public_address_of(&places) else { return Ok(places) };
        match self.allowed() {
            Some(allowed) if !allowed.contains(&origin.host) => {
                if let Ok(mut refused) = self.refused.lock() {
                    refused.insert(origin.host.clone(), address);
                }
                Err(brunt_cause::connecting::public_address(&origin.host, address.to_string()))
            }
            _ => Ok(places),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A resolver that takes every host for an address, except one name, which it resolves only the second time.
    #[derive(Default)]
    struct LateNameResolver(Mutex<u32>);
    impl Resolver for LateNameResolver {
        fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, Cause> {
            let mut asked = self.0.lock().unwrap();
            *asked += u32::from(origin.host == "late.example");
            match origin.host.parse::<IpAddr>() {
                Ok(ip) => Ok(vec![PeerAddress::Tcp((ip, origin.port).into())]),
                Err(_) if *asked > 1 => Ok(vec![PeerAddress::Tcp(([8, 8, 8, 8], origin.port).into())]),
                Err(_) => Err(brunt_cause::verbatim("not found")),
            }
        }
    }

    #[test]
    fn a_redirect_to_a_public_address_is_refused_until_it_is_allowed() {
        let guard = PublicAddressGuard::new(Arc::<LateNameResolver>::default());
        let to = |host: &str| guard.resolve(&Origin::tcp(host, 80, false));
        assert!(to("8.8.8.8").is_ok(), "nothing is asked of light load");
        guard.restrict_to(vec!["9.9.9.9".into()]);
        assert!(to("127.0.0.1").is_ok() && to("9.9.9.9").is_ok());
        let said = to("8.8.8.8").unwrap_err().to_string();
        assert_eq!(said, "8.8.8.8 (8.8.8.8) is a public address and was not confirmed; add --yes to allow it");
        assert_eq!(guard.take_refused().into_keys().collect::<Vec<_>>(), ["8.8.8.8"]);
        guard.allow(["8.8.8.8".to_string()]);
        assert!(to("8.8.8.8").is_ok() && guard.take_refused().is_empty());
    }

    #[test]
    fn a_name_that_is_found_late_is_refused_then() {
        let guard = PublicAddressGuard::new(Arc::<LateNameResolver>::default());
        guard.restrict_to(Vec::new());
        let late = Origin::tcp("late.example", 80, false);
        assert_eq!(guard.resolve(&late), Err(brunt_cause::verbatim("not found")));
        assert!(guard.resolve(&late).unwrap_err().to_string().contains("was not confirmed"));
    }
    /// A resolver that says of every host what the coordinator may have said in the plan.
    struct MappedResolver(PeerAddress);
    impl Resolver for MappedResolver {
        fn resolve(&self, _: &Origin) -> Result<Vec<PeerAddress>, Cause> {
            Ok(vec![self.0.clone()])
        }
    }

    #[test]
    fn on_a_lent_machine_no_socket_is_loaded_and_no_name_whose_meaning_the_plan_says() {
        let terms = |allow: &str| OwnerTerms { allow: vec![allow.parse().unwrap()], ..OwnerTerms::default() };
        let api = Origin::tcp("api.test", 80, false);
        let resolves = |to: PeerAddress, allow: &str, is_mapped: bool| {
            let guard = PublicAddressGuard::new(Arc::new(MappedResolver(to)));
            guard.hold_to(terms(allow), is_mapped);
            assert_eq!(guard.check_lent(&api), guard.resolve(&api).map(drop), "before the run as during it");
            guard.resolve(&api).is_ok()
        };
        let near = || PeerAddress::Tcp(([127, 0, 0, 1], 80).into());
        assert!(resolves(near(), "api.test", false) && resolves(near(), "127.0.0.0/8", true));
        assert!(!resolves(near(), "api.test", true));
        let socket = || PeerAddress::Unix(Arc::new("/run/docker.sock".into()));
        assert!(!resolves(socket(), "api.test", false) && !resolves(socket(), "0.0.0.0/0", true));
    }
}
