//! Flow control in both directions (RFC 9113 5.2, 6.9).

use super::super::Http2Connection;
use super::super::connection::{StreamDecision, StreamListener};
use super::*;

const BODY: usize = 200_000;

fn bodies(said: &[(u8, u8, u32, Vec<u8>)]) -> (usize, bool) {
    let data = || said.iter().filter(|f| f.0 == frames::DATA);
    (data().map(|f| f.3.len()).sum(), data().any(|f| f.1 & frames::END_STREAM != 0))
}

fn upload(requests: u32) -> Http2Client {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; BODY]).unwrap();
    let path = format!("data-file={}", file.path().display());
    let mut talk = Http2Client::of(dialogue(&[&path]));
    for id in 0..requests {
        talk.submit(id);
    }
    talk
}

#[test]
fn a_body_waits_for_the_windows_and_none_of_it_is_lost() {
    let mut talk = upload(1);
    let start = talk.out.bytes().len() - 65_535;
    let preface = talk.out.bytes()[..frames::PREFACE.len()].to_vec();
    assert_eq!(preface, frames::PREFACE);
    assert!(start < 400, "the windows of the beginning are used");
    talk.out.clear();
    talk.hear(&settings(&[]));
    assert_eq!(talk.said(), [ACKNOWLEDGED]);
    // The connection's window alone, the stream's alone, then both.
    talk.hear(&window(0, 1000));
    assert_eq!(bodies(&talk.said()), (0, false));
    talk.hear(&window(1, 300));
    assert_eq!(bodies(&talk.said()), (300, false));
    talk.hear(&window(1, 10_000));
    assert_eq!(bodies(&talk.said()), (700, false));
    // A new initial window, also for streams in flight, and larger frames.
    talk.hear(&[settings(&[(4, 1_000_000), (5, 50_000)]), window(0, 1_000_000)].concat());
    let said = talk.said();
    assert_eq!(bodies(&said), (BODY - 65_535 - 1000, true));
    assert_eq!(said.iter().map(|f| f.3.len()).max(), Some(50_000));
    talk.hear(&last_head(1, OK));
    assert_eq!((talk.ends(), talk.said()), (vec!["0 ok 200 0".to_owned()], vec![]));
}

#[test]
fn a_window_may_become_negative() {
    let mut talk = upload(1);
    talk.out.clear();
    talk.hear(&settings(&[(4, 0)]));
    // 65535 bytes were sent, so the stream must be granted that much before it may continue.
    talk.hear(&[window(0, 1_000_000), window(1, 65_535)].concat());
    assert_eq!(bodies(&talk.said()), (0, false));
    talk.hear(&window(1, 1));
    assert_eq!(bodies(&talk.said()), (1, false));
}

#[test]
fn streams_take_turns_and_one_that_is_over_waits_no_longer() {
    let mut talk = upload(3);
    talk.out.clear();
    talk.hear(&[settings(&[]), window(0, 500_000)].concat());
    // The first stream has used its own window, the two others begin.
    let said = talk.said();
    assert_eq!(bodies(&said), (2 * 65_535, false));
    assert!(talk.session.cancel(ExchangeId(1), &mut talk.out));
    assert_eq!(talk.said(), [(frames::RST_STREAM, 0, 3, GIVEN_UP.to_be_bytes().to_vec())]);
    talk.hear(&[window(1, 300_000), window(3, 300_000), window(5, 300_000)].concat());
    assert_eq!(bodies(&talk.said()), (2 * (BODY - 65_535), true));
}

/// A listener that ignores all events.
struct IgnoringListener;

impl StreamListener<()> for IgnoringListener {
    fn head(
        &mut self,
        _: &mut (),
        _: &mut hpack::HeaderFields<'_>,
        _: bool,
    ) -> Result<StreamDecision, hpack::HpackError> {
        Ok(StreamDecision::Continue)
    }
    fn data(&mut self, _: &mut (), _: &[u8], _: bool) -> StreamDecision {
        StreamDecision::Continue
    }
    fn reset(&mut self, (): (), _: u32) {}
    fn refused(&mut self, (): ()) {}
    fn turned_away(&mut self, (): (), _: u32) {}
}

