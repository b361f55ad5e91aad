//! Arbitrary bytes as a response to the HTTP/1.1 client; the first byte chooses where they are also split. `cargo
//! +nightly fuzz run http1_response fuzz/corpus/http1_response fuzz/seeds/http1_response -- -dict=fuzz/http1.dict`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        brunt_protocols::http1::oracle::response(text, usize::from(*at) * text.len() / 255);
    }
});
