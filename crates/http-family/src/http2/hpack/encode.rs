//! Encodes header blocks from lists prepared before the run (RFC 7541 6).
//!
//! All fields that the requests of a run share are listed once, in a [`Lexicon`]; a request is a list of their numbers.
//! On a connection, the first use of a field is sent as a literal with indexing, and every later one as an index of one
//! or two bytes. Nothing is ever evicted: fields that do not fit are sent as literals each time, and the lexicon gives
//! the space to the fields added first, which are those of the most frequent requests. Nothing is sent as "never
//! indexed" (7.1.3): test traffic need not be kept secret.

use std::collections::HashMap;

use super::{huffman, static_table};

/// The largest table used, whatever the peer offers: the default of RFC 9113 6.5.2.
const TABLE_BOUND: u32 = 4096;
/// A placeholder in a list for the path, which is kept with the request.
const OWN_PATH: u32 = u32::MAX;
/// Number of static table entries; dynamic indices follow them.
const FIXED: u32 = static_table::ENTRIES.len() as u32;

/// The fields that the requests of a run consist of.
#[derive(Debug, Default)]
pub struct Lexicon {
    fields: Vec<LexiconField>,
    known: HashMap<(String, String), u32>,
    /// Number of fields that peers index, in the order of first use.
    remembered: u32,
    /// Size of the indexed fields in the peer's table, in bytes.
    size: u32,
}

#[derive(Debug)]
struct LexiconField {
    /// Encoding without indexing.
    plain: Box<[u8]>,
    /// Encoding of the first use, with indexing, and the entry's size; `None` if the field is not indexed.
    first: Option<(Box<[u8]>, u32)>,
    /// Position among the indexed fields.
    slot: u32,
}

/// The header list of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderList {
    /// Numbers of fields in the lexicon.
    numbers: Vec<u32>,
    /// Further fields, encoded.
    tail: Vec<u8>,
    any_path: bool,
}

impl Lexicon {
    /// Returns the number of a field, adding it if needed. The first fields added are indexed by peers, as many as fit
    /// a table of 4096 bytes.
    pub fn number(&mut self, name: &str, value: &str) -> u32 {
        let key = (name.to_owned(), value.to_owned());
        if let Some(number) = self.known.get(&key) {
            return *number;
        }
        let number = self.fields.len() as u32;
        let mut field = LexiconField { plain: Box::default(), first: None, slot: 0 };
        if let (Some(index), _) = static_table::find(name, value) {
            field.plain = Box::new([0x80 | index]);
        } else {
            field.plain = encoded(name, value, false);
            let size = (name.len() + value.len()) as u32 + 32;
            if self.size + size <= TABLE_BOUND {
                field.first = Some((encoded(name, value, true), size));
                field.slot = self.remembered;
                self.remembered += 1;
                self.size += size;
            }
        }
        self.fields.push(field);
        self.known.insert(key, number);
        number
    }

    /// Returns `true` if a field is cheap to add: the lexicon or the static table has it, or peers have space for it.
    pub fn has_room_for(&self, name: &str, value: &str) -> bool {
        static_table::find(name, value).0.is_some()
            || self.size + (name.len() + value.len()) as u32 + 32 <= TABLE_BOUND
            || self.known.contains_key(&(name.to_owned(), value.to_owned()))
    }

    /// Creates the list of these fields except for the value of `:path`, which is sent with each request.
    pub fn list_for_any_path<'a>(&mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> HeaderList {
        let number = |(name, value)| if name == ":path" { OWN_PATH } else { self.number(name, value) };
        HeaderList { numbers: fields.into_iter().map(number).collect(), tail: Vec::new(), any_path: true }
    }

    /// Creates the list of these fields.
    pub fn list<'a>(&mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> HeaderList {
        let numbers = fields.into_iter().map(|(name, value)| self.number(name, value)).collect();
        HeaderList { numbers, tail: Vec::new(), any_path: false }
    }
}

impl HeaderList {
    /// Creates a list that needs no lexicon: every field is sent as a literal or as an index into the static table.
    pub fn of_literals<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> HeaderList {
        let mut list = HeaderList::default();
        for (name, value) in fields {
            list.put(name, value);
        }
        list
    }

    /// Returns `true` if the path is sent with each request ([`Lexicon::list_for_any_path`]).
    #[inline]
    pub fn leaves_path_out(&self) -> bool {
        self.any_path
    }

    /// Appends a field without indexing, because its value changes each time.
    pub fn put(&mut self, name: &str, value: &str) {
        match static_table::find(name, value) {
            (Some(index), _) => self.tail.push(0x80 | index),
            _ => self.tail.extend_from_slice(&encoded(name, value, false)),
        }
    }
}

/// Appends a field as an uncompressed literal without indexing: for values that change each time.
pub fn literal(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    integer(name.len(), 7, 0, out);
    out.extend_from_slice(name);
    integer(value.len(), 7, 0, out);
    out.extend_from_slice(value);
}

/// Encodes the beginning of a field whose value changes each time: its name, without indexing.
pub fn named(name: &str) -> Box<[u8]> {
    let mut bytes = Vec::new();
    put_name(name, static_table::find(name, "").1, 4, 0, &mut bytes);
    bytes.into_boxed_slice()
}

