//! Writes header blocks from what was prepared before the run (RFC 7541 6).
//!
//! All fields that requests of a run share are listed once, in a [`Lexicon`]; a request is a list of their numbers. On a
//! connection, the first use of a field is sent as a text the peer shall remember, every later one as an index: one or
//! two bytes. Nothing is ever evicted: what no longer fits is sent as a text each time, and the lexicon gives the room
//! to the fields used most. Nothing is sent as «never indexed» (7.1.3): load is no secret.

use std::collections::HashMap;

use super::{fixed, huffman};

/// The largest table used, whatever the peer offers: the default of RFC 9113 6.5.2.
const TABLE_BOUND: u32 = 4096;
/// In a list: here stands the path of the request, which is kept with the request.
const OWN_PATH: u32 = u32::MAX;
/// The static table's entries: dynamic indices begin behind them.
const FIXED: u32 = fixed::ENTRIES.len() as u32;

/// The fields that the requests of a run are made of.
#[derive(Debug, Default)]
pub struct Lexicon {
    fields: Vec<Field>,
    known: HashMap<(String, String), u32>,
    /// Fields that are remembered by peers, in the order they were met.
    remembered: u32,
    /// What those cost in the peer's table.
    size: u32,
}

#[derive(Debug)]
struct Field {
    /// As it is sent without any memory.
    plain: Box<[u8]>,
    /// As it is sent the first time, and its size in the table; None where it is not to be remembered.
    first: Option<(Box<[u8]>, u32)>,
    /// Its number among those remembered.
    slot: u32,
}

/// The header list of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Numbers in the lexicon.
    numbers: Vec<u32>,
    /// What follows them, encoded.
    tail: Vec<u8>,
    any_path: bool,
}

impl Lexicon {
    /// The number of a field. The first that are met are remembered by peers, as many as fit a table of 4096 bytes.
    pub fn number(&mut self, name: &str, value: &str) -> u32 {
        let key = (name.to_owned(), value.to_owned());
        if let Some(number) = self.known.get(&key) {
            return *number;
        }
        let number = self.fields.len() as u32;
        let mut field = Field { plain: Box::default(), first: None, slot: 0 };
        if let (Some(index), _) = fixed::find(name, value) {
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

    /// Whether a field costs the lexicon nothing: it is in it, or in the static table, or peers have room for it.
    pub fn has_room_for(&self, name: &str, value: &str) -> bool {
        fixed::find(name, value).0.is_some()
            || self.size + (name.len() + value.len()) as u32 + 32 <= TABLE_BOUND
            || self.known.contains_key(&(name.to_owned(), value.to_owned()))
    }

    /// The list of these fields but for the value of `:path`, which is said with each request.
    pub fn list_for_any_path<'a>(&mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> List {
        let number = |(name, value)| if name == ":path" { OWN_PATH } else { self.number(name, value) };
        List { numbers: fields.into_iter().map(number).collect(), tail: Vec::new(), any_path: true }
    }

    /// The list of these fields.
    pub fn list<'a>(&mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> List {
        let numbers = fields.into_iter().map(|(name, value)| self.number(name, value)).collect();
        List { numbers, tail: Vec::new(), any_path: false }
    }
}

impl List {
    /// A list that needs no lexicon: every field is sent as a text, or by the static table.
    pub fn of_texts<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> List {
        let mut list = List::default();
        for (name, value) in fields {
            list.put(name, value);
        }
        list
    }

    /// True where the path is said with each request ([`Lexicon::list_for_any_path`]).
    #[inline]
    pub fn leaves_path_out(&self) -> bool {
        self.any_path
    }

    /// Appends a field that the peer shall not remember, because it is another each time.
    pub fn put(&mut self, name: &str, value: &str) {
        match fixed::find(name, value) {
            (Some(index), _) => self.tail.push(0x80 | index),
            _ => self.tail.extend_from_slice(&encoded(name, value, false)),
        }
    }
}

/// Appends a field as a text that is not to be remembered and not compressed: for values written anew each time.
pub fn literal(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    integer(name.len(), 7, 0, out);
    out.extend_from_slice(name);
    integer(value.len(), 7, 0, out);
    out.extend_from_slice(value);
}

