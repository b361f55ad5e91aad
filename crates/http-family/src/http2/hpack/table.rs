//! The decoder's dynamic table (RFC 7541 2.3.2 and 4): fields indexed by the peer, the newest first.
//!
//! The strings lie one after the other in one buffer, which is compacted when its end is reached: adding a field
//! allocates nothing once the buffer has reached its full size.

use std::collections::VecDeque;

use super::static_table;

/// Size of an entry in addition to its strings (4.1).
pub const OVERHEAD: usize = 32;

/// The dynamic table.
#[derive(Debug, Default)]
pub struct DynamicTable {
    texts: Vec<u8>,
    /// Entries, the newest first.
    entries: VecDeque<TableEntry>,
    size: usize,
    capacity: usize,
    /// Number of changes to the content.
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct TableEntry {
    at: u32,
    name: u32,
    value: u32,
}

impl TableEntry {
    fn size(self) -> usize {
        (self.name + self.value) as usize + OVERHEAD
    }
}

impl DynamicTable {
    /// Creates an empty table with this capacity.
    pub fn new(capacity: usize) -> DynamicTable {
        DynamicTable { capacity, ..DynamicTable::default() }
    }

    /// Returns the number of changes to the content. While it is unchanged, identical blocks have the
    /// same meaning.
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the table's size as defined in 4.1.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the field at an index over both tables (2.3.3).
    #[inline]
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        if let Some((name, value)) = static_table::ENTRIES.get(index.checked_sub(1)?) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let TableEntry { at, name, value } = *self.entries.get(index - static_table::ENTRIES.len() - 1)?;
        let text = &self.texts[at as usize..(at + name + value) as usize];
        Some(text.split_at(name as usize))
    }

    /// Sets the capacity and evicts what no longer fits, the oldest first.
    pub fn resize(&mut self, capacity: usize) {
        if capacity != self.capacity {
            self.capacity = capacity;
            self.generation = self.generation.wrapping_add(1);
            self.make_room(0);
        }
    }

    /// Adds a field. A field larger than the table empties it (4.4).
    pub fn insert(&mut self, name: &[u8], value: &[u8]) {
        let entry = TableEntry { at: 0, name: name.len() as u32, value: value.len() as u32 };
        self.make_room(entry.size());
        if entry.size() > self.capacity {
            return;
        }
        if self.texts.len() + name.len() + value.len() > self.texts.capacity().max(2 * self.capacity) {
            self.compact();
        }
        let at = self.texts.len() as u32;
        self.texts.extend_from_slice(name);
        self.texts.extend_from_slice(value);
        self.entries.push_front(TableEntry { at, ..entry });
        self.size += entry.size();
        self.generation = self.generation.wrapping_add(1);
    }

    /// Evicts the oldest entries until `size` more bytes fit.
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

    /// Moves the strings still in use to the front of the buffer.
    fn compact(&mut self) {
        let start = self.entries.back().map_or(self.texts.len(), |oldest| oldest.at as usize);
        self.texts.drain(..start);
        for entry in &mut self.entries {
            entry.at -= start as u32;
        }
    }
}
