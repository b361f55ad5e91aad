//! Bytes that we send: the preface, and requests as header lists; each read back by the decoder.

use std::sync::Arc;

use super::*;
use crate::http2::hpack::HpackDecoder;

fn lists(said: &[(u8, u8, u32, Vec<u8>)]) -> Vec<String> {
    let mut decoder = HpackDecoder::default();
    let heads = said.iter().filter(|f| f.0 == frames::HEADERS);
    heads
        .map(|(_, _, _, block)| {
            let mut fields = decoder.read(block);
            let mut lines = String::new();
            while let Some((name, value)) = fields.next().unwrap() {
                lines += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            }
            lines
        })
        .collect()
}

/// Returns what a new connection sends for one request: its head and its body.
fn said(url: &str, options: &[&str]) -> (String, Vec<u8>) {
    let mut talk = Http2Client::of(dialogue_of(&[url], options));
    talk.out.clear();
    talk.submit(0);
    let said = talk.said();
    let body = said.iter().filter(|f| f.0 == frames::DATA).flat_map(|f| f.3.clone()).collect();
    assert_eq!(said.last().unwrap().1 & frames::END_STREAM, frames::END_STREAM);
    (lists(&said).concat(), body)
}

#[test]
fn the_preface_comes_first_with_push_refused_and_large_windows() {
    let mut talk = Http2Client::of(dialogue(&[]));
    let rest = talk.out.bytes().strip_prefix(frames::PREFACE).unwrap().to_vec();
    talk.out.clear();
    talk.out.put(&rest);
    let said = talk.said();
    let pairs: Vec<_> = frames::settings(&said[0].3).collect();
    assert_eq!(pairs, [(2, 0), (4, 1 << 24), (6, 256 * 1024)]);
    assert_eq!(said[1], (frames::WINDOW_UPDATE, 0, 0, ((1_u32 << 30) - 65_535).to_be_bytes().to_vec()));
    assert_eq!(said.len(), 2);
}

#[test]
fn a_request_is_the_same_as_in_http1() {
    let version = env!("CARGO_PKG_VERSION");
    let (head, body) = said("http://h:8080/a?b", &[]);
    let plain = format!(
        ":method: GET\n:scheme: http\n:authority: h:8080\n:path: /a?b\nuser-agent: brunt/{version}\naccept: */*\n"
    );
    assert_eq!((head, body), (plain, vec![]));
    let options = ["data=x=1", "header=X-Own: Yes", "header=Accept:", "user=a:b", "header=Connection: keep-alive"];
    let (head, body) = said("https://h/", &options);
    for line in [":method: POST", ":scheme: https", ":authority: h", "x-own: Yes", "content-length: 3"] {
        assert!(head.lines().any(|l| l == line), "{line} in {head}");
    }
    assert!(head.contains("authorization: Basic YTpi\n"), "{head}");
    assert!(!head.contains("accept") && !head.contains("connection"), "{head}");
    assert_eq!(body, b"x=1");
    let (head, _) = said("http://h/", &["header=Host: other", "header=TE: trailers"]);
    assert!(head.contains(":authority: other\n") && head.contains("te: trailers\n"), "{head}");
    let (head, _) = said("http://h/", &["header=Host:", "header=TE: gzip"]);
    assert!(!head.contains("authority") && !head.contains("te:"), "{head}");
}

#[test]
fn a_request_said_again_is_a_few_bytes() {
    let mut talk = Http2Client::after(&[], 1);
    for id in 1..4 {
        talk.submit(id);
        assert_eq!(talk.out.len(), HEAD + 6, "six fields");
        let said = talk.said();
        assert_eq!((said[0].1, said[0].2), (frames::END_HEADERS | frames::END_STREAM, 2 * id + 1));
    }
}

#[test]
fn a_head_larger_than_a_frame_is_continued() {
    let large = format!("header=x-large: {}", "~".repeat(40_000));
    let mut talk = Http2Client::of(dialogue(&[&large]));
    talk.out.clear();
    talk.submit(0);
    let said = talk.said();
    let kinds: Vec<(u8, u8)> = said.iter().map(|f| (f.0, f.1)).collect();
    let more = (frames::CONTINUATION, 0);
    let last = (frames::CONTINUATION, frames::END_HEADERS);
    assert_eq!(kinds[0], (frames::HEADERS, frames::END_STREAM));
    assert_eq!(kinds.last(), Some(&last));
    assert!(kinds[1..kinds.len() - 1].iter().all(|k| *k == more));
    let whole: Vec<u8> = said.iter().flat_map(|f| f.3.clone()).collect();
    let text = lists(&[(frames::HEADERS, 0, 1, whole)]).concat();
    assert!(text.contains(&"~".repeat(40_000)));
}

