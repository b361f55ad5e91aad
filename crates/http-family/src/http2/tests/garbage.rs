//! Properties for arbitrary server output: nothing panics, and the result does not depend on how the bytes are split.

use proptest::prelude::*;

use super::*;
use crate::http2::oracle;

/// Frames that are nearly valid: an existing type, on a plausible stream, with an arbitrary payload.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(block(OK)),
        Just(vec![0x88]),
        Just(vec![0, 0, 0, 8]),
        Just(vec![0; 8]),
    ];
    (0_u8..11, any::<u8>(), 0_u32..8, payload)
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload))
}

proptest! {
    #[test]
    fn garbage_is_survived(bytes: Vec<u8>, at: usize) {
        oracle::answers(&bytes, at);
    }

    #[test]
    fn frames_that_are_nearly_right_are_survived(said in prop::collection::vec(nearly(), 0..30), at: usize) {
        oracle::answers(&[settings(&[]), said.concat()].concat(), at);
    }
}
