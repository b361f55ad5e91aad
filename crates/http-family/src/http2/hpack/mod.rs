//! HPACK, the compression of header fields (RFC 7541), both directions.
//!
//! The encoder never evicts: what a run says is known before it starts, so the fields worth remembering are chosen
//! then, as many as the peer's table holds. The decoder reads everything the format allows, within bounds.

mod decode;
mod encode;
mod fixed;
mod huffman;
mod table;
#[cfg(test)]
mod tests;

pub use decode::{Decoder, Fields, LIST_BOUND, Malformed};
pub use encode::{Encoder, Lexicon, List, literal, named, value};
