//! The server side: heads, messages in pieces, endings; reflection queried by our own client.

use super::super::reflection::{ReflectionStep, next};
use super::super::request::CapturedResponse;
use super::super::server::{CallError, MessageSplitter, ending, field, is_call, is_reflection, reflect, timeout_ns};
use super::*;

const HEAD: &[u8] =
    b"POST /p.S/Do HTTP/2\r\nhost: h\r\ncontent-type: application/grpc+proto\r\ngrpc-timeout: 20m\r\n\r\n";

#[test]
fn a_call_is_known_by_its_content_type_and_nothing_else() {
    assert!(is_call("POST", HEAD));
    assert!(!is_call("GET", HEAD));
    let other = b"POST / HTTP/2\r\nx: application/grpc\r\ncontent-type: text/plain\r\n\r\n";
    assert!(!is_call("POST", other));
    assert_eq!((field(HEAD, "host"), field(HEAD, "none")), (Some("h"), None));
    assert!(is_reflection("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"));
    assert!(!is_reflection("/grpc.reflection.v1.ServerReflection/Other") && !is_reflection("/"));
}

#[test]
fn timeouts_have_up_to_eight_digits_and_a_unit() {
    let of = |text: &str| timeout_ns(format!("POST / HTTP/2\r\ngrpc-timeout: {text}\r\n\r\n").as_bytes());
    let table = [("1H", 3_600_000_000_000), ("2M", 120_000_000_000), ("3S", 3_000_000_000), ("20m", 20_000_000)];
    for (text, expected) in table.into_iter().chain([("5u", 5000), ("99999999n", 99_999_999)]) {
        assert_eq!(of(text), Some(expected), "{text}");
    }
    for text in ["", "m", "5", "5x", "+5m", "123456789n", "5 m", "5\u{e9}"] {
        assert_eq!(of(text), None, "{text:?}");
    }
}

#[test]
fn a_sentence_that_is_no_ascii_is_escaped() {
    assert_eq!(ending(0, ""), b"grpc-status: 0\r\n");
    assert_eq!(ending(5, "50% \u{e9}\r\n"), b"grpc-status: 5\r\ngrpc-message: 50%25 %C3%A9%0D%0A\r\n");
}

#[test]
fn messages_are_the_same_however_their_bytes_are_cut() {
    let bytes = [&[0, 0, 0, 0, 2][..], b"hi", &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 1, 7]].concat();
    for size in 1..=bytes.len() {
        let (mut messages, mut heard) = (MessageSplitter::default(), Vec::new());
        for piece in bytes.chunks(size) {
            messages.feed(piece, &mut |message| heard.push(message.to_vec())).expect("nothing wrong");
        }
        assert_eq!(heard, [b"hi".to_vec(), vec![], vec![7]], "in pieces of {size}");
        assert_eq!(messages.finish(), Ok(()));
    }
    for (bytes, status) in [(&[1, 0, 0, 0, 0][..], 12), (&[2, 0, 0, 0, 0], 13), (&[0, 1, 0, 0, 0], 8)] {
        let refused = MessageSplitter::default().feed(bytes, &mut |_| {}).expect_err("it is refused");
        assert_eq!(refused.0, status, "{}", refused.1);
    }
    let mut cut = MessageSplitter::default();
    cut.feed(&[0, 0, 0, 0, 9, 1], &mut |_| {}).expect("nothing wrong so far");
    assert!(matches!(cut.finish(), Err(CallError(13, _))));
}

#[test]
fn our_client_learns_the_services_from_our_reflection() {
    for wanted in [&[][..], &["brunt.Target".to_owned()], &["grpc.health.v1.Health".to_owned()]] {
        let mut answers = Vec::new();
        let schema = loop {
            assert!(answers.len() < 5, "it goes on and on");
            match next(wanted, &answers).expect("nothing wrong") {
                ReflectionStep::Done(schema) => break schema,
                ReflectionStep::Ask(_, questions) => {
                    let mut body = Vec::new();
                    for question in &questions {
                        framing::put(&reflect(question).expect("an answer"), &mut body);
                    }
                    answers.push(CapturedResponse { status: Some(0), message: String::new(), body });
                }
            }
        };
        let service = wanted.first().map_or("brunt.Target", String::as_str);
        assert!(schema.has(service), "{service}");
    }
    assert!(reflect(&[0xff]).is_err());
    let text = |question: &[u8]| String::from_utf8_lossy(&reflect(question).expect("an answer")).into_owned();
    assert!(text(b"\x1a\x0ctarget.proto").contains("ClientStream"), "by the name of the file");
    assert!(text(b"\x22\x12brunt.Target.Unary").contains("ClientStream"), "by the name of a method");
    assert!(text(b"\x22\x04no.S").contains("there is no no.S"));
    assert!(text(b"").contains("there is no name in the request"));
}
