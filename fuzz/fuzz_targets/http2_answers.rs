//! Arbitrary bytes as the output of an HTTP/2 server; the first byte chooses where they are also split.
//! `cargo +nightly fuzz run http2_answers fuzz/corpus/http2_answers fuzz/seeds/http2_answers`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, said)) = bytes.split_first() {
        brunt_protocols::http2::oracle::answers(said, usize::from(*at) * said.len() / 255);
    }
});
