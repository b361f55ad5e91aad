//! Arbitrary bytes as a data file: reading never panics, and rows do not depend on the pieces in which the file is read.
//! `cargo +nightly fuzz run data_rows`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brunt_protocols::data::oracle(bytes));
