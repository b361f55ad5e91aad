//! A check: a figure and its bounds.

use std::fmt;

use serde_json::Value;

/// A figure and the bounds it must lie within; a missing figure fails.
pub(super) struct TruthCheck {
    what: String,
    found: Option<f64>,
    least: f64,
    most: f64,
}

impl TruthCheck {
    /// Creates a check that the figure lies between two bounds, inclusive.
    pub(super) fn between(what: impl Into<String>, found: Option<f64>, least: f64, most: f64) -> Self {
        Self { what: what.into(), found, least, most }
    }

    /// Creates a check that the figure differs from the expected one by at most a share of it plus
    /// a fixed amount.
    pub(super) fn near(what: impl Into<String>, found: Option<f64>, expected: f64, share: f64, amount: f64) -> Self {
        let room = expected.abs() * share + amount;
        Self::between(what, found, expected - room, expected + room)
    }

    /// Creates a check that the figure is the expected one.
    pub(super) fn equal(what: impl Into<String>, found: Option<f64>, expected: f64) -> Self {
        Self::between(what, found, expected, expected)
    }

    /// Creates a check that a statement is true.
    pub(super) fn is(what: impl Into<String>, truth: bool) -> Self {
        Self::equal(what, Some(f64::from(u8::from(truth))), 1.0)
    }

    pub(super) fn holds(&self) -> bool {
        self.found.is_some_and(|found| found >= self.least && found <= self.most)
    }
}

impl fmt::Display for TruthCheck {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.holds() { "holds" } else { "FAILS" };
        let found = self.found.map_or("nothing".to_owned(), |found| format!("{found}"));
        write!(to, "{word}  {}: {found}", self.what)?;
        match (self.least == self.most, self.most == f64::INFINITY) {
            (true, _) => write!(to, ", must be {}", self.most),
            (_, true) => write!(to, ", at least {}", self.least),
            _ => write!(to, ", within {:.6} … {:.6}", self.least, self.most),
        }
    }
}

/// Looks up a number in a report by its path: `requests.scheduled`.
pub(super) fn number(report: &Value, path: &str) -> Option<f64> {
    path.split('.').fold(report, |value, key| &value[key]).as_f64()
}

/// Checks the invariant of every report: scheduled = succeeded + failed + unfinished.
pub(super) fn accounted(report: &Value) -> TruthCheck {
    let count = |name: &str| number(report, &format!("requests.{name}")).unwrap_or(f64::NAN);
    TruthCheck::equal(
        "succeeded + failed + unfinished",
        Some(count("succeeded") + count("failed") + count("unfinished")),
        count("scheduled"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_figure_never_holds() {
        let report =
            serde_json::json!({ "requests": { "scheduled": 3, "succeeded": 1, "failed": 1, "unfinished": 1 } });
        let cases = [
            (TruthCheck::near("a", Some(10.2), 10.0, 0.02, 0.0), true),
            (TruthCheck::near("a", Some(10.3), 10.0, 0.02, 0.0), false),
            (TruthCheck::near("a", None, 10.0, 1.0, 100.0), false),
            (TruthCheck::equal("a", number(&report, "requests.scheduled"), 3.0), true),
            (TruthCheck::equal("a", number(&report, "requests.none"), 3.0), false),
            (accounted(&report), true),
            (accounted(&Value::Null), false),
        ];
        for (check, expected) in cases {
            assert_eq!(check.holds(), expected, "{check}");
        }
    }
}
