//! Side messages on a WebSocket connection: those that open it, and replies to messages of the server.

use wire::{Broken, Done, Out};

use super::own::Own;
use super::rules::Rules;
use super::session::{EXCERPT_BOUND, Rare, Stage, Told, WebSocketSession};
use values::beside::{Heard, Talk};

/// Passes a message to the reply rules; returns `true` if one of them recognizes it.
#[inline]
pub fn prompted(
    rules: &Rules,
    own: Option<&mut Own>,
    (size, content): (u64, &[u8]),
    done: &mut Done,
) -> Result<bool, Broken> {
    if !rules.beside.listens() {
        return Ok(false);
    }
    let Some(talk) = own.and_then(|own| own.talk.as_mut()) else { return Ok(false) };
    let heard = talk.hear(&rules.beside, content)?;
    if heard != Heard::Unknown {
        heard.tell(size, content, done);
    }
    Ok(heard != Heard::Unknown)
}

impl WebSocketSession {
    /// Returns the side conversation, if there is one.
    #[inline]
    pub(super) fn talk(&self) -> Option<&Talk> {
        self.own.as_ref().and_then(|own| own.talk.as_ref())
    }

    /// Sends opening messages as far as possible now.
    #[cold]
    pub(super) fn introduce(&mut self, out: &mut Out) {
        let WebSocketSession { rules, own, masks, stage, .. } = self;
        if *stage != Stage::Introducing {
            return;
        }
        if let Some(Own { talk: Some(talk), deflate, .. }) = own.as_deref_mut() {
            talk.go_on(&rules.beside, |message, fill| {
                message.say(fill.into(), deflate.as_mut(), masks.key(), out.buffer(), |_, _| {});
            });
            if talk.is_opening(&rules.beside) {
                return;
            }
        }
        *stage = Stage::Open;
    }

    /// Handles a message during the opening.
    #[cold]
    pub(super) fn hear_opening(&mut self, size: u64, content: &[u8], (out, done): Told<'_>) -> Result<(), Broken> {
        let WebSocketSession { rules, own, .. } = self;
        let Some(talk) = own.as_mut().and_then(|own| own.talk.as_mut()) else { return Ok(()) };
        match talk.hear_opening(&rules.beside, content) {
            Ok(None) => self.introduce(out),
            Ok(Some(heard)) => heard.tell(size, content, done),
            Err(refused) => {
                self.stage = Stage::Unwelcome;
                self.rare = Some(Rare::saying(&content[..content.len().min(EXCERPT_BOUND)]));
                return Err(refused);
            }
        }
        Ok(())
    }
}
