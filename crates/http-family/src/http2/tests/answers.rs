//! Results of responses: well-formed ones, and each way of being malformed (RFC 9113 8.1 to 8.3).

use super::*;

const TRAILER: &str = "expect-trailer=Sum: 8*";
const TRAIL: &[(&str, &str)] = &[("a", "b"), ("sum", "81")];

/// A test case: name, options, the frames after SETTINGS, and the expected result.
type ResponseCase<'a> = (&'a str, &'a [&'a str], Vec<Vec<u8>>, &'a str);

/// Checks the results of responses to one request on stream 1.
#[test]
fn answers_end_as_they_should() {
    let one = |status: &str, more: &[(&str, &str)]| head(1, &[&[(":status", status)], more].concat());
    let ended = |status: &str, more: &[(&str, &str)]| last_head(1, &[&[(":status", status)], more].concat());
    let cases: &[ResponseCase] = &[
        ("head only", &[], vec![ended("204", &[])], "0 ok 204 0"),
        ("a body", &[], vec![one("200", &[]), last_data(1, b"hello")], "0 ok 200 5"),
        ("in pieces", &[], vec![one("200", &[]), data(1, b"hel"), data(1, b""), last_data(1, b"lo")], "0 ok 200 5"),
        ("an empty end", &[], vec![one("200", &[]), data(1, b"hello"), last_data(1, b"")], "0 ok 200 5"),
        ("its length", &[], vec![one("200", &[("content-length", "5")]), last_data(1, b"hello")], "0 ok 200 5"),
        ("too short", &[], vec![one("200", &[("content-length", "6")]), last_data(1, b"hello")], BROKEN_5),
        ("too long", &[], vec![one("200", &[("content-length", "4")]), last_data(1, b"hello")], BROKEN_5),
        ("length of nothing", &[], vec![ended("200", &[("content-length", "4")])], BROKEN),
        ("HEAD", &["method=HEAD"], vec![ended("200", &[("content-length", "4")])], "0 ok 200 0"),
        ("HEAD with a body", &["method=HEAD"], vec![one("200", &[]), last_data(1, b"hello")], BROKEN_5),
        ("HEAD and an empty end", &["method=HEAD"], vec![one("200", &[]), last_data(1, b"")], "0 ok 200 0"),
        ("204 with a body", &[], vec![one("204", &[]), last_data(1, b"x")], "0 broken_protocol 204 1"),
        ("304", &[], vec![ended("304", &[("content-length", "4")])], "0 ok 304 0"),
        ("two lengths", &[], vec![ended("200", &[("content-length", "0"), ("content-length", "1")])], NO_HEAD),
        ("no length", &[], vec![ended("200", &[("content-length", "+1")])], NO_HEAD),
        ("trailers", &[], vec![one("200", &[]), data(1, b"x"), last_head(1, &[("a", "b")])], "0 ok 200 1"),
        ("trailers alone", &[], vec![one("200", &[]), last_head(1, &[("a", "b")])], "0 ok 200 0"),
        ("a trailer it must have", &[TRAILER], vec![one("200", &[]), data(1, b"x"), last_head(1, TRAIL)], "0 ok 200 1"),
        ("without", &[TRAILER], vec![one("200", &[]), last_data(1, b"x")], "0 wrong_header 200 1"),
        ("not that", &[TRAILER], vec![one("200", &[]), last_head(1, &[("sum", "7")])], "0 wrong_header 200 0"),
        ("no field", &[TRAILER], vec![one("200", &[]), last_head(1, &[("Sum", "8")])], BROKEN),
        ("a trailer in the middle", &[], vec![one("200", &[]), head(1, &[("a", "b")])], BROKEN),
        ("a status as trailer", &[], vec![one("200", &[]), last_head(1, OK)], BROKEN),
        ("interim answers", &[], vec![one("100", &[]), one("103", &[("link", "x")]), ended("200", &[])], "0 ok 200 0"),
        ("the end is interim", &[], vec![ended("103", &[])], NO_HEAD),
        ("101", &[], vec![one("101", &[])], NO_HEAD),
        ("no status", &[], vec![last_head(1, &[("a", "b")])], NO_HEAD),
        ("no fields", &[], vec![last_head(1, &[])], NO_HEAD),
        ("two statuses", &[], vec![last_head(1, &[OK, OK].concat())], NO_HEAD),
        ("a late status", &[], vec![last_head(1, &[("a", "b"), (":status", "200")])], NO_HEAD),
        ("no number", &[], vec![ended("2x0", &[])], NO_HEAD),
        ("four digits", &[], vec![ended("2000", &[])], NO_HEAD),
        ("a request's field", &[], vec![ended("200", &[(":path", "/")])], NO_HEAD),
        ("a large name", &[], vec![ended("200", &[("Server", "x")])], NO_HEAD),
        ("no name", &[], vec![ended("200", &[("", "x")])], NO_HEAD),
        ("a name with a space", &[], vec![ended("200", &[("a b", "x")])], NO_HEAD),
        ("a value of two lines", &[], vec![ended("200", &[("a", "x\r\ny: z")])], NO_HEAD),
        ("of connections", &[], vec![ended("200", &[("connection", "close")])], NO_HEAD),
        ("chunked", &[], vec![ended("200", &[("transfer-encoding", "chunked")])], NO_HEAD),
        ("data first", &[], vec![last_data(1, b"x")], NO_HEAD),
        ("reset", &[], vec![reset(1, code::CANCEL)], "0 reset 0 0"),
        ("reset within", &[], vec![one("200", &[]), data(1, b"xy"), reset(1, 2)], "0 reset 200 2"),
        ("refused", &[], vec![reset(1, code::REFUSED_STREAM)], "refused 0"),
        ("refused too late", &[], vec![one("200", &[]), reset(1, code::REFUSED_STREAM)], "0 reset 200 0"),
        ("a failure", &[], vec![one("500", &[]), last_data(1, b"why")], "0 wrong_status 500 3"),
        ("expected", &["expect-status=500"], vec![ended("500", &[])], "0 ok 500 0"),
        ("a text", &["expect-body=ell"], vec![one("200", &[]), data(1, b"he"), last_data(1, b"llo")], "0 ok 200 5"),
        ("no text", &["expect-body=elk"], vec![one("200", &[]), last_data(1, b"hello")], "0 wrong_body 200 5"),
        ("on", &["redirects=1"], vec![ended("302", &[("location", "/b")])], "0 ok 302 0 follow"),
        ("not on", &[], vec![ended("302", &[("location", "/b")])], "0 ok 302 0"),
        ("nowhere", &["redirects=1"], vec![ended("302", &[("location", "http://[")])], BROKEN_302),
    ];
    for (name, options, frames, expected) in cases {
        let mut bytes = settings(&[]);
        frames.iter().for_each(|frame| bytes.extend_from_slice(frame));
        let mut whole = Http2Client::after(options, 1);
        whole.hear(&bytes);
        assert_eq!((whole.ends(), whole.broken), (vec![(*expected).to_owned()], None), "{name}");
        assert_eq!(whole.session.room(), 100, "{name}");
        for at in 0..bytes.len() {
            let mut cut = Http2Client::after(options, 1);
            cut.hear(&bytes[..at]);
            cut.hear(&bytes[at..]);
            assert_eq!((cut.ends(), cut.broken), (vec![(*expected).to_owned()], None), "{name} cut at {at}");
        }
    }
}

