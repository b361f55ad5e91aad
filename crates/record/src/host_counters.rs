//! Counters of a machine, sampled once a second; only changes are recorded, and a reader carries the rest forward.
//!
//! A machine has some six hundred counters, of which a hundred change in a second. [`ChangeEncoder`] leaves out the
//! unchanged ones, and [`CounterState`] restores them. Counters that can no longer be read are listed as gone, to
//! distinguish them from unchanged ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The value of a counter: whole for what the kernel counts, real for shares and averages from other sources.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CounterValue {
    /// A count, a size, a time.
    Whole(u64),
    /// Any other number.
    Real(f64),
}

impl CounterValue {
    /// Returns the value as floating point, with 53 bits of precision.
    pub fn real(self) -> f64 {
        match self {
            CounterValue::Whole(whole) => whole as f64,
            CounterValue::Real(real) => real,
        }
    }

    /// Returns the value if it is a whole number.
    pub fn whole(self) -> Option<u64> {
        match self {
            CounterValue::Whole(whole) => Some(whole),
            CounterValue::Real(_) => None,
        }
    }

    /// Returns the increase of a counter since `before`; `None` if it was reset, because its value before the reset is
    /// unknown.
    pub fn since(self, before: CounterValue) -> Option<CounterValue> {
        match (before, self) {
            (CounterValue::Whole(before), CounterValue::Whole(after)) => {
                increase(before, after).map(CounterValue::Whole)
            }
            (before, after) => {
                let grown = after.real() - before.real();
                (grown >= 0.0).then_some(CounterValue::Real(grown))
            }
        }
    }
}

/// Returns the increase of a count; `None` if it was reset. A count that fell from near the limit of 32 or 64 bits to
/// near zero wrapped around; any other count that fell was reset.
pub fn increase(before: u64, after: u64) -> Option<u64> {
    const ROUND: u64 = 1 << 32;
    const NEAR: u64 = ROUND / 4;
    if after >= before {
        return Some(after - before);
    }
    let grown = after.wrapping_sub(before);
    let of_32_bits = grown.wrapping_add(ROUND);
    match before {
        _ if grown < NEAR => Some(grown),
        _ if (ROUND - NEAR..ROUND).contains(&before) && of_32_bits < NEAR => Some(of_32_bits),
        _ => None,
    }
}

/// The counters of a machine at one moment that have changed since the previous sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCounters {
    /// Time of the sample since the start of the window (nanoseconds; negative within the warm-up).
    pub at_ns: i64,
    /// Name of the machine.
    pub host: String,
    /// Counters that changed; in the first sample, all of them.
    #[serde(default)]
    pub values: BTreeMap<String, CounterValue>,
    /// Labels that changed: the name of a clock, of a thread.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Counters and labels of earlier samples that can no longer be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Counters that could not be read, with the reason; each listed once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unobservable: Vec<String>,
}

/// An encoder that turns the samples of one machine into changes.
#[derive(Debug, Default)]
pub struct ChangeEncoder {
    host: String,
    values: BTreeMap<Arc<str>, CounterValue>,
    labels: BTreeMap<Arc<str>, String>,
    unobservable: BTreeSet<String>,
}

impl ChangeEncoder {
    /// Creates an encoder for a machine without recorded samples.
    pub fn new(host: impl Into<String>) -> ChangeEncoder {
        ChangeEncoder { host: host.into(), ..ChangeEncoder::default() }
    }

    /// Returns the changes of a sample.
    pub fn encode(
        &mut self,
        at_ns: i64,
        values: BTreeMap<Arc<str>, CounterValue>,
        labels: BTreeMap<Arc<str>, String>,
        unobservable: Vec<String>,
    ) -> HostCounters {
        // JSON cannot represent NaN and infinities.
        let values: BTreeMap<_, _> = values.into_iter().filter(|(_, value)| value.real().is_finite()).collect();
        let gone = missing(&self.values, &values).chain(missing(&self.labels, &labels)).collect();
        let unobservable = unobservable.into_iter().filter(|what| self.unobservable.insert(what.clone())).collect();
        let told = HostCounters {
            at_ns,
            host: self.host.clone(),
            values: changed(&self.values, &values),
            labels: changed(&self.labels, &labels),
            gone,
            unobservable,
        };
        (self.values, self.labels) = (values, labels);
        told
    }
}

fn changed<V: Clone + PartialEq>(before: &BTreeMap<Arc<str>, V>, now: &BTreeMap<Arc<str>, V>) -> BTreeMap<String, V> {
    let other = now.iter().filter(|(name, value)| before.get(*name) != Some(value));
    other.map(|(name, value)| (name.to_string(), value.clone())).collect()
}

fn missing<V>(before: &BTreeMap<Arc<str>, V>, now: &BTreeMap<Arc<str>, V>) -> impl Iterator<Item = String> {
    before.keys().filter(|name| !now.contains_key(*name)).map(ToString::to_string)
}

/// The current counters of one machine, accumulated from the changes in its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterState {
    /// Time of the last sample, as in [`HostCounters`].
    pub at_ns: i64,
    /// All counters that can currently be read.
    pub values: BTreeMap<String, CounterValue>,
    /// All labels that can currently be read.
    pub labels: BTreeMap<String, String>,
    /// Counters that could not be read at some point, with the reason.
    pub unobservable: BTreeSet<String>,
}

