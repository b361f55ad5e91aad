//! Files of editions: the effect of their features on the wire, from a file and from a server's descriptor.

use proptest::prelude::*;

use super::super::editions::{lower_to_proto2, set_edition};
use super::super::reflection::{ReflectionStep, next};
use super::super::schema::Schema;
use super::reflecting::{answer, file, services};
use super::*;

const SOURCE: &str = r#"// Comments come first.
edition = "2023";
package e;
option features.field_presence = IMPLICIT;
message M {
  int32 a = 1 [features.field_presence = LEGACY_REQUIRED];
  repeated int32 b = 2;
  repeated int32 c = 3 [features.repeated_field_encoding = EXPANDED];
  M d = 4 [features.message_encoding = DELIMITED];
  map<string, int32> m = 5;
  E e = 6;
  oneof o { string s = 7; }
}
enum E { option features.enum_type = CLOSED; X = 1; Y = 2; }
service S { rpc Do(M) returns (stream M); }
"#;

#[test]
fn features_of_a_file_decide_how_messages_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("e.proto");
    std::fs::write(&path, SOURCE).expect("written");
    let json = r#"{"a": 1, "b": [1, 2], "c": [1, 2], "d": {"a": 2}, "m": {"k": 1}, "e": "Y", "s": "t"}"#;
    let options = [("proto", path.to_str().expect("text")), ("data", json)];
    let made = GrpcProtocol.prepare(&asked("grpc://h/e.S/Do", &options)).expect("a good plan");
    let expected: &[&[u8]] = &[
        &[0x08, 1],
        &[0x12, 2, 1, 2],
        &[0x18, 1, 0x18, 2],
        &[0x23, 0x08, 2, 0x24],
        &[0x2a, 5, 0x0a, 1, b'k', 0x10, 1],
        &[0x30, 2],
        &[0x3a, 1, b't'],
    ];
    assert_eq!(made.requests()[0].request.downcast::<GrpcRequest>().body[5..], expected.concat());
}

#[test]
fn an_edition_that_is_not_known_is_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("e.proto");
    for (edition, trouble) in
        [("2099", "edition \"2099\" is not supported, only 2023 and 2024"), ("2023\" x", "expected")]
    {
        std::fs::write(&path, SOURCE.replace("2023", edition)).expect("written");
        let options = [("proto", path.to_str().expect("text"))];
        let complaint = GrpcProtocol
            .prepare(&asked("grpc://h/e.S/Do", &options))
            .map_err(crate::bilingual)
            .expect_err("a complaint");
        assert!(complaint.starts_with("--proto: ") && complaint.contains(trouble), "{complaint}");
    }
}

/// Returns a service's descriptor as a server sends it: with labels and types as protoc writes them for editions.
fn told(edition: u64) -> Vec<u8> {
    let mut compiler = protox::Compiler::with_file_resolver(EditionlessResolver);
    compiler.open_file("e.proto").expect("it compiles");
    let pool = compiler.descriptor_pool();
    let mut bytes = pool.get_file_by_name("e.proto").expect("it is there").encode_to_vec();
    set_edition(edition, &mut bytes);
    bytes
}

struct EditionlessResolver;

impl protox::file::FileResolver for EditionlessResolver {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        let source = "syntax = \"proto3\"; package e; message M { repeated int32 b = 1; map<int32, M> m = 2; } \
                      service S { rpc Do(M) returns (M); }";
        protox::file::File::from_source(name, source)
    }
}

#[test]
fn a_service_of_an_edition_is_known_by_reflection() {
    let wanted = ["e.S".to_owned()];
    let told_by = |edition| next(&wanted, &[answer(&[services(&["e.S"]), file(&told(edition))])]);
    for edition in [1000, 1001] {
        let ReflectionStep::Done(schema) = told_by(edition).expect("nothing wrong") else { panic!("it asks on") };
        let input = schema.method("e.S", "Do").expect("it is there").input();
        assert!(input.get_field(1).is_some_and(|field| field.is_packed()));
        assert!(input.get_field(2).is_some_and(|field| field.is_map()));
    }
    let complaint = told_by(1002).map_err(crate::bilingual).expect_err("a complaint");
    assert!(complaint.contains("an edition after 2024") && complaint.contains("give --proto FILE"), "{complaint}");
}

/// A panic in the library would end the run, so a syntax that it does not know must not reach it.
#[test]
fn a_syntax_that_nobody_knows_is_a_sentence() {
    let mut bytes = told(1000);
    bytes.extend_from_slice(&[12 << 3 | 2, 6]);
    bytes.extend_from_slice(b"proto9");
    let why = Schema::of_descriptors([&bytes[..]]).expect_err("why not");
    assert!(why.contains("other than proto2, proto3 or an edition"), "{why}");
}

proptest! {
    #[test]
    fn no_descriptor_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64), at in 0usize..400, byte in any::<u8>()) {
        let mut garbled = told(1000);
        let place = at % garbled.len();
        garbled[place] = byte;
        for mut file in [bytes, garbled] {
            set_edition(1000, &mut file);
            let _ = lower_to_proto2(&file);
        }
    }
}
