//! Any bytes as those of a MySQL server, from its greeting on and as answers; the first byte says where they are also cut.
//! `cargo +nightly fuzz run mysql_server fuzz/corpus/mysql_server fuzz/seeds/mysql_server`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, bytes)) = bytes.split_first() {
        protocols::mysql::oracle::answer(bytes, usize::from(*at) * bytes.len() / 255);
    }
});
