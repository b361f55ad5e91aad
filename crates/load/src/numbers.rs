//! Sequence numbers of requests, users and iterations: unique across the shares of a run, and consecutive from 1 for a
//! counted total.

use brunt_plan::Share;

/// First number of a share that has no regular numbers because its users were added during the run.
const BEYOND: u64 = 1 << 40;

/// The sequence of one share, ascending; the first number of a run is 1.
///
/// For a counted total, the shares together use each number from 1 to the total once, provided that every share starts
/// its part ([`crate::UserProfile::of_requests`], [`Share::of_total`]).
#[derive(Clone, Copy, Debug)]
pub struct NumberSequence {
    next: u64,
    /// Regular step.
    step: u64,
    /// Number of regular steps between two longer steps, and the number left until the next longer step.
    round: u64,
    left: u64,
    /// Extra length of the longer step.
    gap: u64,
}

impl NumberSequence {
    /// Creates the sequence for items dealt in turn: of T shares, share k has k, k + T, k + 2T …
    pub fn in_turn(share: Share) -> NumberSequence {
        NumberSequence::evenly(u64::from(share.index) + 1, u64::from(share.of))
    }

    /// Creates the sequence of all numbers from `first` on.
    pub fn from(first: u64) -> NumberSequence {
        NumberSequence::evenly(first, 1)
    }

    /// Creates a sequence that repeats one number.
    pub fn constant(number: u64) -> NumberSequence {
        NumberSequence::evenly(number, 0)
    }

    fn evenly(next: u64, step: u64) -> NumberSequence {
        NumberSequence { next, step, round: u64::MAX, left: u64::MAX, gap: 0 }
    }

    /// Creates the sequence for items started by `users` users, where user u belongs to share u mod T. Each round has
    /// one item per user, so a share's part is proportional to its users.
    pub fn of_users(share: Share, users: u64) -> NumberSequence {
        let (of, own) = (u64::from(share.of), share.of_total(users));
        let first = u64::from(share.index) + 1;
        match own {
            0 => NumberSequence::evenly(first + BEYOND, of),
            own => NumberSequence { next: first, step: of, round: own, left: own, gap: users.wrapping_sub(own * of) },
        }
    }

    /// Returns the next number without taking it.
    #[inline]
    pub fn peek(&self) -> u64 {
        self.next
    }

    /// Takes the next number.
    #[inline]
    pub fn take(&mut self) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(self.step);
        self.left -= 1;
        if self.left == 0 {
            self.left = self.round;
            self.next = self.next.wrapping_add(self.gap);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;
    use brunt_plan::{Load, Stage};

    use super::*;
    use crate::UserProfile;

    fn first(numbers: NumberSequence, many: usize) -> Vec<u64> {
        let mut numbers = numbers;
        (0..many).map(|_| numbers.take()).collect()
    }

    #[test]
    fn a_number_of_requests_has_each_number_once_whatever_the_shares_and_the_users() {
        for (of, users, total) in
            (1..6).flat_map(|of| (1..12_u32).flat_map(move |u| [0, 1, 7, 30, 31].map(|n| (of, u, n))))
        {
            let stages = vec![Stage { lasts: Nanos::from_secs(1), from: 1.0, to: f64::from(users) }];
            let load = Load::Closed { stages, think: None, together: false };
            let of_share = |index| {
                let share = Share { index, of };
                let its = UserProfile::new(&load, Nanos::ZERO, share).of_requests(total);
                first(NumberSequence::of_users(share, u64::from(users)), its as usize)
            };
            let mut all: Vec<u64> = (0..of).flat_map(of_share).collect();
            all.sort_unstable();
            assert_eq!(all, (1..=total).collect::<Vec<_>>(), "{users} users, {of} shares");
        }
    }

    #[test]
    fn shares_take_numbers_as_they_have_users() {
        let of = |index, users| NumberSequence::of_users(Share { index, of: 2 }, users);
        assert_eq!((first(of(0, 3), 5), first(of(1, 3), 3)), (vec![1, 3, 4, 6, 7], vec![2, 5, 8]));
        assert_eq!((first(of(0, 4), 4), first(of(1, 4), 4)), (vec![1, 3, 5, 7], vec![2, 4, 6, 8]));
        assert_eq!(first(of(0, 1), 3), [1, 2, 3]);
        let (mut alone, mut added) = (of(0, 1), of(1, 1));
        assert!((0..1000).all(|_| alone.take() < BEYOND && added.take() > BEYOND), "nobody's are nobody else's");
    }

    #[test]
    fn turns_and_blocks() {
        assert_eq!(first(NumberSequence::in_turn(Share { index: 1, of: 3 }), 3), [2, 5, 8]);
        assert_eq!(
            (first(NumberSequence::from(41), 3), first(NumberSequence::constant(0), 2)),
            (vec![41, 42, 43], vec![0, 0])
        );
        let numbers = NumberSequence::from(7);
        assert_eq!([numbers.peek(), numbers.peek()], [7, 7]);
    }
}
