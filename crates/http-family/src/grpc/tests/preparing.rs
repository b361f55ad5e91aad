//! Preparation of calls, and the error messages for invalid ones.

use super::*;

/// Returns the error of an invalid run.
fn complaint(url: &str, options: &[(&str, &str)]) -> String {
    GrpcProtocol.prepare(&asked(url, options)).map_err(crate::bilingual).expect_err("a complaint")
}

#[test]
fn mistakes_in_urls_name_what_is_right() {
    let right = "use grpc://host:port/package.Service/Method";
    let table = [
        ("grpc://h:1/brunt.Target/Unari", "URL: there is no method of brunt.Target Unari; use Unary".to_owned()),
        ("grpc://h:1/brunt.Taget/Unary", "--proto: there is no service brunt.Taget; use brunt.Target".to_owned()),
        ("grpc://h:1/other.Thing/Do", "--proto: there is no service other.Thing; use one of brunt.Target".to_owned()),
        (
            "grpc://h:1/Target",
            format!("URL: \"grpc://h:1/Target\" cannot be used (its path has a service but no method); {right}"),
        ),
        (
            "grpc://h:1/brunt.Target",
            "URL: names the service brunt.Target but no method; use one of: brunt.Target/Unary (unary), \
             brunt.Target/ClientStream (client streaming), brunt.Target/ServerStream (server streaming), \
             brunt.Target/Bidi (bidirectional streaming)"
                .to_owned(),
        ),
        (
            "grpc://h:1/a/b/c",
            format!("URL: \"grpc://h:1/a/b/c\" cannot be used (its path is not a service and method); {right}"),
        ),
        (
            "grpc://u:p@h:1/a.B/C",
            format!(
                "URL: \"grpc://u:p@h:1/a.B/C\" cannot be used (gRPC URLs have no user; send metadata with -H); \
                    {right}"
            ),
        ),
        (
            "grpc://h:1",
            "URL: does not name a method; use grpc://h:1/ and one of: brunt.Target/Unary (unary), \
             brunt.Target/ClientStream (client streaming), brunt.Target/ServerStream (server streaming), \
             brunt.Target/Bidi (bidirectional streaming)"
                .to_owned(),
        ),
    ];
    for (url, said) in table {
        assert_eq!(complaint(url, &[]), said);
    }
}

#[test]
fn mistakes_in_options_name_what_is_right() {
    let table: &[(&[(&str, &str)], &str)] = &[
        (&[("data", "{\"txt\": 1}")], "--data: brunt.Payload has no field \"txt\"; write \"text\""),
        (&[("data", "{\"zzzz\": 1}")], "--data: brunt.Payload has no field \"zzzz\"; use one of text, count"),
        (&[("data", "{\"count\": \"many\"}")], "--data: count of brunt.Payload: invalid digit found in string"),
        (&[("data", "{\"text\": ")], "--data: this is not JSON (EOF while parsing a value); write {\"text\": \"...\"}"),
        (
            &[("data", "{}\n{\"text\": 5}\n")],
            "--data line 2: text of brunt.Payload: invalid type: integer `5`, expected a string",
        ),
        (&[("data", "@file")], "--data: files are not read here; use --data-file file"),
        (&[("deadline", "500")], "--deadline: \"500\" is not a time above zero with a unit; use, for example, 500ms"),
        (&[("streams", "0")], "--streams: \"0\" is not a number from 1 to 100000; use, for example, 10"),
        (
            &[("expect-status", "FINE")],
            "--expect-status: \"FINE\" is not a gRPC status; write names separated by commas, such as OK,NOT_FOUND",
        ),
        (&[("lockstep", "")], "--lockstep: is for bidirectional streams, and Unary is unary; leave it out"),
        (&[("header", "te: x")], "--header: \"te: x\" sets te, which belongs to every call; leave it out"),
        (
            &[("header", "a-bin: ???")],
            "--header: \"a-bin: ???\" ends in -bin, and its value is not Base64; use, for example, trace-bin: AAEC",
        ),
        (&[("header", "novalue")], "--header: \"novalue\" has no name before a colon; write NAME: VALUE"),
    ];
    for (options, said) in table {
        assert_eq!(complaint(UNARY, options), *said);
    }
}

