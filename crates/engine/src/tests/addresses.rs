//! Names with several addresses: those that refuse are named, and the addresses are looked up again as planned.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use brunt_cause::Cause;
use brunt_contract::{Origin, PeerAddress, ServerRequest};
use brunt_measure::Nanos;
use brunt_protocols::http1::Http1Server;
use brunt_sim::{ServerPeer, SimReply};

use super::filtered_peer::FilteredPeer;
use super::harness::{SECOND, SimPlan, SimResult};
use crate::Resolver;

/// A resolver that returns the addresses with these last bytes; after the first lookups, others.
struct ListResolver {
    first: &'static [u8],
    then: &'static [u8],
    lookups: AtomicU64,
    /// Number of lookups that return the first addresses.
    lasts: u64,
}

impl ListResolver {
    fn new(first: &'static [u8], then: &'static [u8]) -> Arc<ListResolver> {
        // The first lookup is that of the run, before its workers start.
        Arc::new(ListResolver { first, then, lookups: AtomicU64::new(0), lasts: 2 })
    }
}

impl Resolver for ListResolver {
    fn resolve(&self, _origin: &Origin) -> Result<Vec<PeerAddress>, Cause> {
        let bytes = if self.lookups.fetch_add(1, Relaxed) < self.lasts { self.first } else { self.then };
        Ok(bytes.iter().map(|byte| PeerAddress::Tcp(([127, 0, 0, *byte], 80).into())).collect())
    }
}

/// Plays a run of eight users against a server that listens at all addresses except those that end in nine.
fn play(scene: SimPlan, resolver: &Arc<ListResolver>, dialed: &Arc<Mutex<Vec<String>>>) -> SimResult {
    let scene = SimPlan { resolver: Arc::clone(resolver) as Arc<dyn Resolver>, ..scene };
    let dialed = Arc::clone(dialed);
    scene.play_with(Arc::default(), move |_| {
        let dialed = Arc::clone(&dialed);
        let answer = |now: Nanos, _: &ServerRequest<'_>| (now + Nanos::from_millis(20), SimReply::new(200, b"x"));
        Box::new(FilteredPeer::new(ServerPeer::new(Http1Server::new, answer)).accept_at(move |to| {
            let PeerAddress::Tcp(to) = to else { return false };
            dialed.lock().unwrap().push(to.ip().to_string());
            !to.ip().to_string().ends_with(".9")
        }))
    })
}

#[test]
fn an_address_that_refuses_is_named_and_one_that_is_alone_is_not() {
    let failed = |addresses: &'static [u8]| {
        let resolver = ListResolver::new(addresses, addresses);
        let played = play(SimPlan::closed(8, Nanos::from_secs(4)), &resolver, &Arc::default());
        let failed: Vec<_> = played.seconds.iter().flat_map(|second| second.failed_addresses.clone()).collect();
        let refused = played.seconds.iter().map(|second| second.connections.failed).sum::<u64>();
        (failed, refused)
    };
    let (named, refused) = failed(&[8, 9]);
    assert_eq!(named.iter().map(|failed| failed.count).sum::<u64>(), refused, "each refusal is told");
    assert!(refused > 0);
    for failed in named {
        assert_eq!(failed.detail, "127.0.0.9:80, one of the 2 addresses of test");
        assert_eq!(
            (&*failed.kind, &*failed.phase, failed.errno.as_deref()),
            ("refused", "connect", Some("ECONNREFUSED"))
        );
    }
    assert_eq!(failed(&[8]), (Vec::new(), 0));
    let (named, refused) = failed(&[9]);
    assert!(named.is_empty() && refused > 0, "{named:?}");
}

#[test]
fn names_are_looked_up_again_at_the_planned_interval() {
    let dialed_with = |dns_refresh| {
        let (resolver, dialed) = (ListResolver::new(&[7], &[8]), Arc::default());
        let scene = SimPlan::closed(2, Nanos::from_secs(10))
            .option("no-keepalive", "")
            .with(|plan| plan.dns_refresh = dns_refresh);
        let played = play(scene, &resolver, &dialed);
        assert_eq!((played.sum.failed, played.sum.finished > 100), (0, true));
        let dialed = dialed.lock().unwrap().clone();
        (dialed.first().cloned(), dialed.last().cloned(), resolver.lookups.load(Relaxed))
    };
    let (first, last, lookups) = dialed_with(Some(Nanos(2 * SECOND.0)));
    assert_eq!((first.as_deref(), last.as_deref()), (Some("127.0.0.7"), Some("127.0.0.8")));
    assert!((5..=7).contains(&lookups), "every two seconds: {lookups}");
    let (first, last, lookups) = dialed_with(None);
    assert_eq!((first.as_deref(), last.as_deref()), (Some("127.0.0.7"), Some("127.0.0.7")));
    assert!(lookups <= 2, "{lookups}");
}
