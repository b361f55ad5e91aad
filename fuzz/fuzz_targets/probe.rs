//! Arbitrary bytes between a probe and its client, in both directions.
//! `cargo +nightly fuzz run probe fuzz/corpus/probe fuzz/seeds/probe`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    brunt_counters::remote::oracle::check_messages(bytes);
});
