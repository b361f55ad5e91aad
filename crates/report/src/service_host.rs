//! Selection of the service's machine among all machines whose counters are in the record.

use brunt_diagnose::{CounterSummary, ServiceHost};
use brunt_record::ProbedHost;

use crate::limits::MachineCounters;

/// Returns `true` if the counters include those of a service.
pub(crate) fn has_service(counted: &CounterSummary) -> bool {
    ["service.", "listener."].iter().any(|of| counted.name_middles(of, "").next().is_some())
}

/// Returns the machine of the service among those that generate no load: the machine that has the address under load,
/// or else one whose counters include a service, or else the only joined one. Returns `None` if the service is on the
/// generator's machine.
pub(crate) fn service_host(
    others: Vec<MachineCounters>,
    joined: &[ProbedHost],
    service_is_here: bool,
) -> Option<ServiceHost> {
    let told_of = |counts: &MachineCounters| joined.iter().find(|joined| joined.host == counts.host);
    let holds_target = |counts: &MachineCounters| told_of(counts).is_some_and(|joined| joined.holds_target);
    let shares_kernel = |counts: &MachineCounters| told_of(counts).is_some_and(|joined| joined.shares_kernel);
    let only = others.len() == 1 && joined.len() == 1;
    let rank = |counts: &MachineCounters| match has_service(&counts.counted) {
        // A service on our kernel is observed from here and needs no counters from another machine.
        _ if service_is_here && shares_kernel(counts) => None,
        _ if holds_target(counts) => Some(0),
        _ if service_is_here => None,
        true => Some(1),
        false => (only && told_of(counts).is_some()).then_some(2),
    };
    let best = others.iter().filter_map(|counts| Some((rank(counts)?, counts))).min_by_key(|(rank, _)| *rank)?.1;
    // Counters that ended early do not cover the whole run.
    (!best.lost).then(|| ServiceHost {
        host: best.host.clone(),
        counters: best.counted.clone(),
        shares_kernel: shares_kernel(best),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a machine with one counter, and its probe with the flags listed in `said`: `target`, `kernel`, `lost`.
    /// With an empty `said`, the machine was not joined.
    fn machine(host: &str, counter: &str, said: &str) -> (MachineCounters, Option<ProbedHost>) {
        let mut counted = CounterSummary::default();
        counted.add_reading(0, [(counter, 1.0)]);
        let joined = ProbedHost {
            host: host.into(),
            holds_target: said.contains("target"),
            shares_kernel: said.contains("kernel"),
            ..ProbedHost::default()
        };
        let mut counts = MachineCounters::default();
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
            // With a load balancer in between, for example, the service is on the only machine that was named.
            (&[("web", kernel, "joined")], false, Some("web")),
            (&[("db", kernel, "joined"), ("web", kernel, "joined")], false, None),
            (&[("some", kernel, "")], false, None),
            (&[("some", service, "")], false, Some("some")),
            // A service on this machine is observed from here.
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
            let found = service_host(counts, &joined, here);
            assert_eq!(found.as_ref().map(|found| &*found.host), chosen, "{all:?}, a service here: {here}");
            let shares = all.iter().any(|(host, _, said)| Some(*host) == chosen && said.contains("kernel"));
            assert_eq!(found.is_some_and(|found| found.shares_kernel), shares, "{all:?}");
        }
    }
}
