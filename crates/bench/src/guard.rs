//! Heavy load on a public address is asked about, also where a redirect or a name found late leads there.
//!
//! All connections go where a resolver says. This one knows for which hosts on public addresses the user has answered, and
//! says of any other that there is no way there: nothing is sent, its requests fail and say why.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, RwLock};

use cause::Cause;
use engine::Resolver;
use plan::address;
use wire::{Origin, Place};

/// A resolver that asks first.
pub struct Guard {
    within: Arc<dyn Resolver>,
    /// The hosts on public addresses that may be loaded; None: all.
    allowed: RwLock<Option<Vec<String>>>,
    /// Those that were asked for and are not among them.
    refused: Mutex<BTreeMap<String, IpAddr>>,
}

impl Guard {
    /// Lets through whatever this resolver finds.
    pub fn over(within: Arc<dyn Resolver>) -> Guard {
        Guard { within, allowed: RwLock::default(), refused: Mutex::default() }
    }

    /// From now on no public address but those of these hosts.
    pub fn hold_to(&self, hosts: Vec<String>) {
        if let Ok(mut allowed) = self.allowed.write() {
            *allowed = Some(hosts);
        }
    }

    /// The user has answered for these, too.
    pub fn allow(&self, hosts: impl IntoIterator<Item = String>) {
        if let Ok(mut allowed) = self.allowed.write()
            && let Some(allowed) = allowed.as_mut()
        {
            allowed.extend(hosts);
        }
    }

    /// The hosts that may be loaded; None: all.
    pub fn allowed(&self) -> Option<Vec<String>> {
        self.allowed.read().ok()?.clone()
    }

    /// The hosts that were kept from being loaded, and where they are; they are forgotten.
    pub fn take_refused(&self) -> BTreeMap<String, IpAddr> {
        self.refused.lock().map(|mut refused| std::mem::take(&mut *refused)).unwrap_or_default()
    }

    /// As [`Resolver::resolve`], where something else finds the way: whether anything may be sent there. A name that is not
    /// found here is the proxy's to know.
    ///
    /// # Errors
    /// It is on a public address that nobody was asked about.
    pub fn may_be_reached(&self, origin: &Origin) -> Result<(), Cause> {
        match self.allowed().map(|_| self.within.resolve(origin)) {
            Some(Ok(_)) => self.resolve(origin).map(drop),
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// The public address behind an origin, whoever was asked.
    pub fn public(&self, origin: &Origin) -> Option<IpAddr> {
        public_of(&self.within.resolve(origin).ok()?)
    }
}

fn public_of(places: &[Place]) -> Option<IpAddr> {
    places.iter().find_map(|place| match place {
        Place::Tcp(to) | Place::Udp(to) if address::is_public(to.ip()) => Some(to.ip()),
        _ => None,
    })
}

impl Resolver for Guard {
    fn resolve(&self, origin: &Origin) -> Result<Vec<Place>, Cause> {
        let places = self.within.resolve(origin)?;
        let Some(address) = public_of(&places) else { return Ok(places) };
        match self.allowed() {
            Some(allowed) if !allowed.contains(&origin.host) => {
                if let Ok(mut refused) = self.refused.lock() {
                    refused.insert(origin.host.clone(), address);
                }
                Err(cause::reaching::public_address(&origin.host, address.to_string()))
            }
            _ => Ok(places),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every host is an address; a name is found at the second time.
    #[derive(Default)]
    struct Late(Mutex<u32>);
    impl Resolver for Late {
        fn resolve(&self, origin: &Origin) -> Result<Vec<Place>, Cause> {
            let mut asked = self.0.lock().unwrap();
            *asked += u32::from(origin.host == "late.example");
            match origin.host.parse::<IpAddr>() {
                Ok(ip) => Ok(vec![Place::Tcp((ip, origin.port).into())]),
                Err(_) if *asked > 1 => Ok(vec![Place::Tcp(([8, 8, 8, 8], origin.port).into())]),
                Err(_) => Err(cause::said("not found")),
            }
        }
    }

    #[test]
    fn a_redirect_to_a_public_address_is_refused_until_it_is_allowed() {
        let guard = Guard::over(Arc::<Late>::default());
        let to = |host: &str| guard.resolve(&Origin::tcp(host, 80, false));
        assert!(to("8.8.8.8").is_ok(), "nothing is asked of light load");
        guard.hold_to(vec!["9.9.9.9".into()]);
        assert!(to("127.0.0.1").is_ok() && to("9.9.9.9").is_ok());
        let said = to("8.8.8.8").unwrap_err().to_string();
        assert_eq!(said, "8.8.8.8 (8.8.8.8) is a public address and was not confirmed; add --yes to allow it");
        assert_eq!(guard.take_refused().into_keys().collect::<Vec<_>>(), ["8.8.8.8"]);
        guard.allow(["8.8.8.8".to_string()]);
        assert!(to("8.8.8.8").is_ok() && guard.take_refused().is_empty());
    }

    #[test]
    fn a_name_that_is_found_late_is_refused_then() {
        let guard = Guard::over(Arc::<Late>::default());
        guard.hold_to(Vec::new());
        let late = Origin::tcp("late.example", 80, false);
        assert_eq!(guard.resolve(&late), Err(cause::said("not found")));
        assert!(guard.resolve(&late).unwrap_err().to_string().contains("was not confirmed"));
    }
}
