//! Arbitrary text as a template: compiling and filling it never panics, and the same fill gives the same bytes.
//! `cargo +nightly fuzz run template`

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| brunt_protocols::template::oracle(text));
