//! Decodes header blocks (RFC 7541 6) field by field, as borrowed text.
//!
//! A caller need not read all fields; [`HeaderFields::finish`] reads the rest, because every block may change the
//! meaning of the next. Servers send the same blocks again and again, so the last blocks that left the table unchanged
//! are remembered with a number chosen by the caller, and need not be decoded again.

use brunt_cause::StaticCause;

use super::table::{DynamicTable, OVERHEAD};
use super::{huffman, static_table};

/// The table size we announce: the default of RFC 9113 6.5.2.
const TABLE_BOUND: usize = 4096;
/// The largest header list that is decoded, as announced to the peer.
pub const LIST_BOUND: usize = 256 * 1024;
/// The largest block that is remembered.
const REMEMBERED_BOUND: usize = 1024;
/// The maximum number of remembered blocks per kind: responses of several URLs alternate.
const REMEMBERED: usize = 4;

/// A malformed block: the connection cannot continue (RFC 9113 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpackError(pub StaticCause);

/// Name and value of a field.
pub type HpackField<'a> = (&'a [u8], &'a [u8]);

/// The decoding state of a connection.
#[derive(Debug)]
pub struct HpackDecoder {
    table: DynamicTable,
    name: Vec<u8>,
    value: Vec<u8>,
    /// Remembered blocks, by kind.
    remembered: [Vec<RememberedBlock>; 2],
    /// Number of remembered blocks replaced so far.
    replaced: usize,
}

/// A remembered block, which left the table unchanged, and the caller's digest of it.
#[derive(Debug, Default)]
struct RememberedBlock {
    block: Vec<u8>,
    generation: u32,
    digest: u64,
}

impl Default for HpackDecoder {
    fn default() -> HpackDecoder {
        let table = DynamicTable::new(TABLE_BOUND);
        HpackDecoder { table, name: Vec::new(), value: Vec::new(), remembered: Default::default(), replaced: 0 }
    }
}

impl HpackDecoder {
    /// Returns the fields of a whole block.
    #[inline]
    pub fn read<'a>(&'a mut self, block: &'a [u8]) -> HeaderFields<'a> {
        let generation = self.table.generation();
        HeaderFields { decoder: self, block, at: 0, generation, sizes: true, total: 0, known: false }
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &DynamicTable {
        &self.table
    }
}

/// The fields of a block, one after the other.
#[derive(Debug)]
pub struct HeaderFields<'a> {
    decoder: &'a mut HpackDecoder,
    block: &'a [u8],
    at: usize,
    /// Generation of the table before the block.
    generation: u32,
    /// Set while a table size update is allowed: only at the start of a block (4.2).
    sizes: bool,
    /// Size of the fields so far, counted as in RFC 9113 6.5.2.
    total: usize,
    /// Set if the block is known to leave the table unchanged.
    known: bool,
}

/// The buffer that a string is decoded into.
#[derive(Clone, Copy)]
enum StringBuffer {
    Name,
    Value,
}

/// The location of a string.
#[derive(Clone, Copy)]
enum StringLocation {
    /// A range of the block.
    Block(usize, usize),
    /// The decoder's buffer.
    Buffer,
    /// The static table.
    Static(&'static str),
}

impl HeaderFields<'_> {
    /// Returns the digest passed to [`Self::remember`] for an identical block, if the block still has the same meaning.
    /// `sort` is 0 or 1 and separates blocks that are read in different ways (heads and trailers). The block may then
    /// be read, but need not be.
    #[inline]
    pub fn remembered_digest(&mut self, sort: usize) -> Option<u64> {
        let is_it = |seen: &&RememberedBlock| seen.generation == self.generation && *seen.block == *self.block;
        let digest = self.decoder.remembered[sort].iter().find(is_it)?.digest;
        self.known = true;
        Some(digest)
    }

