//! Checks of responses (`--expect-json`): passed, failed, examined in pieces, and rules about unknown fields.

use std::io::Write as _;

use super::*;

/// Returns the events of a call with these rules, with the cause in place of an excerpt.
fn judged(url: &str, rules: &[&str], heard: &[u8]) -> Vec<String> {
    let options: Vec<_> = rules.iter().map(|rule| ("expect-json", *rule)).collect();
    judged_by(url, &options, heard)
}

/// Returns the events of a call with these options.
fn judged_by(url: &str, options: &[(&str, &str)], heard: &[u8]) -> Vec<String> {
    let heard = [settings(&[]), heard.to_vec()].concat();
    let mut all = Vec::new();
    // The result must not depend on where the bytes are split.
    for cut in 0..=heard.len() {
        let mut talk = GrpcClient::new(dialogue(url, options));
        talk.call(0);
        talk.hear(&heard[..cut]).unwrap();
        talk.hear(&heard[cut..]).unwrap();
        let ended = talk.done.events.drain(..).filter_map(|event| match event {
            Event::Ended(e) => Some(format!(
                "{} {}",
                e.fault.map_or("ok", |kind| kind.name()),
                e.cause.map(|why| why.to_string()).unwrap_or_default()
            )),
            _ => None,
        });
        let said: Vec<String> = ended.collect();
        assert!(all.is_empty() || all == said, "cut at {cut}: {said:?}");
        all = said;
    }
    all
}

/// `Payload { text, count }`.
fn payload(text: &str, count: u8) -> Vec<u8> {
    let mut bytes = vec![0x0a, text.len() as u8];
    bytes.extend(text.bytes());
    if count > 0 {
        bytes.extend([0x10, count]);
    }
    bytes
}

fn answer(messages: &[&[u8]], status: &str) -> Vec<u8> {
    [head(1), data(1, messages), trailers(1, status)].concat()
}

#[test]
fn a_response_keeps_its_rules_or_the_call_fails_and_says_why() {
    let heard = answer(&[&payload("ab", 0)], "0");
    // A field with its default value is present, although it was not sent.
    assert_eq!(judged(UNARY, &["$.text == ab", "$.count == 0"], &heard), ["ok "]);
    let said = ["wrong_body expected $.text == cd, found \"ab\""];
    assert_eq!(judged(UNARY, &["$.count == 0", "$.text == cd"], &heard), said);
}

#[test]
fn numbers_of_64_bits_are_numbers() {
    // Summary { bytes: 300 }, a uint64, which protobuf's JSON writes as a string.
    let heard = answer(&[&[0x10, 0xac, 0x02]], "0");
    assert_eq!(judged(CLIENT, &["$.bytes == 300", "$.bytes > 299"], &heard), ["ok "]);
    assert_eq!(judged(CLIENT, &["$.bytes < 300"], &heard), ["wrong_body expected $.bytes < 300, found 300"]);
}

#[test]
fn each_message_of_a_stream_must_keep_them_and_there_must_be_one() {
    let both = answer(&[&payload("ab", 1), &payload("ab", 2)], "0");
    assert_eq!(judged(SERVER, &["$.text == ab"], &both), ["ok "]);
    assert_eq!(judged(SERVER, &["$.count == 1"], &both), ["wrong_body expected $.count == 1, found 2"]);
    let none = [head(1), trailers(1, "0")].concat();
    assert_eq!(judged(SERVER, &["$.text"], &none), ["wrong_body the response has no message"]);
}

#[test]
fn rules_about_the_list_of_a_streams_messages_name_its_places_and_their_number_is_a_rule_of_its_own() {
    let three = answer(&[&payload("ab", 1), &payload("cd", 2), &payload("ef", 3)], "0");
    assert_eq!(
        judged(SERVER, &["$[0].text == ab", "$[-1].count == 3", "$[1].text == cd", "$[*].count == 2"], &three),
        ["ok "]
    );
    assert_eq!(judged(SERVER, &["$[-1].text == ab"], &three), ["wrong_body expected $[-1].text == ab, found \"ef\""]);
    assert_eq!(judged(SERVER, &["$[*].count == 4"], &three).len(), 1);
    for (count, said) in [("3", "ok "), ("1..3", "ok "), ("4..", "wrong_body expected messages: 4 or more, found 3")] {
        assert_eq!(judged_by(SERVER, &[("expect-messages", count)], &three), [said]);
    }
    let one = answer(&[&payload("ab", 1)], "0");
    assert_eq!(judged(SERVER, &["$[0].text == ab", "$[-1].text == ab"], &one), ["ok "], "a list, however long");
    let wrong = GrpcProtocol.prepare(&asked(SERVER, &[("expect-json", "$[0].txt == ab")])).expect_err("no such field");
    assert!(wrong.to_string().contains("brunt.Payload has no field \"txt\"; write \"text\""), "{wrong}");
    let wrong = GrpcProtocol.prepare(&asked(SERVER, &[("expect-messages", "many")])).expect_err("no number");
    assert_eq!(wrong.to_string(), "--expect-messages: \"many\" is not a number of messages; use 1, 1..5 or 1..");
}

