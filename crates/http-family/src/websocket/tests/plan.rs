//! Results of options, and the error for each mistake.

use brunt_contract::Protocol;

use super::*;

#[test]
fn messages() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("lines.txt");
    std::fs::write(&file, "first\r\n\nsecond").expect("written");
    let from_file = format!("data-file={}", file.display());
    type PlannedMessage = (u8, &'static [u8]);
    let table: [(&[&str], &[PlannedMessage]); 6] = [
        (&["data=a", "data=b"], &[(0x81, b"a"), (0x81, b"b")]),
        (&["data="], &[(0x81, b"")]),
        (&["data=a", "binary"], &[(0x82, b"a")]),
        (&["data-hex=00 Ff 1a", "data-base64=AAEC"], &[(0x82, b"\x00\xff\x1a"), (0x82, b"\0\x01\x02")]),
        (&[&from_file], &[(0x81, b"first"), (0x81, b"second")]),
        (&[&from_file, "binary", "data=x"], &[(0x82, b"x"), (0x82, b"first"), (0x82, b"second")]),
    ];
    for (options, expected) in table {
        let dialogue = dialogue(options);
        let sent: Vec<(u8, Vec<u8>)> = dialogue
            .requests()
            .iter()
            .map(|r| (r.request.downcast::<WebSocketMessage>().first(), dialogue.encoded(&r.request)))
            .collect();
        let expected: Vec<(u8, Vec<u8>)> = expected.iter().map(|(first, text)| (*first, text.to_vec())).collect();
        assert_eq!(sent, expected, "{options:?}");
        assert!(!dialogue.prepared().holds_only);
    }
    assert!(
        dialogue(&[]).prepared().holds_only && dialogue(&["match-field=seq"]).prepared().holds_only,
        "nothing to say"
    );
}

#[test]
fn a_connection_is_bound_to_its_url() {
    let dialogue =
        WebSocketProtocol.prepare(&asked(&["ws://h/a", "wss://h/b", "ws://h/a"], &["data=x", "data=y"])).expect("good");
    let origins: Vec<_> = dialogue.origins().iter().map(|o| (o.port, o.tls, o.bound)).collect();
    assert_eq!(origins, [(80, false, 0), (443, true, 1), (80, false, 2)]);
    let requests: Vec<_> = dialogue.requests().iter().map(|r| (r.origin, r.weight)).collect();
    assert_eq!(requests, [(0, 0.5), (0, 0.5), (1, 0.5), (1, 0.5), (2, 0.5), (2, 0.5)]);
}

#[test]
fn mistakes_in_a_sentence() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path.display().to_string()
    };
    let (empty, odd) = (place("empty", b"\n\n"), place("odd", b"a\n\xff\n"));
    let table: [(&[&str], String); 12] = [
        (
            &["header=x"],
            "--header: a line has no colon between name and value; use -H 'NAME: VALUE', as in -H 'Accept: text/html'"
                .into(),
        ),
        (
            &["header=Sec-WebSocket-Key: x"],
            "--header: Sec-WebSocket-Key is set by brunt for the handshake; leave it out".into(),
        ),
        (
            &["header=sec-websocket-protocol: x"],
            "--header: sec-websocket-protocol is set by brunt for the handshake; use --subprotocol NAME instead".into(),
        ),
        (
            &["one-way", "expect-body=x"],
            "--expect-body: is for responses, and --one-way has none; leave one of them out".into(),
        ),
        (&["user=me"], "--user: the password is missing; write NAME:PASSWORD".into()),
        (
            &["subprotocol=a b"],
            "--subprotocol: \"a b\" is not the name of a subprotocol; write one word, for example chat".into(),
        ),
        (&["subprotocol=a", "subprotocol=a"], "--subprotocol: \"a\" is offered twice; give it once".into()),
        (&["match-field=a..b"], "--match-field: \"a..b\" is not a field; write a name such as seq, or data.id".into()),
        (
            &["match-field=seq", "data=x"],
            "--data: the message does not have the field of --match-field, so no response would match it".into(),
        ),
        (&["data-hex=0"], "--data-hex: \"0\" is not hexadecimal; write two digits per byte, as in 00ff1a".into()),
        (&[&format!("data-file={empty}")], format!("--data-file: {empty} has no messages; write one per line")),
        (
            &[&format!("data-file={odd}")],
            format!("{odd} line 2: is not UTF-8, as a text message must be; add --binary"),
        ),
    ];
    for (options, expected) in table {
        let complaint = WebSocketProtocol.prepare(&asked(&["ws://h/"], options)).expect_err("a mistake");
        assert_eq!(complaint.to_string(), expected);
    }
    let complaint = WebSocketProtocol.prepare(&asked(&["http://h/"], &[])).expect_err("a mistake");
    assert!(complaint.to_string().contains("neither ws nor wss"), "{complaint}");
}

