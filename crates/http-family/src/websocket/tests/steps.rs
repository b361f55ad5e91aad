//! Steps of a flow: messages sent and awaited, messages kept for their step, and captures.

use std::sync::Arc;

use brunt_contract::{ConnectionOwner, Event, FaultKind, SubmitOutcome, UserState, UserValues};

use super::*;
use brunt_values::capture::CapturedValues;

/// Creates a session of steps, with its upgrade accepted.
fn steps(options: &[&[&str]]) -> (Arc<dyn Workload>, Box<dyn Session>) {
    let mut asked = asked(&vec!["ws://h:9/chat?t={token}"; options.len()], &[]);
    asked.is_composite_flow = true;
    asked.variables = vec!["token".to_owned(), "mine".to_owned()].into();
    for options in options {
        let own = super::asked(&[], options);
        asked.url_options.push(own.options);
    }
    let dialogue = WebSocketProtocol.prepare(&asked).unwrap_or_else(|complaint| panic!("{complaint}"));
    assert_eq!(dialogue.origins().len(), 1, "steps of one URL are on one connection");
    assert_eq!(dialogue.connection_owner(&dialogue.origins()[0]), ConnectionOwner::User);
    let mut session = session(&dialogue);
    session.receive(&consent(""), &mut OutputBuffer::default(), &mut EventBuffer::default()).expect("consent");
    (dialogue, session)
}

/// Encodes a whole text message of the server.
fn said(text: &str) -> Vec<u8> {
    [&[0x81, text.len() as u8], text.as_bytes()].concat()
}

/// Begins a step; returns its result if known at once.
fn begin(workload: &Arc<dyn Workload>, session: &mut Box<dyn Session>, step: usize) -> (SubmitOutcome, Vec<String>) {
    let mut values = UserValues::default();
    values.set(0, b"abc");
    let fill = SlotContext { values: &values, ..SlotContext::default() };
    let sent = session
        .submit(ExchangeId(step as u32), &workload.requests()[step].request, &fill, &mut OutputBuffer::default())
        .expect("room");
    let told = if sent == SubmitOutcome::AlreadyComplete { hear(session, b"") } else { Vec::new() };
    (sent, told)
}

/// Feeds the server's bytes and returns the events as text.
fn hear(session: &mut Box<dyn Session>, bytes: &[u8]) -> Vec<String> {
    let mut done = EventBuffer::default();
    session.receive(bytes, &mut OutputBuffer::default(), &mut done).expect("good bytes");
    let word = |event: Event| match event {
        Event::Ended(ended) => match ended.fault {
            None => format!("{} ends with {}", ended.id.0, ended.payload),
            Some(kind) => {
                format!("{} fails: {kind:?} {}", ended.id.0, ended.cause.map(|why| why.to_string()).unwrap_or_default())
            }
        },
        Event::StateUpdate(id, lesson) => {
            let CapturedValues(values) = *lesson.downcast::<CapturedValues>().expect("values");
            format!("{} takes {}", id.0, String::from_utf8_lossy(&values[0].bytes))
        }
        Event::Unsolicited(size, _) => format!("push of {size}"),
        other => format!("{other:?}"),
    };
    done.events.into_iter().map(word).collect()
}

#[test]
fn the_upgrade_holds_what_its_user_knows() {
    let mut asked = asked(&["ws://h:9/chat?t={token}"], &["header=X-Token: {token}", "data=hello"]);
    (asked.is_composite_flow, asked.variables) = (true, vec!["token".to_owned()].into());
    let dialogue = WebSocketProtocol.prepare(&asked).expect("a good plan");
    let established = EstablishedConnection { seed: SEED, ..EstablishedConnection::default() };
    let mut memory = UserState::default();
    memory.values.set(0, b"a b\r\nc");
    let mut out = OutputBuffer::default();
    let fill = SlotContext { values: &memory.values, ..SlotContext::default() };
    dialogue.session(&dialogue.origins()[0], &established).open_with(&fill, &mut out);
    let text = String::from_utf8_lossy(out.bytes()).into_owned();
    assert!(text.starts_with("GET /chat?t=a%20b%0D%0Ac HTTP/1.1\r\n"), "{text}");
    assert!(text.contains("\r\nX-Token: a b"), "{text}");
    let key = String::from_utf8_lossy(&key(SEED)).into_owned();
    assert_eq!((text.matches(&key).count(), text.matches("\r\n\r\n").count()), (1, 1), "{text}");
}

