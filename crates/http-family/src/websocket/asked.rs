//! Messages in flight on one connection, oldest first, and their matching with answers.
//!
//! The oldest message is stored inline, so a connection with one message at a time allocates nothing; the others are in
//! a queue that exists only while it is needed.

use std::collections::VecDeque;

use wire::ExchangeId;

/// The identifier of an exchange that was given up: its late answer is dropped.
const GIVEN_UP: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct One {
    key: u64,
    id: u32,
    /// Set if an answer that may belong to this message was attributed to one that was given up.
    doubtful: bool,
}

/// The messages in flight.
#[derive(Debug, Default)]
pub struct Asked {
    oldest: One,
    count: u32,
    others: Option<Box<Others>>,
}

/// Further messages in flight, boxed so that a connection without any pays only a pointer.
#[derive(Debug, Default)]
struct Others(VecDeque<One>);

/// The exchange that an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// An exchange in flight.
    Of(ExchangeId),
    /// An exchange that was given up.
    TooLate,
    /// An unsolicited message, which is not an answer.
    Nobodys,
}

impl Asked {
    /// Returns the number of messages in flight.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns the oldest exchange, unless it was given up.
    pub fn oldest(&self) -> Option<ExchangeId> {
        (self.count > 0 && self.oldest.id != GIVEN_UP).then_some(ExchangeId(self.oldest.id))
    }

    /// Records a sent message; `key` is the value of its matching field.
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

    /// Matches an answer with the oldest message.
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

    /// Matches an answer by its key.
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
        // Answers arrive nearly in the order of the messages, so the search is short.
        let found = others.iter().position(|one| one.key == key).and_then(|at| others.remove(at));
        let Some(one) = found else { return Whose::Nobodys };
        self.count -= 1;
        if others.is_empty() {
            self.others = None;
        }
        whose(one)
    }

    /// Gives up an exchange. Its entry is kept, so that a late answer is recognized. Returns `false` if its answer may
    /// have been attributed to an earlier exchange with the same key, whose own answer then was not late but lost; this
    /// would go on with every later one.
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
