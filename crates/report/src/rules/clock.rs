//! The rule for the clock of the generator's machine (V23): every latency includes the cost of reading a slow clock
//! twice.

use brunt_record::RunEvent;

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::text::{Text, text};

const SLOW: Text = text(
    "this machine's clock source is {clock}: every clock reading takes a system call, which adds to every latency; \
        with clocksource=tsc, if the kernel trusts it, a reading takes 20 ns",
    "本机的时钟源是 {clock}：每次读取时钟都要经过系统调用，其开销会计入每个延迟；如果内核信任 TSC，改用 clocksource=tsc 后每次只需 20 ns",
);

/// Clock sources that are read without a system call (`vdso_clock_mode` in Linux 6.x): those of x86, of KVM and Hyper-V
/// guests, of ARM and of RISC-V.
const QUICK: [&str; 6] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource", "timebase"];

/// The clock source of the generator's machine, which is the first to report counters.
#[derive(Debug, Default)]
pub(super) struct ClockRule {
    host: Option<String>,
    source: Option<String>,
}

impl TrustRule for ClockRule {
    fn see(&mut self, event: &RunEvent) {
        if let RunEvent::Counters(sample) = event
            && *self.host.get_or_insert_with(|| sample.host.clone()) == sample.host
            && let Some(source) = sample.labels.get("setting.clocksource")
        {
            self.source = Some(source.clone());
        }
    }

    fn findings(&self, _: &Evidence<'_>) -> Vec<Finding> {
        let slow = self.source.iter().filter(|source| !QUICK.contains(&source.as_str()));
        slow.map(|source| Finding::new("clock_slow", Grade::Warn, SLOW, [("clock", source.clone())])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    fn counters(host: &str, clock: &str) -> RunEvent {
        let labels = [("setting.clocksource".to_owned(), clock.to_owned())].into();
        RunEvent::Counters(brunt_record::HostCounters { host: host.into(), labels, ..Default::default() })
    }

    #[test]
    fn a_clock_that_is_slow_to_read_is_told_and_another_machines_is_not() {
        let codes = |events: Vec<RunEvent>| {
            found(ClockRule::default(), events).into_iter().map(|f| (f.code, f.grade)).collect::<Vec<_>>()
        };
        assert_eq!(codes(vec![counters("here", "hpet")]), [("clock_slow", Grade::Warn)]);
        assert_eq!(codes(vec![counters("here", "tsc"), counters("there", "hpet")]), []);
        assert_eq!(codes(vec![counters("here", "kvm-clock")]), []);
        assert_eq!(codes(vec![]), [], "nobody knows");
    }
}
