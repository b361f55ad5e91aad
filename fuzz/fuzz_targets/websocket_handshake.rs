//! Arbitrary bytes as a response to the upgrade, and as a client's bytes to the server; the first byte chooses where
//! they are also split. `cargo +nightly fuzz run websocket_handshake fuzz/corpus/websocket_handshake --
//! -dict=fuzz/http1.dict`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, text)) = bytes.split_first() {
        let cut = usize::from(*at) * text.len() / 255;
        brunt_protocols::websocket::oracle::consent(text, cut);
        brunt_protocols::websocket::oracle::server(text, cut);
    }
});
