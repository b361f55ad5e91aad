//! Rules and codings as tables; a hostile body costs no more than its bound.

use std::io::{Read as _, Write as _};

use proptest::prelude::*;
use serde_json::json;

use super::coding::{Coding, DECODED_BOUND, Layer};
use super::*;

fn expectations(headers: &[&str], json: &[&str]) -> Expectations {
    let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    let options = [("expect-header".to_owned(), texts(headers)), ("expect-json".to_owned(), texts(json))].into();
    Expectations::read(&Asked { options, ..Asked::default() }).expect("good rules").expect("some rules")
}

fn verdict(expected: &Expectations, head: &str, body: &[u8]) -> Option<FaultKind> {
    let mut seen = Seen::head(Some(expected), false, head.as_bytes())?;
    body.chunks(7).for_each(|piece| seen.feed(piece));
    seen.verdict(Some(expected), None)
}

#[test]
fn json_rules() {
    let body = json!({"code": 200, "ok": true, "none": null, "items": [{"id": 1, "tag": "a b"}, {"id": 2.5}], "a-b": {"c d": "x"}});
    let table = [
        ("$.code == 200", true),
        ("$.code==200.0", true),
        ("$.code = 200", true),
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
    ];
    for (rule, holds) in table {
        assert_eq!(Json::parse(rule).expect(rule).holds(&body), holds, "{rule}");
    }
    let large = json!({"id": 9_007_199_254_740_993_u64});
    for (rule, holds) in [
        ("$.id == 9007199254740993", true),
        ("$.id == 9007199254740992", false),
        ("$.id != 9007199254740992", true),
        ("$.id <= 9007199254740992", false),
        ("$.id > 9007199254740992", true),
    ] {
        assert_eq!(Json::parse(rule).expect(rule).holds(&large), holds, "{rule}");
    }
    assert!(Json::parse("$[1] == 'b'").expect("a rule").holds(&json!(["a", "b"])));
    for (rule, said) in [
        ("code == 200", "does not begin with $"),
        ("$.code 200", "has no comparison"),
        ("$.code ==", "compares with nothing"),
        ("$..code", "has a path that cannot be read"),
        ("$[x]", "has a path that cannot be read"),
        ("$.code < abc", "orders by something that is no number"),
    ] {
        let complaint = Json::parse(rule).expect_err(rule);
        assert!(complaint.contains(said), "{complaint}");
    }
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
    assert!(Header::parse(": x").is_err() && Header::parse("a b").is_err());
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
    // `{"code": 200}` by the brotli program, quality 11.
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
    let mut seen = Seen::head(None, true, head).expect("a closer look");
    assert!(seen.keeps_body());
    seen.feed(&coded);
    assert_eq!(seen.verdict(None, Some(&text)), None);
    assert!(Seen::head(None, true, b"HTTP/1.1 200 OK\r\n\r\n").is_none());
}

#[test]
fn bodies_have_bounds() {
    let expected = expectations(&[], &["$"]);
    let long = vec![b' '; KEPT_BOUND + 1];
    assert_eq!(verdict(&expected, "HTTP/1.1 200 OK\r\n\r\n", &long), Some(FaultKind::WrongBody));
    let bomb = zstd::encode_all(std::io::repeat(0).take(DECODED_BOUND + 1), 1).expect("encoded");
    assert!(bomb.len() < KEPT_BOUND);
    assert_eq!(Coding::By(vec![Layer::Zstd]).decode(&bomb), None);
    assert_eq!(Coding::By(vec![Layer::Gzip; 5]).decode(b""), None);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(rule in ".{0,40}", path in "[$.\\[\\]'\"a*0-9=<>! -]{0,30}", bytes in any::<Vec<u8>>(), n in 0..4usize) {
        for text in [&rule, &path] {
            if let Ok(rule) = Json::parse(text) {
                rule.holds(&json!({"a": [1, {"a": "a"}]}));
            }
            let _ = Header::parse(text).map(|header| header.holds(&bytes));
        }
        let layer = [Layer::Gzip, Layer::Deflate, Layer::Brotli, Layer::Zstd][n];
        let _ = Coding::By(vec![layer]).decode(&bytes);
        oracle::body(n as u8, &bytes);
    }
}