#[test]
fn nothing_is_kept_of_streams_that_are_over_where_no_window_ever_opens() {
    let body: std::sync::Arc<[u8]> = vec![7; BODY].into();
    let (lexicon, list, mut out) = (hpack::Lexicon::default(), hpack::HeaderList::default(), OutputBuffer::default());
    let mut connection = Http2Connection::default();
    let mut begin = |connection: &mut Http2Connection<()>| {
        let id = connection.begin((), false, &lexicon, &list, &mut out);
        connection.send(id, &body, true, &mut out);
        assert!(connection.sending.has_queued());
        id
    };
    connection.receive(&settings(&[]), &mut OutputBuffer::default(), &mut IgnoringListener).unwrap();
    begin(&mut connection);
    connection.reset(1, code::CANCEL, &mut OutputBuffer::default());
    assert!(!connection.sending.has_queued(), "cancelled");
    for (what, end) in [
        ("reset", reset as fn(u32, u32) -> Vec<u8>),
        ("refused", |id, _| reset(id, code::REFUSED_STREAM)),
        ("answered early", |id, _| last_head(id, OK)),
        ("gone away", |_, _| goaway(0, 0)),
    ] {
        let id = begin(&mut connection);
        connection.receive(&end(id, 2), &mut OutputBuffer::default(), &mut IgnoringListener).unwrap();
        assert!(!connection.sending.has_queued() && connection.live() == 0, "{what}");
    }
}

#[test]
fn an_answer_that_does_not_wait_for_the_body_ends_the_stream() {
    let mut talk = upload(1);
    talk.out.clear();
    talk.hear(&[settings(&[]), last_head(1, &[(":status", "413")])].concat());
    assert_eq!(talk.ends(), ["0 wrong_status 413 0"]);
    assert_eq!(talk.said().pop(), Some((frames::RST_STREAM, 0, 1, GIVEN_UP.to_be_bytes().to_vec())));
    // Later frames of the server for this stream are ignored.
    talk.hear(&[reset(1, code::NO_ERROR), window(1, 5), window(0, 1_000_000)].concat());
    assert_eq!((talk.news(), talk.said(), talk.broken), (vec![], vec![], None));
}

#[test]
fn received_windows_are_topped_up_at_half() {
    let mut talk = Http2Client::after(&[], 1);
    talk.hear(&[settings(&[]), head(1, OK)].concat());
    talk.said();
    let piece = data(1, &[0; 16_384]);
    let mut widened = [0_u64; 2];
    for _ in 0..70_000 {
        talk.hear(&piece);
        assert_eq!(talk.broken, None);
        for (kind, _, stream, payload) in talk.said() {
            assert_eq!(kind, frames::WINDOW_UPDATE);
            widened[stream as usize] += u64::from(u32::from_be_bytes(payload.try_into().unwrap()));
        }
    }
    let total = 70_000 * 16_384_u64;
    assert!(total - widened[1] <= 1 << 23, "a stream may always send 8 MiB");
    assert!(total - widened[0] <= 1 << 29, "and the connection 512 MiB");
    talk.hear(&last_data(1, b""));
    assert_eq!(talk.ends(), [format!("0 ok 200 {total}")]);
}

#[test]
fn padding_and_what_belongs_to_nobody_count_for_the_connections_window() {
    let mut talk = Http2Client::after(&[], 2);
    talk.hear(&[settings(&[]), head(1, OK)].concat());
    talk.session.cancel(ExchangeId(0), &mut talk.out);
    let padded = frame(frames::DATA, frames::PADDED, 1, &[[255].as_slice(), &[0; 16_000]].concat());
    let mut widened = 0_u64;
    for _ in 0..40_000 {
        talk.hear(&padded);
        for (kind, _, stream, payload) in talk.said() {
            if (kind, stream) == (frames::WINDOW_UPDATE, 0) {
                widened += u64::from(u32::from_be_bytes(payload.try_into().unwrap()));
            }
        }
    }
    assert_eq!(talk.broken, None);
    assert!(widened > 1 << 29, "{widened}");
}
