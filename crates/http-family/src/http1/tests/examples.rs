//! Tests of the excerpts kept of failed responses.

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, Origin, OutputBuffer, SlotContext,
};

use super::dialogue;

/// Plays a response in pieces and returns its excerpt; `keep` is a kind that already has an example.
fn excerpt(options: &[&str], pieces: &[&[u8]], keep: Option<FaultKind>) -> Option<Vec<u8>> {
    let dialogue = dialogue("http://h/", options);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    if let Some(kind) = keep {
        done.mark_example(kind);
    }
    let mut session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
    session.submit(ExchangeId(3), &dialogue.requests()[0].request, &SlotContext::default(), &mut out).expect("room");
    for piece in pieces {
        let _ = session.receive(piece, &mut out, &mut done);
    }
    match done.events.pop() {
        Some(Event::Ended(ended)) => ended.excerpt.map(|e| e.to_vec()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failed_answer_is_kept_however_it_was_cut() {
    let missing = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nnot found";
    let wrong = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let tail = &missing[missing.find("HTTP/1.1 404").expect("there")..];
    for (text, options, kind) in [
        (tail, &[][..], FaultKind::WrongStatus),
        (wrong, &["expect-body=x"], FaultKind::WrongBody),
        (
            "HTTP/1.1 302 F\r\nLocation: /\r\nContent-Length: 2\r\n\r\nno",
            &["redirects=0", "expect-status=200"],
            FaultKind::WrongStatus,
        ),
    ] {
        let bytes = text.as_bytes();
        for cut in 1..bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(excerpt(options, &[a, b], None).as_deref(), Some(bytes), "cut at {cut}: {text}");
        }
        assert_eq!(excerpt(options, &[bytes], None).as_deref(), Some(bytes));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(excerpt(options, &single, None).as_deref(), Some(bytes));
        assert_eq!(excerpt(options, &[bytes], Some(kind)), None);
        assert_eq!(excerpt(options, &single, Some(kind)), None);
    }
    assert_eq!(excerpt(&[], &[missing.as_bytes()], None).as_deref(), Some(missing.as_bytes()));
}

#[test]
fn an_excerpt_is_bounded() {
    let text = format!("HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n{}", "b".repeat(100_000));
    for size in [text.len(), 7000, 4097, 1000] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        assert_eq!(excerpt(&[], &pieces, None).as_deref(), Some(&text.as_bytes()[..4096]), "pieces of {size}");
    }
}

#[test]
fn what_broke_is_kept() {
    let garbage = b"SSH-2.0-OpenSSH_9.2\r\n";
    assert_eq!(excerpt(&[], &[garbage], None).as_deref(), Some(&garbage[..]));
    let half = b"HTTP/1.1 200 OK\r\nX: y\r\n";
    assert_eq!(
        excerpt(&[], &[half, b"broken\r\n"], None).as_deref(),
        Some(&b"HTTP/1.1 200 OK\r\nX: y\r\nbroken\r\n"[..])
    );
    let nowhere = b"HTTP/1.1 302 F\r\nLocation: ftp://h/\r\n\r\n";
    for cut in 1..nowhere.len() {
        let (a, b) = nowhere.split_at(cut);
        assert_eq!(excerpt(&["redirects=1"], &[a, b], None).as_deref(), Some(&nowhere[..]), "cut at {cut}");
    }
}
