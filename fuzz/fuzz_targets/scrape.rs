//! Any bytes as what a scraper asks: it is waited for, answered or turned away.
//! `cargo +nightly fuzz run scrape fuzz/corpus/scrape`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let whole = export::asked(bytes);
    // A head that is complete stays what it is, whatever follows.
    if let Ok(Some(asked)) = whole {
        assert_eq!(export::asked(&[bytes, b"x"].concat()), Ok(Some(asked)));
    }
});
