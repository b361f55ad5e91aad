//! Any text as a capture and any bytes as a response: no panic, no value that is too long, no sentence that acts on a screen.
//! `cargo +nightly fuzz run capture`

#![no_main]

libfuzzer_sys::fuzz_target!(|input: (&str, &[u8], &[u8])| protocols::capture::oracle(input.0, input.1, input.2));
