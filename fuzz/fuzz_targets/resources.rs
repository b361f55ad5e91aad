//! Arbitrary bytes as a page: the resources found are within bounds, each listed once, and none leads to a forbidden
//! address.
//! `cargo +nightly fuzz run resources`

#![no_main]

libfuzzer_sys::fuzz_target!(|page: &[u8]| brunt_protocols::resources::oracle(page));
