//! Arbitrary bytes as a scraper's request: incomplete, answered or rejected.
//! `cargo +nightly fuzz run scrape fuzz/corpus/scrape`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let whole = brunt_export::parse_request(bytes);
    // A complete head keeps its meaning, whatever follows.
    if let Ok(Some(asked)) = whole {
        assert_eq!(brunt_export::parse_request(&[bytes, b"x"].concat()), Ok(Some(asked)));
    }
});