#[test]
fn slots_among_braces_that_are_none() {
    let fill = SlotContext { number: 41, user: 7, ..SlotContext::default() };
    let table = [
        (r#"{"seq":{counter},"a":{"b":{}}}"#, r#"{"seq":41,"a":{"b":{}}}"#),
        ("user {user} says {\"x\":1}", "user 7 says {\"x\":1}"),
        (r#"{"no":{"slot":1}}"#, r#"{"no":{"slot":1}}"#),
        ("{", "{"),
        ("}}{", "}}{"),
        ("{odd} {{counter}} {{odd}}", "{odd} {counter} {{odd}}"),
        ("{id={user}}{id}", "77"),
    ];
    for (text, expected) in table {
        let dialogue = dialogue(&[&format!("data={text}")]);
        let said = dialogue.requests()[0].request.downcast::<WebSocketMessage>().payload(&fill);
        assert_eq!(String::from_utf8_lossy(&said), expected, "{text}");
    }
    let (url, options) = ("ws://h/{env PATH | hex}", &["header=X-Path: {env PATH}", "header=X-Q: {q}"]);
    assert!(WebSocketProtocol.prepare(&asked(&[url], options)).is_ok(), "known before the run");
    for (url, option) in [("ws://h/{user}", "data=x"), ("ws://h/", "header=X: {user}"), ("ws://h/", "user=a:{user}")] {
        let said =
            WebSocketProtocol.prepare(&asked(&[url], &[option])).map_err(crate::bilingual).expect_err("a mistake");
        assert!(said.contains("{user}") && said.ends_with("only {env NAME} works here"), "{said}");
    }
    let off = WebSocketProtocol
        .prepare(&asked(&["ws://h/{user}"], &["data={counter}", "header=X: {user}", "no-slots"]))
        .expect("braces");
    assert_eq!(
        (off.requests()[0].request.downcast::<WebSocketMessage>().payload(&fill), off.prepared().has_slots),
        (b"{counter}".to_vec(), false)
    );
    let complaint = WebSocketProtocol
        .prepare(&asked(&["ws://h/"], &["data={countr}"]))
        .map_err(crate::bilingual)
        .expect_err("a mistake");
    assert!(complaint.starts_with("--data: "), "{complaint}");
}

#[test]
fn messages_with_slots_are_framed_and_matched_like_others() {
    for size in [1, 125, 126, 65_535, 65_536] {
        for (options, first) in [(&[][..], 0x81), (&["compress"], 0xc1)] {
            let pad = "x".repeat(size);
            let data = format!("data={{\"seq\":{{counter}},\"p\":\"{pad}\"}}");
            let dialogue = dialogue(&[&[&*data, "match-field=seq"], options].concat());
            let agreed = if options.is_empty() { "" } else { "Sec-WebSocket-Extensions: permessage-deflate\r\n" };
            let mut session = opened(&dialogue, agreed);
            let mut out = OutputBuffer::default();
            for number in [5, 6] {
                let fill = SlotContext { number, ..SlotContext::default() };
                let request = &dialogue.requests()[0].request;
                session.submit(ExchangeId(number as u32), request, &fill, &mut out).expect("room");
            }
            let sent = unmasked(out.bytes());
            assert!(sent.len() == 2 && sent.iter().all(|(kind, _)| *kind == first));
            if options.is_empty() {
                assert_eq!(sent[1].1, format!("{{\"seq\":6,\"p\":\"{pad}\"}}").as_bytes());
            }
            let script = [frame(0x81, b"{\"seq\":6}"), frame(0x81, b"{\"seq\":5}")].concat();
            assert_eq!(feed(&mut session, &[&script]).events, ["6 0 of 9", "5 0 of 9"]);
        }
    }
}
