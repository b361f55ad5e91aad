//! Whether to trust the figures: what all rules found, and the verdict.

use crate::finding::{Finding, Grade};

/// The verdict of a run with all its findings, good ones included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Everything that was checked, in the order it is shown.
    pub findings: Vec<Finding>,
}

impl Trust {
    /// The worst grade.
    pub fn verdict(&self) -> Grade {
        self.findings.iter().map(|finding| finding.grade).max().unwrap_or_default()
    }

    /// What speaks against the figures.
    pub fn against(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.grade == Grade::Fail)
    }
}