/// Appends the value of a field begun by [`named`], uncompressed.
#[inline]
pub fn value(value: &[u8], out: &mut Vec<u8>) {
    integer(value.len(), 7, 0, out);
    out.extend_from_slice(value);
}

/// The encoding state of a connection: what its peer has indexed.
#[derive(Debug)]
pub struct HpackEncoder {
    /// For each field that may be indexed, the number of fields indexed up to and including it; 0 if it is not indexed
    /// yet.
    at: Vec<u32>,
    sent: u32,
    size: u32,
    capacity: u32,
    /// Table size updates to be sent at the start of the next block (4.2): the smallest size since the last block, and
    /// the final one.
    pending_sizes: Option<(u32, u32)>,
}

impl Default for HpackEncoder {
    fn default() -> HpackEncoder {
        HpackEncoder { at: Vec::new(), sent: 0, size: 0, capacity: TABLE_BOUND, pending_sizes: None }
    }
}

impl HpackEncoder {
    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE.
    pub fn resize(&mut self, most: u32) {
        let capacity = most.min(TABLE_BOUND);
        if capacity == self.capacity {
            return;
        }
        // Shrinking the table evicts entries; starting over is simpler than tracking which, and it rarely happens late.
        let smallest = if capacity < self.size { 0 } else { capacity };
        if smallest == 0 {
            self.forget();
        }
        self.capacity = capacity;
        self.pending_sizes = Some((self.pending_sizes.map_or(smallest, |(least, _)| least.min(smallest)), capacity));
    }

    fn forget(&mut self) {
        self.at.clear();
        (self.sent, self.size) = (0, 0);
    }

    /// Returns a value that changes whenever the same list would be encoded differently.
    #[inline]
    pub fn epoch(&self) -> (u32, bool) {
        (self.sent, self.pending_sizes.is_some())
    }

    /// Appends the block of a list, whose numbers refer to this lexicon.
    #[inline]
    pub fn write(&mut self, lexicon: &Lexicon, list: &HeaderList, out: &mut Vec<u8>) {
        self.write_with(lexicon, list, b"", out);
    }

    /// Like [`Self::write`], with the path for a list that leaves it out.
    #[inline]
    pub fn write_with(&mut self, lexicon: &Lexicon, list: &HeaderList, path: &[u8], out: &mut Vec<u8>) {
        if self.pending_sizes.is_some() {
            self.write_size_updates(out);
        }
        for number in &list.numbers {
            let Some(field) = lexicon.fields.get(*number as usize) else {
                integer(usize::from(static_table::PATH), 4, 0, out);
                value(path, out);
                continue;
            };
            match &field.first {
                None => out.extend_from_slice(&field.plain),
                Some((first, size)) => match self.at.get(field.slot as usize) {
                    Some(at @ 1..) => integer((FIXED + 1 + self.sent - at) as usize, 7, 0x80, out),
                    _ => self.first_use(field, first, *size, out),
                },
            }
        }
        out.extend_from_slice(&list.tail);
    }

    #[cold]
    fn first_use(&mut self, field: &LexiconField, first: &[u8], size: u32, out: &mut Vec<u8>) {
        if self.size + size > self.capacity {
            return out.extend_from_slice(&field.plain);
        }
        out.extend_from_slice(first);
        self.size += size;
        self.sent += 1;
        let slot = field.slot as usize;
        if self.at.len() <= slot {
            self.at.resize(slot + 1, 0);
        }
        self.at[slot] = self.sent;
    }

    #[cold]
    fn write_size_updates(&mut self, out: &mut Vec<u8>) {
        if let Some((smallest, last)) = self.pending_sizes.take() {
            if smallest < last {
                integer(smallest as usize, 5, 0x20, out);
            }
            integer(last as usize, 5, 0x20, out);
        }
    }
}

/// Encodes a field as a literal, with its name from the static table if it is there.
fn encoded(name: &str, value: &str, remember: bool) -> Box<[u8]> {
    let mut bytes = Vec::new();
    let (bits, kind) = if remember { (6, 0x40) } else { (4, 0) };
    put_name(name, static_table::find(name, value).1, bits, kind, &mut bytes);
    text(value.as_bytes(), &mut bytes);
    bytes.into_boxed_slice()
}

/// Encodes a name, as an index into the static table if it is there.
fn put_name(name: &str, index: Option<u8>, bits: u32, kind: u8, bytes: &mut Vec<u8>) {
    match index {
        Some(index) => integer(usize::from(index), bits, kind, bytes),
        None => {
            bytes.push(kind);
            text(name.as_bytes(), bytes);
        }
    }
}

/// Encodes a string (5.2), in Huffman code if that is shorter.
fn text(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::length(text);
    if coded < text.len() {
        integer(coded, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer(text.len(), 7, 0, out);
        out.extend_from_slice(text);
    }
}

/// Encodes an integer (5.1) whose first byte holds `bits` bits of it, combined with `kind`.
#[inline]
fn integer(mut value: usize, bits: u32, kind: u8, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if value < most {
        return out.push(kind | value as u8);
    }
    out.push(kind | most as u8);
    value -= most;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