const BROKEN: &str = "0 broken_protocol 200 0";
const BROKEN_5: &str = "0 broken_protocol 200 5";
const BROKEN_302: &str = "0 broken_protocol 302 0";
const NO_HEAD: &str = "0 broken_protocol 0 0";

#[test]
fn a_malformed_answer_is_given_up_and_the_others_go_on() {
    let mut talk = Http2Client::after(&[], 2);
    talk.hear(&[settings(&[]), head(1, &[("a", "b")]), data(1, b"more of it"), head(3, OK)].concat());
    assert_eq!(talk.news(), ["0 broken_protocol 0 0", "first 1"]);
    assert_eq!(talk.said(), [ACKNOWLEDGED, (frames::RST_STREAM, 0, 1, code::PROTOCOL_ERROR.to_be_bytes().to_vec())]);
    talk.hear(&[last_head(1, &[("late", "x")]), last_data(3, b"x")].concat());
    assert_eq!((talk.news(), talk.broken), (vec!["1 ok 200 1".to_owned()], None));
}

#[test]
fn the_first_byte_is_told_once_and_only_before_the_end() {
    let mut talk = Http2Client::after(&[], 3);
    talk.hear(&[settings(&[]), head(1, OK), last_data(1, b"x"), head(3, OK), data(5, b"")].concat()[..60]);
    let mut rest = Http2Client::after(&[], 2);
    rest.hear(&[settings(&[]), head(1, OK), head(3, OK), last_data(1, b"x")].concat());
    assert_eq!(rest.news(), ["0 ok 200 1", "first 1"]);
    rest.hear(&data(3, b"x"));
    assert_eq!(rest.news(), [""; 0]);
    rest.hear(&last_data(3, b"x"));
    assert_eq!(rest.news(), ["1 ok 200 2"]);
}

