//! What a connection says beside its requests: messages that open it (`--on-connect`), and replies to what the peer says of its
//! own accord (`--reply`). For every protocol whose messages are its user's own.
//!
//! None of them is a request: they are counted apart, are never due and have no latency. How a message is put on the wire is the
//! protocol's; here is which, when and with what. Left out: opening messages that use what an earlier answer held.

pub mod captures;
mod talk;
#[cfg(test)]
mod tests;

use wire::{Asked, Complaint, OptionSpec, many};

use crate::pattern::Regex;
use crate::template::{Scope, Template};

use captures::Captures;
pub use talk::{Heard, Talk};

/// The options, for protocols that have them.
pub const ON_CONNECT: OptionSpec = many(
    "on-connect",
    "TEXT=>ANSWER",
    "Send TEXT on every connection before its requests, then wait for a message matching the regex ANSWER, if given",
    "每个连接在请求之前先发送 TEXT，并等待匹配正则 ANSWER 的消息（若给出）",
);
/// See [`ON_CONNECT`].
pub const REPLY: OptionSpec = many(
    "reply",
    "PATTERN=>TEXT",
    "Reply with TEXT to each unsolicited message matching the regex PATTERN; {captured} is what its group matched",
    "对匹配正则 PATTERN 的未经请求的消息回复 TEXT；{captured} 为分组捕获的内容",
);

/// What parts both halves of such an option.
const ARROW: &str = "=>";

/// Something that can be said beside requests.
pub trait Said {
    /// What it is filled from; None: it is always the same.
    fn template(&self) -> Option<&Template>;
}

impl Said for Template {
    fn template(&self) -> Option<&Template> {
        Some(self)
    }
}

/// What all connections of a run say beside their requests.
#[derive(Debug)]
pub struct Beside<M> {
    openings: Vec<Opening<M>>,
    replies: Vec<Reply<M>>,
    /// Something that is said holds its number (`{sequence}`).
    counts: bool,
}

/// One step of the opening.
#[derive(Debug)]
struct Opening<M> {
    /// None: the peer speaks first.
    said: Option<M>,
    /// What the peer's next message must be like; None: nothing is awaited.
    awaits: Option<Box<Regex>>,
}

/// What is said when the peer says something.
#[derive(Debug)]
struct Reply<M> {
    pattern: Box<Regex>,
    /// What the pattern's groups find, where the reply has it.
    captures: Option<Captures>,
    /// None: the message is taken for what it is, and nothing is said.
    said: Option<M>,
}

impl<M: Said> Beside<M> {
    /// Reads the options. `compile` makes a message of a text, which stands in this option and may have these slots.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(
        asked: &Asked,
        mut compile: impl FnMut(&str, &str, Scope<'static>) -> Result<M, Complaint>,
    ) -> Result<Beside<M>, Complaint> {
        let (mut openings, mut replies) = (Vec::new(), Vec::new());
        for text in asked.values(ON_CONNECT.name) {
            openings.push(opening(text, &mut compile)?);
        }
        for text in asked.values(REPLY.name) {
            replies.push(reply(text, &mut compile)?);
        }
        let all = openings.iter().filter_map(|opening| opening.said.as_ref());
        let mut all = all.chain(replies.iter().filter_map(|reply: &Reply<M>| reply.said.as_ref()));
        let counts = all.any(|said| said.template().is_some_and(Template::is_numbered));
        Ok(Beside { openings, replies, counts })
    }

    /// The peer speaks first, and whatever it says will do.
    ///
    /// # Errors
    /// None that can be foreseen.
    pub fn greeted(mut self) -> Result<Beside<M>, String> {
        self.openings.insert(0, Opening { said: None, awaits: Some(Box::new(Regex::new("")?)) });
        Ok(self)
    }

    /// Some of the requests hold their number as well.
    pub fn counting(self, counts: bool) -> Beside<M> {
        Beside { counts: self.counts || counts, ..self }
    }

    /// What one connection has to remember; None: nothing is said beside requests, and none has a number.
    pub fn talk(&self, fill: &wire::Fill) -> Option<Talk> {
        let any = self.opens() || self.listens() || self.counts;
        any.then(|| Talk::new(fill))
    }

    /// True where connections are opened with something.
    pub fn opens(&self) -> bool {
        !self.openings.is_empty()
    }

    /// True where something is waited for before requests are said.
    pub fn awaits(&self) -> bool {
        self.openings.iter().any(|opening| opening.awaits.is_some())
    }

    /// True where what the peer says of its own accord may be replied to.
    #[inline]
    pub fn listens(&self) -> bool {
        !self.replies.is_empty()
    }
}

fn opening<M: Said>(
    text: &str,
    compile: &mut impl FnMut(&str, &str, Scope<'static>) -> Result<M, Complaint>,
) -> Result<Opening<M>, Complaint> {
    const PLACE: &str = "--on-connect";
    let wrong = |trouble: String| Complaint::new(PLACE, trouble);
    let (text, answer) = text.split_once(ARROW).map_or((text, None), |(text, answer)| (text, Some(answer)));
    if text.is_empty() && answer.is_none() {
        return Err(wrong("is empty; write for instance 'LOGIN me=>OK'".into()));
    }
    let scope = Scope { sequence: true, captured: None, variables: &[] };
    let said = (!text.is_empty()).then(|| compile(text, PLACE, scope)).transpose()?;
    ends(said.as_ref(), PLACE)?;
    let awaits = answer.map(Regex::new).transpose().map_err(wrong)?.map(Box::new);
    Ok(Opening { said, awaits })
}

fn reply<M: Said>(
    text: &str,
    compile: &mut impl FnMut(&str, &str, Scope<'static>) -> Result<M, Complaint>,
) -> Result<Reply<M>, Complaint> {
    const PLACE: &str = "--reply";
    let wrong = |trouble: String| Complaint::new(PLACE, trouble);
    let (pattern, text) = text
        .split_once(ARROW)
        .ok_or_else(|| wrong(format!("\"{text}\" has no reply; write PATTERN=>TEXT, for instance '^ping$=>pong'")))?;
    if pattern.is_empty() {
        return Err(wrong(
            "has an empty pattern, which matches every message; write for instance '^ping$=>pong'".into(),
        ));
    }
    let compiled = Box::new(Regex::new(pattern).map_err(wrong)?);
    let captures = Captures::new(pattern).map_err(wrong)?;
    let scope = Scope { sequence: true, captured: Some(captures.groups()), variables: &[] };
    let said = (!text.is_empty()).then(|| compile(text, PLACE, scope)).transpose()?;
    ends(said.as_ref(), PLACE)?;
    let captures = said.as_ref().and_then(Said::template).filter(|template| template.has_captured()).map(|_| captures);
    Ok(Reply { pattern: compiled, captures, said })
}

/// A run ends with its requests: what is said beside them has no end.
fn ends<M: Said>(said: Option<&M>, place: &str) -> Result<(), Complaint> {
    if said.and_then(Said::template).is_some_and(|template| template.end().is_some()) {
        let trouble = "uses each row of a file once, and out of rows means the end of the run; leave out stop and \
            unique here";
        return Err(Complaint::new(place, trouble));
    }
    Ok(())
}
