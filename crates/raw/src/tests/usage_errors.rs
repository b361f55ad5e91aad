//! Invalid options: each error is one sentence that names the option and a correct alternative.

use brunt_contract::{Protocol, ProtocolConfig, RequestedUrl};

use crate::RawProtocol;

fn complaint(url: &str, options: &[(&str, &str)]) -> String {
    let mut asked =
        ProtocolConfig { urls: vec![RequestedUrl { url: url.into(), weight: 1.0 }], ..ProtocolConfig::default() };
    for (name, value) in options {
        asked.options.entry((*name).into()).or_default().push((*value).into());
    }
    RawProtocol.prepare(&asked).map(|_| "accepted".to_owned()).unwrap_or_else(|complaint| complaint.to_string())
}

const LINE: [(&str, &str); 2] = [("send", "x"), ("until", "\\n")];

#[test]
fn urls() {
    for (url, wanted) in [
        ("tcp://h:1", "accepted"),
        ("tcp://[::1]:1/", "accepted"),
        ("tls://h:1", "accepted"),
        ("tcp://h", "URL: `tcp://h` has no port; use tcp://HOST:PORT"),
        ("tcp://h:0", "URL: `tcp://h:0` has no port; use tcp://HOST:PORT"),
        ("tcp://h:99999", "URL: `tcp://h:99999` has no port; use tcp://HOST:PORT"),
        ("tcp://h:1/a", "URL: `tcp://h:1/a` has more than host and port; use tcp://HOST:PORT"),
    ] {
        assert_eq!(complaint(url, &LINE), wanted);
    }
}

