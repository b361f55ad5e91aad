//! Tests of requests with slots: the bytes sent, and heads that match their bodies.

use proptest::prelude::*;
use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, Origin, OutputBuffer, Protocol, SlotContext,
    Workload,
};

use super::{Http1, asked, dialogue};

fn fill(number: u64) -> SlotContext<'static> {
    SlotContext {
        number,
        user: 7,
        random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        unix_ns: 5,
        run: 1,
        sequence: 0,
        values: brunt_contract::UserValues::NONE,
    }
}

/// Returns the bytes that a session sends.
fn sent(workload: &Arc<dyn Workload>, context: &SlotContext) -> String {
    let (mut out, request) = (OutputBuffer::default(), &workload.requests()[0].request);
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    session.submit(ExchangeId(0), request, context, &mut out).expect("room");
    let bytes = [out.bytes(), out.tail().map(|tail| &**tail).unwrap_or_default()].concat();
    assert_eq!(workload.encoded_with(request, context, None), bytes, "an example shows what was sent");
    String::from_utf8(bytes).expect("text")
}

/// Splits into head and body; asserts that `Content-Length` is right.
fn parted(text: &str) -> (&str, &str) {
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let said = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    assert_eq!(said.map_or(Ok(0), str::parse), Ok(body.len()), "{text}");
    (head, body)
}

#[test]
fn slots_stand_in_path_query_header_lines_and_body() {
    let options =
        ["header=X-Id: {counter width 3}", "header=Cookie: a={user}", "data={\"n\":{counter},\"u\":{\"v\":{user}}}"];
    let dialogue = dialogue("http://h/items/{counter}?u={user}&x={y}", &options);
    let text = sent(&dialogue, &fill(41));
    let (head, body) = parted(&text);
    assert!(head.starts_with("POST /items/41?u=7&x={y} HTTP/1.1\r\nHost: h\r\n"), "{head}");
    assert!(head.contains("\r\nX-Id: 041\r\n") && head.contains("\r\nCookie: a=7\r\n"), "{head}");
    assert_eq!(body, "{\"n\":41,\"u\":{\"v\":7}}");
    assert_eq!(dialogue.names().list(), ["POST /items/{counter}"]);
    assert!(dialogue.prepared().has_slots);
}

/// The length has as many digits as needed, however many were reserved.
#[test]
fn the_length_said_is_the_length_sent() {
    let dialogue = dialogue("http://h/", &["data={counter}"]);
    for number in [0, 9, 10, 99_999, 999_999_999, 9_999_999_999, u64::MAX] {
        assert_eq!(parted(&sent(&dialogue, &fill(number))).1, number.to_string());
    }
}

#[test]
fn a_request_without_slots_is_what_it_was() {
    let plain = dialogue("http://h/a", &["data={\"a\":{\"b\":1}}"]);
    assert!(
        !plain.prepared().has_slots && plain.requests()[0].request.downcast::<super::HttpRequest>().slots.is_none()
    );
    let off = dialogue("http://h/{uuid}", &["data={counter}", "no-slots"]);
    assert!(!off.prepared().has_slots);
    let text = sent(&off, &fill(1));
    assert!(text.starts_with("POST /%7Buuid%7D HTTP") && text.ends_with("\r\n\r\n{counter}"), "{text}");
}

/// Environment variables are known before the run, so the request is encoded once.
#[test]
fn variables_of_the_environment_are_filled_once() {
    let path = std::env::var("PATH").expect("every process has one");
    let dialogue = dialogue("http://h/a?p={env PATH | url}", &["header=X-Path: {env PATH}", "data=<{env PATH}>"]);
    assert!(!dialogue.prepared().has_slots);
    let of_host = super::dialogue("http://{env PATH | hex}.example/", &[]);
    assert!(of_host.origins()[0].host.ends_with(".example") && !of_host.origins()[0].host.contains('{'));
    let text = sent(&dialogue, &SlotContext::default());
    let (head, body) = parted(&text);
    assert!(head.contains(&format!("\r\nX-Path: {path}\r\n")) && head.contains("?p=%2F"), "{head}");
    assert_eq!(body, format!("<{path}>"));
}

#[test]
fn basic_authentication_is_made_of_filled_slots() {
    let dialogue = dialogue("http://h/", &["user=u{user}:p{counter}"]);
    assert!(sent(&dialogue, &fill(41)).contains("\r\nAuthorization: Basic dTc6cDQx\r\n"));
}