#[test]
fn heads_said_again_are_known_and_judged_the_same() {
    let mut talk = Http2Client::after(&[], 6);
    let sized = [(":status", "200"), ("server", "x"), ("content-length", "1")];
    talk.hear(&settings(&[]));
    for stream in [1, 3] {
        talk.hear(&[head(stream, &sized), last_data(stream, b"x")].concat());
    }
    // An identical head with another body, another status, and the first head again.
    talk.hear(&[head(5, &sized), last_data(5, b"xy")].concat());
    talk.hear(&last_head(7, &[(":status", "404")]));
    talk.hear(&last_head(9, &[(":status", "404")]));
    talk.hear(&[head(11, &sized), last_data(11, b"x")].concat());
    let expected = [
        "0 ok 200 1",
        "1 ok 200 1",
        "2 broken_protocol 200 2",
        "3 wrong_status 404 0",
        "4 wrong_status 404 0",
        "5 ok 200 1",
    ];
    assert_eq!(talk.ends(), expected);
}

#[test]
fn an_example_of_a_failure_is_the_answer_as_http1_would_write_it() {
    let mut talk = Http2Client::after(&[], 1);
    talk.hear(&[settings(&[]), head(1, &[(":status", "503"), ("retry-after", "9")]), last_data(1, b"no")].concat());
    let Some(Event::Ended(ended)) = talk.done.events.pop() else { panic!("no end") };
    assert_eq!(ended.excerpt.as_deref(), Some(&b"HTTP/2 503\r\nretry-after: 9\r\n\r\nno"[..]));
}

#[test]
fn an_example_of_a_reset_holds_the_beginning_of_its_own_body() {
    let mut talk = Http2Client::after(&[], 3);
    talk.hear(&[settings(&[]), head(1, OK), head(3, OK), head(5, OK), data(1, b"one"), data(3, b"three")].concat());
    talk.hear(&last_data(1, b"!"));
    talk.news();
    talk.hear(&reset(5, 2));
    let Some(Event::Ended(ended)) = talk.done.events.pop() else { panic!("no end") };
    assert_eq!(ended.excerpt.as_deref(), Some(&b"HTTP/2 200\r\n\r\n"[..]), "not what came of another");
    // The body of an exchange that is over is not attributed to the remaining one.
    assert_eq!(talk.session.partial_response(), b"");
    talk.hear(&[data(3, b"again"), reset(3, 2)].concat());
    let Some(Event::Ended(ended)) = talk.done.events.pop() else { panic!("no end") };
    assert_eq!(ended.excerpt.as_deref(), Some(&b"HTTP/2 200\r\n\r\nagain"[..]));
}

/// Checks the cause reported for a malformed response.
#[test]
fn what_was_wrong_is_said() {
    let cases = [
        (last_head(1, &[("a", "b")]), "the response headers do not start with :status"),
        (last_head(1, &[(":status", "2x0")]), "the response's :status is not a number from 100 to 999"),
        (last_head(1, &[(":status", "200"), ("Server", "x")]), "a response header is not valid in HTTP/2"),
        (last_head(1, &[(":status", "200"), ("content-length", "x")]), "content-length is not a number"),
        (last_head(1, &[(":status", "103")]), "the response ends after an interim (1xx) status"),
        (head(1, &[(":status", "101")]), "the server switches protocols (101)"),
        (last_data(1, b"x"), "the response body comes before its headers"),
        ([head(1, OK), head(1, &[("a", "b")])].concat(), "a second set of headers came within the response body"),
        ([head(1, OK), last_head(1, OK)].concat(), "a trailer of the response has a field not allowed in trailers"),
        (last_head(1, &[(":status", "200"), ("content-length", "1")]), "shorter than its content-length"),
        ([head(1, &[(":status", "200"), ("content-length", "0")]), last_data(1, b"x")].concat(), "longer than its"),
        (reset(1, 2), "the server reset the stream: INTERNAL_ERROR"),
        (reset(1, 99), "the server reset the stream with an unknown code"),
    ];
    for (bytes, sentence) in cases {
        let mut talk = Http2Client::after(&[], 1);
        talk.hear(&[settings(&[]), bytes].concat());
        let Some(Event::Ended(ended)) = talk.done.events.pop() else { panic!("{sentence}: no end") };
        let why = ended.cause.map(|why| why.to_string()).unwrap_or_default();
        assert!(ended.fault.is_some() && why.contains(sentence), "{sentence}: {why}");
    }
}
