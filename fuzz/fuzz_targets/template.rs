//! Arbitrary text as a template: compiling and filling it never panics, and the same slot context gives the same bytes.
//! `cargo +nightly fuzz run template`

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| brunt_protocols::template::oracle(text));
