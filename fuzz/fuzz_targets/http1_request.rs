//! Arbitrary bytes as requests to the HTTP/1.1 server; the first byte chooses where they are also split.
//! `cargo +nightly fuzz run http1_request fuzz/corpus/http1_request fuzz/seeds/http1_request -- -dict=fuzz/http1.dict`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        brunt_protocols::http1::oracle::request(text, usize::from(*at) * text.len() / 255);
    }
});
