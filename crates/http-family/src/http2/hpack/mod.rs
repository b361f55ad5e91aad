//! HPACK, header compression (RFC 7541), in both directions.
//!
//! The encoder never evicts: the requests of a run are known before it starts, so the fields worth indexing are chosen
//! then, as many as fit the peer's table. The decoder accepts everything the format allows, within bounds.

mod decode;
mod encode;
mod fixed;
mod huffman;
mod table;
#[cfg(test)]
mod tests;

pub use decode::{Decoder, Fields, LIST_BOUND, Malformed};
pub use encode::{Encoder, Lexicon, List, literal, named, value};
