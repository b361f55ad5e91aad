//! Scripted bytes, split at every position; properties; statements and their messages.

mod conversation;
mod login;
mod properties;
mod statements;

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, Protocol, ProtocolConfig,
    ProtocolError, RequestedUrl, Session, SlotContext, UsageError, Workload,
};

use super::PostgresProtocol;
use super::oracle::WELCOME;

/// Prepares a run with options given as `name=value`; a switch has no `=`.
fn prepared(url: &str, options: &[&str]) -> Result<Arc<dyn Workload>, UsageError> {
    let url = RequestedUrl { url: url.to_owned(), weight: 1.0 };
    let mut asked = ProtocolConfig { urls: vec![url], ..ProtocolConfig::default() };
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        asked.options.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    PostgresProtocol.prepare(&asked)
}

fn dialogue(options: &[&str]) -> Arc<dyn Workload> {
    prepared("postgres://me:pw@h/db", options).expect("a good plan")
}

/// Returns a session and its first bytes.
fn begun(workload: &Arc<dyn Workload>) -> (Box<dyn Session>, Vec<u8>) {
    let mut session = workload
        .session(&workload.origins()[0], &EstablishedConnection { seed: 42, ..EstablishedConnection::default() });
    let mut out = OutputBuffer::default();
    session.open(&mut out);
    (session, out.bytes().to_vec())
}

/// Returns a session after a successful login.
fn entered(workload: &Arc<dyn Workload>) -> Box<dyn Session> {
    let (mut session, _) = begun(workload);
    session.receive(WELCOME, &mut OutputBuffer::default(), &mut EventBuffer::default()).expect("a welcome");
    session
}

/// Submits the first request and returns the bytes sent.
fn submit(workload: &Arc<dyn Workload>, session: &mut Box<dyn Session>, context: &SlotContext) -> Vec<u8> {
    let mut out = OutputBuffer::default();
    session.submit(ExchangeId(7), &workload.requests()[0].request, context, &mut out).expect("room");
    out.bytes().to_vec()
}

/// Returns a message.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Returns messages given as type and body.
fn messages(all: &[(u8, &str)]) -> Vec<u8> {
    all.iter().flat_map(|(kind, body)| message(*kind, body.as_bytes())).collect()
}

/// Describes events, without first bytes, which depend on the pieces.
fn told(done: &EventBuffer, workload: &Arc<dyn Workload>) -> Vec<String> {
    let one = |event: &Event| {
        Some(match event {
            Event::FirstByte(_) => return None,
            Event::Ended(e) => {
                let fault = e.fault.map_or("ended", FaultKind::name);
                let excerpt = e.excerpt.as_deref().filter(|_| e.fault != Some(FaultKind::BrokenProtocol));
                let excerpt = excerpt.map(|bytes| format!(" {:?}", String::from_utf8_lossy(bytes))).unwrap_or_default();
                format!("{} {fault} {} {}{excerpt}", e.id.0, workload.code_name(e.code), e.payload)
            }
            Event::Unsolicited(bytes, _) => format!("pushed {bytes}"),
            Event::SurplusResponse(_) => "stray".to_owned(),
            other => format!("{other:?}"),
        })
    };
    done.events.iter().filter_map(one).collect()
}
