//! RFC 7541 appendix C in full, blocks that it forbids, and encoder output read back by the decoder.

use proptest::prelude::*;

use super::{HeaderList, HpackDecoder, HpackEncoder, HpackError, Lexicon, huffman, literal};

type DecodedFields = Vec<(String, String)>;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn read(decoder: &mut HpackDecoder, block: &[u8]) -> Result<DecodedFields, HpackError> {
    let mut fields = decoder.read(block);
    let mut pairs = Vec::new();
    while let Some((name, value)) = fields.next()? {
        pairs.push((String::from_utf8_lossy(name).into(), String::from_utf8_lossy(value).into()));
    }
    Ok(pairs)
}

/// Checks the blocks of one connection, each with its fields as lines and the size of the table after it.
fn check(blocks: &[(&str, &str, usize)]) {
    let mut decoder = HpackDecoder::default();
    for (hex, lines, size) in blocks {
        let pairs = read(&mut decoder, &bytes(hex)).unwrap();
        let said: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(said, lines.lines().map(str::trim).collect::<Vec<_>>(), "{hex}");
        assert_eq!(decoder.table().size(), *size, "{hex}");
    }
}

#[test]
fn single_fields_of_c2() {
    check(&[("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header", 55)]);
    check(&[("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path", 0)]);
    check(&[("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret", 0)]);
    check(&[("82", ":method: GET", 0)]);
}

const REQUEST_1: &str = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com";
const REQUEST_2: &str = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache";
const REQUEST_3: &str =
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value";

#[test]
fn requests_of_c3_without_huffman() {
    check(&[
        ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", REQUEST_1, 57),
        ("8286 84be 5808 6e6f 2d63 6163 6865", REQUEST_2, 110),
        ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", REQUEST_3, 164),
    ]);
}

#[test]
fn requests_of_c4_with_huffman() {
    check(&[
        ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", REQUEST_1, 57),
        ("8286 84be 5886 a8eb 1064 9cbf", REQUEST_2, 110),
        ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", REQUEST_3, 164),
    ]);
}

const ANSWER_1: &str =
    ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com";
const ANSWER_2: &str =
    ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com";
const ANSWER_3: &str = ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n\
    location: https://www.example.com\ncontent-encoding: gzip\n\
    set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

/// The examples have a table of 256 bytes, set by the first block here.
#[test]
fn answers_of_c5_without_huffman_with_evictions() {
    check(&[
        (
            "3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 \
             3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            ANSWER_1,
            222,
        ),
        ("4803 3330 37c1 c0bf", ANSWER_2, 222),
        (
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 \
             7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 \
             6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
            ANSWER_3,
            215,
        ),
    ]);
}

#[test]
fn answers_of_c6_with_huffman_and_evictions() {
    check(&[
        (
            "3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d \
             29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            ANSWER_1,
            222,
        ),
        ("4883 640e ffc1 c0bf", ANSWER_2, 222),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 \
             e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            ANSWER_3,
            215,
        ),
    ]);
}

/// Each case is a forbidden block and its section.
#[test]
fn forbidden_blocks_are_refused() {
    for (hex, section) in [
        ("80", "6.1: index 0"),
        ("be", "2.3.3: an index beyond both tables"),
        ("ff ff ff ff ff ff 01", "5.1: an integer too large"),
        ("bf", "2.3.3: the second dynamic entry where there is none"),
        ("7e 01 61", "6.2.1: a name beyond both tables"),
        ("40 01 61 03 61 62", "a value that is cut"),
        ("40", "a name that is missing"),
        ("1f 80", "an integer that is cut"),
        ("3f e2 1f", "4.2: a table larger than 4096"),
        ("82 20", "4.2: a change of size after a field"),
        ("00 01 61 81 1d", "5.2: Huffman padding that is not all ones"),
        ("00 01 61 82 1f ff", "5.2: Huffman padding of more than seven bits"),
        ("00 01 61 84 ff ff ff ff", "5.2: the end of the string in a Huffman code"),
    ] {
        let block = bytes(hex);
        assert!(read(&mut HpackDecoder::default(), &block).is_err(), "{section}");
        assert!(HpackDecoder::default().read(&block).finish().is_err(), "{section}");
    }
}

#[test]
fn allowed_oddities_are_read() {
    // Two changes of size at the start; a field larger than the table, which empties it (4.4).
    check(&[("20 3f e1 1f 82", ":method: GET", 0)]);
    check(&[("400161 0162", "a: b", 34), ("3f 02 40 0161 0362 6262", "a: bbb", 0)]);
    // The name of an entry that is evicted by the entry taking its name.
    check(&[("3f 05 4001 6101 62", "a: b", 34), ("7e 0163", "a: c", 34)]);
}

#[test]
fn a_list_larger_than_256_kib_is_refused() {
    let mut decoder = HpackDecoder::default();
    let mut block = Vec::new();
    block.extend_from_slice(&bytes("40 01 61 7f 80 1e"));
    block.resize(block.len() + 127 + 3840, b'x');
    read(&mut decoder, &block).unwrap();
    assert!(read(&mut decoder, &[0xbe; 65]).is_ok());
    assert!(read(&mut decoder, &[0xbe; 70]).is_err());
}

