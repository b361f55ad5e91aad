//! Arbitrary bytes on the bridge between brunt and its link, in both directions.
//! `cargo +nightly fuzz run bridge fuzz/corpus/bridge fuzz/seeds/bridge`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    brunt_messenger::bridge::oracle(bytes);
});
