use proptest::prelude::*;

use super::*;

const HEAD: &[u8] =
    b"HTTP/1.1 302 Found\r\nLocation: /next?id=7\r\nSet-Cookie: sid=abc; Path=/\r\nset-cookie: lang=de\r\n\r\n";
const BODY: &str = r#"{"token": "t\u00e9\"", "n": 12345678901234567890.10, "ok": true, "none": null,
    "items": [{"id": 1, "price": 12, "tags": ["a"]}, {"id": 2, "price": 8}, {"id": 3, "price": 7.5}], "deep": {"x": {"id": 9}}}"#;

pub(super) fn taken(text: &str, body: &str) -> Result<String, String> {
    let capture = Capture::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    let answer = CaptureInput { status: 302, head: HEAD, body: body.as_bytes(), ..CaptureInput::default() };
    capture.take(&answer, 4).map(|value| String::from_utf8_lossy(&value).into_owned()).map_err(|why| why.to_string())
}

#[test]
fn values_are_found_where_they_stand() {
    for (text, value) in [
        ("json $.token", "té\""),
        ("json $.n", "12345678901234567890.10"),
        ("json $.ok", "true"),
        ("json $.deep.x.id", "9"),
        ("json $.items[0].tags", r#"["a"]"#),
        ("json $.items[-1].id", "3"),
        ("json $.items[*].id | last", "3"),
        ("json $.items[*].id | nth 2", "2"),
        ("json $.items[*].id | all", "1,2,3"),
        ("json $.items[*].id | count", "3"),
        ("json $.items[*].id | random", "2"),
        ("json $.items[?@.price < 10].id | all", "2,3"),
        ("json $.items[?(@.tags)].id", "1"),
        ("json $.items[?@.price > 7.5 && @.price < 10].id", "2"),
        ("json $.items[?@.tags || @.price < 8].id | all", "1,3"),
        ("json $.items[?!@.tags && (@.id == 2 || @.id == 1)].id", "2"),
        ("json $.items[?!(@.id == 2 || @.id == 1)].id", "3"),
        ("json $.items[?@.tags[?@ == 'a' || @ == ']&&'] && @.id].id", "1"),
        ("json $.items[?(@.id == 1) || (@.id == 3)].id | all", "1,3"),
        ("json $.items[?@.tags[?@ == 'a']].id", "1"),
        ("json $..id | all", "1,2,3,9"),
        ("json $.nothing | default none", "none"),
        ("json $.nothing | default 'a | b'", "a | b"),
        ("json $.nothing | count", "0"),
        ("header location", "/next?id=7"),
        (r"header Location regex id=(\d+)", "7"),
        (r"header Location regex '\d+'", "7"),
        (r"header Set-Cookie regex ^(\w+)= | all", "sid,lang"),
        (r"cookie lang regex (.)e", "d"),
        ("cookie lang", "de"),
        ("header Set-Cookie | count", "2"),
        ("status", "302"),
        (r#"regex "id": (\d+)"#, "1"),
        (r#"regex "id": (\d+) | all"#, "1,2,3,9"),
        (r#"regex \d+\.\d+"#, "12345678901234567890.10"),
        (r#"between '"price": ' '}' | last"#, "7.5"),
    ] {
        assert_eq!(taken(text, BODY).as_deref(), Ok(value), "{text}");
    }
    assert_eq!(taken("body", "abc").as_deref(), Ok("abc"));
}

#[test]
fn what_is_not_found_is_told_with_what_was_there() {
    for (text, body, told) in [
        ("json $.nothing", BODY, r#"json $.nothing found nothing; the body is {"token": "t"#),
        ("json $.items[*].id | nth 4", BODY, "json $.items[*].id | nth 4 found only 3"),
        ("json $.a", "<html>", "the body is not JSON: <html>"),
        ("json $.a", "", "the body is not JSON: "),
        ("json $.a", r#"{"a": 1"#, r#"the body is not JSON: {"a": 1"#),
        ("json $.a", r#"{"a": 1} x"#, r#"the body is not JSON: {"a": 1} x"#),
        ("json $.a", "[1]", "json $.a found nothing; the body is [1]"),
        ("regex x(y)", "", "regex x(y) found nothing; the body is empty"),
        ("header X-Id", "", "header X-Id found nothing; the response has Location, Set-Cookie, set-cookie"),
        ("cookie s", "", "cookie s found nothing; the response set sid, lang"),
        ("header Location regex p=(.)", "", "header Location regex p=(.) found nothing; its value is /next?id=7"),
        ("header X-Id regex (.)", "", "header X-Id regex (.) found nothing; the response has Location, Set-Cookie"),
        ("between '<' '>'", "a<b\u{1b}[1m\n", "between '<' '>' found nothing; the body is a<b"),
    ] {
        let why = taken(text, body).expect_err(text);
        assert!(why.starts_with(told), "{text}: {why}");
        assert!(!why.contains(['\u{1b}', '\n']), "{why:?}");
    }
    let long = taken("body", &"x".repeat(MOST_OF_A_VALUE + 1)).expect_err("too long");
    assert_eq!(long, "the value found by body is 65537 bytes long, and the limit is 65536");
}

#[test]
fn what_cannot_be_read_is_a_sentence() {
    for (text, told) in [
        ("", "`` is not a source of a value"),
        ("token", "`token` is not a source of a value"),
        ("json", "`json` is incomplete"),
        ("json token", "\"token\" does not start with $"),
        ("json $.a[?@.b <]", "compares with nothing"),
        ("json $.a[?b]", "has a filter that cannot be read"),
        ("json $.a[?@.b &&]", "has a filter that cannot be read"),
        ("json $.a[?(@.b]", "has a filter that cannot be read"),
        ("json $.a[1:2:3:4]", "has a path that cannot be read"),
        ("json $.a == 1", "continues with"),
        ("css", "`css` is incomplete"),
        ("css input[", "`input[` is not a CSS selector"),
        ("css a >", "`a >` is not a CSS selector (it ends where another part must follow)"),
        ("css a::text", "`a::text` is not a CSS selector (of pseudo-classes and pseudo-elements, only :has()"),
        ("css a:contains(x)", "(of pseudo-classes and pseudo-elements, only :has()"),
        ("css | upper-case", "is not a CSS selector ("),
        (
            "css form @action | slice 23..",
            "`slice 23..` does not belong to a capture; write it where the value is used",
        ),
        ("json $.a | url", "`url` does not belong to a capture"),
        ("xpath", "`xpath` is incomplete"),
        ("xpath //a[", "`//a[` is not an XPath"),
        ("regex (", "is not a valid regular expression (unclosed group)"),
        ("regex a(?=b)", "(looking ahead or behind, as with (?=…) or (?<=…), is not supported"),
        ("regex (?<!a)b", "(looking ahead or behind, as with (?=…) or (?<=…), is not supported"),
        ("regex (a)\\1", "(references to groups, as with \\1, are not supported"),
        ("regex ((a{1000}){1000}){1000}", "compiles to too many states"),
        ("between a b", "is not two texts"),
        ("between 'a'", "is not two texts"),
        ("status | nth 0", "is not a position"),
        ("status | first | last", "is given more than once"),
    ] {
        let why = Capture::parse(text).map(|_| ()).expect_err(text);
        assert!(why.contains(told) && why.is_translated(), "{text}: {why}");
    }
}

#[test]
fn all_of_an_array_are_its_items() {
    for (text, value) in [
        ("json $.items[0].tags | all", "a"),
        ("json $.deep.x.id | all", "9"),
        ("json $.items[*].tags | all", r#"["a"]"#),
        ("json $.items | count", "1"),
        ("json $.items[*].id", "1"),
    ] {
        assert_eq!(taken(text, BODY).as_deref(), Ok(value), "{text}");
    }
    let all = Capture::parse("json $.ids | all").expect("a capture");
    let body = br#"{"ids": [1, "b,c", {"d": [2]}, []]}"#;
    let answer = CaptureInput { body, ..CaptureInput::default() };
    let (text, ends) = all.take_with_documents((&answer, &BodyDocuments::of(body)), 0).expect("a list");
    assert_eq!((String::from_utf8_lossy(&text).as_ref(), ends), (r#"1,b,c,{"d": [2]},[]"#, vec![1, 5, 16, 19]));
}

/// Captures that would take seconds to hours without a budget.
#[test]
fn searches_that_take_too_long_are_given_up_with_a_limit_of_brunt_as_the_reason() {
    let deep = r#"{"a":"#.repeat(100_000) + "1" + &"}".repeat(100_000);
    let pattern = "a".repeat(900_000);
    let siblings = format!("<div>{}</div>", "<i></i><b></b>".repeat(10_000));
    let nested = "<div>".repeat(230) + &format!("<p>{}</p>", "<i></i>".repeat(20_000));
    let texts = format!("<a>{}</a>", "<b>some words</b>".repeat(20_000));
    for (text, body) in [
        ("regex (?s)a(.*b)? | count", &pattern),
        ("json $..a..a | count", &deep),
        ("json $..* | last", &deep),
        ("css u ~ i", &siblings),
        ("css div:has(u) div:has(u i)", &nested),
        ("css * | all", &nested),
        ("xpath //b[preceding::b[preceding::b]]", &siblings),
        ("xpath //b[contains(/a, 'nothing')]", &texts),
        ("xpath //b[../../a = 'x']", &texts),
    ] {
        let capture = Capture::parse(text).expect(text);
        let answer = CaptureInput { body: body.as_bytes(), ..CaptureInput::default() };
        let why = capture.take(&answer, 1).expect_err(text);
        assert!(why.is_own_limit(), "{text}: {why}");
        assert!(why.en().contains("takes too long, so brunt gave up"), "{text}: {why}");
    }
}

#[test]
fn what_large_bodies_have_is_found() {
    let numbers = format!("[{}{{\"id\": 7}}]", r#"{"id": 1, "tags": ["a", "b"]}, "#.repeat(30_000));
    let page =
        format!("<ul>{}</ul><a class=next href=/2>next</a>", "<li class='item x'><a>text</a></li>".repeat(15_000));
    for (text, body, value) in [
        ("json $[-1].id", &numbers, "7"),
        ("json $..id | last", &numbers, "7"),
        ("json $[?@.id == 7].id", &numbers, "7"),
        ("regex (?i)class=(next)", &page, "next"),
        ("css ul + a.next @href", &page, "/2"),
        ("css ul li.item:last-child a", &page, "text"),
        ("xpath //a[@class='next']/@href", &page, "/2"),
        ("xpath //a[contains(., 'nex')]/@href", &page, "/2"),
    ] {
        assert_eq!(taken(text, body).as_deref(), Ok(value), "{text}");
    }
}

#[test]
fn names_are_such_that_a_slot_can_have_them() {
    for name in ["token", "a1", "_x", "csrf-token"] {
        assert_eq!(valid_name(name), Ok(()), "{name}");
    }
    for name in ["", "1a", "a b", "user", "counter", "length", "text", "captured", "sequence", "é"] {
        assert!(valid_name(name).is_err(), "{name}");
    }
}

#[test]
fn brackets_without_end_are_no_place() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    assert!(taken("json $..id", &deep).is_err());
    for deep in ["[?@.a", "[?(", "[?!", "[?!!!!!!!!!!!!!(!!!!!!!!!(!!!!!!(!!!!!!"] {
        assert!(Capture::parse(&format!("json $.a{}", deep.repeat(500))).is_err());
        assert!(Capture::parse(&format!("json $.a[?{}@{}]", &deep[2..].repeat(500), ")".repeat(500))).is_err());
    }
}

proptest! {
    #[test]
    fn random_texts_and_bodies_do_no_harm(
        text in "(json \\$[.a\\[\\]?@*0-9<= ]{0,12}|regex [a(.*)+]{0,6}|css [a-z*> ~\\[\\]=:.]{1,12}( @[a-z]{1,4})?|xpath [/a-z@*.\\[\\]()=|]{1,12}|between '.' '.'|header [a-z]{1,3}|cookie [a-z]|body)( \\| (last|all|count|nth 2|random))?",
        head in "HTTP/1.1 200 OK\r\n([a-z-]{1,10}: [ -~]{0,10}\r\n){0,3}\r\n",
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        oracle(&text, head.as_bytes(), &body);
    }
}
