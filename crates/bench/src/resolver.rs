//! Address resolution for an origin: the Unix socket, `--connect-to`, or the system's resolver.
//!
//! Names such as `localhost` often have addresses of both IP versions, while a server listens on only one of them.
//! Half of the requests would then fail for a reason that no browser user ever sees. So if both versions are found, one
//! connection to each is tried, and a version that does not answer while the other does is left out.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use brunt_cause::{Cause, connecting};
use brunt_contract::{Origin, PeerAddress};
use brunt_engine::Resolver;
use brunt_plan::Plan;
use brunt_plan::address::ConnectTo;

/// Minimum duration of a lookup that is reported as slow.
const SLOW: Duration = Duration::from_secs(1);
/// Timeout of a trial connection.
const KNOCK: Duration = Duration::from_secs(1);

/// Length of a run from which on names are looked up again at its end: addresses seldom change within seconds.
const LONG: Duration = Duration::from_secs(10);
/// Maximum number of names whose addresses are remembered, and of addresses shown.
const MOST_NAMES: usize = 64;
const MOST_SHOWN: usize = 8;

/// The IP versions that answered at a host and port, tested once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AnsweringVersions {
    v4: bool,
    v6: bool,
}

/// Says whether a connection to these addresses of an origin may be tried.
type MayTry = Box<dyn Fn(&Origin, &[PeerAddress]) -> bool + Send + Sync>;

/// A resolver that uses the system, after applying the user's redirections.
pub struct SystemResolver {
    unix: Option<Arc<PathBuf>>,
    rules: Vec<ConnectTo>,
    answering: Mutex<HashMap<(String, u16), AnsweringVersions>>,
    /// The slowest lookup: duration and name.
    slowest: Mutex<(Duration, String)>,
    /// The first addresses of each name and port, and the last ones.
    seen: Mutex<BTreeMap<(String, u16), SeenAddresses>>,
    look_up: fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>,
    answers: fn(SocketAddr) -> bool,
    may_try: OnceLock<MayTry>,
    made: Instant,
}

/// The addresses of a name over time, each list sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SeenAddresses {
    first: Vec<IpAddr>,
    last: Vec<IpAddr>,
}

/// A name whose addresses changed during a run, with those from before and after, as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedName {
    /// The name.
    pub name: String,
    /// Addresses found first.
    pub before: String,
    /// Addresses found last.
    pub after: String,
}

impl SystemResolver {
    /// Creates a resolver for a plan whose `connect_to` rules were checked.
    ///
    /// # Errors
    /// Returns a message that says what is wrong with a rule.
    pub fn new(plan: &Plan) -> Result<SystemResolver, String> {
        Ok(SystemResolver {
            unix: plan.unix_socket.as_ref().map(|path| Arc::new(PathBuf::from(path))),
            rules: plan.connect_to.iter().map(|rule| ConnectTo::parse(rule)).collect::<Result<_, _>>()?,
            answering: Mutex::default(),
            slowest: Mutex::default(),
            seen: Mutex::default(),
            look_up: |host, port| Ok((host, port).to_socket_addrs()?.collect()),
            made: Instant::now(),
            may_try: OnceLock::new(),
            answers: |address| TcpStream::connect_timeout(&address, KNOCK).is_ok(),
        })
    }

    /// Tries a connection to addresses only if this allows it.
    pub(crate) fn try_only_if(&self, may_try: impl Fn(&Origin, &[PeerAddress]) -> bool + Send + Sync + 'static) {
        let _ = self.may_try.set(Box::new(may_try));
    }

    fn record_lookup(&self, host: &str, time: Duration) {
        if let Ok(mut slowest) = self.slowest.lock()
            && time > slowest.0
        {
            *slowest = (time, host.to_owned());
        }
    }

    /// Returns the name with the slowest lookup and its duration, if that was a second or more.
    pub fn slowest_lookup(&self) -> Option<(String, Duration)> {
        let slowest = self.slowest.lock().ok()?;
        (slowest.0 >= SLOW).then(|| (slowest.1.clone(), slowest.0))
    }

    fn record_addresses(&self, host: &str, port: u16, found: &[SocketAddr]) {
        let mut last: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
        last.sort_unstable();
        last.dedup();
        let Ok(mut seen) = self.seen.lock() else { return };
        // An address stands for itself.
        if host.parse::<IpAddr>().is_err() && (seen.len() < MOST_NAMES || seen.contains_key(&(host.to_owned(), port))) {
            let first = last.clone();
            seen.entry((host.to_owned(), port))
                .and_modify(|seen| seen.last.clone_from(&last))
                .or_insert(SeenAddresses { first, last });
        }
    }

    /// Returns the first name whose last addresses are not its first ones; after a long run, all names are looked up
    /// again before, for at most a second.
    pub fn changed_name(self: &Arc<Self>) -> Option<ChangedName> {
        if self.made.elapsed() >= LONG {
            self.look_up_again();
        }
        let seen = self.seen.lock().ok()?;
        let ((name, _), changed) = seen.iter().find(|(_, seen)| seen.first != seen.last)?;
        let shown = |all: &[IpAddr]| all.iter().take(MOST_SHOWN).map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
        Some(ChangedName { name: name.clone(), before: shown(&changed.first), after: shown(&changed.last) })
    }

