//! Requests with slots in HTTP/2: the decoded request equals what was filled in.

use brunt_contract::{Event, ExchangeId, SlotContext};

use super::super::frames::{self, FrameHead, HEAD, setting};
use super::super::hpack::HpackDecoder;
use super::{Http2Client, dialogue_of};

const OPTIONS: [&str; 3] = ["header=X-Id: {counter}", "header=X-Fixed: {a}", "data={\"n\":{counter},\"u\":\"{uuid}\"}"];

/// A head and a body.
type SentRequest = (Vec<(String, String)>, Vec<u8>);

/// Returns the request of each stream.
fn read(decoder: &mut HpackDecoder, mut bytes: &[u8]) -> Vec<SentRequest> {
    let mut all: Vec<SentRequest> = Vec::new();
    while let Some(head) = bytes.first_chunk::<HEAD>().map(FrameHead::read) {
        let payload = &bytes[HEAD..HEAD + head.length];
        bytes = &bytes[HEAD + head.length..];
        match head.kind {
            frames::HEADERS => {
                let mut fields = decoder.read(payload);
                let mut list = Vec::new();
                while let Some((name, value)) = fields.next().expect("well-formed") {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
                    list.push((text(name), text(value)));
                }
                all.push((list, Vec::new()));
            }
            frames::DATA => all.last_mut().expect("a head").1.extend_from_slice(payload),
            _ => {}
        }
    }
    all
}

fn submit(talk: &mut Http2Client, id: u32, number: u64) {
    let fill = SlotContext { number, user: 7, random: number ^ 1, ..SlotContext::default() };
    let request = &talk.workload.requests()[0].request;
    talk.session.submit(ExchangeId(id), request, &fill, &mut talk.out).expect("room");
}

#[test]
fn head_and_body_decode_to_what_was_filled() {
    let mut talk = Http2Client::of(dialogue_of(&["http://h/i/{counter}?u={user}"], &OPTIONS));
    talk.out.clear();
    for (id, number) in [(0, 5), (1, 1_234_567), (2, u64::MAX)] {
        submit(&mut talk, id, number);
    }
    let mut decoder = HpackDecoder::default();
    let said = read(&mut decoder, talk.out.bytes());
    assert_eq!(said.len(), 3);
    for ((fields, body), number) in said.iter().zip([5, 1_234_567, u64::MAX]) {
        let value = |name: &str| {
            let mut found = fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
            let value = found.next().unwrap_or_else(|| panic!("{name} in {fields:?}"));
            assert_eq!(found.next(), None);
            value.to_owned()
        };
        let pseudo: Vec<bool> = fields.iter().map(|(name, _)| name.starts_with(':')).collect();
        assert!(pseudo.windows(2).all(|pair| pair[0] || !pair[1]), "pseudo-fields come first: {fields:?}");
        assert_eq!((value(":path"), value(":authority")), (format!("/i/{number}?u=7"), "h".into()));
        assert_eq!((value("x-id"), value("x-fixed")), (number.to_string(), "{a}".into()));
        assert_eq!(value("content-length"), body.len().to_string());
        let body = String::from_utf8_lossy(body);
        assert!(body.starts_with(&format!("{{\"n\":{number},\"u\":\"")), "{body}");
    }
    assert_ne!(said[0].1[said[0].1.len() - 20..], said[1].1[said[1].1.len() - 20..], "another uuid each time");
    let shown = String::from_utf8(talk.workload.encoded_with(
        &talk.workload.requests()[0].request,
        &SlotContext { number: 5, user: 7, random: 4, ..SlotContext::default() },
        None,
    ));
    let shown = shown.expect("text");
    assert!(shown.starts_with("POST /i/5?u=7 HTTP/2\r\n"), "{shown}");
    assert!(shown.as_bytes().ends_with(&said[0].1), "an example shows what was sent: {shown}");
}

/// Checks that the part of a body that exceeds the window is queued and arrives complete.
#[test]
fn a_filled_body_waits_for_the_window() {
    let body = format!("data={}{{counter}}", "x".repeat(50));
    let mut talk = Http2Client::of(dialogue_of(&["http://h/"], &[&body]));
    talk.out.clear();
    let mut settings = Vec::new();
    frames::put_settings(&[(setting::INITIAL_WINDOW_SIZE, 20)], &mut settings);
    talk.hear(&settings);
    talk.out.clear();
    submit(&mut talk, 0, 41);
    submit(&mut talk, 1, 42);
    let mut window = Vec::new();
    frames::put_number(frames::WINDOW_UPDATE, 1, 100, &mut window);
    talk.hear(&window);
    let said = talk.out.bytes().to_vec();
    let mut first = Vec::new();
    let mut rest = &said[..];
    while let Some(head) = rest.first_chunk::<HEAD>().map(FrameHead::read) {
        if (head.kind, head.stream) == (frames::DATA, 1) {
            first.extend_from_slice(&rest[HEAD..HEAD + head.length]);
        }
        rest = &rest[HEAD + head.length..];
    }
    assert_eq!(String::from_utf8(first).expect("text"), format!("{}41", "x".repeat(50)));
}

#[test]
fn what_is_expected_of_a_body_is_filled_like_its_request() {
    for (options, body) in
        [(&["expect-body=<{counter}>"][..], ""), (&["data={n={random 9}}", "expect-body=<{n}{counter}>"], "n")]
    {
        let mut talk = Http2Client::of(dialogue_of(&["http://h/"], options));
        talk.hear(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
        talk.out.clear();
        submit(&mut talk, 0, 41);
        submit(&mut talk, 1, 42);
        let said = read(&mut HpackDecoder::default(), talk.out.bytes());
        let texts: Vec<String> = said.iter().map(|(_, body)| String::from_utf8_lossy(body).into_owned()).collect();
        assert!(texts.iter().all(|text| text.is_empty() == body.is_empty()), "{texts:?}");
        // The second request is answered with the body expected of the first.
        for (stream, text) in [(1, &texts[0]), (3, &texts[1])] {
            let mut answer = Vec::new();
            frames::put(frames::HEADERS, frames::END_HEADERS, stream, &[0x88], &mut answer);
            frames::put(frames::DATA, frames::END_STREAM, stream, format!("x <{text}41>").as_bytes(), &mut answer);
            talk.hear(&answer);
        }
        let ends: Vec<_> = talk.ends();
        assert!(ends.len() == 2 && ends[0].contains("ok") && ends[1].contains("wrong_body"), "{ends:?}");
    }
}

#[test]
fn a_redirect_repeats_what_was_filled() {
    let mut talk = Http2Client::of(dialogue_of(&["http://h/a/{counter}"], &["redirects=2", "data={counter}"]));
    talk.hear(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    submit(&mut talk, 0, 41);
    let mut block = vec![0x48, 3, b'3', b'0', b'7'];
    block.extend_from_slice(&[0x0f, 31, 2, b'/', b'b']);
    let mut answer = Vec::new();
    frames::put(frames::HEADERS, frames::END_HEADERS | frames::END_STREAM, 1, &block, &mut answer);
    talk.hear(&answer);
    let Some(Event::Ended(ended)) = talk.done.events.pop() else { panic!("an end: {:?}", talk.broken) };
    let hop = talk.workload.encoded(&ended.follow_up.expect("a hop").request);
    let hop = String::from_utf8(hop).expect("text");
    assert!(hop.starts_with("POST /b HTTP/2\r\n") && hop.ends_with("\r\n\r\n41"), "{hop}");
}
