//! Bounds of what others may have under way at the coordinator: an agent that has turned may send without end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bounds for one kind of message.
pub(crate) struct UnderWay {
    /// Number and bytes under way for each key (an address, or an agent), and bytes of all.
    number: usize,
    bytes: usize,
    whole: usize,
    taken: Mutex<TakenRoom>,
}

#[derive(Default)]
struct TakenRoom {
    by_key: BTreeMap<String, (usize, usize)>,
    whole: usize,
}

/// Room of a message that is under way, given back when dropped.
pub(crate) struct Room {
    of: Arc<UnderWay>,
    key: String,
    bytes: usize,
}

impl UnderWay {
    pub fn new(number: usize, bytes: usize, whole: usize) -> Arc<UnderWay> {
        Arc::new(UnderWay { number, bytes, whole, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, TakenRoom> {
        self.taken.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns room for a message; `None` while there is none. Whoever sent it sends it again.
    pub fn take(self: &Arc<Self>, key: &str, bytes: usize) -> Option<Room> {
        let mut taken = self.taken();
        let (number, own) = taken.by_key.get(key).copied().unwrap_or_default();
        if number >= self.number || own + bytes > self.bytes || taken.whole + bytes > self.whole {
            return None;
        }
        taken.by_key.insert(key.to_owned(), (number + 1, own + bytes));
        taken.whole += bytes;
        Some(Room { of: Arc::clone(self), key: key.to_owned(), bytes })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        taken.whole -= self.bytes;
        if let Some((number, bytes)) = taken.by_key.get_mut(&self.key) {
            (*number, *bytes) = (*number - 1, *bytes - self.bytes);
            if *number == 0 {
                taken.by_key.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cannot_take_the_room_of_others_and_all_not_more_than_there_is() {
        let under_way = UnderWay::new(2, 10, 15);
        let first = under_way.take("a", 9).unwrap();
        assert!(under_way.take("a", 2).is_none(), "too many bytes of one");
        let second = under_way.take("a", 1).unwrap();
        assert!(under_way.take("a", 0).is_none(), "too many of one");
        assert!(under_way.take("b", 6).is_none(), "too many bytes of all");
        let other = under_way.take("b", 5).unwrap();
        drop((first, second));
        assert!(under_way.take("a", 10).is_some());
        drop(other);
        let left = under_way.taken();
        assert!(left.whole == 0 && left.by_key.is_empty());
    }
}
