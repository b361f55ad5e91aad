//! Any bytes as a body of which something is expected; the first byte chooses how it is coded.
//! `cargo +nightly fuzz run expected_body`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((coding, body)) = bytes.split_first() {
        protocols::verify::oracle::body(*coding, body);
    }
});
