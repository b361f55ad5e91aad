//! The memory of histograms that are gone, for those to come: who reads the seconds of a record makes a dozen histograms
//! for each and drops them, and zeroing fresh memory (the system returns and faults it in again) takes longer than all
//! the rest.

use std::cell::RefCell;

use super::BUCKETS;

/// Maximum number kept by a thread: those of one second.
const MOST: usize = 24;

thread_local! {
    static SPARE: RefCell<Vec<Box<[u64]>>> = const { RefCell::new(Vec::new()) };
}

/// Returns counts of zero.
pub(super) fn take() -> Box<[u64]> {
    // A thread that ends has no store any more.
    let kept = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
    kept.unwrap_or_else(|| vec![0; BUCKETS].into_boxed_slice())
}

/// Keeps counts, which must all be zero.
pub(super) fn keep(counts: Box<[u64]>) {
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < MOST {
            spare.push(counts);
        }
    });
}
