//! Reflection: the next question, given the responses so far.

use prost_reflect::DescriptorPool;

use super::super::reflection::{ReflectionStep, SERVICES, next};
use super::super::request::CapturedResponse;
use super::*;

/// A reflection response with these messages (already encoded).
pub fn answer(messages: &[Vec<u8>]) -> CapturedResponse {
    let mut body = Vec::new();
    messages.iter().for_each(|message| framing::put(message, &mut body));
    CapturedResponse { status: Some(0), message: String::new(), body }
}

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    assert!(content.len() < 1 << 14, "two bytes of length");
    let length = [content.len() as u8 & 0x7f | 0x80, (content.len() >> 7) as u8];
    [&[number << 3 | 2][..], &length, content].concat()
}

pub fn services(names: &[&str]) -> Vec<u8> {
    let all: Vec<u8> = names.iter().flat_map(|name| field(1, &field(1, name.as_bytes()))).collect();
    field(6, &all)
}

pub fn file(bytes: &[u8]) -> Vec<u8> {
    field(4, &field(1, bytes))
}

fn refusal(what: &[u8]) -> Vec<u8> {
    [field(2, what), field(7, &field(2, b"not here"))].concat()
}

/// Returns two files, of which the second imports the first.
fn two_files() -> [Vec<u8>; 2] {
    let mut compiler = protox::Compiler::with_file_resolver(TwoFileResolver);
    compiler.include_imports(true).open_file("s.proto").expect("it compiles");
    let pool: DescriptorPool = compiler.descriptor_pool();
    ["m.proto", "s.proto"].map(|name| pool.get_file_by_name(name).expect("it is there").encode_to_vec())
}

struct TwoFileResolver;

impl protox::file::FileResolver for TwoFileResolver {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        let source = match name {
            "m.proto" => "syntax = \"proto3\"; package p; message M { string s = 1; }",
            "s.proto" => "syntax = \"proto3\"; package p; import \"m.proto\"; service S { rpc Do(M) returns (M); }",
            _ => return Err(protox::Error::file_not_found(name)),
        };
        protox::file::File::from_source(name, source)
    }
}

fn asks(wanted: &[&str], answers: &[CapturedResponse]) -> (&'static str, Vec<Vec<u8>>) {
    let wanted: Vec<String> = wanted.iter().map(|s| (*s).to_owned()).collect();
    match next(&wanted, answers).expect("nothing wrong") {
        ReflectionStep::Ask(service, messages) => (service, messages),
        ReflectionStep::Done(_) => panic!("it asks nothing"),
    }
}

#[test]
fn services_and_symbols_are_asked_for_in_one_call_then_what_is_missing() {
    let [m, s] = two_files();
    let (service, messages) = asks(&["p.S"], &[]);
    assert_eq!((service, messages.len()), (SERVICES[0], 2));
    assert_eq!(messages[1], [&[0x22, 3][..], b"p.S"].concat());
    let first = answer(&[services(&["p.S", "other"]), file(&s)]);
    let (_, messages) = asks(&["p.S"], std::slice::from_ref(&first));
    assert_eq!(messages, [[&[0x1a, 7][..], b"m.proto"].concat()], "the import that was not told");
    let known = next(&["p.S".to_owned()], &[first, answer(&[file(&m)])]).expect("nothing wrong");
    let ReflectionStep::Done(schema) = known else { panic!("all is known") };
    assert_eq!(schema.listing(), ["p.S/Do (unary)"]);
}

#[test]
fn a_server_that_knows_only_the_older_reflection_is_asked_by_it() {
    let unknown = CapturedResponse { status: Some(12), ..CapturedResponse::default() };
    let (service, messages) = asks(&["p.S"], std::slice::from_ref(&unknown));
    assert_eq!((service, messages.len()), (SERVICES[1], 2));
    let said =
        next(&["p.S".to_owned()], &[unknown.clone(), unknown]).map_err(crate::bilingual).expect_err("no reflection");
    let right = "--proto: is missing, and the server offers no reflection; give the FILE that defines the service";
    assert_eq!(said, right);
}

#[test]
fn a_service_the_server_does_not_have_is_told_with_those_it_has() {
    let refused = answer(&[services(&["p.Serve", "q.Other"]), refusal(&field(4, b"p.Server"))]);
    let said = next(&["p.Server".to_owned()], &[refused]).map_err(crate::bilingual).expect_err("no such service");
    assert_eq!(said, "URL: there is no service p.Server; use p.Serve");
}

#[test]
fn what_is_asked_in_vain_is_not_asked_for_ever() {
    let [_, s] = two_files();
    let first = answer(&[services(&["p.S"]), file(&s)]);
    let vain = answer(&[refusal(&field(3, b"m.proto"))]);
    let said = next(&["p.S".to_owned()], &[first, vain]).map_err(crate::bilingual).expect_err("not whole");
    assert_eq!(said, "URL: the server does not return all of its descriptors (not here); give --proto FILE");
}

#[test]
fn other_statuses_and_garbage_are_complaints() {
    let denied = CapturedResponse { status: Some(7), message: "go away".to_owned(), body: vec![] };
    let said = next(&[], &[denied]).map_err(crate::bilingual).expect_err("denied");
    let right = "--proto: is missing, and reflection failed with PERMISSION_DENIED: go away; give the FILE";
    assert_eq!(said, right);
    let broken = CapturedResponse::decode(b"xy");
    assert_eq!(broken, CapturedResponse::default());
    assert!(next(&[], &[broken]).is_err());
}

#[test]
fn what_was_captured_comes_back_from_its_bytes() {
    for status in [None, Some(0), Some(12)] {
        let captured = CapturedResponse { status, message: "why".to_owned(), body: vec![1, 2, 3] };
        assert_eq!(CapturedResponse::decode(&captured.encode()), captured);
    }
}

#[test]
fn an_inquiry_keeps_its_answer_and_a_plan_is_made_of_it() {
    let [m, s] = two_files();
    let mut asked = asked("grpc://h:1/p.S/Do", &[("data", "{\"s\": \"x\"}")]);
    asked.options.remove("proto");
    let mut talk = GrpcClient::new(GrpcProtocol.inquiry(&asked).expect("nothing wrong").expect("an inquiry"));
    talk.call(0);
    assert_eq!(talk.workload.take_inquiry_response(), None, "nothing came yet");
    let told = [services(&["p.S"]), file(&s), file(&m)];
    let told: Vec<&[u8]> = told.iter().map(Vec::as_slice).collect();
    talk.hear(&[settings(&[]), head(1), data(1, &told), trailers(1, "0")].concat()).expect("heard");
    asked.inquiry_responses.push(talk.workload.take_inquiry_response().expect("an answer"));
    assert!(GrpcProtocol.inquiry(&asked).expect("nothing wrong").is_none(), "nothing more to ask");
    let made = GrpcProtocol.prepare(&asked).expect("a good plan");
    assert_eq!(&*made.requests()[0].request.downcast::<GrpcRequest>().body, [0, 0, 0, 0, 3, 10, 1, b'x']);
}
