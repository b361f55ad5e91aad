//! Answers to the offer as a table; streams against each other and against the examples of RFC 7692.

use proptest::prelude::*;

use super::*;

fn read(header: &str) -> Result<Option<DeflateParameters>, ProtocolError> {
    agreement(header.split(',').map(str::as_bytes).map(<[u8]>::trim_ascii).filter(|e| !e.is_empty()))
}

fn agreed(server_forgets: bool, client_forgets: bool, client_bits: u8) -> DeflateParameters {
    DeflateParameters { server_forgets, client_forgets, client_bits }
}

#[test]
fn answers_to_the_offer() {
    let table = [
        ("", Ok(None)),
        ("permessage-deflate", Ok(Some(agreed(false, false, 15)))),
        ("permessage-deflate; server_no_context_takeover", Ok(Some(agreed(true, false, 15)))),
        ("permessage-deflate;client_no_context_takeover ; client_max_window_bits=9", Ok(Some(agreed(false, true, 9)))),
        (
            "permessage-deflate; client_max_window_bits=\"10\"; server_max_window_bits=8",
            Ok(Some(agreed(false, false, 10))),
        ),
        ("permessage-deflate; client_max_window_bits", Err(PARAMETER)),
        ("permessage-deflate; client_max_window_bits=7", Err(PARAMETER)),
        ("permessage-deflate; client_max_window_bits=16", Err(PARAMETER)),
        ("permessage-deflate; server_max_window_bits=08", Err(PARAMETER)),
        ("permessage-deflate; server_no_context_takeover=1", Err(PARAMETER)),
        ("permessage-deflate; client_max_window_bits=9; client_max_window_bits=9", Err(PARAMETER)),
        ("permessage-deflate; odd", Err(PARAMETER)),
        ("permessage-deflate;", Err(PARAMETER)),
        ("permessage-deflate, permessage-deflate", Err(UNOFFERED)),
        ("x-webkit-deflate-frame", Err(UNOFFERED)),
    ];
    for (header, expected) in table {
        assert_eq!(read(header), expected, "{header}");
    }
}

fn unpacked(deflate: &mut DeflateStreams, packed: &[u8], piece: usize) -> Result<Vec<u8>, ProtocolError> {
    let mut plain = Vec::new();
    let mut take = |bytes: &[u8]| {
        plain.extend_from_slice(bytes);
        Ok(())
    };
    for piece in packed.chunks(piece) {
        deflate.decompress(piece, &mut take)?;
    }
    deflate.finish_message(&mut take)?;
    Ok(plain)
}

/// The examples of RFC 7692 7.2.3.
#[test]
fn the_examples_of_the_specification() {
    for piece in 1..20 {
        let mut deflate = DeflateStreams::new(agreed(false, false, 15));
        let script: [&[u8]; 5] = [
            b"\xf2\x48\xcd\xc9\xc9\x07\x00",
            b"\xf2\x00\x11\x00\x00",
            b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00",
            b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
            b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
        ];
        for packed in script {
            assert_eq!(unpacked(&mut deflate, packed, piece), Ok(b"Hello".to_vec()), "{packed:x?} by {piece}");
        }
        // A stream that ends without an empty block after it.
        assert_eq!(unpacked(&mut deflate, b"\xf3\x48\xcd\xc9\xc9\x07\x00", piece), Ok(b"Hello".to_vec()));
        assert_eq!(unpacked(&mut deflate, b"\xf2\x48\xcd\xc9\xc9\x07\x00", piece), Ok(b"Hello".to_vec()));
        assert_eq!(unpacked(&mut deflate, b"\x00", piece), Ok(Vec::new()));
        assert!(unpacked(&mut deflate, b"\xff\xff\xff", piece).is_err());
    }
    let mut deflate = DeflateStreams::new(agreed(false, false, 15));
    assert_eq!(deflate.compress(b"Hello"), b"\xf2\x48\xcd\xc9\xc9\x07\x00");
    assert_eq!(deflate.compress(b"Hello"), b"\xf2\x00\x11\x00\x00", "the second refers to the first");
    assert_eq!((deflate.compress(b"").to_vec(), deflate.compress(b"")), (vec![0], &[0][..]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_one_end_packs_the_other_unpacks(
        messages in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..600), 1usize..30), 1..5),
        forgets in any::<bool>(),
        bits in 8u8..=15,
        piece in 1usize..5000,
    ) {
        let mut ours = DeflateStreams::new(agreed(false, forgets, bits));
        let mut theirs = DeflateStreams::new(agreed(forgets, false, 15));
        // Repetitions at all distances: a window that is too large would refer too far back.
        theirs.decompress = Decompress::new_with_window_bits(false, bits.max(9));
        for (part, times) in messages {
            let message = part.repeat(times);
            let packed = ours.compress(&message).to_vec();
            prop_assert_eq!(unpacked(&mut theirs, &packed, piece), Ok(message));
        }
    }
}