#[test]
fn mistakes_in_proto_files_name_file_and_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("bad.proto");
    std::fs::write(&path, "syntax = \"proto3\";\nmessage A {\n  strin g = 1;\n}\n").expect("written");
    let said = complaint(UNARY, &[("proto", path.to_str().expect("UTF-8"))]);
    assert!(said.starts_with("--proto: bad.proto:3:3: ") && said.contains("'strin'"), "{said}");
    std::fs::write(&path, "syntax = \"proto3\";\nimport \"other.proto\";\nmessage A { o.B b = 1; }").expect("written");
    let said = complaint(UNARY, &[("proto", path.to_str().expect("UTF-8"))]);
    let advice =
        "its import other.proto was not found: use --import-path DIR for the directory that imports start from";
    assert!(said.starts_with("--proto: bad.proto:3:13: ") && said.ends_with(advice), "{said}");
    let said = complaint(UNARY, &[("proto", "/nowhere/x.proto")]);
    assert!(said.starts_with("--proto: /nowhere/x.proto cannot be read"), "{said}");
}

#[test]
fn imports_are_found_beside_the_file_and_on_the_path() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("lib/deep")).expect("made");
    std::fs::write(at("lib/deep/m.proto"), "syntax = \"proto3\"; package p; message M { int64 big = 1; }")
        .expect("written");
    let service = "syntax = \"proto3\"; package p; import \"deep/m.proto\"; import \"google/protobuf/empty.proto\";\n\
                   service S { rpc Do(M) returns (google.protobuf.Empty); }";
    std::fs::write(at("s.proto"), service).expect("written");
    let (file, lib) = (at("s.proto"), at("lib"));
    let options = [
        ("proto", file.to_str().expect("UTF-8")),
        ("import-path", lib.to_str().expect("UTF-8")),
        ("data", "{\"big\": \"300\"}"),
    ];
    let made = dialogue("grpc://[::1]/p.S.Do", &options);
    assert_eq!(&*made.requests()[0].request.downcast::<GrpcRequest>().body, [0, 0, 0, 0, 3, 8, 0xac, 2]);
    let origin = &made.origins()[0];
    assert_eq!((origin.host.as_str(), origin.port, origin.tls), ("::1", 50_051, false));
}

/// What protoc takes beside the messages: options of others, whose files are missing or on the import path, with a
/// `descriptor.proto` there that the library does not know.
#[test]
fn annotations_of_other_programs_are_not_in_the_way() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("lib/google/protobuf")).expect("made");
    let write = |name: &str, text: &str| std::fs::write(at(name), text).expect("written");
    write("lib/google/protobuf/descriptor.proto", "edition = \"2099\"; nothing is known of this");
    write(
        "lib/gogo.proto",
        "syntax = \"proto2\"; package g; import \"google/protobuf/descriptor.proto\";\n\
         extend google.protobuf.FieldOptions { optional bool nullable = 65001; }",
    );
    write(
        "lib/google/protobuf/go_features.proto",
        "edition = \"2023\"; package pb; import \"google/protobuf/descriptor.proto\";\n\
         extend google.protobuf.FeatureSet { GoFeatures go = 1002; } message GoFeatures { int32 level = 1; }",
    );
    write(
        "old.proto",
        "syntax = \"proto2\"; package p; import \"gogo.proto\"; import \"validate/validate.proto\";\n\
         import \"google/api/annotations.proto\"; option (g.marshaler_all) = true; option (v.least) = -inf;\n\
         message M { optional int64 big = 1 [(g.nullable) = false, (v.rules).int64 = {gt: 0, in: [1, 2]}];\n\
         extensions 1000 [verification = UNVERIFIED]; extensions 2000 to max [declaration = { number: 2000 }]; }\n\
         service S { rpc Do(M) returns (M) { option (google.api.http) = { post: \"/v1\" body: \"*\" }; } }",
    );
    write(
        "new.proto",
        "edition = \"2024\"; package p; import option \"nowhere.proto\"; import \"google/protobuf/go_features.proto\";\n\
         option features.(pb.go).level = 2; option features.field_presence = IMPLICIT;\n\
         export message M { reserved bar, baz; int64 big = 1 [(a.b) = 1, default = 5]; local message L { } }\n\
         service S { rpc Do(M) returns (M); }",
    );
    for name in ["old.proto", "new.proto"] {
        let (file, lib) = (at(name), at("lib"));
        let options = [
            ("proto", file.to_str().expect("UTF-8")),
            ("import-path", lib.to_str().expect("UTF-8")),
            ("data", "{\"big\": \"300\"}"),
        ];
        let made = dialogue("grpc://[::1]/p.S.Do", &options);
        assert_eq!(&*made.requests()[0].request.downcast::<GrpcRequest>().body, [0, 0, 0, 0, 3, 8, 0xac, 2], "{name}");
    }
}

