//! Any bytes as header blocks of one connection, each after a byte that says how long it is.
//! `cargo +nightly fuzz run hpack fuzz/corpus/hpack fuzz/seeds/hpack`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocols::http2::oracle::blocks(bytes));
