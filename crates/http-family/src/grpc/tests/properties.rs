//! Properties for arbitrary bytes: no panic, and the same result wherever they are split.

use proptest::prelude::*;

use super::super::oracle;
use super::*;

/// Pieces of a conversation in any order, some of them damaged.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![Just(1u32), Just(3)];
    let piece =
        (stream, 0..10, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(stream, what, bytes)| match what {
            0 | 1 => head(stream),
            2 | 3 => data(stream, &[b"abc", b""]),
            4 => trailers(stream, "0"),
            5 => trailers(stream, "7"),
            6 => frame(frames::RST_STREAM, 0, stream, &[0, 0, 0, 8]),
            7 => settings(&[(3, 2), (4, 100)]),
            8 => frame(frames::DATA, 0, stream, &bytes),
            _ => bytes,
        });
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| [settings(&[]), pieces.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_cut_anywhere_mean_the_same(bytes in pieces(), at in any::<prop::sample::Index>()) {
        oracle::answer(&bytes, at.index(bytes.len() + 1));
    }
}
