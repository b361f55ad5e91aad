//! Reads header blocks (RFC 7541 6): one field after the other, as borrowed texts.
//!
//! Whoever reads fields need not read them all; [`Fields::finish`] reads on, because every block changes what the next
//! one means. Servers say the same in answer after answer, so the last blocks that changed nothing are remembered with
//! a number the reader made of them, and need no reading the next time.

use cause::Plain;

use super::table::{OVERHEAD, Table};
use super::{fixed, huffman};

/// The table size we announce: the default of RFC 9113 6.5.2.
const TABLE_BOUND: usize = 4096;
/// The largest header list that is read: what we announce.
pub const LIST_BOUND: usize = 256 * 1024;
/// The largest block that is remembered.
const REMEMBERED_BOUND: usize = 1024;
/// The most blocks of a sort that are remembered: answers of several URLs come in turn.
const REMEMBERED: usize = 4;

/// The block is no HPACK: the connection cannot go on (RFC 9113 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub Plain);

/// Name and value.
pub type Field<'a> = (&'a [u8], &'a [u8]);

/// What the peer's blocks have told so far.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    name: Vec<u8>,
    value: Vec<u8>,
    /// By sort.
    seen: [Vec<Seen>; 2],
    /// Counts the blocks that took another's place.
    turn: usize,
}

/// A block that changed nothing, and what was made of it.
#[derive(Debug, Default)]
struct Seen {
    block: Vec<u8>,
    generation: u32,
    digest: u64,
}

impl Default for Decoder {
    fn default() -> Decoder {
        let table = Table::new(TABLE_BOUND);
        Decoder { table, name: Vec::new(), value: Vec::new(), seen: Default::default(), turn: 0 }
    }
}

impl Decoder {
    /// The fields of a whole block.
    #[inline]
    pub fn read<'a>(&'a mut self, block: &'a [u8]) -> Fields<'a> {
        let generation = self.table.generation();
        Fields { decoder: self, block, at: 0, generation, sizes: true, total: 0, known: false }
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }
}

/// The fields of a block, one after the other.
#[derive(Debug)]
pub struct Fields<'a> {
    decoder: &'a mut Decoder,
    block: &'a [u8],
    at: usize,
    /// The table's, before the block.
    generation: u32,
    /// Only at the start a block may change the table's size (4.2).
    sizes: bool,
    /// Bytes of fields so far, counted as RFC 9113 6.5.2 does.
    total: usize,
    /// The block changes nothing.
    known: bool,
}

/// Which buffer a text is decoded into.
#[derive(Clone, Copy)]
enum Place {
    Name,
    Value,
}

/// Where a text is.
#[derive(Clone, Copy)]
enum Text {
    /// In the block as it stands.
    Plain(usize, usize),
    /// In the decoder's buffer.
    Decoded,
    /// In the static table.
    Fixed(&'static str),
}

impl Fields<'_> {
    /// The number that [`Self::remember`] was given for the same block, where it means the same still; `sort` 0 or 1
    /// tells apart what is read in different ways (heads and trailers). The block may then be read, but need not.
    #[inline]
    pub fn known(&mut self, sort: usize) -> Option<u64> {
        let is_it = |seen: &&Seen| seen.generation == self.generation && *seen.block == *self.block;
        let digest = self.decoder.seen[sort].iter().find(is_it)?.digest;
        self.known = true;
        Some(digest)
    }