/// Returns the captures of a call of a flow, as texts.
fn of_stream(captures: &[&str], heard: &[u8]) -> Vec<String> {
    let captures: Vec<_> = captures.iter().map(|capture| ("capture", *capture)).collect();
    let mut asked = asked(SERVER, &captures);
    asked.variables = vec!["v".to_owned()].into();
    let mut talk = GrpcClient::new(GrpcProtocol.prepare(&asked).expect("a good plan"));
    talk.call(0);
    talk.hear(&[settings(&[]), heard.to_vec()].concat()).unwrap();
    let values = talk.done.events.drain(..).find_map(|event| match event {
        Event::StateUpdate(_, lesson) => lesson.downcast::<brunt_values::capture::CapturedValues>().ok(),
        _ => None,
    });
    values
        .map(|taken| taken.0.iter().map(|value| String::from_utf8_lossy(&value.bytes).into_owned()).collect())
        .unwrap_or_default()
}

#[test]
fn of_a_stream_the_first_the_last_the_nth_or_all_messages_are_captured() {
    let three = answer(&[&payload("ab", 1), &payload("cd", 2), &payload("ef", 3)], "0");
    let captures = [
        "v json $.text",
        "v json $.text | last",
        "v json $.text | nth 2",
        "v json $.text | all",
        "v json $.text | count",
        "v json $[1].count",
    ];
    assert_eq!(of_stream(&captures, &three), ["ab", "ef", "cd", "ab,cd,ef", "3", "2"]);
    let one = answer(&[&payload("ab", 1)], "0");
    assert_eq!(of_stream(&["v json $.text | last", "v json $[0].text"], &one), ["ab", "ab"]);
}

#[test]
fn which_check_failed_is_told_in_the_order_of_the_checks() {
    let both = [settings(&[]), answer(&[&payload("ab", 1), &payload("ab", 2)], "0")].concat();
    let options = [("expect-json", "$.text == ab"), ("expect-trailer", "x-cost: 5"), ("expect-messages", "2")];
    let mut talk = GrpcClient::new(dialogue(SERVER, &options));
    talk.call(0);
    talk.hear(&both).unwrap();
    assert_eq!(talk.done.take_failed_checks(ExchangeId(0)), Some(0b010), "the trailer, which is the second");
}

