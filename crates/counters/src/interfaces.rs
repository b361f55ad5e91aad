//! The network interfaces of the host: those with the most traffic, up to a limit.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::counters::CounterSink;
use crate::parse::network::{Interface, interfaces, speed};
use crate::source::{CounterSource, PersistentFile, reason};

/// Maximum number of interfaces: a host of containers has hundreds, most of which carry no traffic of the run.
const MOST: usize = 16;

/// The set of interfaces that are read.
#[derive(Debug)]
pub(crate) struct Interfaces {
    counters: PersistentFile,
    /// Interfaces with their speed, if known.
    followed: BTreeMap<String, Option<u64>>,
}

impl Interfaces {
    pub fn new() -> Interfaces {
        Interfaces { counters: PersistentFile::new("/proc/net/dev"), followed: BTreeMap::new() }
    }

    /// Adds the counters of these interfaces under `net.NAME`.
    pub fn report(&mut self, source: &CounterSource, buffer: &mut Vec<u8>, sink: &mut CounterSink) {
        let text = match self.counters.read(source, buffer) {
            Ok(text) => text,
            Err(error) => return sink.unobservable("net", reason(&error)),
        };
        let all: Vec<Interface<'_>> = interfaces(&text).collect();
        self.followed.retain(|name, _| all.iter().any(|interface| interface.name == name));
        let room = MOST - self.followed.len();
        let mut new: Vec<_> = all.iter().filter(|interface| !self.followed.contains_key(interface.name)).collect();
        new.sort_by_key(|interface| (interface.name != "lo", Reverse(interface.bytes())));
        for interface in new.into_iter().take(room) {
            let told = source.text(&format!("/sys/class/net/{}/speed", interface.name));
            self.followed.insert(interface.name.to_owned(), told.ok().and_then(|text| speed(&text)));
        }
        for interface in &all {
            if let Some(mbps) = self.followed.get(interface.name) {
                interface.report(sink);
                sink.put_some(&["net", interface.name, "speed_mbps"], *mbps);
            }
        }
        if all.len() > MOST {
            sink.unobservable(
                "net",
                &format!("more than {MOST} interfaces: those with the least traffic are left out"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;
    use brunt_measure::Nanos;

    fn dev(interfaces: &[(&str, u64)]) -> String {
        let line = |(name, bytes): &(&str, u64)| format!("  {name}: {bytes} 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
        interfaces.iter().map(line).collect()
    }

    fn bytes(told: &crate::Counters) -> Vec<(&str, u64)> {
        let of = |name: &'static str, told: &crate::Counters| told.get(&format!("net.{name}.rx_bytes"));
        ["lo", "eth0", "veth3"].into_iter().filter_map(|name| Some((name, of(name, told)?))).collect()
    }

    #[test]
    fn interfaces_come_and_go() {
        let fake = FakeHost::new(&[
            ("proc/net/dev", &dev(&[("lo", 5), ("eth0", 7)])),
            ("sys/class/net/eth0/speed", "10000\n"),
            ("sys/class/net/veth3/speed", "-1\n"),
        ]);
        let (mut all, mut sink) = (Interfaces::new(), CounterSink::default());
        let mut tell = || {
            all.report(&fake.source(), &mut Vec::new(), &mut sink);
            sink.take(Nanos::ZERO)
        };
        let first = tell();
        assert_eq!(bytes(&first), [("lo", 5), ("eth0", 7)]);
        assert_eq!((first.get("net.eth0.speed_mbps"), first.get("net.lo.speed_mbps")), (Some(10_000), None));
        fake.write("proc/net/dev", &dev(&[("lo", 6), ("veth3", 9)]));
        let then = tell();
        assert_eq!((bytes(&then), then.get("net.veth3.speed_mbps")), (vec![("lo", 6), ("veth3", 9)], None));
        assert_eq!(then.unobservable, Vec::<String>::new());
    }

    #[test]
    fn of_very_many_those_are_followed_that_carried_most() {
        let names: Vec<String> = (0..40).map(|n| format!("veth{n}")).collect();
        let mut listed: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(100..).collect();
        listed.push(("lo", 0));
        let fake = FakeHost::new(&[("proc/net/dev", &dev(&listed))]);
        let mut sink = CounterSink::default();
        Interfaces::new().report(&fake.source(), &mut Vec::new(), &mut sink);
        let told = sink.take(Nanos::ZERO);
        let has = |name: &str| told.get(&format!("net.{name}.tx_bytes")).is_some();
        assert!(has("lo") && has("veth39") && has("veth25") && !has("veth24"), "{:?}", told.values);
        assert_eq!(told.unobservable, ["net: more than 16 interfaces: those with the least traffic are left out"]);
    }
}