#[test]
fn options() {
    type OptionCase<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let table: &[OptionCase<'_>] = &[
        ("tcp", &[("until", "x")], "--send: is missing; write what to send"),
        ("tcp", &[("send", "x")], "--until: is missing; write where a response ends: --until '\\r\\n'"),
        ("tcp", &[("send", ""), ("until", "x")], "--send: is empty"),
        ("tcp", &[("send", "{nobody}"), ("until", "x")], "--send: {nobody} at character 1 names neither"),
        ("tcp", &[("send-hex", "0"), ("until", "x")], "--send-hex: \"0\" is not a pair"),
        ("tcp", &[("send-base64", "*"), ("until", "x")], "--send-base64: is not base64"),
        ("tcp", &[("send-file", "/nowhere"), ("until", "x")], "--send-file: /nowhere cannot be read"),
        ("tcp", &[("send", "x"), ("template", ""), ("until", "x")], "--template: is for --send-file"),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("until-close", "")],
            "--until-close: cannot be combined with --until",
        ),
        ("tcp", &[("send", "x"), ("until", "")], "--until: has 0 bytes; use 1 to 1024"),
        ("tcp", &[("send", "x"), ("until", "\\q")], "--until: \\q is not an escape"),
        ("tcp", &[("send", "x"), ("until-bytes", "0")], "--until-bytes: \"0\" is not a size"),
        ("tcp", &[("send", "x"), ("until-length", "2 bytes")], "--until-length: \"2 bytes\": its position is missing"),
        ("tcp", &[("send", "x"), ("until-length", "at 0, 1 byte, = 1")], "--until-length: has values"),
        (
            "tcp",
            &[("send", "x"), ("until-regex", "(")],
            "--until-regex: \"(\" is not a valid regular expression (unclosed group)",
        ),
        ("tcp", &[("send", "x"), ("until-regex", "a$")], "--until-regex: looks at what follows"),
        ("tcp", &[("send", "x"), ("until-regex", "a*")], "--until-regex: matches the empty text"),
        (
            "tcp",
            &[("send", "x"), ("until-regex", "((a{100}){100}){100}")],
            "--until-regex: \"((a{100}){100}){100}\" compiles to too many states; use a shorter one",
        ),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("expect-regex", "((a{1000}){1000}){1000}")],
            "--expect-regex: \"((a{1000}){1000}){1000}\" compiles to too many states; use a shorter one",
        ),
        ("udp", &[("send", "x"), ("until", "x")], "--until: is for streams"),
        ("udp", &[("send", "x"), ("pipeline", "2")], "--pipeline: needs --match on UDP"),
        ("udp", &[("send", "{pad 65508 x}")], "--send: has 65508 bytes, and a datagram holds at most 65507"),
        ("tcp", &[("send", "x"), ("until-close", ""), ("pipeline", "2")], "--pipeline: needs keep-alive connections"),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("pipeline", "0")],
            "--pipeline: \"0\" is not a number from 1 to 4096",
        ),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("match", "at 0, 2 bytes")],
            "--match: ends at byte 2 of a request of 1",
        ),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("match-answer", "at 0, 1 byte")],
            "--match-answer: is where responses echo",
        ),
        ("tcp", &[("send", "x"), ("until", "x"), ("match", "at 0, 1 byte, +1")], "--match: cannot have +"),
        (
            "tcp",
            &[("send", "x"), ("until-close", ""), ("match", "at 0, 1 byte")],
            "--match: is for connections with several responses",
        ),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("expect-field", "at 0, 1 byte")],
            "--expect-field: \"at 0, 1 byte\" has no expected values",
        ),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("expect-regex", "[")],
            "--expect-regex: \"[\" is not a valid regular expression",
        ),
        ("tcp", &[("send", "x"), ("no-answer", ""), ("expect-bytes", "x")], "--no-answer: leaves nothing to check"),
        ("udp", &[("send", "x"), ("greeting", "")], "--greeting: needs tcp:// or tls://"),
        ("tcp", &[("send", "x"), ("until", "x"), ("before", "{")], "--before: { is not a slot"),
        ("udp", &[("send", "x"), ("on-connect", "x")], "--on-connect: is for connections, and UDP has none"),
        ("udp", &[("send", "x"), ("reply", "x=>y")], "--reply: is for connections, and UDP has none"),
        (
            "tcp",
            &[("send", "x"), ("no-answer", ""), ("reply", "x=>y")],
            "--reply: reads messages, and nothing marks where",
        ),
        ("tcp", &[("send", "x"), ("no-answer", ""), ("on-connect", "x=>y")], "--on-connect: reads messages"),
        ("tcp", &[("send", "x"), ("no-answer", ""), ("on-connect", "x")], "accepted"),
        ("tcp", &[("send", "x"), ("until-close", ""), ("on-connect", "x")], "accepted"),
        ("tcp", &[("send", "x"), ("until-close", ""), ("reply", "x=>y")], "--reply: reads messages"),
        ("tcp", &[("send", "x"), ("until", "x"), ("no-answer", "")], "--no-answer: cannot be combined with --until"),
        ("tcp", &[("send", "x"), ("until", "x"), ("no-answer", ""), ("reply", "x=>y")], "accepted"),
        (
            "tcp",
            &[("send", "x"), ("until", "x"), ("no-answer", ""), ("reply", "x=>y"), ("expect-bytes", "x")],
            "--no-answer: leaves nothing to check",
        ),
        ("tcp", &[("send", "{captured}"), ("until", "x")], "--send: {captured} at character 1 names neither"),
    ];
    for (scheme, options, wanted) in table {
        let said = complaint(&format!("{scheme}://127.0.0.1:9"), options);
        assert!(said.starts_with(wanted), "{options:?}: {said}");
    }
}

#[test]
fn every_way_to_write_a_request() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("request");
    std::fs::write(&file, "f{user}\\n").unwrap();
    let mut asked = ProtocolConfig {
        urls: vec![RequestedUrl { url: "tcp://h:1".into(), weight: 2.0 }],
        ..ProtocolConfig::default()
    };
    for (name, value) in [
        ("send", "a\\x00{user}"),
        ("send-hex", "0d 0a"),
        ("send-base64", "AAEC"),
        ("send-file", file.to_str().unwrap()),
        ("until", "x"),
    ] {
        asked.options.insert(name.into(), vec![value.into()]);
    }
    let sent = |config: &ProtocolConfig| -> Vec<Vec<u8>> {
        let dialogue = RawProtocol.prepare(config).unwrap();
        dialogue.requests().iter().map(|weighted| dialogue.encoded(&weighted.request)).collect()
    };
    assert_eq!(sent(&asked), [&b"a\x000"[..], b"\r\n", b"\0\x01\x02", b"f{user}\\n"]);
    asked.options.insert("template".into(), vec![String::new()]);
    assert_eq!(sent(&asked)[3], b"f0\\n");
}
