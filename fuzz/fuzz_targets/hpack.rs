//! Arbitrary bytes as header blocks of one connection, each preceded by a byte with its length.
//! `cargo +nightly fuzz run hpack fuzz/corpus/hpack fuzz/seeds/hpack`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brunt_protocols::http2::oracle::blocks(bytes));
