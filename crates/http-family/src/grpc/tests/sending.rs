//! Sent bytes: heads, messages under flow control, and messages in lockstep.

use super::*;
use crate::http2::hpack::HpackDecoder;

/// Returns the fields of the first head that was sent.
fn fields(talk: &mut GrpcClient) -> Vec<(String, String)> {
    let block = talk.sent().into_iter().find(|f| f.0 == frames::HEADERS).expect("a head").3;
    let (mut decoder, mut all) = (HpackDecoder::default(), Vec::new());
    let mut fields = decoder.read(&block);
    while let Some((name, value)) = fields.next().expect("well-formed") {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        all.push((text(name), text(value)));
    }
    all
}

fn message(text: &str) -> Vec<u8> {
    let mut body = Vec::new();
    framing::put(&[&[0x0a, text.len() as u8], text.as_bytes()].concat(), &mut body);
    body
}

#[test]
fn a_call_has_the_head_the_protocol_wants() {
    let options = [("deadline", "500ms"), ("header", "X-Brunt: yes"), ("header", "trace-bin: AAEC")];
    let mut talk = GrpcClient::new(dialogue(UNARY, &options));
    talk.call(0);
    let all = fields(&mut talk);
    let shown: Vec<(&str, &str)> = all.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let agent = concat!("grpc-brunt/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        shown,
        [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/brunt.Target/Unary"),
            (":authority", "127.0.0.1:1"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("user-agent", agent),
            ("grpc-accept-encoding", "identity,deflate,gzip"),
            ("grpc-timeout", "500m"),
            ("x-brunt", "yes"),
            ("trace-bin", "AAEC"),
        ]
    );
}

#[test]
fn head_and_message_leave_together_and_end_the_stream() {
    let mut talk = GrpcClient::new(dialogue(UNARY, &[("data", "{\"text\": \"hi\"}")]));
    talk.sent();
    talk.call(0);
    let sent = talk.sent();
    assert_eq!(sent.iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(), [(frames::HEADERS, 4), (frames::DATA, 1)]);
    assert_eq!(sent[1].3, message("hi"));
}

#[test]
fn a_stream_sends_all_messages_as_the_windows_open() {
    let long = "x".repeat(100);
    let json = format!("{{\"text\": \"{long}\"}}");
    let options: Vec<(&str, &str)> = vec![("data", &json); 1000];
    let mut talk = GrpcClient::new(dialogue(CLIENT, &options));
    talk.sent();
    talk.call(0);
    let (mut all, ended) = talk.body(1);
    assert_eq!((all.len(), ended), (65_535, false), "the window of a connection nobody widened");
    talk.hear(&[settings(&[]), frame(frames::WINDOW_UPDATE, 0, 0, &1_000_000u32.to_be_bytes())].concat())
        .expect("heard");
    assert_eq!(talk.body(1).0.len(), 0, "the stream's own window is closed still");
    talk.hear(&frame(frames::WINDOW_UPDATE, 0, 1, &10_000u32.to_be_bytes())).expect("heard");
    let (part, ended) = talk.body(1);
    assert_eq!((part.len(), ended), (10_000, false));
    all.extend(part);
    talk.hear(&frame(frames::WINDOW_UPDATE, 0, 1, &1_000_000u32.to_be_bytes())).expect("heard");
    let (part, ended) = talk.body(1);
    all.extend(part);
    assert!(ended);
    assert_eq!(all, message(&long).repeat(1000));
}

#[test]
fn in_lockstep_the_next_message_follows_an_answer() {
    let texts = [("lockstep", ""), ("data", "{\"text\": \"a\"}"), ("data", "{\"text\": \"b\"} {\"text\": \"c\"}")];
    let mut talk = GrpcClient::new(dialogue(BIDI, &texts));
    talk.call(0);
    assert_eq!(talk.body(1), (message("a"), false));
    talk.hear(&[settings(&[]), head(1)].concat()).expect("heard");
    assert_eq!(talk.body(1), (vec![], false), "a head is no answer");
    talk.hear(&data(1, &[b"1"])).expect("heard");
    assert_eq!(talk.body(1), (message("b"), false));
    talk.hear(&data(1, &[b"2"])).expect("heard");
    assert_eq!(talk.body(1), (message("c"), true));
    talk.hear(&[data(1, &[b"3"]), trailers(1, "0")].concat()).expect("heard");
    assert_eq!(talk.body(1), (vec![], false));
    let events = talk.events();
    assert_eq!(events, ["first 0", "message 0 1", "message 0 1", "message 0 1", "ended 0 ok OK 3"]);
}

#[test]
fn without_lockstep_all_messages_leave_at_once() {
    let mut talk = GrpcClient::new(dialogue(BIDI, &[("data", "{\"text\": \"a\"}"), ("data", "{\"text\": \"b\"}")]));
    talk.call(0);
    assert_eq!(talk.body(1), ([message("a"), message("b")].concat(), true));
}

#[test]
fn an_answer_before_all_was_said_gives_up_the_rest() {
    let json = format!("{{\"text\": \"{}\"}}", "x".repeat(100));
    let options: Vec<(&str, &str)> = vec![("data", &json); 1000];
    let mut talk = GrpcClient::new(dialogue(CLIENT, &options));
    talk.call(0);
    talk.sent();
    let refusal = headers(1, &[(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "8")], true);
    talk.hear(&[settings(&[]), refusal].concat()).expect("heard");
    assert_eq!(talk.events(), ["ended 0 wrong_status RESOURCE_EXHAUSTED 0 RESOURCE_EXHAUSTED"]);
    assert!(talk.sent().iter().any(|f| (f.0, f.2) == (frames::RST_STREAM, 1)), "the server hears that nothing follows");
}

#[test]
fn calls_share_a_connection_as_far_as_both_sides_allow() {
    let mut talk = GrpcClient::new(dialogue(UNARY, &[("streams", "3")]));
    assert_eq!(talk.workload.prepared().exchanges_per_connection, 3);
    (0..3).for_each(|id| talk.call(id));
    assert_eq!(talk.session.room(), 0);
    talk.hear(&settings(&[(3, 2)])).expect("heard");
    talk.hear(&[head(3), data(3, &[b"x"]), trailers(3, "0")].concat()).expect("heard");
    assert_eq!((talk.events(), talk.session.room()), (vec!["ended 1 ok OK 1".to_owned()], 0), "two streams are enough");
    assert!(talk.session.cancel(ExchangeId(0), &mut talk.out), "the others live on");
    assert_eq!(talk.session.room(), 1);
}

#[test]
fn many_messages_make_many_calls_of_a_unary_method() {
    let made = dialogue(UNARY, &[("data", "{} {\"text\": \"b\"}"), ("data", "{\"text\": \"c\"}")]);
    let bodies: Vec<Vec<u8>> =
        made.requests().iter().map(|r| r.request.downcast::<GrpcRequest>().body.to_vec()).collect();
    assert_eq!(bodies, [vec![0; 5], message("b"), message("c")]);
    assert!(made.requests().iter().all(|r| (r.weight - 1.0 / 3.0).abs() < 1e-9));
}
