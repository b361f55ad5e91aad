//! What users keep of answers for their requests to come, from the first request of each to its last.

use wire::Memory;

use crate::exchange::NONE;

/// The memories of one worker's users, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Memories(Vec<Memory>);

impl Memories {
    /// What a user keeps.
    pub fn of(&mut self, user: u32) -> &mut Memory {
        // Nobody's is nobody's for long.
        let user = if user == NONE { 0 } else { user as usize + 1 };
        if self.0.len() <= user {
            self.0.resize_with(user + 1, Memory::default);
        }
        &mut self.0[user]
    }

    /// A user is gone; the next one of its number is somebody else.
    pub fn forget(&mut self, user: u32) {
        if let Some(memory) = self.0.get_mut(user as usize + 1) {
            *memory = Memory::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
