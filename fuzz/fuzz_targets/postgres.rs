//! Any bytes as what a PostgreSQL server says, at login and as an answer; the first byte says where they are also cut.
//! `cargo +nightly fuzz run postgres fuzz/corpus/postgres fuzz/seeds/postgres`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        protocols::postgres::oracle::answer(text, usize::from(*at) * text.len() / 255);
    }
});