    fn look_up_again(self: &Arc<Self>) {
        let names: Vec<(String, u16)> = self.seen.lock().map(|seen| seen.keys().cloned().collect()).unwrap_or_default();
        let (done, over) = std::sync::mpsc::channel();
        let again = Arc::clone(self);
        let look = move || {
            for (host, port) in names {
                if let Ok(found) = (again.look_up)(&host, port) {
                    again.record_addresses(&host, port, &found);
                }
            }
            let _ = done.send(());
        };
        if std::thread::Builder::new().name("lookup".into()).spawn(look).is_ok() {
            let _ = over.recv_timeout(SLOW);
        }
    }

    /// Returns the addresses of a host, to which an origin leads.
    fn addresses(&self, host: &str, port: u16, origin: &Origin) -> Result<Vec<SocketAddr>, Cause> {
        let began = Instant::now();
        let found = (self.look_up)(host, port);
        self.record_lookup(host, began.elapsed());
        let found = found.map_err(|error| connecting::name_not_found(host, plain(&error)))?;
        self.record_addresses(host, port, &found);
        let places: Vec<PeerAddress> = found.iter().copied().map(PeerAddress::Tcp).collect();
        let may_try = self.may_try.get().is_none_or(|may_try| may_try(origin, &places));
        // A UDP port cannot be tested by connecting.
        Ok(if origin.datagrams || !may_try { found } else { self.keep_answering(host, port, found) })
    }

