//! Any bytes as a page: what is found in it is within its bounds, each once, and leads nowhere that is not allowed.
//! `cargo +nightly fuzz run resources`

#![no_main]

libfuzzer_sys::fuzz_target!(|page: &[u8]| protocols::resources::oracle(page));
