//! Arbitrary bytes: the result is the same however they are split, and nothing panics.

use proptest::prelude::*;

use super::super::{dialect, oracle};
use super::conversation::answer;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..200) {
        oracle::check_answers(&bytes, at);
        oracle::check_captures(&bytes, at);
    }

    #[test]
    fn any_packets_are_survived(payloads in proptest::collection::vec(payload(), 0..12), at in 0_usize..400) {
        let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        oracle::check_answers(&answer(&payloads), at);
        oracle::check_captures(&answer(&payloads), at);
    }

    #[test]
    fn any_text_is_cut_into_statements_or_refused(text in "[a-z{}'\"`;\\\\ #*/?-]{0,40}") {
        let _ = dialect::statements(&text);
    }
}

/// Payloads that get further than arbitrary bytes.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(vec![0, 0, 0, 2, 0, 0, 0]),
        Just(vec![0, 0, 0, 3, 0, 0, 0]),
        Just(vec![0xfe, 0, 0, 2, 0, 0, 0]),
        Just(vec![0xfe, 0, 0, 10, 0, 0, 0]),
        Just(vec![1]),
        Just(vec![3]),
        Just(b"\xff\x26\x04#23000message".to_vec()),
        Just(b"column or row".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ]
}
