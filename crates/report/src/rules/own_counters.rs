//! The rule for a generator whose machine cannot be observed: without `/proc`, neither processes that take its cores nor
//! the steal of a hypervisor would show.

use brunt_record::RunEvent;

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::text::{Text, text};

const UNOBSERVED: Text = text(
    "the counters of this machine cannot be read (no /proc): who else used its cores, and what its kernel dropped, is \
        unknown",
    "无法读取本机的计数器（没有 /proc）：不知道谁占用了 CPU，也不知道内核丢弃了什么",
);

/// A counter of every machine.
const OF_EVERY_MACHINE: &str = "cpu.count";

/// Finds that brunt took readings of its own machine, and none had its cores.
#[derive(Debug, Default)]
pub(super) struct OwnCountersRule {
    /// Name of the generator's machine.
    host: String,
    readings: u64,
    observed: bool,
}

impl TrustRule for OwnCountersRule {
    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                self.host = started.hosts.first().map(|host| host.name.clone()).unwrap_or_default();
            }
            RunEvent::Counters(sample) if sample.host == self.host => {
                self.readings += 1;
                self.observed |= sample.values.contains_key(OF_EVERY_MACHINE);
            }
            _ => {}
        }
    }

    fn findings(&self, _run: &Evidence<'_>) -> Vec<Finding> {
        let blind = self.readings > 0 && !self.observed;
        blind.then(|| Finding::new("own_counters", Grade::Warn, UNOBSERVED, [])).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use brunt_record::{CounterValue, HostCounters};

    use super::*;
    use crate::rules::tests::found;

    #[test]
    fn a_machine_without_its_cores_is_not_observed() {
        let reading = |host: &str, name: &str| {
            let values = [(name.to_owned(), CounterValue::Whole(2))].into();
            RunEvent::Counters(HostCounters { host: host.into(), values, ..HostCounters::default() })
        };
        let grades = |readings: Vec<RunEvent>| {
            let all = found(OwnCountersRule { host: "here".into(), ..OwnCountersRule::default() }, readings);
            all.iter().map(|finding| finding.grade).collect::<Vec<_>>()
        };
        assert_eq!(grades(vec![]), [], "no reading was tried");
        assert_eq!(grades(vec![reading("here", "cpu.count"), reading("here", "self.rss")]), []);
        assert_eq!(grades(vec![reading("here", "net.lo.rx_bytes")]), [Grade::Warn]);
        assert_eq!(grades(vec![reading("db", "cpu.count"), reading("here", "net.lo.rx_bytes")]), [Grade::Warn]);
    }
}
