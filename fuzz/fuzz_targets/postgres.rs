//! Arbitrary bytes as the output of a PostgreSQL server, at login and as an answer; the first byte chooses where they
//! are also split.
//! `cargo +nightly fuzz run postgres fuzz/corpus/postgres fuzz/seeds/postgres`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        brunt_protocols::postgres::oracle::check_answers(text, usize::from(*at) * text.len() / 255);
    }
});
