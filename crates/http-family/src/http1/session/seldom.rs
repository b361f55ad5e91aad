//! What a connection hears seldom: lines behind a body that somebody asks for, and bytes that nobody asked for.

use std::sync::Arc;

use wire::{Broken, Done, Event};

use super::super::body::Part;
use super::{Http1Session, State};

const UNASKED: Broken = Broken(cause::http1::unsolicited());

impl Http1Session {
    /// The same where what comes behind the body is looked into.
    #[cold]
    pub(super) fn feed_with_trailers(&mut self, rest: &[u8], at: &mut usize) -> Result<bool, Broken> {
        let rules = Arc::clone(&self.rules);
        let checks = rules.checks(self.checks);
        let (payload, body) = (&mut self.payload, &mut self.body);
        let judge = &mut self.rare.get_or_insert_default().judge;
        let (used, over) = body.feed_both(rest, |part| match part {
            Part::Content(data) => {
                *payload += data.len() as u64;
                judge.feed((&rules, checks), data);
            }
            Part::Trailer(piece) => judge.trailers.piece(piece, &rules.kept),
        })?;
        *at += used;
        Ok(over)
    }

    /// Bytes while nothing is asked: an answer too many, but for what a server says that gives an idle connection up
    /// (RFC 9110 15.5.9).
    #[cold]
    pub(super) fn unasked(&mut self, bytes: &[u8], done: &mut Done) -> Broken {
        self.state = State::Over;
        if !bytes.starts_with(b"HTTP/1.1 408") && !bytes.starts_with(b"HTTP/1.0 408") {
            done.push(Event::Stray(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
        }
        UNASKED
    }
}
