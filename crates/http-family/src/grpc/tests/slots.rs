//! Calls with slots: the bytes sent equal the encoding of the JSON with its slots filled in.

use brunt_contract::{EstablishedConnection, ExchangeId, OutputBuffer, Protocol, SlotContext};
use prost_reflect::prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};

use super::super::json::{self, PreparedMessage};
use super::super::schema::Schema;
use super::{BIDI, CLIENT, GrpcProtocol, UNARY, asked, dialogue};
use crate::http2::frames::{self, FrameHead, HEAD};
use crate::http2::hpack::HpackDecoder;
use crate::placeholders::Placeholders;

const PROTO: &str = r#"
syntax = "proto3";
package t;
import "google/protobuf/wrappers.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
enum Colour { RED = 0; GREEN = 1; BLUE = 7; }
message Inner { string name = 1; repeated sint64 deltas = 2; Inner next = 3; bytes raw = 4; }
message All {
  int32 a = 1; uint64 b = 2; sint32 c = 3; fixed32 d = 4; sfixed64 e = 5; float f = 6; double g = 7; bool h = 8;
  Colour colour = 9; Inner inner = 10; repeated Inner list = 11; map<string, int64> counts = 12; map<int32, Inner> by = 13;
  google.protobuf.StringValue boxed = 14; google.protobuf.Timestamp at = 15; repeated uint32 many = 2047;
  google.protobuf.Duration lasts = 16; repeated google.protobuf.Timestamp times = 17; google.protobuf.FieldMask mask = 18;
}
service S { rpc Call(All) returns (All); }
"#;

fn all() -> MessageDescriptor {
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("t.proto");
    std::fs::write(&file, PROTO).expect("written");
    let schema = Schema::of_files(&[file.display().to_string()], &[directory.path().display().to_string()]);
    schema.expect("a schema").method("t.S", "Call").expect("a method").input()
}

fn fill(number: u64) -> SlotContext<'static> {
    SlotContext {
        number,
        user: 7,
        random: number,
        unix_ns: 5_000_000_000,
        run: 1,
        sequence: 0,
        values: brunt_contract::UserValues::NONE,
    }
}

/// Encodes a JSON message with slots, one of which may be the variable `v`.
fn filled(kind: &MessageDescriptor, text: &str, context: &SlotContext) -> Result<Vec<u8>, String> {
    let variables = ["v".to_owned()].into();
    let config = brunt_contract::ProtocolConfig { variables, ..asked(UNARY, &[("data", text)]) };
    let mut marks = Placeholders::new(&config);
    let mut out = Vec::new();
    match json::messages(kind, text, "--data", &mut marks).expect(text).remove(0) {
        PreparedMessage::Fixed(_) => panic!("{text} has slots"),
        PreparedMessage::Filled(filled) => {
            filled.put(context, &mut Vec::new(), &mut out).map_err(|why| why.to_string())?;
        }
    }
    assert_eq!(out[..5], [&[0][..], &(out.len() as u32 - 5).to_be_bytes()].concat(), "the prefix");
    Ok(out.split_off(5))
}

fn sent(kind: &MessageDescriptor, text: &str, context: &SlotContext) -> Vec<u8> {
    filled(kind, text, context).expect(text)
}

