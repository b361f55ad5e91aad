//! Named checks: which of them each request has, and how many passed and failed in a second.

use brunt_contract::{Checks, Workload};

use crate::decode::{number_of, word};
use crate::exchange::Exchange;
use crate::ids::RequestId;

/// Upper bound of one check's count in a second of a worker, such that sums over some thousand workers do not overflow.
const COUNTED: u64 = 1 << 52;

/// The checks of a run, by request.
#[derive(Debug, Default)]
pub(crate) struct NamedChecks {
    checks: Checks,
    /// The checks of requests caused by redirects, of which only the name is known, by name; `None` unless all requests
    /// of a name have the same checks.
    by_name: Vec<Option<u16>>,
}

impl NamedChecks {
    /// Creates the checks of a workload; `None` if requests cannot be mapped to URLs.
    pub fn of(checks: Checks, workload: &dyn Workload) -> Option<NamedChecks> {
        let (urls, names) = (&checks.set_of_url, workload.names());
        if !urls.is_empty() && urls.len() != workload.requests().len() {
            return None;
        }
        let mut of_name: Vec<Option<Option<u16>>> = Vec::new();
        for (request, set) in urls.iter().enumerate() {
            let name = usize::from(names.index_of(request));
            if of_name.len() <= name {
                of_name.resize(name + 1, None);
            }
            of_name[name] = match of_name[name] {
                None => Some(Some(*set)),
                Some(known) => Some(known.filter(|known| known == set)),
            };
        }
        let of_name = of_name.into_iter().map(Option::flatten).collect();
        Some(NamedChecks { checks, by_name: of_name })
    }

    /// Returns the names of the checks.
    pub fn names(&self) -> &[String] {
        &self.checks.names
    }

    /// Returns the checks of a URL of the plan as name and whether it passed; the bits set in `failed` are failures.
    pub fn results(&self, url: usize, failed: u32) -> Vec<(String, bool)> {
        let of_url = if self.checks.set_of_url.is_empty() { Some(&0) } else { self.checks.set_of_url.get(url) };
        let set = of_url.and_then(|set| self.checks.sets.get(usize::from(*set))).map_or(&[][..], |set| set);
        let named = set.iter().enumerate().filter_map(|(at, check)| {
            let name = self.names().get(usize::from(*check))?;
            Some((name.clone(), failed >> (at & 31) & 1 == 0))
        });
        named.collect()
    }

    /// Returns the checks of a request, in the order in which its session reports them.
    #[inline]
    pub fn checks_of(&self, x: &Exchange) -> &[u16] {
        self.checks_of_request(x.request, x.name)
    }

    /// Returns the checks of a prepared request, or of one of which only the name is known ([`RequestId::NONE`]).
    #[inline]
    pub fn checks_of_request(&self, request: RequestId, name: u16) -> &[u16] {
        let set = match self.checks.set_of_url.get(request.at()) {
            Some(set) => Some(*set),
            None if self.checks.set_of_url.is_empty() => Some(0),
            None => self.by_name.get(usize::from(name)).copied().flatten(),
        };
        set.and_then(|set| self.checks.sets.get(usize::from(set))).map_or(&[], |set| set)
    }
}

/// Passes and failures of each check in a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckCounts(Vec<[u64; 2]>);

impl CheckCounts {
    /// Creates counters for `checks` checks.
    pub fn of(checks: usize) -> CheckCounts {
        CheckCounts(vec![[0; 2]; checks])
    }

    /// Counts one evaluated response; the bits set in `failed` are the failures within `set`.
    #[inline]
    pub fn count(&mut self, set: &[u16], failed: u32) {
        for (at, check) in set.iter().enumerate() {
            if let Some(counts) = self.0.get_mut(usize::from(*check)) {
                counts[(failed >> (at & 31) & 1) as usize] += 1;
            }
        }
    }

    /// Resets all counts to zero for the next second.
    pub fn clear(&mut self) {
        self.0.fill([0; 2]);
    }

    /// Appends the encoding of the checks with a count other than zero.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let word = |bytes: &mut Vec<u8>, w: u64| bytes.extend_from_slice(&w.to_le_bytes());
        let used = || self.0.iter().enumerate().filter(|(_, counts)| **counts != [0; 2]);
        word(bytes, used().count() as u64);
        for (check, [passed, failed]) in used() {
            [check as u64, *passed, *failed].into_iter().for_each(|w| word(bytes, w));
        }
    }
}

/// Decodes the output of [`CheckCounts::encode`]; `None` if the bytes are malformed.
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Vec<brunt_record::CheckResults>> {
    let count = |bytes: &mut &[u8]| word(bytes).filter(|count| *count <= COUNTED);
    let mut all = Vec::new();
    for _ in 0..number_of(bytes, brunt_contract::MAX_CHECK_NAMES)? {
        let check = number_of(bytes, brunt_contract::MAX_CHECK_NAMES - 1)? as u16;
        all.push(brunt_record::CheckResults { check, passed: count(bytes)?, failed: count(bytes)? });
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_of_a_url_are_told_by_name() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let sets = vec![Box::from([0]), Box::from([2, 1])];
        let checked = NamedChecks { checks: Checks { names, sets, set_of_url: vec![0, 1] }, by_name: Vec::new() };
        assert_eq!(checked.results(1, 0b10), [("c".to_owned(), true), ("b".to_owned(), false)]);
        assert_eq!(checked.results(0, 0), [("a".to_owned(), true)]);
        assert!(checked.results(7, 0).is_empty());
    }

    #[test]
    fn what_passed_and_failed_is_counted_by_its_bit_and_survives_its_encoding() {
        let mut counts = CheckCounts::of(5);
        counts.count(&[4, 1, 0], 0b010);
        counts.count(&[4, 1, 0], 0);
        let mut bytes = Vec::new();
        counts.encode(&mut bytes);
        let told = decode(&mut &*bytes).expect("whole");
        let told: Vec<_> = told.iter().map(|one| (one.check, one.passed, one.failed)).collect();
        assert_eq!(told, [(0, 2, 0), (1, 1, 1), (4, 2, 0)]);
        (1..bytes.len()).for_each(|cut| assert_eq!(decode(&mut &bytes[..cut]), None, "cut at {cut}"));
        counts.clear();
        assert_eq!(counts, CheckCounts::of(5));
    }
}
