//! Invariants for arbitrary bytes sent by a probe or its client: they parse identically wherever they are split, every
//! parsed message can be encoded and parsed again, and no displayed text contains control characters. Called by the
//! property tests and by the fuzz target; panics if an invariant is violated.

use std::io::{self, Read};

use record::frames::{Pieces, Speech};

use super::speech::{ASKED, Asked, MOST, TOLD, Told};

/// Checks both directions with these bytes.
pub fn said(bytes: &[u8]) {
    let _ = TOLD.read_hello(&mut &*bytes);
    for frame in frames(&TOLD, bytes) {
        told(&frame);
    }
    for frame in frames(&ASKED, bytes) {
        let Some(asked) = Asked::parse(&frame) else { continue };
        let (kind, body) = asked.body();
        assert_eq!(Asked::parse(&numbered(kind, &body)), Some(asked));
    }
}

fn told(frame: &[u8]) {
    let Some(told) = Told::parse(frame) else { return };
    match &told {
        Told::Refused(why) => return assert!(!why.chars().any(measure::plain::is_unseen), "{why}"),
        Told::Welcome(facts) => {
            return assert!(
                !facts.host.chars().chain(facts.kernel.chars()).any(measure::plain::is_unseen),
                "{facts:?}"
            );
        }
        Told::Sample(sample) | Told::Last(sample) => assert!(sample.values.len() + sample.labels.len() <= MOST),
        Told::Challenge(_) | Told::Stamps(_) => {}
    }
    let (kind, body) = told.body();
    match (Told::parse(&numbered(kind, &body)), told) {
        // The last digit of a number that is not whole may differ.
        (Some(Told::Sample(again)), Told::Sample(told)) | (Some(Told::Last(again)), Told::Last(told)) => {
            assert!(
                again.values.keys().eq(told.values.keys()) && again.labels == told.labels && again.gone == told.gone
            );
            assert_eq!((again.at_ns, again.unobservable), (told.at_ns, told.unobservable));
        }
        (again, told) => assert_eq!(again, Some(told)),
    }
}

/// Returns the frames in these bytes, parsed at once and in pieces, which must agree.
fn frames(speech: &Speech, bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut whole, mut slowly, mut pieces) = (bytes, Slowly(bytes, false), Pieces::default());
    let mut found = Vec::new();
    while let Ok(Some(frame)) = speech.whole(&mut whole) {
        let again = std::iter::repeat_with(|| pieces.whole(speech, &mut slowly));
        let again = again.filter(|read| !read.as_ref().is_err_and(super::gave_up)).take(1).last();
        assert!(matches!(again, Some(Ok(Some(again))) if again == frame));
        found.push(frame);
    }
    found
}

fn numbered(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, kind], body].concat()
}

/// A reader that returns a byte at a time, and times out on every second call.
struct Slowly<'a>(&'a [u8], bool);

impl Read for Slowly<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.read(&mut into[..1]) }
    }
}
