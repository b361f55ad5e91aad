//! Arbitrary bytes as answers with declared framing; the first byte chooses the framing, the next five where they are
//! split.
//! `cargo +nightly fuzz run raw_answers`

#![no_main]

use std::sync::{Arc, LazyLock};

use brunt_protocols::raw::oracle;
use brunt_contract::Dialogue;

static DIALOGUES: LazyLock<Vec<Arc<dyn Dialogue>>> =
    LazyLock::new(|| oracle::FRAMINGS.iter().map(|framing| oracle::dialogue("tcp", framing)).collect());

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((head, text)) = bytes.split_at_checked(6) {
        let dialogue = &DIALOGUES[usize::from(head[0]) % DIALOGUES.len()];
        oracle::check(dialogue, text, &head[1..]);
    }
});