#[test]
fn an_upgrade_is_held_to_the_offers_of_the_step_that_opens_it() {
    let mut asked = asked(&["ws://h:9/deflated", "ws://h:9/plain"], &[]);
    asked.is_composite_flow = true;
    let options: [&[&str]; 2] = [&["data=hi", "compress", "subprotocol=chat"], &["data=hi"]];
    asked.url_options = options.map(|own| super::asked(&[], own).options).into();
    let dialogue = WebSocketProtocol.prepare(&asked).expect("a good plan");
    let established = EstablishedConnection { seed: SEED, ..EstablishedConnection::default() };
    let accepts = |origin: usize, more: &str| {
        let mut session = dialogue.session(&dialogue.origins()[origin], &established);
        let heard = session.receive(&consent(more), &mut OutputBuffer::default(), &mut EventBuffer::default());
        heard.map_err(|broken| broken.to_string())
    };
    let deflate = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    let both = format!("Sec-WebSocket-Protocol: chat\r\n{deflate}");
    let not = |what: &str| Err(what.to_owned());
    assert_eq!(accepts(0, &both), Ok(()), "both were offered");
    assert_eq!(accepts(0, deflate), not("the server chose none of the offered subprotocols"));
    assert_eq!(accepts(1, ""), Ok(()), "nothing was offered");
    assert_eq!(accepts(1, deflate), not("the server responds with an extension that was not offered"));
}

#[test]
fn a_step_ends_with_the_message_it_awaits_and_the_others_wait_for_theirs() {
    let (dialogue, mut session) = steps(&[
        &["data=hi", "await=json $.re == 1", "capture=mine json $.id"],
        &["await=text news"],
        &["await=json $.to == \"{token}\"", "expect-body={token}"],
    ]);
    assert_eq!(hear(&mut session, &said("{\"re\":1,\"id\":0}")), [""; 0], "what came before is no answer");
    assert_eq!(begin(&dialogue, &mut session, 0).0, SubmitOutcome::AwaitingResponse);
    assert_eq!(session.room(), 0, "one step at a time");
    assert_eq!(hear(&mut session, &said("news 1")), [""; 0]);
    assert_eq!(hear(&mut session, &said("{\"re\":1,\"id\":7}")), ["0 takes 7", "0 ends with 15"]);
    assert_eq!(begin(&dialogue, &mut session, 1), (SubmitOutcome::AlreadyComplete, vec!["1 ends with 6".to_owned()]));
    assert_eq!(begin(&dialogue, &mut session, 2).0, SubmitOutcome::AwaitingResponse);
    assert_eq!(hear(&mut session, &said("{\"to\":\"abd\"}")), [""; 0]);
    assert_eq!(hear(&mut session, &said("{\"to\":\"abc\"}")), ["2 ends with 12"]);
    assert_eq!(session.unread_messages(), 2, "the first and the last but one");
}

#[test]
fn what_is_missing_in_a_message_fails_its_step_and_says_what_was_there() {
    let (dialogue, mut session) =
        steps(&[&["data=hi", "capture=mine json $.id"], &["await=any", "expect-body=abc"], &["data=x", "one-way"]]);
    begin(&dialogue, &mut session, 0);
    let told = hear(&mut session, &said("{\"no\":1}"));
    assert_eq!(told, ["0 fails: WrongBody json $.id found nothing; the body is {\"no\":1}"]);
    begin(&dialogue, &mut session, 1);
    assert!(hear(&mut session, &said("xyz"))[0].starts_with("1 fails: WrongBody"));
    assert_eq!(begin(&dialogue, &mut session, 2).0, SubmitOutcome::OneWay);
}

#[test]
fn a_step_that_is_given_up_leaves_its_connection_only_where_its_message_can_be_told_from_others() {
    let (dialogue, mut session) = steps(&[&["await=text a"], &["data=x"]]);
    begin(&dialogue, &mut session, 0);
    assert!(session.cancel(ExchangeId(0), &mut OutputBuffer::default()) && session.room() > 0);
    begin(&dialogue, &mut session, 1);
    assert!(!session.cancel(ExchangeId(1), &mut OutputBuffer::default()), "the next message may be its answer");
}

#[test]
fn a_close_fails_the_step_that_awaits_a_message() {
    let (dialogue, mut session) = steps(&[&["await=any"]]);
    begin(&dialogue, &mut session, 0);
    let told = hear(&mut session, &[0x88, 2, 0x03, 0xe9]);
    assert_eq!(told, [format!("0 fails: {:?} ", FaultKind::Closed)]);
}

#[test]
fn of_messages_that_nobody_awaits_the_oldest_are_pushes() {
    let (_dialogue, mut session) = steps(&[&["await=text x"]]);
    let told: Vec<String> = (0..130).flat_map(|_| hear(&mut session, &said("news"))).collect();
    assert_eq!((told, session.unread_messages()), (vec!["push of 4".to_owned(); 30], 100));
}