    /// Reads what is left and remembers what the block came to, if it may be known again.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn remember(&mut self, sort: usize, digest: u64) -> Result<(), Malformed> {
        self.finish()?;
        let stays = self.decoder.table.generation() == self.generation;
        if stays && !self.known && (1..=REMEMBERED_BOUND).contains(&self.block.len()) {
            let Decoder { seen, turn, .. } = &mut *self.decoder;
            let seen = &mut seen[sort];
            let at = if seen.len() < REMEMBERED { seen.len() } else { *turn % REMEMBERED };
            if at == seen.len() {
                seen.push(Seen::default());
            } else {
                *turn = turn.wrapping_add(1);
            }
            let seen = &mut seen[at];
            seen.block.clear();
            seen.block.extend_from_slice(self.block);
            (seen.generation, seen.digest) = (self.generation, digest);
        }
        Ok(())
    }

    /// Reads what is left.
    ///
    /// # Errors
    /// As [`Self::next`].
    #[inline]
    pub fn finish(&mut self) -> Result<(), Malformed> {
        while self.at < self.block.len() && !self.known {
            self.next()?;
        }
        Ok(())
    }

    /// The next field; None at the end of the block.
    ///
    /// # Errors
    /// What about the block is no HPACK.
    #[expect(clippy::should_implement_trait, reason = "the field borrows from the decoder, which no Iterator can say")]
    pub fn next(&mut self) -> Result<Option<Field<'_>>, Malformed> {
        loop {
            let Some(&first) = self.block.get(self.at) else { return Ok(None) };
            if first & 0xe0 != 0x20 {
                self.sizes = false;
            }
            if first & 0x80 != 0 {
                let index = self.integer(7)?;
                let (name, value) = self.decoder.table.get(index).ok_or(NO_ENTRY)?;
                self.total += name.len() + value.len() + OVERHEAD;
                return if self.total > LIST_BOUND { Err(TOO_MUCH) } else { Ok(Some((name, value))) };
            }
            if first & 0xe0 == 0x20 {
                let size = self.integer(5)?;
                if !self.sizes || size > TABLE_BOUND {
                    return Err(Malformed(cause::http2::table_size()));
                }
                self.decoder.table.resize(size);
                continue;
            }
            return self.literal(first & 0x40 != 0).map(Some);
        }
    }

    fn literal(&mut self, indexed: bool) -> Result<Field<'_>, Malformed> {
        let index = self.integer(if indexed { 6 } else { 4 })?;
        let name = if index == 0 { self.text(Place::Name)? } else { self.known_name(index)? };
        let value = self.text(Place::Value)?;
        let Decoder { table, name: names, value: values, .. } = &mut *self.decoder;
        let block = self.block;
        let name = match name {
            Text::Plain(from, to) => &block[from..to],
            Text::Decoded => &names[..],
            Text::Fixed(name) => name.as_bytes(),
        };
        let value = match value {
            Text::Plain(from, to) => &block[from..to],
            _ => &values[..],
        };
        self.total += name.len() + value.len() + OVERHEAD;
        if self.total > LIST_BOUND {
            return Err(TOO_MUCH);
        }
        if indexed {
            table.insert(name, value);
        }
        Ok((name, value))
    }

    /// A name the table has. One of the dynamic table is copied, because its entry may be forgotten for the one that takes
    /// its name (4.4).
    fn known_name(&mut self, index: usize) -> Result<Text, Malformed> {
        if let Some((name, _)) = fixed::ENTRIES.get(index.wrapping_sub(1)) {
            return Ok(Text::Fixed(name));
        }
        let Decoder { table, name: names, .. } = &mut *self.decoder;
        let (name, _) = table.get(index).ok_or(NO_ENTRY)?;
        names.clear();
        names.extend_from_slice(name);
        Ok(Text::Decoded)
    }

    /// A text (5.2).
    fn text(&mut self, place: Place) -> Result<Text, Malformed> {
        let coded = *self.block.get(self.at).ok_or(CUT)? & 0x80 != 0;
        let length = self.integer(7)?;
        let (from, to) = (self.at, self.at + length);
        let text = self.block.get(from..to).ok_or(CUT)?;
        self.at = to;
        if !coded {
            return Ok(Text::Plain(from, to));
        }
        let buffer = match place {
            Place::Name => &mut self.decoder.name,
            Place::Value => &mut self.decoder.value,
        };
        buffer.clear();
        if huffman::decode(text, buffer) { Ok(Text::Decoded) } else { Err(NO_CODE) }
    }

    /// An integer whose first byte holds `bits` bits of it (5.1).
    #[inline]
    fn integer(&mut self, bits: u32) -> Result<usize, Malformed> {
        let most = (1usize << bits) - 1;
        let mut value = usize::from(*self.block.get(self.at).ok_or(CUT)?) & most;
        self.at += 1;
        if value < most {
            return Ok(value);
        }
        for shift in (0..35).step_by(7) {
            let byte = *self.block.get(self.at).ok_or(CUT)?;
            self.at += 1;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed(cause::http2::integer()))
    }
}

const TOO_MUCH: Malformed = Malformed(cause::http2::endless_list());
const NO_ENTRY: Malformed = Malformed(cause::http2::no_entry());
const NO_CODE: Malformed = Malformed(cause::http2::no_huffman());
const CUT: Malformed = Malformed(cause::http2::cut_field());
