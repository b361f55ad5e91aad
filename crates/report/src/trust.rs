//! The verdict on whether to trust the figures, with the findings of all rules.

use crate::finding::{Finding, Grade};

/// The verdict on a run with all its findings, including good ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// All findings, in display order.
    pub findings: Vec<Finding>,
}

impl Trust {
    /// Returns the worst grade.
    pub fn verdict(&self) -> Grade {
        self.findings.iter().map(|finding| finding.grade).max().unwrap_or_default()
    }

    /// Returns the findings that cast doubt on the figures.
    pub fn against(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.grade == Grade::Fail)
    }
}