    /// Reads the remaining fields, and remembers the digest of the block if the block can be recognized again.
    ///
    /// # Errors
    /// Fails like [`Self::next`].
    pub fn remember(&mut self, sort: usize, digest: u64) -> Result<(), HpackError> {
        self.finish()?;
        let stays = self.decoder.table.generation() == self.generation;
        if stays && !self.known && (1..=REMEMBERED_BOUND).contains(&self.block.len()) {
            let HpackDecoder { remembered: seen, replaced: turn, .. } = &mut *self.decoder;
            let seen = &mut seen[sort];
            let at = if seen.len() < REMEMBERED { seen.len() } else { *turn % REMEMBERED };
            if at == seen.len() {
                seen.push(RememberedBlock::default());
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

    /// Reads the remaining fields.
    ///
    /// # Errors
    /// Fails like [`Self::next`].
    #[inline]
    pub fn finish(&mut self) -> Result<(), HpackError> {
        while self.at < self.block.len() && !self.known {
            self.next()?;
        }
        Ok(())
    }

    /// Returns the next field; `None` at the end of the block.
    ///
    /// # Errors
    /// Fails if the block is not valid HPACK.
    #[expect(clippy::should_implement_trait, reason = "the field borrows from the decoder, which no Iterator can say")]
    pub fn next(&mut self) -> Result<Option<HpackField<'_>>, HpackError> {
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
                    return Err(HpackError(brunt_cause::http2::table_size()));
                }
                self.decoder.table.resize(size);
                continue;
            }
            return self.literal(first & 0x40 != 0).map(Some);
        }
    }

    fn literal(&mut self, indexed: bool) -> Result<HpackField<'_>, HpackError> {
        let index = self.integer(if indexed { 6 } else { 4 })?;
        let name = if index == 0 { self.text(StringBuffer::Name)? } else { self.table_name(index)? };
        let value = self.text(StringBuffer::Value)?;
        let HpackDecoder { table, name: names, value: values, .. } = &mut *self.decoder;
        let block = self.block;
        let name = match name {
            StringLocation::Block(from, to) => &block[from..to],
            StringLocation::Buffer => &names[..],
            StringLocation::Static(name) => name.as_bytes(),
        };
        let value = match value {
            StringLocation::Block(from, to) => &block[from..to],
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

    /// Returns a name from the table. A name in the dynamic table is copied, because its entry may be evicted by the
    /// entry being added (4.4).
    fn table_name(&mut self, index: usize) -> Result<StringLocation, HpackError> {
        if let Some((name, _)) = static_table::ENTRIES.get(index.wrapping_sub(1)) {
            return Ok(StringLocation::Static(name));
        }
        let HpackDecoder { table, name: names, .. } = &mut *self.decoder;
        let (name, _) = table.get(index).ok_or(NO_ENTRY)?;
        names.clear();
        names.extend_from_slice(name);
        Ok(StringLocation::Buffer)
    }

    /// Reads a string (5.2).
    fn text(&mut self, place: StringBuffer) -> Result<StringLocation, HpackError> {
        let coded = *self.block.get(self.at).ok_or(CUT)? & 0x80 != 0;
        let length = self.integer(7)?;
        let (from, to) = (self.at, self.at + length);
        let text = self.block.get(from..to).ok_or(CUT)?;
        self.at = to;
        if !coded {
            return Ok(StringLocation::Block(from, to));
        }
        let buffer = match place {
            StringBuffer::Name => &mut self.decoder.name,
            StringBuffer::Value => &mut self.decoder.value,
        };
        buffer.clear();
        if huffman::decode(text, buffer) { Ok(StringLocation::Buffer) } else { Err(NO_CODE) }
    }

    /// Reads an integer whose first byte holds `bits` bits of it (5.1).
    #[inline]
    fn integer(&mut self, bits: u32) -> Result<usize, HpackError> {
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
        Err(HpackError(brunt_cause::http2::integer()))
    }
}

const TOO_MUCH: HpackError = HpackError(brunt_cause::http2::endless_list());
const NO_ENTRY: HpackError = HpackError(brunt_cause::http2::no_entry());
const NO_CODE: HpackError = HpackError(brunt_cause::http2::no_huffman());
const CUT: HpackError = HpackError(brunt_cause::http2::cut_field());
