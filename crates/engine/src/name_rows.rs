//! Figures of one worker and one second, by name. A run with a single name has none, because they would equal those of
//! the run.
//!
//! No memory is kept per request: it carries the index of its name, and its results are counted in that row.

use brunt_measure::{HistogramRows, Nanos, PackedHistogram};
use brunt_plan::scenarios::SCENARIOS;
use brunt_record::{MAX_CODES, NamedCounts};

use crate::decode::{number_of, word};
use crate::ids::{ScenarioId, UserId};
use crate::recorder::is_delayed;

/// Number of histograms of a name: see [`times_of`].
const ROWS_PER_NAME: usize = 4;
/// The code that stands for all codes beyond the first [`MAX_CODES`] of a second; no protocol uses it.
pub(crate) const OTHER: u32 = u32::MAX;

/// The rows of all names.
#[derive(Debug)]
pub(crate) struct NameRows {
    rows: Vec<NameRow>,
    /// Index of the first scenario row; `None` if there are no scenario rows.
    scenarios: Option<u16>,
    /// Two histograms for each row: latencies, and lower bounds of unknown latencies.
    times: HistogramRows,
    /// Rows with anything to report.
    used: Vec<u16>,
}

#[derive(Clone, Debug, Default)]
struct NameRow {
    counts: NamedCounts,
    codes: Vec<(u32, u64)>,
    used: bool,
}

/// Maximum number of rows: one for each name, one for all further names, two for the iterations of each flow and for
/// each group, and one for each scenario.
pub(crate) const ROWS: usize = brunt_contract::MAX_NAMES + 1 + 2 * (SCENARIOS + brunt_plan::flow::GROUPS) + SCENARIOS;

/// Number of status codes of a name that can be counted without allocating.
const USUAL_CODES: usize = 4;

impl NameRows {
    /// Creates `names` rows, the last `scenarios` of them for scenarios; `None` if there is only one.
    pub fn of(names: usize, scenarios: usize) -> Option<Box<NameRows>> {
        let row = || NameRow { codes: Vec::with_capacity(USUAL_CODES), ..NameRow::default() };
        (names > 1).then(|| {
            let rows = (0..names).map(|_| row()).collect();
            let scenarios = (scenarios > 0).then(|| (names - scenarios) as u16);
            Box::new(NameRows {
                rows,
                scenarios,
                times: HistogramRows::new(ROWS_PER_NAME * names),
                used: Vec::with_capacity(names),
            })
        })
    }

    /// Counts a request in the row of its name and, if there are scenario rows, in that of its scenario.
    #[inline]
    pub fn count(&mut self, name: u16, user: UserId, mut count: impl FnMut(&mut NameRows, u16)) {
        count(self, name);
        if let Some(first) = self.scenarios {
            count(self, first + user.scenario().0 as u16);
        }
    }

    /// Adds the number of users of a scenario at the end of a second, and their user-nanoseconds in it.
    pub fn users(&mut self, scenario: ScenarioId, users: u64, users_ns: u64) {
        if let Some(first) = self.scenarios.filter(|_| users_ns > 0) {
            let counts = self.counts(first + scenario.0 as u16);
            counts.users += users;
            counts.users_ns += users_ns;
        }
    }

    /// Returns the counts of a name.
    #[inline]
    pub fn counts(&mut self, name: u16) -> &mut NamedCounts {
        let row = &mut self.rows[usize::from(name)];
        if !row.used {
            row.used = true;
            self.used.push(name);
        }
        &mut row.counts
    }

    /// Counts a success, of whose latency `own` may be brunt's.
    #[inline]
    pub fn finished(&mut self, name: u16, latency: Nanos, own: Nanos) {
        self.counts(name).finished += 1;
        let [finished, _, delayed, undelayed] = times_of(name);
        self.times.record(finished, latency);
        if is_delayed(latency, own) {
            self.times.record(delayed, latency);
            self.times.record(undelayed, latency - own);
        }
    }

    /// Records a lower bound of the latency of a request that did not finish.
    pub fn at_least(&mut self, name: u16, latency: Nanos) {
        self.at_least_n(name, latency, 1);
    }

    /// Like [`NameRows::at_least`], for many requests.
    pub fn at_least_n(&mut self, name: u16, latency: Nanos, many: u64) {
        self.counts(name);
        let [_, at_least, ..] = times_of(name);
        self.times.record_n(at_least, latency, u32::try_from(many).unwrap_or(u32::MAX));
    }

    /// Counts the status code of an answer; 0 for none.
    #[inline]
    pub fn code(&mut self, name: u16, code: u32) {
        self.counts(name);
        count_code(&mut self.rows[usize::from(name)].codes, code);
    }

