//! Arbitrary bytes on a link between processes, as frames from a process and as orders from the coordinator.
//! `cargo +nightly fuzz run links fuzz/corpus/links fuzz/seeds/links`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    brunt_engine::oracle::check(bytes);
});
