//! Whose counters are those of the service's machine, among all that a run has.

use diagnose::{CounterSummary, ServiceHost};
use record::ProbedHost;

use crate::limits::Counts;

/// A service was counted among them.
pub(crate) fn has_service(counted: &CounterSummary) -> bool {
    ["service.", "listener."].iter().any(|of| counted.name_middles(of, "").next().is_some())
}

/// The machine of the service, among those that make no load: the one that has the address under load; where none says so, one on
/// which a service was counted, or else the only one that was joined. None where the service is on the generator's.
pub(crate) fn elsewhere(others: Vec<Counts>, joined: &[ProbedHost], service_is_here: bool) -> Option<ServiceHost> {
    let told_of = |counts: &Counts| joined.iter().find(|joined| joined.host == counts.host);
    let holds_target = |counts: &Counts| told_of(counts).is_some_and(|joined| joined.holds_target);
    let shares_kernel = |counts: &Counts| told_of(counts).is_some_and(|joined| joined.shares_kernel);
    let only = others.len() == 1 && joined.len() == 1;
    let rank = |counts: &Counts| match has_service(&counts.counted) {
        // What runs on our kernel and is seen from here needs nobody else to tell of it.
        _ if service_is_here && shares_kernel(counts) => None,
        _ if holds_target(counts) => Some(0),
        _ if service_is_here => None,
        true => Some(1),
        false => (only && told_of(counts).is_some()).then_some(2),
    };
    let best = others.iter().filter_map(|counts| Some((rank(counts)?, counts))).min_by_key(|(rank, _)| *rank)?.1;
    // Of counters that ended early nobody knows how they would have gone on.
    (!best.lost).then(|| ServiceHost {
        host: best.host.clone(),
        counters: best.counted.clone(),
        shares_kernel: shares_kernel(best),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with a counter, joined with these words: `target`, `kernel`; none where it has no word.
    fn machine(host: &str, counter: &str, said: &str) -> (Counts, Option<ProbedHost>) {
        let mut counted = CounterSummary::default();
        counted.add_reading(0, [(counter, 1.0)]);
        let joined = ProbedHost {
            host: host.into(),
            holds_target: said.contains("target"),
            shares_kernel: said.contains("kernel"),
            ..ProbedHost::default()
        };
        let mut counts = Counts::default();
        (counts.host, counts.counted, counts.lost) = (host.into(), counted, said.contains("lost"));
        (counts, (!said.is_empty()).then_some(joined))
    }

    #[test]
    fn the_machine_with_the_address_under_load_is_that_of_the_service() {
        let (service, kernel) = ("service.all.cpu", "cpu.count");
        for (all, here, chosen) in [
            (&[("db", service, "joined"), ("web", service, "target")][..], false, Some("web")),
            (&[("db", service, "joined"), ("web", kernel, "target")], false, Some("web")),
            (&[("db", service, "joined"), ("web", kernel, "joined")], false, Some("db")),
            // A balancer is between, say: the only one that was named is meant.
            (&[("web", kernel, "joined")], false, Some("web")),
            (&[("db", kernel, "joined"), ("web", kernel, "joined")], false, None),
            (&[("some", kernel, "")], false, None),
            (&[("some", service, "")], false, Some("some")),
            // What runs here is seen from here.
            (&[("db", service, "joined")], true, None),
            (&[("here", service, "target kernel")], true, None),
            (&[("box", service, "target kernel")], false, Some("box")),
            (&[("web", service, "target lost")], false, None),
            (&[("web", service, "target lost"), ("db", service, "joined")], false, None),
            (&[], false, None),
        ] {
            let (counts, joined): (Vec<_>, Vec<_>) =
                all.iter().map(|(host, counter, said)| machine(host, counter, said)).unzip();
            let joined: Vec<ProbedHost> = joined.into_iter().flatten().collect();
            let found = elsewhere(counts, &joined, here);
            assert_eq!(found.as_ref().map(|found| &*found.host), chosen, "{all:?}, a service here: {here}");
            let shares = all.iter().any(|(host, _, said)| Some(*host) == chosen && said.contains("kernel"));
            assert_eq!(found.is_some_and(|found| found.shares_kernel), shares, "{all:?}");
        }
    }
}
