//! Scripted bytes, split at every position; properties; client and server against each other.

mod both_sides;
mod commands;
mod conversation;
mod opening;
mod properties;
mod urls;

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, Protocol, ProtocolConfig,
    RequestedUrl, Session, SlotContext, UsageError, Workload,
};

use super::RedisProtocol;

/// Prepares a run with options given as `name=value`.
fn prepared(url: &str, options: &[&str]) -> Result<Arc<dyn Workload>, UsageError> {
    let url = RequestedUrl { url: url.to_owned(), weight: 1.0 };
    let mut asked = ProtocolConfig { urls: vec![url], ..ProtocolConfig::default() };
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        asked.options.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    RedisProtocol.prepare(&asked)
}

fn dialogue(url: &str, options: &[&str]) -> Arc<dyn Workload> {
    prepared(url, options).expect("a good plan")
}

/// Returns a session and its first bytes.
fn begun(workload: &Arc<dyn Workload>) -> (Box<dyn Session>, Vec<u8>) {
    let mut session = workload.session(&workload.origins()[0], &EstablishedConnection::default());
    let mut out = OutputBuffer::default();
    session.open(&mut out);
    (session, out.bytes().to_vec())
}

/// Submits the first request.
fn submit(workload: &Arc<dyn Workload>, session: &mut Box<dyn Session>, id: u32) -> bool {
    let request = &workload.requests()[0].request;
    session.submit(ExchangeId(id), request, &SlotContext::default(), &mut OutputBuffer::default()).is_ok()
}

/// Describes events, without first bytes, which depend on the pieces, and without the example of a broken reply.
fn told(done: &EventBuffer, workload: &Arc<dyn Workload>) -> Vec<String> {
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
                    workload.code_name(e.code),
                    e.payload,
                    excerpt.unwrap_or_default()
                )
            }
            Event::Unsolicited(bytes, _) => format!("pushed {bytes}"),
            Event::SurplusResponse(_) => "stray".to_owned(),
            other => format!("{other:?}"),
        })
    };
    done.events.iter().filter_map(one).collect()
}

/// Submits `requests` exchanges and plays the pieces; returns the events and the protocol error.
fn play(workload: &Arc<dyn Workload>, requests: u32, pieces: &[&[u8]]) -> (Vec<String>, Option<&'static str>) {
    let (mut session, _) = begun(workload);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    assert!((0..requests).all(|id| submit(workload, &mut session, id)));
    let broken = pieces.iter().find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    (told(&done, workload), broken.map(|broken| &*broken.to_string().leak()))
}
