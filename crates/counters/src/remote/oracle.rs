//! Invariants for arbitrary bytes sent by a probe or its client: they parse identically wherever they are split, every
//! parsed message can be encoded and parsed again, and no displayed text contains control characters. Called by the
//! property tests and by the fuzz target; panics if an invariant is violated.

use std::io::{self, Read};

use brunt_record::frames::{FrameBuffer, FrameProtocol};

use super::messages::{CLIENT_FRAMES, ClientMessage, MOST, PROBE_FRAMES, ProbeMessage};

/// Checks both directions with these bytes.
pub fn check_messages(bytes: &[u8]) {
    let _ = PROBE_FRAMES.read_hello(&mut &*bytes);
    for frame in frames(&PROBE_FRAMES, bytes) {
        check_probe_message(&frame);
    }
    for frame in frames(&CLIENT_FRAMES, bytes) {
        let Some(asked) = ClientMessage::parse(&frame) else { continue };
        let (kind, body) = asked.body();
        assert_eq!(ClientMessage::parse(&numbered(kind, &body)), Some(asked));
    }
}

fn check_probe_message(frame: &[u8]) {
    let Some(told) = ProbeMessage::parse(frame) else { return };
    match &told {
        ProbeMessage::Refused(why) => return assert!(!why.chars().any(brunt_measure::sanitize::is_invisible), "{why}"),
        ProbeMessage::Welcome(facts) => {
            return assert!(
                !facts.host.chars().chain(facts.kernel.chars()).any(brunt_measure::sanitize::is_invisible),
                "{facts:?}"
            );
        }
        ProbeMessage::Sample(sample) | ProbeMessage::LastSample(sample) => {
            assert!(sample.values.len() + sample.labels.len() <= MOST)
        }
        ProbeMessage::Challenge(_) | ProbeMessage::Timestamps(_) => {}
    }
    let (kind, body) = told.body();
    match (ProbeMessage::parse(&numbered(kind, &body)), told) {
        // The last digit of a number that is not whole may differ.
        (Some(ProbeMessage::Sample(again)), ProbeMessage::Sample(told))
        | (Some(ProbeMessage::LastSample(again)), ProbeMessage::LastSample(told)) => {
            assert!(
                again.values.keys().eq(told.values.keys()) && again.labels == told.labels && again.gone == told.gone
            );
            assert_eq!((again.at_ns, again.unobservable), (told.at_ns, told.unobservable));
        }
        (again, told) => assert_eq!(again, Some(told)),
    }
}

/// Returns the frames in these bytes, parsed at once and in pieces, which must agree.
fn frames(speech: &FrameProtocol, bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut whole, mut slowly, mut pieces) = (bytes, OneByteReader(bytes, false), FrameBuffer::default());
    let mut found = Vec::new();
    while let Ok(Some(frame)) = speech.read_frame(&mut whole) {
        let again = std::iter::repeat_with(|| pieces.read_frame(speech, &mut slowly));
        let again = again.filter(|read| !read.as_ref().is_err_and(super::timed_out)).take(1).last();
        assert!(matches!(again, Some(Ok(Some(again))) if again == frame));
        found.push(frame);
    }
    found
}

fn numbered(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, kind], body].concat()
}

/// A reader that returns a byte at a time, and times out on every second call.
struct OneByteReader<'a>(&'a [u8], bool);

impl Read for OneByteReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.read(&mut into[..1]) }
    }
}
