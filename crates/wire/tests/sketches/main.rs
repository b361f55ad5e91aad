//! Sketches of three protocols that brunt does not speak yet, written against the contract to see where it bends: a gRPC
//! bidirectional stream, a WebSocket with pushes, and QUIC with its own timers and handshake.
//!
//! They are no implementations: each says what it leaves out. What they asked of the contract is in
//! `docs/decisions/0002-contract-sketches.md`.

mod grpc;
mod quic;
mod websocket;

use wire::{Broken, Done, Event, Out, Session};

/// What a session made of a script: its events in words and the bytes it sent, fed in pieces of `piece` bytes.
fn feed<S: Session>(session: &mut S, script: &[u8], piece: usize) -> Result<(Vec<String>, Vec<u8>), Broken> {
    let (mut out, mut done) = (Out::default(), Done::default());
    for bytes in script.chunks(piece) {
        session.receive(bytes, &mut out, &mut done)?;
    }
    Ok((done.events.iter().map(said).collect(), out.bytes().to_vec()))
}

/// An event in words.
fn said<R>(event: &Event<R>) -> String {
    match event {
        Event::FirstByte(id) => format!("first {}", id.0),
        Event::Message(id, bytes) => format!("message {} of {bytes}", id.0),
        Event::Ended(e) => match e.fault {
            None => format!("ended {} with {}", e.id.0, e.code),
            Some(fault) => format!("failed {} with {}: {}", e.id.0, e.code, fault.name()),
        },
        Event::Unsolicited(bytes) => format!("unsolicited {bytes}"),
    }
}
