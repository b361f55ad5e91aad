//! The decoder's dynamic table (RFC 7541 2.3.2 and 4): fields the peer told us to remember, the newest first.
//!
//! The texts lie one behind the other in one buffer, which is moved together when its end is reached: remembering a
//! field allocates nothing once the buffer has its size.

use std::collections::VecDeque;

use super::fixed;

/// What an entry costs beside its texts (4.1).
pub const OVERHEAD: usize = 32;

/// The dynamic table.
#[derive(Debug, Default)]
pub struct Table {
    texts: Vec<u8>,
    /// The newest first.
    entries: VecDeque<Entry>,
    size: usize,
    capacity: usize,
    /// How often the content changed.
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u32,
    name: u32,
    value: u32,
}

impl Entry {
    fn size(self) -> usize {
        (self.name + self.value) as usize + OVERHEAD
    }
}

impl Table {
    /// An empty table of this capacity.
    pub fn new(capacity: usize) -> Table {
        Table { capacity, ..Table::default() }
    }

    /// How often the content changed: two blocks that are equal mean the same as long as this is equal, too.
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Its size now, as 4.1 counts it.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The field of an index over both tables (2.3.3).
    #[inline]
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        if let Some((name, value)) = fixed::ENTRIES.get(index.checked_sub(1)?) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let Entry { at, name, value } = *self.entries.get(index - fixed::ENTRIES.len() - 1)?;
        let text = &self.texts[at as usize..(at + name + value) as usize];
        Some(text.split_at(name as usize))
    }

    /// A new capacity; what no longer fits is forgotten, the oldest first.
    pub fn resize(&mut self, capacity: usize) {
        if capacity != self.capacity {
            self.capacity = capacity;
            self.generation = self.generation.wrapping_add(1);
            self.make_room(0);
        }
    }

    /// Remembers a field. One that is larger than the table empties it (4.4).
    pub fn insert(&mut self, name: &[u8], value: &[u8]) {
        let entry = Entry { at: 0, name: name.len() as u32, value: value.len() as u32 };
        self.make_room(entry.size());
        if entry.size() > self.capacity {
            return;
        }
        if self.texts.len() + name.len() + value.len() > self.texts.capacity().max(2 * self.capacity) {
            self.gather();
        }
        let at = self.texts.len() as u32;
        self.texts.extend_from_slice(name);
        self.texts.extend_from_slice(value);
        self.entries.push_front(Entry { at, ..entry });
        self.size += entry.size();
        self.generation = self.generation.wrapping_add(1);
    }

    /// Forgets the oldest until `size` more fits.
    fn make_room(&mut self, size: usize) {
        while self.size + size > self.capacity
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.size();
            self.generation = self.generation.wrapping_add(1);
        }
        if self.entries.is_empty() {
            self.texts.clear();
        }
    }

    /// Moves the texts that are still known to the front of the buffer.
    fn gather(&mut self) {
        let start = self.entries.back().map_or(self.texts.len(), |oldest| oldest.at as usize);
        self.texts.drain(..start);
        for entry in &mut self.entries {
            entry.at -= start as u32;
        }
    }
}
