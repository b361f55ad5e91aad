//! Figures by name: the results of a second for the requests of one name.

use std::collections::BTreeMap;

use brunt_measure::PackedHistogram;
use serde::{Deserialize, Serialize};

use crate::counts::counts;

counts! {
    /// Counts of the requests of one name; summed over all names, each field equals the second's count of the same
    /// field.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(default)]
    pub struct NamedCounts {
        /// Requests whose intended time lies in the second, warm-up excluded.
        #[serde(rename = "scheduled", skip_serializing_if = "is_zero")]
        due,
        /// Successes that ended in the second.
        #[serde(rename = "succeeded", skip_serializing_if = "is_zero")]
        finished,
        /// Failures that ended in the second.
        #[serde(skip_serializing_if = "is_zero")]
        failed,
        /// Requests abandoned unfinished at the end of the run.
        #[serde(rename = "unfinished", skip_serializing_if = "is_zero")]
        censored,
        /// Successes of requests of the warm-up that ended in the second: in throughput, in no other figure.
        #[serde(rename = "succeeded_of_warmup", skip_serializing_if = "is_zero")]
        finished_of_warmup,
        /// Bytes of payload of the responses.
        #[serde(skip_serializing_if = "is_zero")]
        payload,
        /// Responses that users had in their caches: not requests.
        #[serde(skip_serializing_if = "is_zero")]
        from_cache,
        /// Iterations that were due and were dropped because the limit of users was reached (rows of iterations only).
        #[serde(skip_serializing_if = "is_zero")]
        dropped,
        /// Users at the end of the second (rows of scenarios only).
        #[serde(skip_serializing_if = "is_zero")]
        users,
        /// Time integral of the users, in user-nanoseconds (rows of scenarios only).
        #[serde(skip_serializing_if = "is_zero")]
        users_ns,
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Results of a second for the requests of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedFigures {
    /// Index into the names of [`crate::RunStarted`].
    pub name: u16,
    /// The counts.
    pub counts: NamedCounts,
    /// Status code → count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<String, u64>,
    /// Latency of the successes: response time in open load, service time in closed load.
    #[serde(default, skip_serializing_if = "PackedHistogram::is_empty")]
    pub latency: PackedHistogram,
    /// Lower bounds of the latency of requests that did not finish.
    #[serde(default, skip_serializing_if = "PackedHistogram::is_empty")]
    pub at_least: PackedHistogram,
    /// The subset of `latency` that brunt itself may have delayed by more than a bucket.
    #[serde(default, skip_serializing_if = "PackedHistogram::is_empty")]
    pub latency_delayed: PackedHistogram,
    /// The same requests without the delay that may be brunt's own.
    #[serde(default, skip_serializing_if = "PackedHistogram::is_empty")]
    pub latency_undelayed: PackedHistogram,
}

impl NamedFigures {
    /// Adds the figures of another second of the same name.
    pub fn merge(&mut self, other: &NamedFigures) {
        for (code, n) in &other.status {
            crate::add_code(&mut self.status, code, *n);
        }
        self.merge_figures(other);
    }

    /// Adds the figures of another second of the same name, except for the codes.
    pub(crate) fn merge_figures(&mut self, other: &NamedFigures) {
        self.counts.add(&other.counts);
        self.latency.merge(&other.latency);
        self.at_least.merge(&other.at_least);
        self.latency_delayed.merge(&other.latency_delayed);
        self.latency_undelayed.merge(&other.latency_undelayed);
    }

    /// Returns the figures of a name in a list sorted by name, and inserts them if absent.
    pub fn entry(list: &mut Vec<NamedFigures>, name: u16) -> &mut NamedFigures {
        let at = list.binary_search_by_key(&name, |named| named.name).unwrap_or_else(|at| {
            list.insert(at, NamedFigures { name, ..NamedFigures::default() });
            at
        });
        &mut list[at]
    }
}

#[cfg(test)]
mod tests {
    use brunt_measure::{HistogramRows, Nanos, Rng};

    use super::*;
    use crate::{Latency, RecordWriter, RunEvent, RunPart, Second};

    /// Returns a random service time: lognormal around 3 ms (p99 about 10 ms), and fifty times as long for one in a
    /// hundred.
    fn service(rng: &mut Rng) -> Nanos {
        let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let tail = if rng.f64() < 0.01 { 50.0 } else { 1.0 };
        Nanos((3e6 * (0.5 * normal).exp() * tail) as u64)
    }

    /// Creates a second of fifty names with `each` requests per name, with all histograms of the run filled as under
    /// open load.
    fn second(n: i64, each: u64, rng: &mut Rng) -> Second {
        let mut rows = HistogramRows::new(1);
        let mut second = Second { from_ns: n * 1_000_000_000, to_ns: (n + 1) * 1_000_000_000, ..Second::default() };
        second.part = RunPart::Window;
        for name in 0..50 {
            for _ in 0..each {
                let (took, late) = (service(rng), Nanos(20_000 + (rng.f64() * 60_000.0) as u64));
                rows.record(0, took + late);
                let Latency { response, service, wait_conn, gen_late, first_byte, transfer, .. } = &mut second.latency;
                response.record(took + late);
                service.record(took);
                wait_conn.record(Nanos::ZERO);
                gen_late.record(late);
                first_byte.record(Nanos(took.0 / 10 * 9));
                transfer.record(Nanos(took.0 / 10));
            }
            let named = NamedFigures::entry(&mut second.named, name);
            let counts = NamedCounts { due: each, finished: each, payload: 612 * each, ..NamedCounts::default() };
            (named.counts, named.status) = (counts, BTreeMap::from([("200".into(), each)]));
            let mut bytes = Vec::new();
            rows.pack(0, &mut bytes);
            named.latency = PackedHistogram::from_bytes(&bytes).unwrap();
            rows.clear(0);
        }
        second
    }

    #[test]
    fn fifty_names_of_2000_requests_a_second_fit_an_hour_into_120_megabytes() {
        let (mut rng, seconds) = (Rng::new(7), 5);
        let directory = tempfile::tempdir().unwrap();
        let mut writer = RecordWriter::create(&directory.path().join("run.zst")).unwrap();
        let mut whole = 0;
        for n in 0..seconds {
            let second = second(n, 2000, &mut rng);
            let without = Second { named: Vec::new(), ..second.clone() };
            let before = writer.bytes();
            writer.write(&RunEvent::Second(Box::new(without))).unwrap();
            whole += writer.bytes() - before;
            writer.write(&RunEvent::Second(Box::new(second))).unwrap();
        }
        let with = writer.bytes() - whole;
        let an_hour = |bytes: u64| bytes / seconds as u64 * 3600;
        eprintln!("{} MB an hour, {} MB of it without names", an_hour(with) / 1_000_000, an_hour(whole) / 1_000_000);
        assert!(an_hour(with) <= 120_000_000, "{} bytes an hour, {} without names", an_hour(with), an_hour(whole));
    }
}
