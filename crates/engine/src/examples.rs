//! The choice of failure examples: the first of each class, and some of each name.

use std::collections::HashSet;

use brunt_contract::{EventBuffer, FaultKind};

use crate::failure_class::FailureClass;

/// Maximum number of examples beyond the first of each class: one for each combination of name, class and status.
pub(crate) const EXAMPLES_BY_NAME: usize = 256;
/// Number of failures of a kind with a response excerpt attached, if the run has several names.
const EXCERPTS: u32 = 1000;

/// The failures for which an example was kept.
#[derive(Debug, Default)]
pub(crate) struct ExampleFilter {
    /// Set if the run has several names.
    by_name: bool,
    sorts: Vec<(FailureClass, bool)>,
    named: HashSet<(u16, u32, FailureClass)>,
    excerpts: [u32; FaultKind::ALL.len()],
    /// Kinds with enough excerpts of which the sessions have not been notified yet, as a bit set.
    enough: u32,
}

impl ExampleFilter {
    /// Creates the filter for a run with `names` names.
    pub fn of(names: usize) -> ExampleFilter {
        ExampleFilter { by_name: names > 1, ..ExampleFilter::default() }
    }

    /// Returns `true` if an example of the failure is wanted, and marks it as kept. `of` holds the name and the status
    /// code of the request. A response that came too late is no example of those that never came, so both are wanted.
    pub fn is_new(&mut self, sort: FailureClass, is_late: bool, of: Option<(u16, u32)>) -> bool {
        let first = !self.sorts.contains(&(sort, is_late));
        if first {
            self.sorts.push((sort, is_late));
        }
        let named = of.filter(|_| self.by_name && self.named.len() < EXAMPLES_BY_NAME);
        named.is_some_and(|(name, code)| self.named.insert((name, code, sort))) || first
    }

    /// Counts a failure of a kind that came with a response excerpt.
    pub fn count_excerpt(&mut self, kind: FaultKind) {
        let seen = &mut self.excerpts[kind as usize];
        *seen = seen.saturating_add(1);
        if !self.by_name || *seen >= EXCERPTS {
            self.enough |= 1 << kind as u8;
        }
    }

    /// Notifies sessions of the kinds that need no more examples.
    #[inline]
    pub fn notify_sessions(&mut self, done: &mut EventBuffer) {
        if self.enough != 0 {
            let enough = std::mem::take(&mut self.enough);
            FaultKind::ALL
                .into_iter()
                .filter(|kind| enough & 1 << *kind as u8 != 0)
                .for_each(|kind| done.mark_example(kind));
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_contract::Phase;

    use super::*;

    #[test]
    fn a_late_response_is_no_example_of_those_that_never_came() {
        let mut examples = ExampleFilter::of(1);
        let timed_out = FailureClass { kind: FaultKind::Timeout, phase: Phase::FirstByte, errno: None };
        let wanted = [true, true, false, false].map(|is_late| examples.is_new(timed_out, is_late, None));
        assert_eq!(wanted, [true, false, true, false]);
    }
}
