//! The rows of checks: the name of each, and how many responses passed and failed it.

use brunt_record::CheckResults;

use crate::sums::RunSums;

/// Results of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRow<'a> {
    /// Name of the check.
    pub name: &'a str,
    /// Responses that passed it.
    pub passed: u64,
    /// Responses that failed it.
    pub failed: u64,
}

impl CheckRow<'_> {
    /// Returns the share of responses that failed it; `None` if no response was checked.
    pub fn failed_share(&self) -> Option<f64> {
        let all = self.passed.saturating_add(self.failed);
        (all > 0).then(|| self.failed as f64 / all as f64)
    }

    /// Returns the name that objectives use for the check.
    pub fn objective_name(&self) -> String {
        format!("check {}", self.name)
    }
}

impl RunSums {
    /// Returns the results of each check, in the order of the plan; empty in a run without checks.
    pub fn checks(&self) -> impl Iterator<Item = CheckRow<'_>> {
        let names = self.started.as_ref().map_or(&[][..], |started| &started.checks);
        names.iter().enumerate().map(|(at, name)| {
            let all = &self.totals.checks;
            let told = all.binary_search_by_key(&at, |told| usize::from(told.check)).ok().and_then(|at| all.get(at));
            let CheckResults { passed, failed, .. } = told.copied().unwrap_or_default();
            CheckRow { name, passed, failed }
        })
    }
}
