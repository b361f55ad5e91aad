//! The end of connections: GOAWAY, cancelled exchanges, the last exchange of a connection, and the room for exchanges.

use super::*;

#[test]
fn what_a_server_did_not_take_is_refused_and_the_rest_goes_on() {
    let mut talk = Http2Client::after(&[], 4);
    talk.hear(&[settings(&[]), head(1, OK), goaway(3, code::NO_ERROR)].concat());
    assert_eq!(talk.news(), ["refused 2", "refused 3", "first 0"]);
    assert_eq!(talk.session.room(), 0);
    // The server may have begun to respond before GOAWAY.
    talk.hear(&[last_data(1, b"x"), last_head(7, OK), last_head(3, OK)].concat());
    assert_eq!((talk.ends(), talk.broken), (vec!["0 ok 200 1".to_owned(), "1 ok 200 0".to_owned()], None));
    assert_eq!(talk.session.room(), 0);
}

#[test]
fn what_a_server_has_begun_to_answer_is_not_refused_whatever_its_goaway_says() {
    let mut talk = Http2Client::after(&[], 3);
    talk.hear(&[settings(&[]), head(1, OK), head(3, &[(":status", "103")]), goaway(0, code::NO_ERROR)].concat());
    assert_eq!(talk.news(), ["refused 2", "first 0"]);
    talk.hear(&[last_data(1, b"x"), last_head(3, OK)].concat());
    assert_eq!((talk.news(), talk.broken), (vec!["0 ok 200 1".to_owned(), "1 ok 200 0".to_owned()], None));
    assert_eq!(talk.session.room(), 0);
}

#[test]
fn goaway_in_two_steps_refuses_in_two_steps() {
    let mut talk = Http2Client::after(&[], 3);
    talk.hear(&[settings(&[]), goaway((1 << 31) - 1, 0)].concat());
    assert_eq!((talk.news(), talk.session.room()), (vec![], 0));
    talk.hear(&goaway(1, 0));
    assert_eq!(talk.news(), ["refused 1", "refused 2"]);
    talk.hear(&last_head(1, OK));
    assert_eq!(talk.news(), ["0 ok 200 0"]);
}

#[test]
fn what_a_server_turned_away_with_an_error_is_not_sent_again() {
    let mut talk = Http2Client::after(&[], 3);
    talk.hear(&[settings(&[]), head(1, OK), goaway(0, code::ENHANCE_YOUR_CALM)].concat());
    assert_eq!(talk.news().len(), 3, "two ends, and the first byte of a response");
    assert!(!talk.news().iter().any(|news| news.starts_with("refused")));
    talk.hear(&last_data(1, b"x"));
    assert_eq!((talk.ends(), talk.session.room()), (vec!["0 ok 200 1".to_owned()], 0));
}

#[test]
fn every_word_of_an_end_is_told_whatever_becomes_of_the_requests() {
    let mut talk = Http2Client::after(&[], 4);
    // A stream that is over, one in progress, one that was not processed, and an unknown code.
    let resets = [reset(1, 0), reset(3, code::CANCEL), reset(5, code::REFUSED_STREAM), reset(7, 99)].concat();
    talk.hear(&[settings(&[]), last_head(1, OK), resets].concat());
    let streams = ["NO_ERROR", "CANCEL", "REFUSED_STREAM", "an unknown code"];
    assert_eq!(talk.words(), streams.map(|code| format!("RST_STREAM {code}")));
    // A graceful shutdown sends GOAWAY twice; a later error sends another code.
    talk.hear(&[goaway((1 << 31) - 1, 0), goaway(7, 0), goaway(7, code::ENHANCE_YOUR_CALM)].concat());
    talk.hear(&goaway(7, code::ENHANCE_YOUR_CALM));
    assert_eq!((talk.words(), talk.broken), (vec!["GOAWAY NO_ERROR".into(), "GOAWAY ENHANCE_YOUR_CALM".into()], None));
    assert_eq!(talk.workload.code_name(200), "200");
}

