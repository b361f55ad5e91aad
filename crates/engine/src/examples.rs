//! Which failures examples are kept of: the first of each sort, and some of each name.

use std::collections::HashSet;

use wire::{EventBuffer, FaultKind};

use crate::failure_class::FailureClass;

/// So many examples are kept beyond the first of each sort, one of each name, sort and status.
pub(crate) const EXAMPLES_BY_NAME: usize = 256;
/// Failures of a kind that a session is asked to attach what came back to, where the run has several names.
const EXCERPTS: u32 = 1000;

/// Which failures an example was kept of.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    /// The run has several names.
    by_name: bool,
    sorts: Vec<FailureClass>,
    named: HashSet<(u16, u32, FailureClass)>,
    excerpts: [u32; FaultKind::ALL.len()],
    /// Kinds of which sessions have not been told yet that there are enough, by their bits.
    enough: u32,
}

impl Examples {
    /// Of a run with so many names.
    pub fn of(names: usize) -> Examples {
        Examples { by_name: names > 1, ..Examples::default() }
    }

    /// True where an example of such a failure is wanted, which is kept then; `of`: name and status code of the request.
    pub fn is_new(&mut self, sort: FailureClass, of: Option<(u16, u32)>) -> bool {
        let first = !self.sorts.contains(&sort);
        if first {
            self.sorts.push(sort);
        }
        let named = of.filter(|_| self.by_name && self.named.len() < EXAMPLES_BY_NAME);
        named.is_some_and(|(name, code)| self.named.insert((name, code, sort))) || first
    }

    /// Another failure of a kind came with what came back.
    pub fn came_with_response(&mut self, kind: FaultKind) {
        let seen = &mut self.excerpts[kind as usize];
        *seen = seen.saturating_add(1);
        if !self.by_name || *seen >= EXCERPTS {
            self.enough |= 1 << kind as u8;
        }
    }

    /// Tells sessions of which kinds no more examples are of use.
    #[inline]
    pub fn tell_enough(&mut self, done: &mut EventBuffer) {
        if self.enough != 0 {
            let enough = std::mem::take(&mut self.enough);
            FaultKind::ALL
                .into_iter()
                .filter(|kind| enough & 1 << *kind as u8 != 0)
                .for_each(|kind| done.mark_example(kind));
        }
    }
}