#[test]
fn a_repeated_block_is_known_until_the_table_changes() {
    let mut decoder = HpackDecoder::default();
    let said = bytes("88 00 01 61 01 62");
    let mut fields = decoder.read(&said);
    assert_eq!(fields.remembered_digest(0), None);
    fields.remember(0, 7).unwrap();
    assert_eq!(decoder.read(&said).remembered_digest(0), Some(7));
    assert_eq!(decoder.read(&said).remembered_digest(1), None);
    assert_eq!(decoder.read(&said[..5]).remembered_digest(0), None);
    read(&mut decoder, &bytes("40 01 61 01 62")).unwrap();
    assert_eq!(decoder.read(&said).remembered_digest(0), None);
    // A block that changes the table is never remembered: the next time it means another change.
    let inserting = bytes("40 01 61 01 62");
    decoder.read(&inserting).remember(0, 1).unwrap();
    assert_eq!(decoder.read(&inserting).remembered_digest(0), None);
}

#[test]
fn several_blocks_are_known_at_once_and_the_oldest_makes_room() {
    let mut decoder = HpackDecoder::default();
    let said = |n: u8| [0x88, 0x00, 0x01, b'a', 0x01, n];
    for n in 0..4 {
        decoder.read(&said(n)).remember(0, n.into()).unwrap();
    }
    for n in [3, 0, 2, 1] {
        assert_eq!(decoder.read(&said(n)).remembered_digest(0), Some(n.into()));
    }
    decoder.read(&said(4)).remember(0, 4).unwrap();
    let known: Vec<Option<u64>> = (0..5).map(|n| decoder.read(&said(n)).remembered_digest(0)).collect();
    assert_eq!(known, [None, Some(1), Some(2), Some(3), Some(4)]);
    // An empty block is not a head.
    decoder.read(&[]).remember(1, 9).unwrap();
    assert_eq!(decoder.read(&[]).remembered_digest(1), None);
}

fn blocks(encoder: &mut HpackEncoder, lexicon: &Lexicon, list: &HeaderList) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.write(lexicon, list, &mut out);
    out
}

#[test]
fn the_second_use_is_indices_only() {
    let mut lexicon = Lexicon::default();
    let request = [(":method", "GET"), (":path", "/x"), (":authority", "a.test"), ("user-agent", "brunt")];
    let list = lexicon.list(request);
    let (mut encoder, mut decoder) = (HpackEncoder::default(), HpackDecoder::default());
    let first = blocks(&mut encoder, &lexicon, &list);
    let second = blocks(&mut encoder, &lexicon, &list);
    assert_eq!(second, bytes("82 c0 bf be"));
    let pairs: DecodedFields = request.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    for block in [first, second] {
        assert_eq!(read(&mut decoder, &block).unwrap(), pairs);
    }
}

#[test]
fn a_change_of_the_peers_table_is_told_first() {
    let mut lexicon = Lexicon::default();
    let list = lexicon.list([("a", "b")]);
    let mut encoder = HpackEncoder::default();
    blocks(&mut encoder, &lexicon, &list);
    encoder.resize(100);
    assert_eq!(blocks(&mut encoder, &lexicon, &list), bytes("3f 45 be"));
    // Too small for its content: everything is evicted, and nothing fits any more.
    encoder.resize(10);
    assert_eq!(blocks(&mut encoder, &lexicon, &list), bytes("20 2a 00 01 61 01 62"));
    encoder.resize(0);
    encoder.resize(u32::MAX);
    assert_eq!(blocks(&mut encoder, &lexicon, &list), bytes("20 3f e1 1f 40 01 61 01 62"));
    assert_eq!(blocks(&mut encoder, &lexicon, &list), bytes("be"));
}

#[test]
fn fields_beyond_the_table_are_texts_each_time() {
    let mut lexicon = Lexicon::default();
    let values: Vec<String> = (0..200).map(|n| format!("/{n}")).collect();
    let lists: Vec<HeaderList> = values.iter().map(|v| lexicon.list([(":path", v.as_str())])).collect();
    let (mut encoder, mut decoder) = (HpackEncoder::default(), HpackDecoder::default());
    for _ in 0..3 {
        for (list, value) in lists.iter().zip(&values) {
            let block = blocks(&mut encoder, &lexicon, list);
            assert_eq!(read(&mut decoder, &block).unwrap(), vec![(":path".to_owned(), value.clone())]);
        }
    }
    assert!(decoder.table().size() <= 4096);
}

proptest! {
    #[test]
    fn huffman_gives_back_what_it_took(text: Vec<u8>) {
        let mut code = Vec::new();
        huffman::encode(&text, &mut code);
        prop_assert_eq!(code.len(), huffman::length(&text));
        let mut plain = Vec::new();
        prop_assert!(huffman::decode(&code, &mut plain));
        prop_assert_eq!(plain, text);
    }

    #[test]
    fn what_is_written_is_read(
        requests in prop::collection::vec((prop::collection::vec(("[a-z:-]{1,12}", "[ -~]{0,40}"), 0..6), 0u32..5000), 1..20),
    ) {
        let mut lexicon = Lexicon::default();
        let (mut encoder, mut decoder) = (HpackEncoder::default(), HpackDecoder::default());
        for (fields, size) in &requests {
            let mut list = lexicon.list(fields.iter().map(|(n, v)| (n.as_str(), v.as_str())));
            list.put("x-own", "another");
            if size % 3 == 0 {
                encoder.resize(*size);
            }
            let mut block = blocks(&mut encoder, &lexicon, &list);
            literal(b"x-slot", b"12", &mut block);
            let mut said = fields.clone();
            said.push(("x-own".into(), "another".into()));
            said.push(("x-slot".into(), "12".into()));
            prop_assert_eq!(read(&mut decoder, &block).unwrap(), said);
        }
    }

    #[test]
    fn garbage_is_read_without_panic(blocks: Vec<Vec<u8>>) {
        let mut decoder = HpackDecoder::default();
        for block in &blocks {
            let _ = read(&mut decoder, block);
            prop_assert!(decoder.table().size() <= 4096);
        }
    }
}
