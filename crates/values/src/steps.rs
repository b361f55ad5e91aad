//! The budget of work for the captures and checks of one response.
//!
//! A pattern or a path can take time that grows with the square of the body and faster, and all users of a worker would
//! wait for it. Searches therefore count what they do in steps of about a nanosecond, and give up once the budget is
//! spent. Steps and not time, so that a result does not depend on how busy the machine is.

use std::cell::Cell;

/// Number of steps for the captures, or for the checks, of one response: a few hundredths of a second.
const MOST: u64 = 40_000_000;

/// A budget of steps. Once it is spent, nothing more can be taken from it, so that a search in many places may look at
/// the budget in one of them.
#[derive(Debug)]
pub struct StepBudget {
    left: Cell<Option<u64>>,
}

/// The error of a search that gave up because its budget was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSteps;

impl Default for StepBudget {
    fn default() -> StepBudget {
        StepBudget::of(MOST)
    }
}

impl StepBudget {
    /// Creates a budget of a number of steps.
    pub fn of(most: u64) -> StepBudget {
        StepBudget { left: Cell::new(Some(most)) }
    }

    /// Takes steps from the budget; returns `false` if it is spent.
    #[inline]
    pub fn spend(&self, steps: u64) -> bool {
        self.left.set(self.left.get().and_then(|left| left.checked_sub(steps)));
        self.left.get().is_some()
    }

    /// Returns an error if the budget is spent; what was found is then incomplete.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn result(&self) -> Result<(), OutOfSteps> {
        if self.left.get().is_some() { Ok(()) } else { Err(OutOfSteps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_stays_spent() {
        let steps = StepBudget::of(10);
        assert!(steps.spend(10) && steps.result().is_ok());
        assert!(!steps.spend(1) && !steps.spend(0));
        assert_eq!(steps.result(), Err(OutOfSteps));
    }
}
