//! HPACK, header compression (RFC 7541), in both directions.
//!
//! The encoder never evicts: the requests of a run are known before it starts, so the fields worth indexing are chosen
//! then, as many as fit the peer's table. The decoder accepts everything the format allows, within bounds.

mod decode;
mod encode;
mod huffman;
mod static_table;
mod table;
#[cfg(test)]
mod tests;

pub use decode::{HeaderFields, HpackDecoder, HpackError, LIST_BOUND};
pub use encode::{HeaderList, HpackEncoder, Lexicon, literal, named, value};
