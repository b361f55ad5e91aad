//! Valid, nearly valid and random answers, checked by [`crate::postgres::oracle`].

use proptest::prelude::*;

use super::message;
use crate::postgres::oracle;

/// Bodies that are meaningful in some message.
const BODIES: &[&str] = &[
    "",
    "I",
    "E",
    "T",
    "SELECT 2\0",
    "SERROR\0C23505\0Mx\0\0",
    "SFATAL\0C57P01\0Mx\0\0",
    "\0\0\0\0",
    "\0\0\0\x03",
    "\0\0\0\x05salt",
    "\0\0\0\x0aSCRAM-SHA-256\0\0",
    "\0\0\0\x0br=0000000000000000bruntx,s=AAAA,i=1",
    "\0\0\0\x0cv=AAAA",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn answers_and_nearly_answers(
        all in prop::collection::vec((prop::sample::select(&b"DCTZ12snStNAERKIGHdcWVvZZEC?"[..]), prop::sample::select(BODIES)), 0..8),
        spoil in proptest::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>())),
        at in any::<prop::sample::Index>(),
    ) {
        let mut bytes: Vec<u8> = all.iter().flat_map(|(kind, body)| message(*kind, body.as_bytes())).collect();
        if let Some((place, byte)) = spoil && !bytes.is_empty() {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        oracle::check_answers(&bytes, at.index(bytes.len() + 1));
        oracle::check_captures(&bytes, at.index(bytes.len() + 1));
    }

    #[test]
    fn noise(noise in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        oracle::check_answers(&noise, at.index(noise.len() + 1));
        oracle::check_captures(&noise, at.index(noise.len() + 1));
    }
}
