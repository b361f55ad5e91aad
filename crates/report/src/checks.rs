//! The rows of checks: what each asks, and how many responses passed and failed it.

use record::CheckResults;

use crate::sums::Sums;

/// Results of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRow<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Responses that held what it asks.
    pub passed: u64,
    /// Responses that failed it.
    pub failed: u64,
}

impl CheckRow<'_> {
    /// The share of responses that failed it; None where none was looked at.
    pub fn failed_share(&self) -> Option<f64> {
        let all = self.passed.saturating_add(self.failed);
        (all > 0).then(|| self.failed as f64 / all as f64)
    }

    /// What objectives call it.
    pub fn called(&self) -> String {
        format!("check {}", self.name)
    }
}

impl Sums {
    /// What each check came to, in the order in which the plan has them; nothing in a run without one.
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
