//! A sample: counters by name, and the sink that parsers write them to.
//!
//! Names are dotted, stable and shared: hardly any of the six hundred in a sample is new, so each is allocated once.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use brunt_measure::Nanos;
use brunt_record::{ChangeEncoder, CounterValue, HostCounters};

/// The name of a counter: `Tcp.RetransSegs`, `cpu.0.steal`.
pub type CounterName = Arc<str>;

/// Counters read at one moment. A counter that cannot be read is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Time of the sample (`CLOCK_MONOTONIC`).
    pub moment: Nanos,
    /// Counters and gauges.
    pub values: BTreeMap<CounterName, CounterValue>,
    /// Values that are words rather than numbers: `setting.clocksource`.
    pub labels: BTreeMap<CounterName, String>,
    /// Counters that could not be read, with the reason: `psi.cpu: not supported`. Sorted, without duplicates.
    pub unobservable: Vec<String>,
}

impl Counters {
    /// Returns a count; `None` if it could not be read.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.get(name).and_then(|value| value.whole())
    }

    /// Returns a label; `None` if it could not be read.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }

    /// Converts this sample of a machine to an event; `start` is the start of the window, past or planned.
    pub fn into_event(self, changes: &mut ChangeEncoder, start: Nanos) -> HostCounters {
        let at_ns = self.moment.0.wrapping_sub(start.0).cast_signed();
        changes.encode(at_ns, self.values, self.labels, self.unobservable)
    }
}

/// Maximum length of a counter's name.
const LONGEST_NAME: usize = 300;

/// Returns `true` if a name chosen by another program is acceptable for a counter: of bounded length and without
/// control characters.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.chars().any(char::is_control)
}

/// A collector of counters while a host or a service is read.
#[derive(Debug, Default)]
pub struct CounterSink {
    names: HashSet<CounterName>,
    values: Vec<(CounterName, CounterValue)>,
    labels: BTreeMap<CounterName, String>,
    unobservable: Vec<String>,
    text: String,
}

impl CounterSink {
    /// Adds a count under a name joined from these parts with dots. The last value put under a name wins.
    pub fn put(&mut self, name: &[&str], value: u64) {
        let name = self.name(name);
        self.values.push((name, CounterValue::Whole(value)));
    }

    /// Adds a number that need not be whole.
    pub fn put_number(&mut self, name: &[&str], value: CounterValue) {
        let name = self.name(name);
        self.values.push((name, value));
    }

    /// Adds a count that may be missing.
    pub fn put_some(&mut self, name: &[&str], value: Option<u64>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// Adds a label.
    pub fn label(&mut self, name: &[&str], word: &str) {
        let name = self.name(name);
        self.labels.insert(name, word.to_owned());
    }

    /// Records that something cannot be read, and why.
    pub fn unobservable(&mut self, what: &str, why: &str) {
        self.unobservable.push(format!("{what}: {why}"));
    }

    /// Returns the number of values put so far: shows whether a parser found anything.
    pub fn count(&self) -> usize {
        self.values.len() + self.labels.len()
    }

    /// Takes everything put since the last call.
    pub fn take(&mut self, moment: Nanos) -> Counters {
        let room = self.values.len();
        let values = std::mem::replace(&mut self.values, Vec::with_capacity(room));
        let mut unobservable = std::mem::take(&mut self.unobservable);
        unobservable.sort_unstable();
        unobservable.dedup();
        self.forget_names(room);
        let labels = std::mem::take(&mut self.labels);
        Counters { moment, values: values.into_iter().collect(), labels, unobservable }
    }

    /// Drops cached names once most are stale: processes start and end, and their names change with them.
    fn forget_names(&mut self, in_use: usize) {
        if self.names.len() > 4096 + 4 * in_use {
            self.names.clear();
        }
    }

    fn name(&mut self, parts: &[&str]) -> CounterName {
        self.text.clear();
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                self.text.push('.');
            }
            self.text.push_str(part);
        }
        if let Some(known) = self.names.get(&*self.text) {
            return Arc::clone(known);
        }
        let name: CounterName = self.text.as_str().into();
        self.names.insert(Arc::clone(&name));
        name
    }
}

/// Runs a parser and returns everything it found, in order.
#[cfg(test)]
pub(crate) fn found(parse: impl FnOnce(&mut CounterSink)) -> Vec<(String, u64)> {
    let mut sink = CounterSink::default();
    parse(&mut sink);
    let counters = sink.take(Nanos::ZERO);
    counters.values.iter().map(|(name, value)| (name.to_string(), value.whole().unwrap())).collect()
}

/// Converts expected values to the format of [`found`], for comparison.
#[cfg(test)]
pub(crate) fn expected(wanted: &[(&str, u64)]) -> Vec<(String, u64)> {
    wanted.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_holds_what_was_put_since_the_one_before() {
        let mut sink = CounterSink::default();
        sink.put(&["b", "0", "x"], 1);
        sink.put(&["a"], 7);
        sink.put(&["a"], 2);
        sink.label(&["clock"], "tsc");
        sink.unobservable("psi", "permission");
        sink.unobservable("conntrack", "no such file");
        sink.unobservable("psi", "permission");
        assert_eq!(sink.count(), 4);
        let first = sink.take(Nanos(5));
        assert_eq!(first.moment, Nanos(5));
        assert_eq!(first.values.keys().map(|name| &**name).collect::<Vec<_>>(), ["a", "b.0.x"]);
        assert_eq!((first.get("a"), first.get("b.0.x"), first.get("b")), (Some(2), Some(1), None));
        assert_eq!((first.label("clock"), first.label("a")), (Some("tsc"), None));
        assert_eq!(first.unobservable, ["conntrack: no such file", "psi: permission"]);
        assert_eq!(sink.take(Nanos(6)), Counters { moment: Nanos(6), ..Counters::default() });
    }

    #[test]
    fn names_that_are_gone_are_forgotten_in_time() {
        let mut sink = CounterSink::default();
        for pid in 0..20_000 {
            sink.put(&["service", &pid.to_string(), "cpu"], 1);
            sink.take(Nanos::ZERO);
        }
        assert!(sink.names.len() < 5000, "{}", sink.names.len());
    }

    #[test]
    fn a_sample_is_told_with_its_moment_since_the_start_of_the_window() {
        let mut sink = CounterSink::default();
        let mut changes = ChangeEncoder::new("here");
        for (moment, at_ns) in [(900, -100), (1100, 100)] {
            sink.put(&["a"], 1);
            let told = sink.take(Nanos(moment)).into_event(&mut changes, Nanos(1000));
            assert_eq!((told.at_ns, &*told.host, told.values.len()), (at_ns, "here", usize::from(at_ns < 0)));
        }
    }
}
