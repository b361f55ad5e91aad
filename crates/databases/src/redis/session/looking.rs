//! Looking into replies: what they must hold, and what is taken out of them.

use std::sync::Arc;

use cause::Cause;
use wire::{Done, Ended, Event, ExchangeId, FaultKind, Lesson};

use super::super::options::Checks;
use super::super::reply;
use super::{EXCERPT_BOUND, Pending, RedisSession};
use values::capture::{self, Answer};
use values::verify;

/// The most bytes of a reply that is kept whole to be looked into.
pub(super) const WHOLE_BOUND: usize = 16 << 20;

/// What is taken out of the replies of an exchange that came.
fn taken(checks: &Checks, whole: &[u8], (lost, of): (bool, Pending)) -> Result<Lesson, Cause> {
    if lost {
        return Err(cause::redis::too_large().into());
    }
    let said = reply::said(whole, of.of)?;
    if checks.answers {
        return Ok(Box::new(wire::Answer::Body(said.body)));
    }
    let answer = Answer { body: &said.body, nothing: said.nothing, ..Answer::default() };
    Ok(Box::new(capture::take_all(&checks.captures, &answer, u64::from(of.random))?))
}

impl RedisSession {
    /// As [`Self::end`], for an error or where something is looked for.
    #[cold]
    pub(super) fn end_closely(&mut self, ended: Pending, (code, erred): (u32, bool), payload: u64, done: &mut Done) {
        let (rules, id) = (Arc::clone(&self.rules), ExchangeId(ended.id));
        let checks = &rules.checks[usize::from(ended.checks)];
        let rare = self.rare();
        let found = std::mem::take(&mut rare.watch).found();
        let (kept, error) = (std::mem::take(&mut rare.kept), std::mem::take(&mut rare.error));
        let (whole, lost) = (std::mem::take(&mut rare.whole), std::mem::take(&mut rare.lost));
        let (mut fault, excerpt) = if erred {
            (Some(FaultKind::WrongStatus), [b"-", &error[..], b"\r\n"].concat())
        } else {
            ((checks.expect.is_some() && !found).then_some(FaultKind::WrongBody), kept)
        };
        let mut why = match (fault.filter(|kind| done.wants_example(*kind)), &checks.expect) {
            (Some(FaultKind::WrongBody), Some(text)) => {
                Some(verify::lacks(cause::checks::reply_lacks, text.needle(), &excerpt, payload))
            }
            _ => None,
        };
        if fault.is_none() && checks.keep() {
            match taken(checks, &whole, (lost, ended)) {
                Ok(taken) => done.push(Event::Learnt(id, taken)),
                Err(missing) => (fault, why) = (Some(FaultKind::WrongBody), Some(missing)),
            }
        }
        let excerpt = fault.filter(|kind| done.wants_example(*kind)).map(|_| excerpt.into_boxed_slice());
        if fault.is_some() && checks.expect.is_some() {
            done.failed(id, u32::from(!found));
        }
        done.push(Event::Ended(Ended { id, fault, code, payload, excerpt, follow: None, why }));
    }

    #[cold]
    pub(super) fn capture(&mut self, fresh: &[u8]) {
        let rules = Arc::clone(&self.rules);
        let takes = self.in_flight > 0 && self.checks().keep();
        let rare = self.rare();
        let kept = &mut rare.kept;
        kept.extend_from_slice(&fresh[..fresh.len().min(EXCERPT_BOUND.saturating_sub(kept.len()))]);
        if takes && !rare.lost {
            rare.lost = rare.whole.len() + fresh.len() > WHOLE_BOUND || !rare.whole.add(fresh, &rules.kept);
        }
    }
}