#[test]
fn captured_values_go_into_every_kind_of_field_and_are_checked_once_they_are_known() {
    let kind = all();
    let fill_with = |text: &str, value: &str| {
        let mut values = brunt_contract::UserValues::default();
        values.set(0, value.as_bytes());
        filled(&kind, text, &SlotContext { values: &values, ..fill(41) })
    };
    for (text, value, same) in [
        (
            r#"{"a":"{v}","b":{v},"c":{v},"d":{v},"e":{v},"f":{v},"g":"{v}.5","many":[1,{v}]}"#,
            "41",
            r#"{"a":41,"b":41,"c":41,"d":41,"e":41,"f":41,"g":41.5,"many":[1,41]}"#,
        ),
        (r#"{"b":"{v}"}"#, "18446744073709551615", r#"{"b":"18446744073709551615"}"#),
        (r#"{"h":{v}}"#, "true", r#"{"h":true}"#),
        (r#"{"colour":"{v}"}"#, "BLUE", r#"{"colour":"BLUE"}"#),
        (
            r#"{"inner":{"name":"n {v}","deltas":[{v}]},"counts":{"k{v}":{v}},"by":{"{v}":{"name":"x"}}}"#,
            "5",
            r#"{"inner":{"name":"n 5","deltas":[5]},"counts":{"k5":5},"by":{"5":{"name":"x"}}}"#,
        ),
        (r#"{"boxed":"{v}"}"#, "x", r#"{"boxed":"x"}"#),
        (r#"{"at":"{v}"}"#, "1970-01-01T00:00:05Z", r#"{"at":"1970-01-01T00:00:05Z"}"#),
        (r#"{"inner":{"raw":"{v}"}}"#, "aGk=", r#"{"inner":{"raw":"aGk="}}"#),
        (r#"{"inner":{"raw":{v}}}"#, "_-8", r#"{"inner":{"raw":"_-8"}}"#),
        (r#"{"inner":{"raw":"{v | base64}"}}"#, "hi", r#"{"inner":{"raw":"aGk="}}"#),
    ] {
        let sent = DynamicMessage::decode(kind.clone(), &*fill_with(text, value).expect(text)).expect("a message");
        let wanted = json::encode(&kind, same).expect("good JSON");
        assert_eq!(sent, DynamicMessage::decode(kind.clone(), &*wanted).expect("a message"), "{text}");
    }
    for (text, value, told) in [
        (r#"{"b":{v}}"#, "x", "b is uint64, and the value to be sent is \"x\", so nothing was sent"),
        (r#"{"b":{v},"a":{counter}}"#, "", "b is uint64, and the value to be sent is \"\""),
        (r#"{"a":"{v}"}"#, "4294967296", "a is int32"),
        (r#"{"colour":"{v}"}"#, "PINK", "colour is t.Colour"),
        (r#"{"h":{v}}"#, "yes", "h is bool"),
        (r#"{"inner":{"raw":"{v}"}}"#, "no base64!", "raw is bytes, which JSON has in Base64"),
        (r#"{"inner":{"next":{"deltas":[{v}]}}}"#, "1.5", "deltas is sint64"),
        (r#"{"at":"{v}"}"#, "today", "at is google.protobuf.Timestamp (such as {time iso} is)"),
    ] {
        let why = fill_with(text, value).expect_err(text);
        assert!(why.starts_with(told), "{text}: {why}");
    }
}

/// A call with a value that does not fit is over at once, without a byte on the connection.
#[test]
fn a_call_that_cannot_be_sent_is_a_failure_and_the_next_one_is_sent() {
    let variables: std::sync::Arc<[String]> = ["v".to_owned()].into();
    let config = asked(UNARY, &[("data", r#"{"text":"x","count":{v}}"#)]);
    let config = brunt_contract::ProtocolConfig { variables, ..config };
    let workload = GrpcProtocol.prepare(&config).expect("prepared");
    let mut session = workload.session(&workload.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), brunt_contract::EventBuffer::default());
    session.open(&mut out);
    out.clear();
    let request = &workload.requests()[0].request;
    let mut values = brunt_contract::UserValues::default();
    for (value, bytes) in [("many", false), ("7", true)] {
        values.set(0, value.as_bytes());
        let context = SlotContext { values: &values, ..fill(1) };
        let sent = session.submit(ExchangeId(3), request, &context, &mut out).expect("room");
        assert_eq!(sent == brunt_contract::SubmitOutcome::AwaitingResponse, bytes, "{value}");
        assert_eq!(!out.bytes().is_empty(), bytes, "{value}");
    }
    session.receive(&[], &mut out, &mut done).expect("nothing wrong");
    let [brunt_contract::Event::Ended(ended)] = &done.events[..] else { panic!("{done:?}") };
    assert_eq!((ended.id, ended.fault), (ExchangeId(3), Some(brunt_contract::FaultKind::BadValue)));
    assert!(ended.cause.as_ref().is_some_and(|why| why.en().starts_with("count is ")), "{ended:?}");
}

#[test]
fn every_kind_of_field_has_slots() {
    let kind = all();
    let long = "x".repeat(200);
    let table = [
        (r#"{"a":{counter},"b":{counter},"c":{counter},"d":{counter},"e":{counter}}"#.to_owned(),
         r#"{"a":41,"b":41,"c":41,"d":41,"e":41}"#.to_owned()),
        (r#"{"f":{counter},"g":"{counter}.5","h":"{random 1..1}","many":[1,{user},3]}"#.into(),
         r#"{"f":41,"g":41.5,"h":true,"many":[1,7,3]}"#.into()),
        (r#"{"inner":{"name":"n{counter} \"q\" {x}","next":{"next":{"name":"{user}"}},"deltas":[-1,{user}]},"b":5}"#.into(),
         r#"{"inner":{"name":"n41 \"q\" {x}","next":{"next":{"name":"7"}},"deltas":[-1,7]},"b":5}"#.into()),
        (r#"{"list":[{"name":"a"},{"name":"{user}"},{}],"counts":{"k{user}":{counter},"z":1},"by":{"3":{"name":"{user}"}}}"#.into(),
         r#"{"list":[{"name":"a"},{"name":"7"},{}],"counts":{"k7":41,"z":1},"by":{"3":{"name":"7"}}}"#.into()),
        (r#"{"boxed":"b{user}","colour":"{random 7..7}","at":"1970-01-01T00:00:05Z"}"#.into(),
         r#"{"boxed":"b7","colour":"BLUE","at":"1970-01-01T00:00:05Z"}"#.into()),
        (format!(r#"{{"inner":{{"next":{{"name":"{long}{{counter}}"}},"name":"{long}"}}}}"#),
         format!(r#"{{"inner":{{"next":{{"name":"{long}41"}},"name":"{long}"}}}}"#)),
        (r#"{"at":"{time iso}","lasts":"{user}.5s","times":["1969-12-31T23:59:5{random 7..7}Z",{time iso}]}"#.into(),
         r#"{"at":"1970-01-01T00:00:05.000Z","lasts":"7.5s","times":["1969-12-31T23:59:57Z","1970-01-01T00:00:05Z"]}"#.into()),
        (r#"{"lasts":"-0.00{user}s"}"#.into(), r#"{"lasts":"-0.007s"}"#.into()),
        (r#"{"inner":{"raw":"{text {counter} | base64}"}}"#.into(), r#"{"inner":{"raw":"NDE="}}"#.into()),
    ];
    for (text, same) in table {
        let sent = DynamicMessage::decode(kind.clone(), &*sent(&kind, &text, &fill(41))).expect("a message");
        let wanted = json::encode(&kind, &same).expect("good JSON");
        assert_eq!(sent, DynamicMessage::decode(kind.clone(), &*wanted).expect("a message"), "{text}");
        assert_eq!(sent.encode_to_vec().len(), wanted.len(), "{text}");
    }
}

#[test]
fn what_cannot_be_filled_is_a_complaint() {
    let kind = all();
    for (text, wanted) in [
        (r#"{"a":"{uuid}"}"#, "a is int32, but its slot yields \""),
        (r#"{"c":{time ms}}"#, "c is sint32, but its slot yields \""),
        (r#"{"nmae":"{uuid}"}"#, "has no field \"nmae\""),
        (r#"{"{user}":1}"#, "\"{user}\" has a slot"),
        (r#"{"mask":"{user}"}"#, "mask is google.protobuf.FieldMask, and slots do not work inside it"),
        (r#"{"at":{time}}"#, "at is google.protobuf.Timestamp (such as {time iso} is), but its slot yields \"18"),
        (r#"{"lasts":"{user}"}"#, "lasts is google.protobuf.Duration (such as 1.5s is), but its slot yields \""),
        (r#"{"inner":"{user}"}"#, "inner is t.Inner, and slots do not work inside it"),
        (r#"{"inner":{"raw":"{user}"}}"#, "raw is bytes, which JSON has in Base64; write one slot and its encoding"),
        (r#"{"many":{user}}"#, "many is a list or a map"),
        (r#"{"a":{countr}}"#, "{countr} is not a slot; use {counter}"),
        (r#"{"a":{counter}"#, "this is not JSON"),
    ] {
        let mut marks = Placeholders::new(&asked(UNARY, &[("data", text)]));
        let said = json::messages(&kind, text, "--data", &mut marks).expect_err(text);
        let said = marks.restore_error(said).to_string();
        assert!(said.starts_with("--data: ") && said.contains(wanted), "{text}: {said}");
    }
}

/// Covers all ways of choosing rows, and any position in the file.
#[test]
fn a_row_that_is_no_number_is_found_before_the_run() {
    let kind = all();
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("ids.csv");
    let rows = |last: &str| {
        let rows = (0..12_000).map(|row| format!("{row},n{row}\n")).collect::<String>();
        std::fs::write(&file, format!("id,name\n{rows}{last},x\n")).expect("written");
    };
    for words in ["", " random", " shuffle", " unique"] {
        for json in [r#"{"a":{csv FILE.id WORDS}}"#, r#"{"a":"1{csv FILE.id WORDS}"}"#] {
            let text = json.replace("FILE", &file.display().to_string()).replace(" WORDS", words);
            let read = |text: &str| {
                let mut marks = Placeholders::new(&asked(UNARY, &[("data", text)]));
                json::messages(&kind, text, "--data", &mut marks).map(|_| ()).map_err(|said| said.to_string())
            };
            rows("12000");
            assert_eq!(read(&text), Ok(()), "{text}");
            rows("12O00");
            let said = read(&text).expect_err(&text);
            assert!(
                said.starts_with("--data: a is int32, but its slot yields \"") && said.contains("12O00\""),
                "{said}"
            );
        }
    }
}

/// Checks metadata and messages of calls as a server reads them.
#[test]
fn a_call_says_what_was_filled() {
    let path = std::env::var("PATH").expect("every process has one");
    let options = [
        ("header", "x-id: a{counter}"),
        ("header", "x-path: {env PATH}"),
        ("data", r#"{"text":"{uuid}","count":{user}}"#),
        ("streams", "2"),
    ];
    let dialogue = dialogue(UNARY, &options);
    assert!(dialogue.prepared().has_slots);
    let mut session = dialogue.session(&dialogue.origins()[0], &EstablishedConnection::default());
    let (mut out, mut decoder) = (OutputBuffer::default(), HpackDecoder::default());
    session.open(&mut out);
    out.clear();
    let request = &dialogue.requests()[0].request;
    let mut texts = Vec::new();
    for number in [5, 1_000_000] {
        session.submit(ExchangeId(0), request, &fill(number), &mut out).expect("room");
        let shown = dialogue.encoded_with(request, &fill(number), None);
        let (mut rest, mut fields) = (out.bytes(), Vec::new());
        while let Some(head) = rest.first_chunk::<HEAD>().map(FrameHead::read) {
            let payload = &rest[HEAD..HEAD + head.length];
            if head.kind == frames::HEADERS {
                let mut read = decoder.read(payload);
                while let Some((name, value)) = read.next().expect("well-formed") {
                    fields.push((
                        String::from_utf8_lossy(name).into_owned(),
                        String::from_utf8_lossy(value).into_owned(),
                    ));
                }
            } else {
                assert!(shown.windows(payload.len() - 5).any(|part| part == &payload[5..]), "an example shows it");
                texts.push(payload.to_vec());
            }
            rest = &rest[HEAD + head.length..];
        }
        let has = |name: &str, value: &str| fields.iter().any(|(n, v)| n == name && v == value);
        assert!(
            has("x-id", &format!("a{number}")) && has("x-path", &path) && has(":path", "/brunt.Target/Unary"),
            "{fields:?}"
        );
        out.clear();
    }
    assert_eq!((texts.len(), texts[0] != texts[1]), (2, true));
    assert!(
        !super::dialogue(UNARY, &[("header", "x: {env PATH}"), ("data", "{}")]).prepared().has_slots,
        "known before the run"
    );
}

#[test]
fn streams_have_slots_and_lockstep_has_none() {
    let data = [("data", r#"{"text":"a{counter}"}"#), ("data", r#"{"text":"b"}"#)];
    let dialogue = dialogue(CLIENT, &data);
    let shown = dialogue.encoded_with(&dialogue.requests()[0].request, &fill(3), None);
    assert_eq!(shown, b"POST /brunt.Target/ClientStream\n\n\x02a3\n\n\x01b\n");
    let said = GrpcProtocol
        .prepare(&asked(BIDI, &[data[0], data[1], ("lockstep", "")]))
        .map_err(crate::bilingual)
        .expect_err("one by one");
    assert!(said.starts_with("--lockstep: sends messages one by one"), "{said}");
}

#[test]
fn braces_are_braces_where_slots_are_off() {
    let off = dialogue(UNARY, &[("data", r#"{"text":"{uuid}"}"#), ("header", "x: {counter}"), ("no-slots", "")]);
    assert!(!off.prepared().has_slots);
    assert!(off.encoded(&off.requests()[0].request).ends_with(b"\n\x06{uuid}\n"));
}
