//! Scripted bytes, split at every position; properties; client and server against each other.

mod commands;
mod conversation;
mod halves;
mod opening;
mod properties;
mod urls;

use std::sync::Arc;

use wire::{
    Asked, AskedUrl, Complaint, Dialogue, Done, Established, Event, ExchangeId, FaultKind, Fill, Out, Protocol, Session,
};

use super::Redis;

/// Prepares a run with options given as `name=value`.
fn prepared(url: &str, options: &[&str]) -> Result<Arc<dyn Dialogue>, Complaint> {
    let url = AskedUrl { url: url.to_owned(), weight: 1.0 };
    let mut asked = Asked { urls: vec![url], ..Asked::default() };
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        asked.options.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    Redis.prepare(&asked)
}

fn dialogue(url: &str, options: &[&str]) -> Arc<dyn Dialogue> {
    prepared(url, options).expect("a good plan")
}

/// Returns a session and its first bytes.
fn begun(dialogue: &Arc<dyn Dialogue>) -> (Box<dyn Session>, Vec<u8>) {
    let mut session = dialogue.session(&dialogue.origins()[0], &Established::default());
    let mut out = Out::default();
    session.open(&mut out);
    (session, out.bytes().to_vec())
}

/// Submits the first request.
fn submit(dialogue: &Arc<dyn Dialogue>, session: &mut Box<dyn Session>, id: u32) -> bool {
    let request = &dialogue.requests()[0].request;
    session.submit(ExchangeId(id), request, &Fill::default(), &mut Out::default()).is_ok()
}

/// Describes events, without first bytes, which depend on the pieces, and without the example of a broken reply.
fn told(done: &Done, dialogue: &Arc<dyn Dialogue>) -> Vec<String> {
    let one = |event: &Event| {
        Some(match event {
            Event::FirstByte(_) => return None,
            Event::Ended(e) => {
                let fault = e.fault.map_or("ended", FaultKind::name);
                let excerpt = e.excerpt.as_deref().filter(|_| e.fault != Some(FaultKind::BrokenProtocol));
                let excerpt = excerpt.map(|bytes| format!(" {:?}", String::from_utf8_lossy(bytes)));
                format!(
                    "{} {fault} {} {}{}",
                    e.id.0,
                    dialogue.code_name(e.code),
                    e.payload,
                    excerpt.unwrap_or_default()
                )
            }
            Event::Unsolicited(bytes, _) => format!("pushed {bytes}"),
            Event::Stray(_) => "stray".to_owned(),
            other => format!("{other:?}"),
        })
    };
    done.events.iter().filter_map(one).collect()
}

/// Submits `requests` exchanges and plays the pieces; returns the events and the protocol error.
fn play(dialogue: &Arc<dyn Dialogue>, requests: u32, pieces: &[&[u8]]) -> (Vec<String>, Option<&'static str>) {
    let (mut session, _) = begun(dialogue);
    let (mut out, mut done) = (Out::default(), Done::default());
    assert!((0..requests).all(|id| submit(dialogue, &mut session, id)));
    let broken = pieces.iter().find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    (told(&done, dialogue), broken.map(|broken| &*broken.to_string().leak()))
}