    /// Returns `true` if no name has anything to report.
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Appends the encoding of the rows with anything to report.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let word = |bytes: &mut Vec<u8>, w: u64| bytes.extend_from_slice(&w.to_le_bytes());
        word(bytes, self.used.len() as u64);
        for name in &self.used {
            let row = &self.rows[usize::from(*name)];
            word(bytes, u64::from(*name));
            let mut counts = row.counts;
            counts.each_mut().for_each(|n| word(bytes, *n));
            word(bytes, row.codes.len() as u64);
            for (code, n) in &row.codes {
                word(bytes, u64::from(*code));
                word(bytes, *n);
            }
            for times in times_of(*name) {
                let at = bytes.len();
                word(bytes, 0);
                self.times.pack(times, bytes);
                let length = (bytes.len() - at - size_of::<u64>()) as u64;
                bytes[at..at + size_of::<u64>()].copy_from_slice(&length.to_le_bytes());
            }
        }
    }

    /// Clears the counts of the second.
    pub fn clear(&mut self) {
        for name in self.used.drain(..) {
            let row = &mut self.rows[usize::from(name)];
            row.codes.clear();
            (row.counts, row.used) = (NamedCounts::default(), false);
            times_of(name).into_iter().for_each(|times| self.times.clear(times));
        }
    }
}

/// Counts a status code; at most [`MAX_CODES`] are distinguished.
#[inline]
pub(crate) fn count_code(codes: &mut Vec<(u32, u64)>, code: u32) {
    if code == 0 {
        return;
    }
    match codes.iter().position(|(c, _)| *c == code) {
        Some(at) => codes[at].1 += 1,
        None if codes.len() < MAX_CODES || code == OTHER => codes.push((code, 1)),
        None => count_code(codes, OTHER),
    }
}

/// Returns the histograms of a name: latencies, lower bounds, delayed latencies, and those without the delay.
#[inline]
fn times_of(name: u16) -> [usize; ROWS_PER_NAME] {
    let first = ROWS_PER_NAME * usize::from(name);
    [first, first + 1, first + 2, first + 3]
}

/// The figures of one name in a second.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameFigures {
    pub name: u16,
    pub counts: NamedCounts,
    pub codes: Vec<(u32, u64)>,
    pub latency: PackedHistogram,
    pub at_least: PackedHistogram,
    pub latency_delayed: PackedHistogram,
    pub latency_undelayed: PackedHistogram,
}

/// Decodes the output of [`NameRows::encode`]; `None` if the bytes are malformed.
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Vec<NameFigures>> {
    let mut all = Vec::new();
    if bytes.is_empty() {
        return Some(all);
    }
    for _ in 0..number_of(bytes, ROWS)? {
        let (name, mut counts) = (number_of(bytes, ROWS - 1)? as u16, NamedCounts::default());
        for n in counts.each_mut() {
            *n = word(bytes)?;
        }
        let mut codes = Vec::new();
        for _ in 0..number_of(bytes, MAX_CODES + 1)? {
            codes.push((u32::try_from(word(bytes)?).ok()?, word(bytes)?));
        }
        let mut times = || {
            let length = number_of(bytes, bytes.len())?;
            let (packed, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            PackedHistogram::from_bytes(packed)
        };
        let (latency, at_least, latency_delayed, latency_undelayed) = (times()?, times()?, times()?, times()?);
        all.push(NameFigures { name, counts, codes, latency, at_least, latency_delayed, latency_undelayed });
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use brunt_measure::Histogram;

    use super::*;

    #[test]
    fn one_name_has_no_rows_of_its_own() {
        assert!(NameRows::of(0, 0).is_none() && NameRows::of(1, 0).is_none());
    }

    #[test]
    fn a_request_counts_for_its_name_and_for_the_scenario_of_its_user() {
        let mut rows = NameRows::of(6, 2).expect("several rows");
        for user in [UserId(0), UserId(1), UserId::within(ScenarioId(1), Default::default())] {
            rows.count(1, user, |rows, row| rows.counts(row).due += 1);
        }
        assert_eq!([1, 4, 5].map(|row| rows.counts(row).due), [3, 2, 1]);
    }

    #[test]
    fn what_is_encoded_is_decoded_and_only_names_with_anything_to_tell_are() {
        let mut rows = NameRows::of(5, 0).expect("several names");
        rows.counts(3).due += 2;
        rows.finished(3, Nanos::from_millis(5), Nanos::from_millis(1));
        rows.code(3, 200);
        rows.code(3, 0);
        rows.counts(1).failed += 1;
        rows.at_least(1, Nanos::from_secs(10));
        let mut bytes = Vec::new();
        rows.encode(&mut bytes);
        let told = decode(&mut &*bytes).expect("whole");
        assert_eq!(told.iter().map(|named| named.name).collect::<Vec<_>>(), [3, 1]);
        assert_eq!((told[0].counts.due, told[0].counts.finished, &told[0].codes[..]), (2, 1, &[(200, 1)][..]));
        let mut at_least = Histogram::new();
        told[1].at_least.add_to(&mut at_least);
        let moved = [&told[0].latency_delayed, &told[0].latency_undelayed].map(|moved| moved.count());
        assert_eq!(moved, [1, 1]);
        assert_eq!((told[1].counts.failed, at_least.max(), told[1].latency.is_empty()), (1, 10_000_000_000, true));
        (1..bytes.len()).for_each(|cut| assert_eq!(decode(&mut &bytes[..cut]), None, "cut at {cut}"));
        rows.clear();
        let mut nothing = Vec::new();
        rows.encode(&mut nothing);
        assert_eq!(decode(&mut &*nothing), Some(Vec::new()));
    }
}
