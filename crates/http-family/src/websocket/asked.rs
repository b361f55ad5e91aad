//! Messages in flight on one connection, oldest first, and which of them an answer belongs to.
//!
//! The oldest one lies inline, so that a connection with one message at a time allocates nothing; the others in a queue
//! that exists only while there are any.

use std::collections::VecDeque;

use wire::ExchangeId;

/// Stands for an exchange that was given up: its late answer is dropped.
const GIVEN_UP: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct One {
    key: u64,
    id: u32,
    /// An answer that may have been its own was taken for one's that was given up.
    doubtful: bool,
}

/// Messages in flight.
#[derive(Debug, Default)]
pub struct Asked {
    oldest: One,
    count: u32,
    others: Option<Box<Others>>,
}

/// In a box, so that it costs a pointer while it is not there.
#[derive(Debug, Default)]
struct Others(VecDeque<One>);

/// Whose answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This exchange's.
    Of(ExchangeId),
    /// One's that was given up.
    TooLate,
    /// Nobody's.
    Nobodys,
}

impl Asked {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// The oldest that was not given up.
    pub fn oldest(&self) -> Option<ExchangeId> {
        (self.count > 0 && self.oldest.id != GIVEN_UP).then_some(ExchangeId(self.oldest.id))
    }

    /// A message was sent; `key` is the value of its matching field.
    #[inline]
    pub fn add(&mut self, id: ExchangeId, key: u64) {
        let one = One { key, id: id.0, doubtful: false };
        if self.count == 0 {
            self.oldest = one;
        } else {
            self.others.get_or_insert_default().0.push_back(one);
        }
        self.count += 1;
    }

    /// The answer to the oldest message came.
    #[inline]
    pub fn next(&mut self) -> Whose {
        if self.count == 0 {
            return Whose::Nobodys;
        }
        let one = self.oldest;
        self.count -= 1;
        if self.count > 0 {
            self.move_up();
        }
        whose(one)
    }

    /// The answer with this key came.
    #[inline]
    pub fn with(&mut self, key: u64) -> Whose {
        let whose = self.first_with(key);
        if whose == Whose::TooLate
            && let Some(next) = self.all().find(|one| one.key == key && one.id != GIVEN_UP)
        {
            next.doubtful = true;
        }
        whose
    }

    #[inline]
    fn first_with(&mut self, key: u64) -> Whose {
        if self.count == 0 {
            return Whose::Nobodys;
        }
        if self.oldest.key == key {
            return self.next();
        }
        let Some(Others(others)) = self.others.as_deref_mut() else { return Whose::Nobodys };
        // Answers come in nearly the order of the messages, so that the search is short.
        let found = others.iter().position(|one| one.key == key).and_then(|at| others.remove(at));
        let Some(one) = found else { return Whose::Nobodys };
        self.count -= 1;
        if others.is_empty() {
            self.others = None;
        }
        whose(one)
    }

    /// An exchange is given up: its place is kept, so that a late answer is known as such. False: its answer may have been
    /// taken for an earlier one's with the same key, which then was not late but lost; and so on for ever.
    pub fn give_up(&mut self, id: ExchangeId) -> bool {
        let Some(one) = self.all().find(|one| one.id == id.0) else { return true };
        one.id = GIVEN_UP;
        !one.doubtful
    }

    fn all(&mut self) -> impl Iterator<Item = &mut One> {
        let others = self.others.iter_mut().flat_map(|others| others.0.iter_mut());
        (self.count > 0).then_some(&mut self.oldest).into_iter().chain(others)
    }

    fn move_up(&mut self) {
        let Some(Others(others)) = self.others.as_deref_mut() else { return };
        self.oldest = others.pop_front().unwrap_or_default();
        if others.is_empty() {
            self.others = None;
        }
    }
}

fn whose(one: One) -> Whose {
    if one.id == GIVEN_UP { Whose::TooLate } else { Whose::Of(ExchangeId(one.id)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Asked {
        let mut asked = Asked::default();
        for (id, key) in [(1, 10), (2, 20), (3, 10)] {
            asked.add(ExchangeId(id), key);
        }
        asked
    }

    #[test]
    fn by_order() {
        let mut asked = three();
        let told: Vec<Whose> = (0..4).map(|_| asked.next()).collect();
        let of = |n| Whose::Of(ExchangeId(n));
        assert_eq!(told, [of(1), of(2), of(3), Whose::Nobodys]);
        assert!(asked.others.is_none(), "nothing is kept while nothing is in flight");
    }

    #[test]
    fn one_whose_answer_may_have_been_taken_for_another_is_in_doubt() {
        let mut asked = three();
        assert!(asked.give_up(ExchangeId(1)) && asked.give_up(ExchangeId(2)) && asked.give_up(ExchangeId(9)));
        assert_eq!(asked.with(20), Whose::TooLate);
        assert_eq!(asked.with(10), Whose::TooLate);
        assert!(!asked.give_up(ExchangeId(3)), "the answer was perhaps its own");
        let mut asked = three();
        assert!(asked.give_up(ExchangeId(1)) && asked.give_up(ExchangeId(3)), "no answer came");
    }

    #[test]
    fn by_key_and_by_order_among_equals() {
        let mut asked = three();
        assert!(asked.give_up(ExchangeId(2)));
        let of = |n| Whose::Of(ExchangeId(n));
        let told = [10, 30, 20, 10, 10].map(|key| asked.with(key));
        assert_eq!(told, [of(1), Whose::Nobodys, Whose::TooLate, of(3), Whose::Nobodys]);
        assert_eq!((asked.len(), asked.others.is_none()), (0, true));
    }
}