#[test]
fn a_smaller_table_is_heeded_at_once() {
    let mut talk = Http2Client::after(&[], 1);
    talk.hear(&settings(&[(1, 0)]));
    talk.said();
    talk.submit(1);
    let block = talk.said().remove(0).3;
    assert_eq!(block[0], 0x20, "the change is told");
    assert!(block.len() > 20, "and nothing is an index into what is gone");
    assert!(lists(&[(frames::HEADERS, 0, 3, block)])[0].contains(":authority: h\n"));
}

#[test]
fn the_next_hop_of_a_redirect_is_said_in_full() {
    let mut talk = Http2Client::after(&["redirects=2"], 1);
    talk.hear(&[settings(&[]), last_head(1, &[(":status", "307"), ("location", "/next?x")])].concat());
    let Some(Event::Ended(ended)) = talk.done.events.pop() else { panic!("no end") };
    let follow = ended.follow_up.expect("a hop");
    assert_eq!(follow.origin, Origin::tcp("h", 80, false));
    talk.said();
    talk.session.submit(ExchangeId(5), &follow.request, &SlotContext::default(), &mut talk.out).unwrap();
    let said = lists(&talk.said()).concat();
    assert!(said.starts_with(":method: GET\n:scheme: http\n:authority: h\n:path: /next?x\n"), "{said}");
    // The recipe of the redirected request follows further redirects, up to the limit.
    talk.hear(&last_head(3, &[(":status", "302"), ("location", "/last")]));
    let Some(Event::Ended(ended)) = talk.done.events.pop() else { panic!("no end") };
    let follow = ended.follow_up.expect("a second hop");
    talk.session.submit(ExchangeId(6), &follow.request, &SlotContext::default(), &mut talk.out).unwrap();
    talk.hear(&last_head(5, &[(":status", "302"), ("location", "/more")]));
    assert_eq!(talk.ends(), ["6 too_many_redirects 302 0"]);
}

#[test]
fn for_people_it_is_written_as_text() {
    let dialogue = dialogue(&["data=x", "header=X-Own: Yes"]);
    let text = String::from_utf8(dialogue.encoded(&dialogue.requests()[0].request)).unwrap();
    assert!(text.starts_with("POST / HTTP/2\r\nhost: h\r\n"), "{text}");
    assert!(text.contains("\r\nx-own: Yes\r\n") && text.ends_with("\r\n\r\nx"), "{text}");
}

/// Covers many URLs: a peer indexes as many as fit; the others send their path each time and share everything else.
#[test]
fn paths_of_many_urls_are_said_whatever_peers_remember_of_them() {
    let urls: Vec<String> = (0..300).map(|n| format!("http://h/some/longer/path/{n}?q=%C3%A4")).collect();
    let mut all: Vec<&str> = urls.iter().map(String::as_str).collect();
    all.extend(["https://h/some/longer/path/299?q=%C3%A4", "http://h/", all[0], all[299]]);
    let dialogue = dialogue_of(&all, &["header=X-Own: yes"]);
    let mut talk = Http2Client::of(dialogue_of(&all, &["header=X-Own: yes"]));
    talk.out.clear();
    // Twice each, as much of it is indexed the second time.
    let mut decoder = HpackDecoder::default();
    for round in 0..2 {
        let mut heads = Vec::new();
        for (at, url) in all.iter().enumerate() {
            let request = &talk.workload.requests()[at].request;
            if talk.session.room() == 0 {
                talk.session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
                talk.session.open(&mut talk.out);
                talk.out.clear();
            }
            talk.session.submit(ExchangeId(at as u32), request, &SlotContext::default(), &mut talk.out).expect("room");
            let alone = said(url, &["header=X-Own: yes"]).0;
            heads.push((talk.said(), alone));
        }
        for (at, (said, alone)) in heads.iter().enumerate() {
            if said[0].2 == 1 {
                decoder = HpackDecoder::default();
            }
            let mut fields = decoder.read(&said[0].3);
            let mut lines = String::new();
            while let Some((name, value)) = fields.next().unwrap() {
                lines += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            }
            assert_eq!((&lines, round), (alone, round), "{}", all[at]);
        }
    }
    let two = |at: usize| {
        dialogue.requests()[at]
            .request
            .downcast::<crate::http1::HttpRequest>()
            .http2
            .as_ref()
            .expect("prepared")
            .clone()
    };
    assert!(Arc::ptr_eq(&two(299), &two(298)) && Arc::ptr_eq(&two(299), &two(303)), "what is the same is there once");
    assert!(!Arc::ptr_eq(&two(0), &two(299)) && Arc::ptr_eq(&two(0), &two(302)), "a path that is remembered");
    assert!(!Arc::ptr_eq(&two(300), &two(299)), "another scheme");
}
