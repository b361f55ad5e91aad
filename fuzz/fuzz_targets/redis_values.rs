//! Any bytes as replies of Redis that values are taken out of, in RESP2 and RESP3; the first byte says where they are also cut.
//! `cargo +nightly fuzz run redis_values fuzz/corpus/redis_values fuzz/seeds/redis -- -dict=fuzz/redis.dict`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        protocols::redis::oracle::captured(text, usize::from(*at) * text.len() / 255);
    }
});
