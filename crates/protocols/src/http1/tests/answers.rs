//! A table of answers and what becomes of each: whole, split at every position, byte by byte, cut short.

use wire::FaultKind;

use super::{Outcome, dialogue, play};

/// One answer to a request and what it must come to.
struct Case {
    options: &'static [&'static str],
    answer: &'static [u8],
    close: bool,
    fault: Option<FaultKind>,
    code: u32,
    payload: u64,
    room: usize,
    broken: Option<&'static str>,
}

const GOOD: Case =
    Case { options: &[], answer: b"", close: false, fault: None, code: 200, payload: 0, room: 1, broken: None };

fn cases() -> Vec<Case> {
    vec![
        Case { answer: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", payload: 5, ..GOOD },
        Case { answer: b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ..GOOD },
        Case { answer: b"HTTP/1.1 200\r\ncontent-length:5  \r\n\r\nhello", payload: 5, ..GOOD },
        Case {
            answer: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0010\r\n0123456789abcdef\r\n0\r\nT: x\r\n\r\n",
            payload: 21,
            ..GOOD
        },
    ]
}

fn expected(case: &Case) -> Outcome {
    Outcome { ended: Some((case.fault, case.code, case.payload, None)), broken: case.broken, room: case.room }
}

#[test]
fn every_answer_comes_to_the_same_however_it_is_cut() {
    for case in cases() {
        let dialogue = dialogue("http://h/", case.options);
        let text = String::from_utf8_lossy(case.answer);
        assert_eq!(play(&dialogue, &[case.answer], case.close), expected(&case), "whole: {text}");
        for at in 1..case.answer.len() {
            let (a, b) = case.answer.split_at(at);
            assert_eq!(play(&dialogue, &[a, b], case.close), expected(&case), "cut at {at}: {text}");
        }
        let bytes: Vec<&[u8]> = case.answer.chunks(1).collect();
        assert_eq!(play(&dialogue, &bytes, case.close), expected(&case), "byte by byte: {text}");
    }
}