#[test]
fn fields_of_a_form_have_slots_and_files_go_as_they_are() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, b"{counter}\xff").expect("written");
    let form = [&format!("form=f=@{};filename={{user}}.txt", file.path().display()), "form=n={counter}"];
    let dialogue = dialogue("http://h/", &form);
    let request = &dialogue.requests()[0].request;
    let bytes = dialogue.encoded_with(request, &fill(41), None);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("filename=\"7.txt\"") && text.contains("\r\n\r\n{counter}\u{fffd}\r\n"), "{text}");
    assert!(text.contains("name=\"n\"\r\n\r\n41\r\n"), "{text}");
    let head = text.find("\r\n\r\n").expect("a head") + 4;
    assert!(text.contains(&format!("Content-Length: {}\r\n", bytes.len() - head)), "{text}");
}

#[test]
fn the_slots_of_a_text_file_are_filled() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, b"{\"id\":{counter}}").expect("written");
    let path = format!("data-file={}", file.path().display());
    assert_eq!(parted(&sent(&dialogue("http://h/", &[&path]), &fill(41))).1, "{\"id\":41}");
    assert_eq!(parted(&sent(&dialogue("http://h/", &[&path, "no-slots"]), &fill(41))).1, "{\"id\":{counter}}");
}

/// A large constant body is shared, even if the head has slots.
#[test]
fn a_large_body_is_not_copied_for_a_slot_in_the_head() {
    let large = format!("data={}", "x".repeat(20_000));
    let dialogue = dialogue("http://h/{counter}", &[&large]);
    let mut out = OutputBuffer::default();
    let mut session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
    session.submit(ExchangeId(0), &dialogue.requests()[0].request, &fill(1), &mut out).expect("room");
    assert_eq!(out.tail().map(|tail| tail.len()), Some(20_000));
    assert!(out.bytes().ends_with(b"\r\n\r\n"));
}

#[test]
fn a_named_part_is_the_same_wherever_it_stands() {
    let dialogue =
        dialogue("http://h/{id}", &["header=Idempotency-Key: {id={uuid}}", "data={\"id\":\"{id}\",\"o\":\"{uuid}\"}"]);
    let text = sent(&dialogue, &fill(3));
    let id = text.split("Idempotency-Key: ").nth(1).and_then(|rest| rest.get(..36)).expect("an id");
    assert!(text.starts_with(&format!("POST /{id} ")) && text.contains(&format!("{{\"id\":\"{id}\",")), "{text}");
    assert_eq!(text.matches(id).count(), 3, "the other one differs");
}

/// A 307 repeats the request with the same values.
#[test]
fn a_redirect_repeats_what_was_filled() {
    let dialogue = dialogue("http://h/a/{counter}", &["redirects=3", "data={uuid}", "header=X-Id: {counter}"]);
    let mut session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.submit(ExchangeId(0), &dialogue.requests()[0].request, &fill(41), &mut out).expect("room");
    let first = String::from_utf8(out.bytes().to_vec()).expect("text");
    let answer = b"HTTP/1.1 307 Moved\r\nLocation: b\r\nContent-Length: 0\r\n\r\n";
    session.receive(answer, &mut out, &mut done).expect("understood");
    let Some(Event::Ended(ended)) = done.events.pop() else { panic!("an end") };
    let hop = String::from_utf8(dialogue.encoded(&ended.follow_up.expect("a hop").request)).expect("text");
    assert!(hop.starts_with("POST /a/b HTTP/1.1\r\n") && hop.contains("\r\nX-Id: 41\r\n"), "{hop}");
    assert_eq!(parted(&hop).1, parted(&first).1);
}

#[test]
fn urls_stay_urls_and_header_lines_stay_lines() {
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("u.csv");
    std::fs::write(&file, "q,bad\na b&c,\"x\r\nY: z\"\n").expect("written");
    let file = file.display();
    let dialogue = dialogue(&format!("http://h/{{csv {file}.q}}?q={{csv {file}.q | url}}"), &[]);
    assert!(sent(&dialogue, &fill(0)).starts_with("GET /a%20b&c?q=a%20b%26c HTTP/1.1\r\n"));
    let complaint = |options: &[&str]| {
        Http1.prepare(&asked(&["http://h/"], options)).map_err(crate::bilingual).expect_err("no line")
    };
    let said = complaint(&[&format!("header=X: {{csv {file}.bad}}")]);
    assert!(said.starts_with("--header: {csv ") && said.contains("would break the header"), "{said}");
    assert!(said.ends_with(".bad | url}"), "{said}");
    let line = format!("header=X: {{csv {file}.bad | url}}");
    let coded = super::dialogue("http://h/", &[&line]);
    assert!(sent(&coded, &fill(0)).contains("\r\nX: x%0D%0AY%3A%20z\r\n"));
}

