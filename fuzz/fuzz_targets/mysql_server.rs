//! Arbitrary bytes as the output of a MySQL server, from its greeting on and as responses to queries; the first byte
//! chooses where they are also split.
//! `cargo +nightly fuzz run mysql_server fuzz/corpus/mysql_server fuzz/seeds/mysql_server`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, bytes)) = bytes.split_first() {
        brunt_protocols::mysql::oracle::check_answers(bytes, usize::from(*at) * bytes.len() / 255);
    }
});
