//! Arbitrary text as a capture and arbitrary bytes as a response: no panic, no overlong value, no message with control
//! characters.
//! `cargo +nightly fuzz run capture`

#![no_main]

libfuzzer_sys::fuzz_target!(|input: (&str, &[u8], &[u8])| brunt_protocols::capture::oracle(input.0, input.1, input.2));
