//! Messages in flight on one connection, oldest first, and their matching with answers.
//!
//! The oldest message is stored inline, so a connection with one message at a time allocates nothing; the others are in
//! a queue that exists only while it is needed.

use std::collections::VecDeque;

use brunt_contract::ExchangeId;

/// The identifier of an exchange that was given up: its late answer is dropped.
const GIVEN_UP: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct PendingMessage {
    key: u64,
    id: u32,
    /// Set if an answer that may belong to this message was attributed to one that was given up.
    doubtful: bool,
}

/// The messages in flight.
#[derive(Debug, Default)]
pub struct PendingMessages {
    oldest: PendingMessage,
    count: u32,
    others: Option<Box<FurtherMessages>>,
}

/// Further messages in flight, boxed so that a connection without any pays only for a pointer.
#[derive(Debug, Default)]
struct FurtherMessages(VecDeque<PendingMessage>);

/// The exchange that an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerOwner {
    /// An exchange in flight.
    Exchange(ExchangeId),
    /// An exchange that was given up.
    GivenUp,
    /// An unsolicited message, which is not an answer.
    None,
}

impl PendingMessages {
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
        let one = PendingMessage { key, id: id.0, doubtful: false };
        if self.count == 0 {
            self.oldest = one;
        } else {
            self.others.get_or_insert_default().0.push_back(one);
        }
        self.count += 1;
    }

    /// Matches an answer with the oldest message.
    #[inline]
    pub fn match_oldest(&mut self) -> AnswerOwner {
        if self.count == 0 {
            return AnswerOwner::None;
        }
        let one = self.oldest;
        self.count -= 1;
        if self.count > 0 {
            self.move_up();
        }
        owner_of(one)
    }

    /// Matches an answer by its key.
    #[inline]
    pub fn match_key(&mut self, key: u64) -> AnswerOwner {
        let whose = self.first_with(key);
        if whose == AnswerOwner::GivenUp
            && let Some(next) = self.all().find(|one| one.key == key && one.id != GIVEN_UP)
        {
            next.doubtful = true;
        }
        whose
    }

    #[inline]
    fn first_with(&mut self, key: u64) -> AnswerOwner {
        if self.count == 0 {
            return AnswerOwner::None;
        }
        if self.oldest.key == key {
            return self.match_oldest();
        }
        let Some(FurtherMessages(others)) = self.others.as_deref_mut() else { return AnswerOwner::None };
        // Answers arrive nearly in the order of the messages, so the search is short.
        let found = others.iter().position(|one| one.key == key).and_then(|at| others.remove(at));
        let Some(one) = found else { return AnswerOwner::None };
        self.count -= 1;
        if others.is_empty() {
            self.others = None;
        }
        owner_of(one)
    }

    /// Gives up an exchange. The entry is kept, so that a late answer is recognized. Returns `false` if the answer may
    /// already have been attributed to an earlier exchange with the same key: the answer to that one was then lost
    /// rather than late, and every later answer would be misattributed too.
    pub fn give_up(&mut self, id: ExchangeId) -> bool {
        let Some(one) = self.all().find(|one| one.id == id.0) else { return true };
        one.id = GIVEN_UP;
        !one.doubtful
    }

    fn all(&mut self) -> impl Iterator<Item = &mut PendingMessage> {
        let others = self.others.iter_mut().flat_map(|others| others.0.iter_mut());
        (self.count > 0).then_some(&mut self.oldest).into_iter().chain(others)
    }

    fn move_up(&mut self) {
        let Some(FurtherMessages(others)) = self.others.as_deref_mut() else { return };
        self.oldest = others.pop_front().unwrap_or_default();
        if others.is_empty() {
            self.others = None;
        }
    }
}

fn owner_of(one: PendingMessage) -> AnswerOwner {
    if one.id == GIVEN_UP { AnswerOwner::GivenUp } else { AnswerOwner::Exchange(ExchangeId(one.id)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> PendingMessages {
        let mut asked = PendingMessages::default();
        for (id, key) in [(1, 10), (2, 20), (3, 10)] {
            asked.add(ExchangeId(id), key);
        }
        asked
    }

    #[test]
    fn by_order() {
        let mut asked = three();
        let told: Vec<AnswerOwner> = (0..4).map(|_| asked.match_oldest()).collect();
        let of = |n| AnswerOwner::Exchange(ExchangeId(n));
        assert_eq!(told, [of(1), of(2), of(3), AnswerOwner::None]);
        assert!(asked.others.is_none(), "nothing is kept while nothing is in flight");
    }

    #[test]
    fn one_whose_answer_may_have_been_taken_for_another_is_in_doubt() {
        let mut asked = three();
        assert!(asked.give_up(ExchangeId(1)) && asked.give_up(ExchangeId(2)) && asked.give_up(ExchangeId(9)));
        assert_eq!(asked.match_key(20), AnswerOwner::GivenUp);
        assert_eq!(asked.match_key(10), AnswerOwner::GivenUp);
        assert!(!asked.give_up(ExchangeId(3)), "the answer was perhaps its own");
        let mut asked = three();
        assert!(asked.give_up(ExchangeId(1)) && asked.give_up(ExchangeId(3)), "no answer came");
    }

    #[test]
    fn by_key_and_by_order_among_equals() {
        let mut asked = three();
        assert!(asked.give_up(ExchangeId(2)));
        let of = |n| AnswerOwner::Exchange(ExchangeId(n));
        let told = [10, 30, 20, 10, 10].map(|key| asked.match_key(key));
        assert_eq!(told, [of(1), AnswerOwner::None, AnswerOwner::GivenUp, of(3), AnswerOwner::None]);
        assert_eq!((asked.len(), asked.others.is_none()), (0, true));
    }
}
