//! Ids assigned by a worker. Ids shared with protocols and networks are in [`brunt_contract`].
//!
//! A user's id holds the number of its scenario in the upper bits, so the scenario is known without a lookup. A run
//! with a single load has one scenario with the number 0, so its user ids are plain numbers.

use brunt_scenario::UserIndex;

pub(crate) use brunt_contract::{ConnId, ExchangeId, OriginId, RequestId};

brunt_contract::ids! {
    /// A user of the run.
    UserId
    /// One of the concurrent scenarios of a run; 0 if the run has a single load.
    ScenarioId
    /// The connections of one scenario to one origin.
    PoolId
}

/// Number of bits below the scenario number in a user's id.
const SCENARIO_SHIFT: u32 = 26;
/// Mask of these bits.
const INDEX_MASK: u32 = (1 << SCENARIO_SHIFT) - 1;

const _: () = assert!(
    brunt_plan::scenarios::SCENARIOS < 1 << (u32::BITS - SCENARIO_SHIFT),
    "all of them have a number, and nobody has none of theirs"
);

impl UserId {
    /// Returns the id of a user with this number within a scenario.
    #[inline]
    pub const fn within(scenario: ScenarioId, index: UserIndex) -> UserId {
        UserId(scenario.0 << SCENARIO_SHIFT | index.0)
    }

    /// Returns the user's scenario; for [`UserId::NONE`], the first scenario.
    #[inline]
    pub fn scenario(self) -> ScenarioId {
        if self == UserId::NONE { ScenarioId(0) } else { ScenarioId(self.0 >> SCENARIO_SHIFT) }
    }

    /// Returns the user's number within its scenario.
    #[inline]
    pub const fn index(self) -> UserIndex {
        UserIndex(self.0 & INDEX_MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_carries_the_number_of_its_scenario() {
        for (scenario, index) in [(0, 0), (0, 77), (1, 0), (31, 65_000_000)] {
            let (scenario, index) = (ScenarioId(scenario), UserIndex(index));
            let user = UserId::within(scenario, index);
            assert_eq!((user.scenario(), user.index()), (scenario, index));
            assert_ne!(user, UserId::NONE);
        }
        assert_eq!(UserId::NONE.scenario(), ScenarioId(0), "nobody's");
    }
}
