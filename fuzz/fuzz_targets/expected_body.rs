//! Arbitrary bytes as a body with checks; the first byte chooses its encoding.
//! `cargo +nightly fuzz run expected_body`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((coding, body)) = bytes.split_first() {
        brunt_protocols::verify::oracle::body(*coding, body);
    }
});
