//! Arbitrary bytes as Redis replies that values are captured from, in RESP2 and RESP3; the first byte chooses where
//! they are also split.
//! `cargo +nightly fuzz run redis_values fuzz/corpus/redis_values fuzz/seeds/redis -- -dict=fuzz/redis.dict`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        brunt_protocols::redis::oracle::check_captures(text, usize::from(*at) * text.len() / 255);
    }
});
