//! Arbitrary bytes as answers with declared framing; the first byte chooses the framing, the next five where they are
//! split.
//! `cargo +nightly fuzz run raw_answers`

#![no_main]

use std::sync::{Arc, LazyLock};

use brunt_protocols::raw::oracle;
use brunt_contract::Workload;

static WORKLOADS: LazyLock<Vec<Arc<dyn Workload>>> =
    LazyLock::new(|| oracle::FRAMINGS.iter().map(|framing| oracle::dialogue("tcp", framing)).collect());

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((head, text)) = bytes.split_at_checked(6) {
        let workload = &WORKLOADS[usize::from(head[0]) % WORKLOADS.len()];
        oracle::check(workload, text, &head[1..]);
    }
});
