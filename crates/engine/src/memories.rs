//! What users keep of answers for their requests to come, from the first request of each to its last.

use wire::{Memory, Values};

use crate::exchange::NONE;

/// The memories of one worker's users, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    each: Vec<Memory>,
    /// Nothing is kept from one iteration of a flow to the next.
    clears: bool,
}

impl Memories {
    /// Nobody's yet; `clears`: what a user keeps lasts for one iteration.
    pub fn new(clears: bool) -> Memories {
        Memories { each: Vec::new(), clears }
    }

    /// A user begins another iteration: the values of the one before are gone.
    pub fn iteration_begins(&mut self, user: u32) {
        let clears = self.clears;
        let memory = self.of(user);
        if clears {
            *memory = Memory::default();
        } else {
            memory.values.forget();
        }
    }

    /// What a user keeps.
    pub fn of(&mut self, user: u32) -> &mut Memory {
        // Nobody's is nobody's for long.
        let user = if user == NONE { 0 } else { user as usize + 1 };
        if self.each.len() <= user {
            self.each.resize_with(user + 1, Memory::default);
        }
        &mut self.each[user]
    }

    /// What it knows by name.
    pub fn values_of(&self, user: u32) -> &Values {
        let memory = if user == NONE { None } else { self.each.get(user as usize + 1) };
        memory.map_or(Values::NONE, |memory| &memory.values)
    }

    /// A user is gone; the next one of its number is somebody else.
    pub fn forget(&mut self, user: u32) {
        if let Some(memory) = self.each.get_mut(user as usize + 1) {
            *memory = Memory::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_begins_without_values_and_where_asked_without_anything() {
        for clears in [false, true] {
            let mut memories = Memories::new(clears);
            *memories.of(1).get_mut::<u32>().expect("a number") = 7;
            memories.of(1).values.set(0, b"a");
            memories.iteration_begins(1);
            assert_eq!(memories.of(1).values.get(0), None);
            assert_eq!(memories.of(1).get::<u32>().is_none(), clears);
        }
    }

    #[test]
    fn each_user_has_its_own_until_it_is_gone() {
        let mut memories = Memories::default();
        for user in [3, 1] {
            *memories.of(user).get_mut::<u32>().expect("a number") = user;
        }
        memories.forget(3);
        memories.forget(900);
        assert_eq!([0, 1, 3].map(|user| memories.of(user).get::<u32>().copied()), [None, Some(1), None]);
    }
}