/// The beginning of a field whose value is another each time: its name, not to be remembered.
pub fn named(name: &str) -> Box<[u8]> {
    let mut bytes = Vec::new();
    put_name(name, fixed::find(name, "").1, 4, 0, &mut bytes);
    bytes.into_boxed_slice()
}

/// Appends the value of a field that [`named`] began, not compressed.
#[inline]
pub fn value(value: &[u8], out: &mut Vec<u8>) {
    integer(value.len(), 7, 0, out);
    out.extend_from_slice(value);
}

/// What one connection's peer remembers.
#[derive(Debug)]
pub struct Encoder {
    /// By a field's slot: how many fields had been sent to be remembered when it was, itself included; 0: not yet.
    at: Vec<u32>,
    sent: u32,
    size: u32,
    capacity: u32,
    /// Sizes to be told at the start of the next block (4.2): the smallest since the last one, and the last.
    told: Option<(u32, u32)>,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder { at: Vec::new(), sent: 0, size: 0, capacity: TABLE_BOUND, told: None }
    }
}

impl Encoder {
    /// The peer's SETTINGS_HEADER_TABLE_SIZE.
    pub fn resize(&mut self, most: u32) {
        let capacity = most.min(TABLE_BOUND);
        if capacity == self.capacity {
            return;
        }
        // A smaller table forgets, and to start anew is simpler than to know what; it hardly ever comes late.
        let smallest = if capacity < self.size { 0 } else { capacity };
        if smallest == 0 {
            self.forget();
        }
        self.capacity = capacity;
        self.told = Some((self.told.map_or(smallest, |(least, _)| least.min(smallest)), capacity));
    }

    fn forget(&mut self) {
        self.at.clear();
        (self.sent, self.size) = (0, 0);
    }

    /// Changes whenever a block of the same list would look different.
    #[inline]
    pub fn epoch(&self) -> (u32, bool) {
        (self.sent, self.told.is_some())
    }

    /// Appends the block of a list, whose numbers are of this lexicon.
    #[inline]
    pub fn write(&mut self, lexicon: &Lexicon, list: &List, out: &mut Vec<u8>) {
        self.write_with(lexicon, list, b"", out);
    }

    /// The same of a list that may leave out the path, which is then this.
    #[inline]
    pub fn write_with(&mut self, lexicon: &Lexicon, list: &List, path: &[u8], out: &mut Vec<u8>) {
        if self.told.is_some() {
            self.tell(out);
        }
        for number in &list.numbers {
            let Some(field) = lexicon.fields.get(*number as usize) else {
                integer(usize::from(fixed::PATH), 4, 0, out);
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
    fn first_use(&mut self, field: &Field, first: &[u8], size: u32, out: &mut Vec<u8>) {
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
    fn tell(&mut self, out: &mut Vec<u8>) {
        if let Some((smallest, last)) = self.told.take() {
            if smallest < last {
                integer(smallest as usize, 5, 0x20, out);
            }
            integer(last as usize, 5, 0x20, out);
        }
    }
}

/// A field as a text, the name by the static table where it is there.
fn encoded(name: &str, value: &str, remember: bool) -> Box<[u8]> {
    let mut bytes = Vec::new();
    let (bits, kind) = if remember { (6, 0x40) } else { (4, 0) };
    put_name(name, fixed::find(name, value).1, bits, kind, &mut bytes);
    text(value.as_bytes(), &mut bytes);
    bytes.into_boxed_slice()
}

/// A name, by its index in the static table where it is there.
fn put_name(name: &str, index: Option<u8>, bits: u32, kind: u8, bytes: &mut Vec<u8>) {
    match index {
        Some(index) => integer(usize::from(index), bits, kind, bytes),
        None => {
            bytes.push(kind);
            text(name.as_bytes(), bytes);
        }
    }
}

/// A text (5.2), in the Huffman code where that is shorter.
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

/// An integer (5.1) whose first byte holds `bits` bits of it beside `kind`.
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