#[test]
fn only_responses_that_succeeded_are_looked_into() {
    let failed = headers(1, &[(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5")], true);
    assert_eq!(judged(UNARY, &["$.text == ab"], &failed), ["wrong_status "]);
    let broken = answer(&[&[0xff, 0xff]], "0");
    assert_eq!(judged(UNARY, &["$.text == ab"], &broken), ["wrong_body a message of 2 B is not a brunt.Payload"]);
}

#[test]
fn a_compressed_message_is_looked_into_as_it_was() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&payload("ab", 7)).unwrap();
    let mut framed = Vec::new();
    framing::put_compressed(&encoder.finish().unwrap(), &mut framed);
    let head =
        headers(1, &[(":status", "200"), ("content-type", "application/grpc"), ("grpc-encoding", "gzip")], false);
    let heard = [head, frame(frames::DATA, 0, 1, &framed), trailers(1, "0")].concat();
    assert_eq!(judged(UNARY, &["$.text == ab", "$.count == 7"], &heard), ["ok "]);
}

#[test]
fn a_response_too_large_to_be_looked_into_says_so() {
    let mut talk = GrpcClient::new(dialogue(UNARY, &[("expect-json", "$.text == ab")]));
    talk.call(0);
    let mut framed = Vec::new();
    let mut message = vec![0x0a, 0x80, 0x80, 0x20];
    message.resize(4 + (512 << 10), b'a');
    framing::put(&message, &mut framed);
    talk.hear(&settings(&[])).unwrap();
    talk.hear(&head(1)).unwrap();
    for piece in framed.chunks(16 << 10) {
        talk.hear(&frame(frames::DATA, 0, 1, piece)).unwrap();
    }
    talk.hear(&trailers(1, "0")).unwrap();
    let ended = talk.done.events.drain(..).find_map(|event| match event {
        Event::Ended(e) => {
            Some((e.fault.map(|kind| kind.name()), e.cause.map(|why| why.to_string()).unwrap_or_default()))
        }
        _ => None,
    });
    let (fault, why) = ended.unwrap();
    assert_eq!(fault, Some("unchecked"));
    assert!(why.contains("is larger than 262 kB, the limit for checks"), "{why}");
}

#[test]
fn a_rule_about_a_field_that_is_none_is_a_complaint_with_the_nearest_name() {
    let complaint = |rule: &str| {
        GrpcProtocol.prepare(&asked(UNARY, &[("expect-json", rule)])).map_err(crate::bilingual).unwrap_err()
    };
    let said = complaint("$.txt == ab");
    assert!(
        said.contains("--expect-json") && said.contains("brunt.Payload has no field \"txt\"; write \"text\""),
        "{said}"
    );
    assert!(complaint("$.zzzzzz").contains("it has text, count"));
    assert!(complaint("text == ab").contains("does not start with $"));
    // Names after a field that is not a message cannot be checked in advance, and fail during the run.
    assert!(GrpcProtocol.prepare(&asked(UNARY, &[("expect-json", "$.text.deeper")])).is_ok());
}

/// Encodes a response with initial and trailing metadata.
fn with_metadata(status: &str) -> Vec<u8> {
    let first = headers(1, &[(":status", "200"), ("content-type", "application/grpc"), ("x-by", "a\r\nb: c")], false);
    let last = [("grpc-status", status), ("x-cost", "17"), ("grpc-message", "not%20here")];
    [first, data(1, &[&payload("ab", 1)]), headers(1, &last, true)].concat()
}

#[test]
fn metadata_must_be_as_it_is_expected() {
    let judged = |options: &[(&str, &str)]| judged_by(UNARY, options, &with_metadata("0"));
    assert_eq!(judged(&[("expect-header", "X-By: a*"), ("expect-trailer", "x-cost: 1*")]), ["ok "]);
    let said = ["wrong_header expected the trailer x-cost: 18, found x-cost: 17"];
    assert_eq!(judged(&[("expect-trailer", "x-cost: 18"), ("expect-json", "$.text == ab")]), said);
    let said = ["wrong_header expected the header b, the headers are content-type, x-by"];
    assert_eq!(judged(&[("expect-header", "b")]), said, "a value makes no line");
    // A response of a single header block has only trailing metadata.
    let alone = headers(1, &[(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5")], true);
    let options = [("expect-status", "OK,NOT_FOUND"), ("expect-header", "content-type")];
    let said = ["wrong_header expected the header content-type, there are no headers"];
    assert_eq!(judged_by(UNARY, &options, &alone), said);
}

/// Returns the captures of a response, by variable, or the cause of the failure.
fn taken(captures: &[&str], heard: &[u8]) -> Result<Vec<String>, String> {
    let mut asked = asked(UNARY, &[("expect-status", "OK,NOT_FOUND")]);
    let named = captures.iter().enumerate().map(|(at, text)| format!("v{at} {text}"));
    asked.url_options = vec![[("capture".to_owned(), named.collect())].into()];
    asked.variables = (0..captures.len()).map(|at| format!("v{at}")).collect();
    let mut talk = GrpcClient::new(GrpcProtocol.prepare(&asked).expect("a good plan"));
    talk.call(0);
    talk.hear(&settings(&[])).unwrap();
    talk.hear(heard).unwrap();
    let (mut values, mut why) = (Vec::new(), None);
    for event in talk.done.events.drain(..) {
        match event {
            Event::StateUpdate(_, lesson) => {
                let lesson = lesson.downcast::<brunt_values::capture::CapturedValues>().expect("values");
                values = lesson.0.iter().map(|value| String::from_utf8_lossy(&value.bytes).into_owned()).collect();
            }
            Event::Ended(ended) => {
                why = ended.fault.map(|_| ended.cause.map(|why| why.to_string()).unwrap_or_default())
            }
            _ => {}
        }
    }
    why.map_or(Ok(values), Err)
}

#[test]
fn status_and_metadata_are_taken_whatever_the_status_and_messages_where_it_is_ok() {
    let captures = ["status", "trailer X-Cost", "header x-by", "trailer grpc-message", "json $.text"];
    assert_eq!(taken(&captures, &with_metadata("0")).unwrap(), ["OK", "17", "a  b: c", "not here", "ab"]);
    let refused = taken(&captures, &with_metadata("5")).unwrap();
    assert_eq!(refused, ["NOT_FOUND", "17", "a  b: c", "not here"]);
    let why = taken(&["trailer x-price"], &with_metadata("0")).unwrap_err();
    assert_eq!(why, "trailer x-price found nothing; the trailers are grpc-status, x-cost, grpc-message");
}
