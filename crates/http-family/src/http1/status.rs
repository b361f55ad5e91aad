//! Sets of status codes, which define the successful responses.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;

/// Bit set of the status codes from 0 to 1023, so that a lookup is one load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSet([u64; 16]);

impl StatusSet {
    /// Returns the default set: 200 to 399.
    pub fn default_success() -> StatusSet {
        let mut set = StatusSet([0; 16]);
        set.add(200, 399);
        set
    }

    /// Parses `200`, `2xx` or `200-299`, separated by commas.
    ///
    /// # Errors
    /// Returns the invalid part.
    pub fn parse(text: &str) -> Result<StatusSet, Complaint> {
        let mut set = StatusSet([0; 16]);
        for part in text.split(',').map(str::trim) {
            let (low, high) = range(part).ok_or_else(|| part.to_owned())?;
            set.add(low, high);
        }
        Ok(set)
    }

    /// Parses the value of `--expect-status`.
    ///
    /// # Errors
    /// Returns an error that names the invalid part.
    pub fn from_option(text: &str) -> Result<StatusSet, UsageError> {
        StatusSet::parse(text).map_err(|part| {
            let trouble = complaint!(
                "\"{part}\" is not a status; use 200, 2xx or 200-299, separated by commas",
                "“{part}”不是状态码；请用 200、2xx 或 200-299，以逗号分隔"
            );
            UsageError::new("--expect-status", trouble)
        })
    }

    /// Returns `true` if the set contains the status.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.0[usize::from(status >> 6) & 15] >> (status & 63) & 1 != 0
    }

    fn add(&mut self, low: u16, high: u16) {
        for status in low..=high {
            self.0[usize::from(status >> 6)] |= 1 << (status & 63);
        }
    }
}

fn range(part: &str) -> Option<(u16, u16)> {
    if let Some(class) = part.strip_suffix("xx").or_else(|| part.strip_suffix("XX")) {
        let class: u16 = class.parse().ok().filter(|c| (1..=9).contains(c))?;
        return Some((class * 100, class * 100 + 99));
    }
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    let (low, high) = (code(low.trim())?, code(high.trim())?);
    (low <= high).then_some((low, high))
}

fn code(text: &str) -> Option<u16> {
    (text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
        .filter(|c| (100..=999).contains(c))
}
