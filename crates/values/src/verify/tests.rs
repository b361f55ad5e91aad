//! Tables of rules and codings; a hostile body must not exceed its limits.

use std::io::{Read as _, Write as _};

use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::coding::{CodingLayer, ContentCoding, DECODED_BOUND, DecodeFailure};
use super::*;
use crate::steps::StepBudget;

fn raw(value: &serde_json::Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("JSON")
}

fn expectations(headers: &[&str], json: &[&str]) -> Expectations {
    let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    let texts = CheckTexts { headers: texts(headers), json: texts(json), ..CheckTexts::default() };
    Expectations::parse(&texts).expect("good rules").expect("some rules")
}

fn verdict(expected: &Expectations, head: &str, body: &[u8]) -> Option<FaultKind> {
    let mut seen = AnswerChecks::from_head(Some(expected), (false, false), head.as_bytes())?;
    let budget = MemoryBudget::default();
    body.chunks(7).for_each(|piece| seen.feed(piece, &budget));
    seen.verdict(Some(expected), None, &budget)
}

/// Slices of the array 0 to 6, the examples of RFC 9535 2.3.4 among them.
#[test]
fn json_slices() {
    let body = b"[0, 1, 2, 3, 4, 5, 6]";
    for (slice, expected) in [
        ("[0:2]", "01"),
        ("[1:3]", "12"),
        ("[5:]", "56"),
        ("[:]", "0123456"),
        ("[::]", "0123456"),
        ("[1:5:2]", "13"),
        ("[5:1:-2]", "53"),
        ("[::-1]", "6543210"),
        ("[-2:]", "56"),
        ("[:-5]", "01"),
        ("[-99:2]", "01"),
        ("[2:99]", "23456"),
        ("[5:99:2]", "5"),
        ("[9:0:-3]", "63"),
        ("[3:1]", ""),
        ("[::0]", ""),
        ("[::-9223372036854775808]", "6"),
        ("[-9223372036854775808:9223372036854775807:9223372036854775807]", "0"),
        ("[ 1 : 2 ]", "1"),
    ] {
        let mut found = String::new();
        let path = json::BodyPath::parse(&format!("${slice}")).expect(slice);
        path.visit(body, &StepBudget::default(), &mut |item: &RawValue| found.push_str(item.get())).expect("JSON");
        assert_eq!(found, expected, "{slice}");
    }
    for wrong in ["$[1:2:3:4]", "$[a:b]", "$[1:x]", "$[:"] {
        assert!(json::BodyPath::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn json_rules() {
    let body = json!({"code": 200, "ok": true, "none": null, "items": [{"id": 1, "tag": "a b"}, {"id": 2.5}], "a-b": {"c d": "x"}});
    let table = [
        ("$.code == 200", true),
        ("$.code==200.0", true),
        ("$.code != 200", false),
        ("$.code != 404", true),
        ("$.missing != 404", false),
        ("$.code >= 200", true),
        ("$.code < 200", false),
        ("$.ok == true", true),
        ("$.ok == 'true'", false),
        ("$.none", true),
        ("$.none == null", true),
        ("$.missing", false),
        ("$.items[0].id == 1", true),
        ("$.items[-1].id <= 2.5", true),
        ("$.items[2].id", false),
        ("$.items[*].id == 2.5", true),
        ("$.items[*].id != 2.5", false),
        ("$.items.*.tag contains b", true),
        ("$.items[0].tag == 'a b'", true),
        ("$.items[0].tag == \"a b\"", true),
        ("$['a-b']['c d'] == x", true),
        ("$.a-b", true),
        ("$", true),
        ("$.items contains 7", false),
        ("$.items[0:1].id == 1", true),
        ("$.items[0:1].id == 2.5", false),
        ("$.items[1:].id == 2.5", true),
    ];
    for (rule, holds) in table {
        assert_eq!(JsonRule::parse(rule).expect(rule).holds(&raw(&body), &StepBudget::default()), holds, "{rule}");
    }
    let large = json!({"id": 9_007_199_254_740_993_u64});
    for (rule, holds) in [
        ("$.id == 9007199254740993", true),
        ("$.id == 9007199254740992", false),
        ("$.id != 9007199254740992", true),
        ("$.id <= 9007199254740992", false),
        ("$.id > 9007199254740992", true),
    ] {
        assert_eq!(JsonRule::parse(rule).expect(rule).holds(&raw(&large), &StepBudget::default()), holds, "{rule}");
    }
    assert!(JsonRule::parse("$[1] == 'b'").expect("a rule").holds(&raw(&json!(["a", "b"])), &StepBudget::default()));
    for (rule, said) in [
        ("code == 200", "does not start with $"),
        ("$.code 200", "has no comparison"),
        ("$.code ==", "compares with nothing"),
        ("$.code = 200", "has a single =; write == to compare: $.code == 200"),
        ("$.code=200", "has a single =; write == to compare: $.code ==200"),
        ("$..", "has a path that cannot be read"),
        ("$.a[?@.b < x]", "uses <, <=, > or >= with something that is not a number"),
        ("$.a[?b]", "has a filter that cannot be read"),
        ("$[x]", "has a path that cannot be read"),
        ("$.code < abc", "uses <, <=, > or >= with something that is not a number"),
    ] {
        let complaint = JsonRule::parse(rule).expect_err(rule);
        assert!(complaint.contains(said) && complaint.is_translated(), "{complaint}");
    }
}

#[test]
fn a_wrong_body_says_what_was_expected_and_what_was_found() {
    let why = |rules: &[&str], text: Option<&str>, coding: &str, body: &[u8]| {
        let expected = (!rules.is_empty()).then(|| expectations(&[], rules));
        let text = text.map(|text| Finder::new(text.as_bytes()).into_owned());
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n");
        let mut seen = AnswerChecks::from_head(expected.as_ref(), (text.is_some(), false), head.as_bytes())
            .expect("a closer look");
        let budget = MemoryBudget::default();
        seen.feed(body, &budget);
        assert_eq!(seen.verdict(expected.as_ref(), text.as_ref(), &budget), Some(FaultKind::WrongBody), "{rules:?}");
        seen.mismatch(expected.as_ref(), text.as_ref(), &budget).expect("a reason").to_string()
    };
    let body = br#"{"code": 500, "items": [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]}"#;
    for (rule, said) in [
        ("$.code == 200", "expected $.code == 200, found 500"),
        (" $.state  == ok ", "expected $.state  == ok, found nothing at $.state"),
        ("$.items[7].id", "expected $.items[7].id, found nothing at $.items[7].id"),
        ("$.items[*].id == 9", "expected $.items[*].id == 9, found 1, 2, 3 and 1 more"),
    ] {
        assert_eq!(why(&["$.items", rule], None, "identity", body), said);
    }
    assert_eq!(why(&["$"], None, "identity", b"<p>no</p>"), "expected JSON, found \"<p>no</p>\" (9 B)");
    assert_eq!(why(&["$"], None, "identity", b""), "expected JSON, found nothing (0 B)");
    assert_eq!(why(&["$"], None, "br", b"\xff\xff"), "the body (2 B) cannot be decoded by its Content-Encoding");
    let coded = zstd::encode_all(&b"line one\nline two, which goes on for a while"[..], 3).expect("encoded");
    assert_eq!(
        why(&[], Some("needle"), "zstd", &coded),
        "expected body to contain \"needle\", found \"line one\\nline two, which goes on for a w…\" (44 B)"
    );
    let euros = "\u{20ac}".repeat(20);
    assert_eq!(
        missing_text(checks::response_lacks, b"\xff\0", euros.as_bytes(), 60).en(),
        format!("expected response to contain \"\\xff\\x00\", found \"{}…\" (60 B)", "\u{20ac}".repeat(13))
    );
}

#[test]
fn header_rules() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nX-A: 1\r\nX-A: two\r\nEmpty:\r\n\r\n";
    let table = [
        ("content-type", None),
        ("Content-Type: application/json*", None),
        ("Content-Type: application/json", Some(FaultKind::WrongHeader)),
        ("Content-Type: *json*utf-8", None),
        ("X-A: two", None),
        ("X-A: 2", Some(FaultKind::WrongHeader)),
        ("X-B", Some(FaultKind::WrongHeader)),
        ("Empty:", None),
    ];
    for (rule, expected) in table {
        assert_eq!(verdict(&expectations(&[rule], &[]), head, b"anything"), expected, "{rule}");
    }
    assert!(ExpectedHeader::parse(": x").is_err() && ExpectedHeader::parse("a b").is_err());
}

#[test]
fn bodies_are_decoded_before_they_are_judged() {
    let body = br#"{"code": 200}"#;
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("written");
        encoder.finish().expect("finished")
    };
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(body).expect("written");
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    raw.write_all(body).expect("written");
    let zstd = zstd::encode_all(&body[..], 3).expect("encoded");
    // `{"code": 200}` compressed by the brotli program with quality 11.
    let brotli = [0x0b, 0x06, 0x80, 0x7b, 0x22, 0x63, 0x6f, 0x64, 0x65, 0x22, 0x3a, 0x20, 0x32, 0x30, 0x30, 0x7d, 0x03];
    let expected = expectations(&[], &["$.code == 200"]);
    let table: [(&str, Vec<u8>); 8] = [
        ("identity", body.to_vec()),
        ("gzip", gzip(body)),
        ("X-GZIP", gzip(body)),
        ("deflate", zlib.finish().expect("finished")),
        ("deflate", raw.finish().expect("finished")),
        ("zstd", zstd.clone()),
        ("br", brotli.to_vec()),
        ("zstd, gzip", gzip(&zstd)),
    ];
    for (coding, coded) in table {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n");
        assert_eq!(verdict(&expected, &head, &coded), None, "{coding}");
        assert_eq!(
            verdict(&expected, &head, &coded[..coded.len() / 2]),
            Some(FaultKind::WrongBody),
            "half of {coding}"
        );
    }
    let unknown = "HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\n\r\n";
    assert_eq!(verdict(&expected, unknown, body), Some(FaultKind::WrongBody));
}

#[test]
fn a_text_is_looked_for_in_a_coded_body_too() {
    let text = Finder::new(b"needle").into_owned();
    let coded = zstd::encode_all(&b"hay needle hay"[..], 3).expect("encoded");
    let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n";
    let mut seen = AnswerChecks::from_head(None, (true, false), head).expect("a closer look");
    assert!(seen.keeps_body());
    let budget = MemoryBudget::default();
    seen.feed(&coded, &budget);
    assert_eq!(seen.verdict(None, Some(&text), &budget), None);
    assert!(AnswerChecks::from_head(None, (true, false), b"HTTP/1.1 200 OK\r\n\r\n").is_none());
}

#[test]
fn bodies_have_bounds() {
    let expected = expectations(&[], &["$"]);
    let long = vec![b' '; KEPT_BOUND + 1];
    assert_eq!(verdict(&expected, "HTTP/1.1 200 OK\r\n\r\n", &long), Some(FaultKind::Unchecked));
    let bomb = zstd::encode_all(std::io::repeat(0).take(DECODED_BOUND + 1), 1).expect("encoded");
    assert!(bomb.len() < KEPT_BOUND);
    let undone =
        |layers, body| ContentCoding::By(layers).decode(body, &MemoryBudget::default()).map(|plain| plain.to_vec());
    assert_eq!(undone(vec![CodingLayer::Zstd], &bomb), Err(DecodeFailure::TooLong));
    assert_eq!(undone(vec![CodingLayer::Gzip; 5], b""), Err(DecodeFailure::Malformed));
}

#[test]
fn what_all_answers_keep_is_bounded_and_said() {
    let expected = expectations(&[], &["$[0] == 0"]);
    let (head, budget) = (b"HTTP/1.1 200 OK\r\n\r\n", MemoryBudget::of(24 << 20));
    let body = [&b"[0"[..], &b" ".repeat(600_000), b"]"].concat();
    let mut all: Vec<_> =
        (0..100).filter_map(|_| AnswerChecks::from_head(Some(&expected), (false, false), head)).collect();
    all.iter_mut().for_each(|seen| body.chunks(16_000).for_each(|piece| seen.feed(piece, &budget)));
    let mut verdicts = all.iter().map(|seen| seen.not_kept).collect::<Vec<_>>();
    verdicts.dedup();
    assert_eq!(verdicts, [None, Some(BodyNotKept::OverBudget)], "the first ones, and then no more");
    let last = all.pop().expect("one");
    assert_eq!(last.verdict(Some(&expected), None, &budget), Some(FaultKind::Unchecked));
    assert_eq!(last.mismatch(Some(&expected), None, &budget), Some(checks::unchecked(NO_ROOM)));
    drop(all);
    assert_eq!(budget.reserved(), 0);
}

/// Returns `true` if the rule holds for a JSON text.
fn holds(rule: &str, body: &str) -> bool {
    JsonRule::parse(rule)
        .expect(rule)
        .holds(raw_json::parse_whole(body.as_bytes()).expect(body), &StepBudget::default())
}

#[test]
fn numbers_keep_all_their_digits() {
    let id = r#"{"id": 12345678901234567890123, "all": [1.0, 12345678901234567890123], "far": 1e400, "near": 0.1}"#;
    for (rule, kept) in [
        ("$.id == 12345678901234567890123", true),
        ("$.id == 12345678901234567890124", false),
        ("$.id != 12345678901234567890124", true),
        ("$.id == 1.2345678901234567890123e22", true),
        ("$.id < 12345678901234567890124", true),
        ("$.id >= 12345678901234567890124", false),
        ("$.all == [1, 12345678901234567890123]", true),
        ("$.all == [1, 12345678901234567890124]", false),
        ("$.all == [1]", false),
        ("$.all contains 12345678901234567890124", false),
        ("$.far == 1e400", true),
        ("$.far > 1e399", true),
        ("$.far == 1e401", false),
        ("$.near == 0.1000000000000000000001", false),
    ] {
        assert_eq!(holds(rule, id), kept, "{rule}");
    }
    let expected = expectations(&[], &["$.id == 12345678901234567890124"]);
    let mut seen =
        AnswerChecks::from_head(Some(&expected), (false, false), b"HTTP/1.1 200 OK\r\n\r\n").expect("a closer look");
    seen.feed(id.as_bytes(), &MemoryBudget::default());
    assert_eq!(
        seen.mismatch(Some(&expected), None, &MemoryBudget::default()).expect("a reason").en(),
        "expected $.id == 12345678901234567890124, found 12345678901234567890123"
    );
}

#[test]
fn objects_and_texts_are_compared_by_what_they_hold() {
    for (rule, body, kept) in [
        (r#"$ == {"a": 1, "b": [null]}"#, r#"{ "b" : [ null ], "a": 1.0 }"#, true),
        (r#"$ == {"a": 1}"#, r#"{"a": 1, "b": 2}"#, false),
        (r#"$ == {"a": 1, "b": 2}"#, r#"{"a": 1}"#, false),
        (r#"$ == {"a": 1}"#, r#"{"a": 2, "a": 1}"#, true),
        ("$.a == 1", r#"{"a": 2, "a": 1}"#, true),
        (r#"$ == {}"#, "[]", false),
        (r#"$ == []"#, "{}", false),
        (r#"$.a == "\u00e9""#, r#"{"\u0061": "é"}"#, true),
        ("$.a == true", r#"{"a": true, "half": "\ud800", "\ud800": 1}"#, true),
        ("$ contains 'b c'", r#""a\u0062 c""#, true),
    ] {
        assert_eq!(holds(rule, body), kept, "{rule} {body}");
    }
}

#[test]
fn however_deep_and_many_the_values_are_a_body_takes_no_more_room() {
    let expected = expectations(&[], &["$.a == 1"]);
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    // Neither deep nesting nor a million values may take memory beyond the body itself.
    let deep = format!("{{\"a\": 1, \"b\": {}{}}}", "[".repeat(500_000), "]".repeat(500_000));
    let many = format!("{{\"b\": [{}0], \"a\": 1}}", "0,".repeat(500_000));
    for (body, verdict) in [(deep, None), (many, None), ("[".repeat(1 << 20), Some(FaultKind::WrongBody))] {
        let budget = MemoryBudget::of(KEPT_BOUND + (16 << 10));
        let mut seen = AnswerChecks::from_head(Some(&expected), (false, false), head).expect("a closer look");
        seen.feed(body.as_bytes(), &budget);
        assert_eq!(seen.verdict(Some(&expected), None, &budget), verdict);
        if verdict.is_some() {
            let said = seen.mismatch(Some(&expected), None, &budget).expect("a reason").to_string();
            assert!(said.starts_with("expected JSON, found \"[[[["), "{said}");
        }
    }
    let complaint = |rule: &str| JsonRule::parse(rule).expect_err("too deep");
    let nested = complaint(&format!("$.a == {}1{}", "[".repeat(128), "]".repeat(128)));
    assert!(nested.contains("compares with JSON nested more than 128 deep"), "{nested}");
    assert!(complaint(&format!("${}", "[0]".repeat(129))).contains("has a path of more than 128 steps"));
}

proptest! {
    /// The in-place search accepts exactly the values that serde_json accepts.
    #[test]
    fn values_are_read_as_serde_json_reads_them(text in "[\\[\\]{}\":,a01.e\\\\ -]{0,12}") {
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
            prop_assert!(raw_json::parse_whole(text.as_bytes()).is_some());
            let rule = JsonRule::parse(&format!("$ == {value}")).expect("a rule");
            prop_assert!(rule.holds(raw_json::parse_whole(text.as_bytes()).expect("JSON"), &StepBudget::default()), "{}", text);
        }
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(rule in ".{0,40}", path in "[$.\\[\\]'\"a*0-9=<>! -]{0,30}", bytes in any::<Vec<u8>>(), n in 0..4usize) {
        for text in [&rule, &path] {
            if let Ok(rule) = JsonRule::parse(text) {
                rule.holds(&raw(&json!({"a": [1, {"a": "a"}]})), &StepBudget::default());
            }
            let _ = ExpectedHeader::parse(text).map(|header| header.holds(&bytes));
        }
        let layer = [CodingLayer::Gzip, CodingLayer::Deflate, CodingLayer::Brotli, CodingLayer::Zstd][n];
        let _ = ContentCoding::By(vec![layer]).decode(&bytes, &MemoryBudget::default());
        oracle::body(n as u8, &bytes);
    }
}

proptest! {
    /// A member is found while its body is parsed, and invalid JSON fails in the same way as when it is parsed as a
    /// whole.
    #[test]
    fn a_place_is_found_alike_in_a_body_and_in_the_whole_of_it(
        members in prop::collection::vec((0..NAMES.len(), 0..VALUES.len()), 0..4),
        spoilt in prop::option::of((any::<prop::sample::Index>(), prop::option::of(any::<u8>()))),
        place in prop::sample::select(vec!["$", "$.a", "$.a.a", "$.a[0]", "$['a\\b']", "$['']", "$.*", "$..a"]),
    ) {
        let members: Vec<Vec<u8>> =
            members.iter().map(|(name, value)| [NAMES[*name], b":", VALUES[*value]].concat()).collect();
        let mut body = [b" {", &members.join(&b", "[..])[..], b"}\n"].concat();
        if let Some((at, byte)) = spoilt {
            let at = at.index(body.len());
            body.splice(at..=at, byte);
        }
        json::oracle(place, &body);
    }
}

/// Names that are valid strings, and some that are not: a bare control character, invalid UTF-8.
const NAMES: [&[u8]; 8] =
    [b"\"a\"", b"\"\\u0061\"", b"\"\"", br#""a\\b""#, b"\"a\x01\"", b"\"\xff\"", b"\"\\ud800\"", b"a"];
const VALUES: [&[u8]; 8] =
    [b"1", b"\"a\\ud800\"", b"{\"a\": [7]}", b"[1, 2]", b"null", b"\"\xc3\xa9\"", b"\"\xff\"", b"01"];
