//! Arbitrary bytes as replies to the Redis client, and as commands to the Redis server; the first byte chooses where
//! they are also split. `cargo +nightly fuzz run redis fuzz/corpus/redis fuzz/seeds/redis -- -dict=fuzz/redis.dict`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        let at = usize::from(*at) * text.len() / 255;
        brunt_protocols::redis::oracle::check_replies(text, at);
        brunt_protocols::redis::oracle::check_commands(text, at);
    }
});
