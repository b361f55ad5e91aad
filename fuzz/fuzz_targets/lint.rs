//! Arbitrary bytes as the pasted output of load testing tools.
//! `cargo +nightly fuzz run lint fuzz/corpus/lint fuzz/seeds/lint`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    brunt_arithmetic::lint::oracle::check(bytes);
});
