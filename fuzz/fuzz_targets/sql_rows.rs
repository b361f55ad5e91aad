//! Arbitrary bytes as rows of MySQL and of PostgreSQL that values are captured from; the first byte chooses where they
//! are also split.
//! `cargo +nightly fuzz run sql_rows fuzz/corpus/sql_rows fuzz/seeds/sql_rows`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        let at = usize::from(*at) * text.len() / 255;
        brunt_protocols::mysql::oracle::check_captures(text, at);
        brunt_protocols::postgres::oracle::check_captures(text, at);
    }
});
