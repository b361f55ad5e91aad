//! The verdict on whether to trust the figures, with the findings of all rules.

use brunt_plan::TrustPolicy;

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

    /// Returns the findings that make a run exit as untrusted under this policy. If it has objectives, they are decided
    /// by the bands of their figures, which need no further judgement; wrong counts leave nothing to judge.
    pub(crate) fn doubts(&self, policy: TrustPolicy, has_objectives: bool) -> impl Iterator<Item = &Finding> {
        let counts = move |found: &Finding| match policy {
            TrustPolicy::Warn => false,
            TrustPolicy::Judge => found.grade == Grade::Fail && !(has_objectives && found.is_of_band()),
            TrustPolicy::Strict => found.grade >= Grade::TooShort,
        };
        self.findings
            .iter()
            .filter(move |found| (found.grade == Grade::Fail && found.refutes_counts()) || counts(found))
    }
}
