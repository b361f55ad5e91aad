//! Arbitrary text from a peer, with its secrets masked.
//! `cargo +nightly fuzz run masked_text fuzz/corpus/masked_text fuzz/seeds/masked_text`

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    brunt_plan::mask::oracle::check(text);
});