#[test]
fn health_needs_no_file() {
    let mut asked = asked("grpcs://h/grpc.health.v1.Health/Check", &[("data", "{\"service\": \"x\"}")]);
    asked.options.remove("proto");
    assert!(GrpcProtocol.inquiry(&asked).expect("nothing wrong").is_none(), "nothing to ask");
    let made = GrpcProtocol.prepare(&asked).expect("a good plan");
    assert_eq!(&*made.requests()[0].request.downcast::<GrpcRequest>().body, [0, 0, 0, 0, 3, 10, 1, b'x']);
    assert_eq!((made.origins()[0].port, made.origins()[0].tls), (443, true));
}

#[test]
fn a_stream_sends_all_its_messages_and_any_other_call_one() {
    let most = |url: &str, texts: &[&str]| {
        let texts: Vec<(&str, &str)> = texts.iter().map(|text| ("data", *text)).collect();
        dialogue(url, &texts).prepared().messages_per_request.clone()
    };
    for (url, expected) in [(UNARY, 1), (SERVER, 1), (CLIENT, 3), (BIDI, 3)] {
        assert_eq!((most(url, &["{}", "{} {}"]), most(url, &[])), (vec![expected], vec![1]), "{url}");
    }
}

#[test]
fn a_url_may_have_messages_of_its_own() {
    let mut two = asked(UNARY, &[("data", "{}")]);
    two.urls.push(RequestedUrl { url: BIDI.into(), weight: 3.0 });
    two.url_options = vec![Default::default(), [("data".to_owned(), vec!["{\"count\": 1}".to_owned()])].into()];
    let made = GrpcProtocol.prepare(&two).expect("a good plan");
    let bodies: Vec<&[u8]> = made.requests().iter().map(|r| &*r.request.downcast::<GrpcRequest>().body).collect();
    assert_eq!(bodies, [&[0, 0, 0, 0, 0][..], &[0, 0, 0, 0, 2, 16, 1]]);
    two.url_options[1] = [("data".to_owned(), vec!["{} {} {}".to_owned()])].into();
    assert_eq!(GrpcProtocol.prepare(&two).expect("a good plan").prepared().messages_per_request, [1, 3]);
    two.url_options[1] = [("streams".to_owned(), vec!["2".to_owned()])].into();
    let said = GrpcProtocol.prepare(&two).map_err(crate::bilingual).expect_err("a complaint");
    assert_eq!(said, "URL 2, streams: applies to the whole run; put it next to the URLs, not inside one");
}

#[test]
fn deadlines_keep_their_length() {
    let table = [
        ("500ms", "500m"),
        ("2s", "2S"),
        ("1500us", "1500u"),
        ("0.5s", "500m"),
        ("7ns", "7n"),
        ("2h", "7200S"),
        ("1.5m", "90S"),
    ];
    for (written, sent) in table {
        let mut talk = GrpcClient::new(dialogue(UNARY, &[("deadline", written)]));
        talk.call(0);
        let block = talk.sent().into_iter().find(|f| f.0 == frames::HEADERS).expect("a head").3;
        let mut decoder = crate::http2::hpack::HpackDecoder::default();
        let mut fields = decoder.read(&block);
        let mut found = None;
        while let Some((name, value)) = fields.next().expect("well-formed") {
            if name == b"grpc-timeout" {
                found = Some(String::from_utf8_lossy(value).into_owned());
            }
        }
        assert_eq!(found.as_deref(), Some(sent), "{written}");
    }
}

/// Covers a field that proto2 requires, in the message or nested in it.
#[test]
fn what_is_required_must_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.proto");
    let text = r#"syntax = "proto2"; package shop;
        message Item { required string name = 1; optional int32 count = 2; }
        message Order { required Item first = 1; repeated Item more = 2; optional string note = 3; }
        service Till { rpc Buy(Order) returns (Order); }"#;
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let prepared = |data: &str| {
        GrpcProtocol
            .prepare(&asked("grpc://h:1/shop.Till/Buy", &[("proto", file), ("data", data)]))
            .map_err(|said| said.to_string())
    };
    let said = |data: &str| prepared(data).err().unwrap_or_default();
    assert_eq!(said(r#"{"note": "n"}"#), "--data: first of shop.Order is required and missing; write it");
    assert_eq!(said(r#"{"first": {"count": 2}}"#), "--data: first.name of shop.Item is required and missing; write it");
    let deep = r#"{"first": {"name": "a"}, "more": [{"name": "b"}, {}]}"#;
    assert_eq!(said(deep), "--data: more.name of shop.Item is required and missing; write it");
    assert!(prepared(r#"{"first": {"name": "a"}}"#).is_ok());
    assert!(prepared(r#"{"first": {"name": "a{counter}"}, "note": "{uuid}"}"#).is_ok(), "with slots");
}