    fn keep_answering(&self, host: &str, port: u16, found: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let first = |v4: bool| found.iter().find(|a| a.is_ipv4() == v4).copied();
        let (Some(v4), Some(v6)) = (first(true), first(false)) else { return found };
        let key = (host.to_string(), port);
        let known = self.answering.lock().ok().and_then(|known| known.get(&key).copied());
        let answering = known.unwrap_or_else(|| AnsweringVersions { v4: (self.answers)(v4), v6: (self.answers)(v6) });
        if answering.v4 == answering.v6 {
            return found;
        }
        if let Ok(mut known) = self.answering.lock() {
            known.insert(key, answering);
        }
        found.into_iter().filter(|a| a.is_ipv4() == answering.v4).collect()
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, Cause> {
        if let Some(path) = &self.unix {
            return Ok(vec![PeerAddress::Unix(Arc::clone(path))]);
        }
        let elsewhere = self.rules.iter().find(|rule| rule.applies(&origin.host, origin.port));
        let named = match elsewhere {
            Some(rule) => rule.destinations(&origin.host, origin.port),
            None => vec![(origin.host.clone(), origin.port)],
        };
        let mut places = Vec::new();
        for (host, port) in named {
            let found = self.addresses(&host, port, origin)?;
            let place = if origin.datagrams { PeerAddress::Udp } else { PeerAddress::Tcp };
            places.extend(found.into_iter().map(place).filter(|place| !places.contains(place)).collect::<Vec<_>>());
        }
        if places.is_empty() { Err(connecting::name_without_address(&origin.host)) } else { Ok(places) }
    }
}

/// Returns the reason from an error of the system's resolver, without the prefix common to all of them.
fn plain(error: &std::io::Error) -> brunt_cause::CauseArgument {
    let said = error.to_string();
    match said.trim_start_matches("failed to lookup address information: ") {
        "Name or service not known" => connecting::unknown_name().into(),
        "Temporary failure in name resolution" => connecting::names_away().into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(rules: &[&str], unix: Option<&str>, knock: fn(SocketAddr) -> bool) -> SystemResolver {
        SystemResolver {
            unix: unix.map(|path| Arc::new(PathBuf::from(path))),
            rules: rules.iter().map(|rule| ConnectTo::parse(rule).unwrap()).collect(),
            answering: Mutex::default(),
            slowest: Mutex::default(),
            seen: Mutex::default(),
            look_up: |host, port| Ok((host, port).to_socket_addrs()?.collect()),
            answers: knock,
            may_try: OnceLock::new(),
            made: Instant::now(),
        }
    }

    fn origin(host: &str, port: u16) -> Origin {
        Origin::tcp(host, port, false)
    }

    #[test]
    fn no_connection_is_tried_to_an_address_that_the_owner_of_the_machine_does_not_allow() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static TRIED: AtomicUsize = AtomicUsize::new(0);
        let try_one = |_| TRIED.fetch_add(1, Ordering::Relaxed) == 0;
        for (allowed, tried) in [(&["127.0.0.1", "::1"][..], 2), (&["127.0.0.1"], 0), (&["10.0.0.0/8"], 0)] {
            let both =
                |_: &str, port| Ok(vec![([127, 0, 0, 1], port).into(), (std::net::Ipv6Addr::LOCALHOST, port).into()]);
            let resolver = Arc::new(SystemResolver { look_up: both, ..resolver(&[], None, try_one) });
            let guard = crate::guard::PublicAddressGuard::of_system(&resolver);
            let allow = allowed.iter().map(|text| text.parse().unwrap()).collect();
            guard.hold_to(brunt_plan::OwnerTerms { allow, ..Default::default() }, false);
            TRIED.store(0, Ordering::Relaxed);
            assert_eq!(guard.resolve(&origin("both.test", 80)).is_ok(), tried > 0, "{allowed:?}");
            assert_eq!(TRIED.load(Ordering::Relaxed), tried, "{allowed:?}");
        }
    }

    fn shown(resolver: &SystemResolver, host: &str) -> String {
        let places = resolver.resolve(&origin(host, 80)).unwrap();
        let texts: Vec<String> = places
            .iter()
            .map(|place| match place {
                PeerAddress::Tcp(address) => address.to_string(),
                PeerAddress::Udp(address) => format!("udp {address}"),
                PeerAddress::Unix(path) => path.display().to_string(),
            })
            .collect();
        texts.join(" ")
    }

    #[test]
    fn redirections_in_order_of_the_rules() {
        let rules = ["a.example:81:127.0.0.9:1", "a.example:80:127.0.0.1-127.0.0.2:8080", "::127.0.0.3:"];
        let resolver = resolver(&rules, None, |_| true);
        assert_eq!(shown(&resolver, "a.example"), "127.0.0.1:8080 127.0.0.2:8080");
        assert_eq!(shown(&resolver, "b.example"), "127.0.0.3:80");
    }

    #[test]
    fn the_slowest_of_the_names_is_told_from_a_second_on() {
        let resolver = resolver(&[], None, |_| true);
        resolver.resolve(&origin("127.0.0.1", 80)).unwrap();
        resolver.record_lookup("quick.example", Duration::from_millis(999));
        assert_eq!(resolver.slowest_lookup(), None);
        for (name, seconds) in [("slow.example", 5), ("less.example", 2)] {
            resolver.record_lookup(name, Duration::from_secs(seconds));
        }
        assert_eq!(resolver.slowest_lookup(), Some(("slow.example".into(), Duration::from_secs(5))));
    }

    #[test]
    fn a_name_whose_addresses_changed_is_told_with_both() {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        static MOVED: AtomicBool = AtomicBool::new(false);
        let look_up = |_: &str, port: u16| {
            let both = [[127, 0, 0, 9], [127, 0, 0, 8]].map(|ip| SocketAddr::from((ip, port)));
            let moved = [SocketAddr::from(([127, 0, 0, 7], port))];
            Ok(if MOVED.load(Relaxed) { moved.to_vec() } else { both.to_vec() })
        };
        let resolver = Arc::new(SystemResolver { look_up, ..resolver(&[], None, |_| true) });
        resolver.resolve(&origin("m.test", 80)).unwrap();
        resolver.resolve(&origin("127.0.0.1", 80)).unwrap();
        resolver.look_up_again();
        assert_eq!(resolver.changed_name(), None, "the same ones");
        MOVED.store(true, Relaxed);
        assert_eq!(resolver.changed_name(), None, "a short run does not ask");
        resolver.look_up_again();
        let (before, after) = ("127.0.0.8, 127.0.0.9".into(), "127.0.0.7".into());
        assert_eq!(resolver.changed_name(), Some(ChangedName { name: "m.test".into(), before, after }));
    }

    #[test]
    fn a_unix_socket_is_where_everything_goes() {
        assert_eq!(shown(&resolver(&[], Some("/run/x"), |_| true), "nowhere.invalid"), "/run/x");
    }

    #[test]
    fn literal_addresses_need_no_look_up() {
        let resolver = resolver(&[], None, |_| panic!("one version only: nobody knocks"));
        assert_eq!(shown(&resolver, "127.0.0.1"), "127.0.0.1:80");
        assert_eq!(shown(&resolver, "::1"), "[::1]:80");
    }

    #[test]
    fn datagrams_go_to_datagram_places_and_nobody_knocks() {
        let datagrams = Origin { datagrams: true, ..origin("localhost", 53) };
        let found = resolver(&[], None, |_| panic!("nobody knocks")).resolve(&datagrams).unwrap();
        assert!(
            !found.is_empty() && found.iter().all(|place| matches!(place, PeerAddress::Udp(to) if to.port() == 53))
        );
    }

    #[test]
    fn a_version_nobody_answers_at_is_left_out() {
        let both: Vec<SocketAddr> = vec!["[::1]:80".parse().unwrap(), "127.0.0.1:80".parse().unwrap()];
        type ConnectCheck = fn(SocketAddr) -> bool;
        let table: [(ConnectCheck, &[usize]); 4] =
            [(|a| a.is_ipv4(), &[1]), (|a| a.is_ipv6(), &[0]), (|_| true, &[0, 1]), (|_| false, &[0, 1])];
        for (knock, kept) in table {
            let wanted: Vec<SocketAddr> = kept.iter().map(|&i| both[i]).collect();
            assert_eq!(resolver(&[], None, knock).keep_answering("h", 80, both.clone()), wanted);
        }
    }
}