/// The expected text may repeat what was sent: numbers, and any value by its name.
#[test]
fn what_is_expected_of_a_body_is_filled_like_its_request() {
    let verdict = |workload: &Arc<dyn Workload>, context: &SlotContext, body: &str| {
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
        session.submit(ExchangeId(0), &workload.requests()[0].request, context, &mut out).expect("room");
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        // In two pieces, with the text split between them.
        let (first, rest) = answer.as_bytes().split_at(answer.len() - 4);
        for piece in [first, rest] {
            session.receive(piece, &mut out, &mut done).expect("good");
        }
        let ended =
            done.events.iter().find_map(|event| if let Event::Ended(ended) = event { Some(ended.fault) } else { None });
        ended.expect("an end")
    };
    let named = dialogue("http://h/{counter}", &["data={id={uuid}} {user}", "expect-body=\"{id}\":{counter}:"]);
    let bare = dialogue("http://h/", &["expect-body=\"{counter}\":{counter}:"]);
    assert!(named.prepared().has_slots && bare.prepared().has_slots);
    for number in [41, 42] {
        let (fill, counter) = (fill(number), number.to_string());
        let text = sent(&named, &fill);
        for (dialogue, id) in [(&named, &parted(&text).1[..36]), (&bare, &*counter)] {
            let good = format!("{{\"{id}\":{number}:1}}");
            assert_eq!(verdict(dialogue, &fill, &good), None, "{good}");
            let other = format!("{{\"{id}\":{}:1}}", number + 1);
            assert_eq!(verdict(dialogue, &fill, &other), Some(FaultKind::WrongBody), "{other}");
        }
    }
    let known = dialogue("http://h/", &["expect-body={env PATH}"]);
    assert!(!known.prepared().has_slots, "known before the run");
    let path = std::env::var("PATH").expect("every process has one");
    assert_eq!(verdict(&known, &fill(1), &format!("<{path}>---")), None);
    assert_eq!(verdict(&known, &fill(1), "{env PATH}"), Some(FaultKind::WrongBody));
}

#[test]
fn complaints_show_slots_as_they_were_written() {
    let table: [(&str, &[&str], &str); 10] = [
        ("http://{user}/", &[], "URL: \"http://{user}/\" cannot be used (only {env NAME} and captured values are"),
        ("http://h/{countr}", &[], "URL: {countr} is not a slot; use {counter}, or {text {{countr}}} to send it as is"),
        ("http://h/", &["header=X-{user}: a"], "--header: \"X-{user}: a\" has a slot in its name"),
        (
            "http://h/",
            &["header=Content-Length: 3", "data={user}"],
            "--header: Content-Length cannot be set for a body with slots",
        ),
        ("http://h/", &["form=f=@{user}"], "--form: \"f=@{user}\" has a slot in a file path"),
        ("http://h/", &["data={user what}"], "--data: \"what\" is not supported in {user}"),
        ("http://h/", &["expect-body=a {uuid}"], "--expect-body: {uuid} differs here from the one in the request"),
        ("http://h/", &["expect-body={countr}"], "--expect-body: {countr} is not a slot"),
        (
            "http://h/",
            &["expect-json=$.id == \"{uuid}\"", "redirects=2"],
            "--expect-json: {uuid} differs here from the one in the request",
        ),
        ("http://h/", &["header=X: {env BRUNT_NO_SUCH_VARIABLE}"], "--header: {env BRUNT_NO_SUCH_VARIABLE} is not set"),
    ];
    for (url, options, wanted) in table {
        let said = Http1.prepare(&asked(&[url], options)).map_err(crate::bilingual).expect_err(url);
        assert!(said.starts_with(wanted), "{said}");
    }
}

/// The output buffer does not grow in steady state, so nothing is allocated.
#[test]
fn no_request_makes_its_buffer_grow_again() {
    let dialogue = dialogue("http://h/{uuid}", &["data={counter below 1000 width 4}{random 20}{time iso}{uuid}"]);
    let request = &dialogue.requests()[0].request;
    let mut out = OutputBuffer::default();
    let mut sizes = Vec::new();
    for number in 0..50 {
        let mut session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
        session.submit(ExchangeId(0), request, &fill(number), &mut out).expect("room");
        sizes.push(out.buffer().capacity());
        out.clear();
    }
    assert!(sizes.windows(2).all(|pair| pair[0] == pair[1]), "{sizes:?}");
}

proptest! {
    /// The length is right for any body, and braces that do not begin a slot stay.
    #[test]
    fn bodies_are_what_was_written(
        before in "([a-z{}\":, ]|\\{\"[a-z]\":){0,40}", after in "[a-z}\": ,]{0,40}", number: u64,
    ) {
        prop_assume!(!before.ends_with('{'));
        let body = format!("data={before}{{counter}}{after}");
        if let Ok(dialogue) = Http1.prepare(&asked(&["http://h/"], &[&body])) {
            let text = sent(&dialogue, &fill(number));
            let (_, sent) = parted(&text);
            prop_assert!(sent.contains(&number.to_string()) && sent.ends_with(&after));
        }
    }
}
