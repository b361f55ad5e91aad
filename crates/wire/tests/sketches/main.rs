//! A sketch of a protocol that brunt does not speak yet, written against the contract to see where it bends: QUIC, with its
//! own timers and handshake. It is no implementation: it says what it leaves out.
//!
//! What it asked of the contract is in `docs/decisions/0002-contract-sketches.md`, and what is left to do in
//! `docs/decisions/0014-http3-on-paper.md`.

mod quic;

use wire::Event;

/// An event in words.
fn said<R>(event: &Event<R>) -> String {
    match event {
        Event::FirstByte(id) => format!("first {}", id.0),
        Event::Message(id, bytes) => format!("message {} of {bytes}", id.0),
        Event::Ended(e) => match e.fault {
            None => format!("ended {} with {}", e.id.0, e.code),
            Some(fault) => format!("failed {} with {}: {}", e.id.0, e.code, fault.name()),
        },
        Event::Refused(id) => format!("refused {}", id.0),
        Event::Declined(id) => format!("declined {}", id.0),
        Event::Learnt(id, _) => format!("learnt {}", id.0),
        Event::Word(number) => format!("word {number}"),
        Event::Heartbeat => "heartbeat".to_owned(),
        Event::Unsolicited(bytes) => format!("unsolicited {bytes}"),
        Event::Owed => "owed".to_owned(),
        Event::Stray(bytes) => format!("stray {bytes}"),
    }
}