#[test]
fn a_cancelled_exchange_leaves_the_others_alone() {
    let mut talk = Http2Client::after(&[], 2);
    talk.hear(&settings(&[]));
    talk.said();
    assert!(talk.session.cancel(ExchangeId(0), &mut talk.out));
    assert_eq!(talk.said(), [(frames::RST_STREAM, 0, 1, GIVEN_UP.to_be_bytes().to_vec())]);
    assert_eq!(talk.session.room(), 99);
    // The response is skipped, but its head still updates the table.
    let inserting = frame(frames::HEADERS, frames::END_HEADERS, 1, b"\x88\x40\x01a\x01b");
    talk.hear(&[inserting, data(1, b"late"), reset(1, 0)].concat());
    talk.hear(&frame(frames::HEADERS, frames::END_HEADERS | frames::END_STREAM, 3, b"\x88\xbe"));
    assert_eq!((talk.news(), talk.broken), (vec!["1 ok 200 0".to_owned()], None));
    assert!(talk.session.cancel(ExchangeId(9), &mut talk.out), "nobody");
    assert_eq!(talk.said(), []);
}

#[test]
fn room_is_the_least_of_what_either_side_allows() {
    let mut talk = Http2Client::after(&["streams=3"], 1);
    assert_eq!(talk.session.room(), 2);
    talk.hear(&settings(&[(3, 2)]));
    assert_eq!(talk.session.room(), 1);
    talk.hear(&settings(&[(3, 0)]));
    assert_eq!(talk.session.room(), 0);
    let request = &talk.workload.requests()[0].request;
    assert!(talk.session.submit(ExchangeId(7), request, &SlotContext::default(), &mut talk.out).is_err());
    talk.hear(&[settings(&[(3, 1000)]), last_head(1, OK)].concat());
    assert_eq!(talk.session.room(), 3);
    // Before the server's SETTINGS, a hundred.
    assert_eq!(Http2Client::after(&["streams=1000"], 1).session.room(), 99);
}

#[test]
fn a_connection_for_one_exchange_takes_one() {
    for option in ["no-keepalive", "header=Connection: close"] {
        let mut talk = Http2Client::after(&[option], 1);
        assert_eq!(talk.session.room(), 0, "{option}");
        talk.hear(&[settings(&[]), last_head(1, OK)].concat());
        assert_eq!((talk.ends(), talk.session.room()), (vec!["0 ok 200 0".to_owned()], 0));
    }
    assert!(dialogue(&["no-keepalive"]).prepared().one_exchange_per_connection);
}

#[test]
fn we_say_goodbye() {
    let mut talk = Http2Client::after(&[], 0);
    talk.session.finish(&mut talk.out);
    assert_eq!(talk.said(), [(frames::GOAWAY, 0, 0, vec![0; 8])]);
    assert_eq!(talk.session.room(), 0);
}

#[test]
fn ten_thousand_exchanges_one_after_the_other_and_with_one_that_lasts() {
    let mut talk = Http2Client::after(&["streams=3"], 1);
    talk.hear(&settings(&[]));
    for id in 1..10_000 {
        talk.out.clear();
        talk.submit(id);
        let stream = talk.said().last().map(|f| f.2).unwrap();
        talk.hear(&last_head(stream, OK));
        assert_eq!(talk.ends(), [format!("{id} ok 200 0")]);
    }
    talk.hear(&last_head(1, OK));
    assert_eq!(talk.ends(), ["0 ok 200 0"]);
}

#[test]
fn the_error_of_a_goaway_is_named_and_its_text_kept() {
    let mut talk = Http2Client::after(&[], 1);
    talk.hear(&[settings(&[]), goaway(1, code::NO_ERROR)].concat());
    assert_eq!((talk.session.close_reason(), talk.session.partial_response()), (None, &b""[..]));
    talk.hear(&frame(frames::GOAWAY, 0, 0, &[&[0, 0, 0, 1, 0, 0, 0, 11][..], b"calm down"].concat()));
    let named = "the server closed the connection with GOAWAY: ENHANCE_YOUR_CALM";
    assert_eq!(talk.session.close_reason().map(|said| said.en()).as_deref(), Some(named));
    assert_eq!(talk.session.partial_response(), b"calm down");
    assert_eq!(talk.session.close_cause().expect("words").to_string(), format!("{named} (calm down)"));
    // Debug data of a server is shown as text and cut off.
    let hostile = [&[0, 0, 0, 1, 0, 0, 0, 11][..], &b"\x1b]0;x\x07".repeat(200)].concat();
    talk.hear(&frame(frames::GOAWAY, 0, 0, &hostile));
    let told = talk.session.close_cause().expect("words").to_string();
    assert!(told.starts_with(named) && told.len() < 800 && !told.contains('\x1b'), "{told}");
    talk.hear(&last_head(1, OK));
    assert_eq!(talk.ends(), ["0 ok 200 0"]);
}
