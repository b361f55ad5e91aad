//! Named checks: the number of times that each passed and failed in a second.

use serde::{Deserialize, Serialize};

/// Results of one check in a second, over the responses that came in time, warm-up excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckResults {
    /// Index into the checks of [`crate::RunStarted`].
    pub check: u16,
    /// Responses that passed it.
    pub passed: u64,
    /// Responses that failed it.
    pub failed: u64,
}

impl CheckResults {
    /// Adds results to those of the same check in a list sorted by check, or inserts them.
    pub fn add(list: &mut Vec<CheckResults>, told: CheckResults) {
        match list.binary_search_by_key(&told.check, |one| one.check) {
            Ok(at) => {
                let one = &mut list[at];
                (one.passed, one.failed) =
                    (one.passed.saturating_add(told.passed), one.failed.saturating_add(told.failed));
            }
            Err(at) => list.insert(at, told),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_check_add_up_in_the_order_of_checks() {
        let mut list = Vec::new();
        for (check, passed, failed) in [(3, 1, 0), (1, 5, 2), (3, u64::MAX, 1)] {
            CheckResults::add(&mut list, CheckResults { check, passed, failed });
        }
        let list: Vec<_> = list.iter().map(|one| (one.check, one.passed, one.failed)).collect();
        assert_eq!(list, [(1, 5, 2), (3, u64::MAX, 1)]);
    }
}
