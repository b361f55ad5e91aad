//! Arbitrary bytes as frames to the WebSocket client; the first byte chooses the configuration, the second where they
//! are also split. `cargo +nightly fuzz run websocket_frames fuzz/corpus/websocket_frames fuzz/seeds/websocket_frames`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let [mode, at, frames @ ..] = bytes {
        brunt_protocols::websocket::oracle::frames(*mode, frames, usize::from(*at) * frames.len() / 255);
    }
});