impl CounterState {
    /// Applies the next sample of this machine.
    pub fn add(&mut self, sample: &HostCounters) {
        self.at_ns = sample.at_ns;
        for name in &sample.gone {
            self.values.remove(name);
            self.labels.remove(name);
        }
        self.values.extend(sample.values.iter().map(|(name, value)| (name.clone(), *value)));
        self.labels.extend(sample.labels.iter().map(|(name, word)| (name.clone(), word.clone())));
        self.unobservable.extend(sample.unobservable.iter().cloned());
    }

    /// Returns the value of a counter; `None` if it cannot be read.
    pub fn get(&self, name: &str) -> Option<CounterValue> {
        self.values.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunEvent;

    type Sample<'a> = (&'a [(&'a str, CounterValue)], &'a [(&'a str, &'a str)], &'a [&'a str]);

    fn tell(changes: &mut ChangeEncoder, at_ns: i64, (values, labels, unobservable): Sample<'_>) -> HostCounters {
        let values = values.iter().map(|&(name, value)| (name.into(), value)).collect();
        let labels = labels.iter().map(|&(name, word)| (name.into(), word.to_owned())).collect();
        changes.encode(at_ns, values, labels, unobservable.iter().map(|&what| what.to_owned()).collect())
    }

    fn line(sample: &HostCounters) -> String {
        serde_json::to_string(&RunEvent::Counters(sample.clone())).unwrap()
    }

    #[test]
    fn counts_that_go_round_and_counts_that_begin_anew_are_told_apart() {
        let near = u64::from(u32::MAX);
        for (before, after, grown) in [
            (0, 0, Some(0)),
            (5, 9, Some(4)),
            (near, near + 3, Some(3)),
            (near - 1, 3, Some(5)),
            (u64::MAX - 1, 3, Some(5)),
            (1000, 3, None),
            (near / 2, 3, None),
            (near - 1, near - 2, None),
            (u64::MAX, u64::MAX - 1, None),
            (u64::MAX, 1 << 40, None),
            (near + 10, 3, None),
        ] {
            assert_eq!(increase(before, after), grown, "{before} to {after}");
        }
        assert_eq!(CounterValue::Real(2.5).since(CounterValue::Whole(2)), Some(CounterValue::Real(0.5)));
        assert_eq!(CounterValue::Real(0.5).since(CounterValue::Real(1.5)), None);
    }

    #[test]
    fn a_sample_tells_what_changed_and_a_reader_carries_the_rest() {
        use CounterValue::{Real, Whole};
        let samples: [Sample<'_>; 4] = [
            (&[("a", Whole(1)), ("b", Whole(u64::MAX)), ("c", Real(0.5))], &[("clock", "tsc")], &["psi: permission"]),
            (&[("a", Whole(2)), ("b", Whole(u64::MAX)), ("c", Real(0.5))], &[("clock", "tsc")], &["psi: permission"]),
            (&[("a", Whole(2)), ("c", Real(3.0)), ("d", Real(f64::NAN))], &[], &["psi: permission", "d: no such file"]),
            (&[("a", Whole(2)), ("b", Whole(4)), ("c", Real(3.0))], &[("clock", "hpet")], &[]),
        ];
        let lines = [
            r#"{"event":"counters","at_ns":-1,"host":"h","values":{"a":1,"b":18446744073709551615,"c":0.5},"labels":{"clock":"tsc"},"unobservable":["psi: permission"]}"#,
            r#"{"event":"counters","at_ns":0,"host":"h","values":{"a":2}}"#,
            r#"{"event":"counters","at_ns":1,"host":"h","values":{"c":3.0},"gone":["b","clock"],"unobservable":["d: no such file"]}"#,
            r#"{"event":"counters","at_ns":2,"host":"h","values":{"b":4},"labels":{"clock":"hpet"}}"#,
        ];
        let (mut changes, mut carried) = (ChangeEncoder::new("h"), CounterState::default());
        for ((at_ns, sample), line_of_it) in (-1..).zip(samples).zip(lines) {
            let told = tell(&mut changes, at_ns, sample);
            assert_eq!(line(&told), line_of_it);
            let RunEvent::Counters(read) = serde_json::from_str(line_of_it).unwrap() else { panic!("{line_of_it}") };
            assert_eq!(read, told);
            carried.add(&read);
            let finite = sample.0.iter().filter(|(_, value)| value.real().is_finite());
            assert_eq!(carried.values, finite.map(|&(name, value)| (name.to_owned(), value)).collect());
            assert_eq!(carried.labels.get("clock").map(String::as_str), sample.1.first().map(|(_, word)| *word));
            assert_eq!((carried.at_ns, carried.get("a")), (at_ns, Some(sample.0[0].1)));
        }
        assert_eq!(Vec::from_iter(carried.unobservable), ["d: no such file", "psi: permission"]);
    }

    #[test]
    fn what_a_later_brunt_adds_to_a_sample_is_gone_past() {
        let later = r#"{"event":"counters","at_ns":7,"host":"h","values":{"a":1},"weather":{"rain":[1]}}"#;
        let RunEvent::Counters(read) = serde_json::from_str(later).unwrap() else { panic!("{later}") };
        assert_eq!((read.at_ns, read.values["a"], read.gone.len()), (7, CounterValue::Whole(1), 0));
        assert!(
            serde_json::from_str::<RunEvent>(r#"{"event":"counters","host":"h"}"#).is_err(),
            "a sample has a moment"
        );
    }
}
