//! Arbitrary bytes as a watched log: texts found, lines grouped by wording.
//! `cargo +nightly fuzz run watched_log fuzz/corpus/watched_log fuzz/seeds/watched_log`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    brunt_watch::oracle::check_log(bytes);
});
