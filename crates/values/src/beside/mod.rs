//! Side messages of a connection: messages that open it (`--on-connect`) and replies to unsolicited messages
//! (`--reply`), for every protocol with user-defined messages.
//!
//! Side messages are not requests: they are counted separately, are never due and have no latency. The protocol decides
//! how a message is put on the wire; this module decides which message is sent, when, and with which values. Opening
//! messages that use values of an earlier answer are not supported.

pub mod captures;
mod talk;
#[cfg(test)]
mod tests;

use wire::{Asked, Complaint, OptionSpec, many};

use crate::pattern::Regex;
use crate::template::{Scope, Template};

use captures::Captures;
pub use talk::{Heard, Talk};

/// The option for opening messages.
pub const ON_CONNECT: OptionSpec = many(
    "on-connect",
    "TEXT=>ANSWER",
    "Send TEXT on every connection before its requests, then wait for a message matching the regex ANSWER, if given",
    "每个连接在请求之前先发送 TEXT，并等待匹配正则 ANSWER 的消息（若给出）",
);
/// The option for replies to unsolicited messages.
pub const REPLY: OptionSpec = many(
    "reply",
    "PATTERN=>TEXT",
    "Reply with TEXT to each unsolicited message matching the regex PATTERN; {captured} is what its group matched",
    "对匹配正则 PATTERN 的未经请求的消息回复 TEXT；{captured} 为分组捕获的内容",
);

/// Separator between the two halves of such an option.
const ARROW: &str = "=>";

/// A message that can be sent outside of requests.
pub trait Said {
    /// Returns the template of the message; `None` if it is constant.
    fn template(&self) -> Option<&Template>;
}

impl Said for Template {
    fn template(&self) -> Option<&Template> {
        Some(self)
    }
}

/// The side messages of all connections of a run.
#[derive(Debug)]
pub struct Beside<M> {
    openings: Vec<Opening<M>>,
    replies: Vec<Reply<M>>,
    /// Set if one of the messages contains its number (`{sequence}`).
    counts: bool,
}

/// One step of the opening.
#[derive(Debug)]
struct Opening<M> {
    /// Message to send; `None` if the peer speaks first.
    said: Option<M>,
    /// Pattern that the peer's next message must match; `None` if no message is awaited.
    awaits: Option<Box<Regex>>,
}

/// A reply to an unsolicited message.
#[derive(Debug)]
struct Reply<M> {
    pattern: Box<Regex>,
    /// Captures of the pattern's groups, if the reply uses them.
    captures: Option<Captures>,
    /// Reply to send; `None` if the message is accepted without a reply.
    said: Option<M>,
}

impl<M: Said> Beside<M> {
    /// Parses the options. `compile` turns a text into a message, given the option it comes from and the slots it may
    /// use.
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

    /// Lets the peer speak first and accepts any message from it.
    ///
    /// # Errors
    /// Only fails if the empty pattern cannot be compiled.
    pub fn greeted(mut self) -> Result<Beside<M>, String> {
        self.openings.insert(0, Opening { said: None, awaits: Some(Box::new(Regex::new("")?)) });
        Ok(self)
    }

    /// Records that some of the requests contain their number as well.
    pub fn counting(self, counts: bool) -> Beside<M> {
        Beside { counts: self.counts || counts, ..self }
    }

    /// Returns the state of one connection; `None` if there are no side messages and no request is numbered.
    pub fn talk(&self, fill: &wire::Fill) -> Option<Talk> {
        let any = self.opens() || self.listens() || self.counts;
        any.then(|| Talk::new(fill))
    }

    /// Returns `true` if connections have an opening.
    pub fn opens(&self) -> bool {
        !self.openings.is_empty()
    }

    /// Returns `true` if a message is awaited before requests are sent.
    pub fn awaits(&self) -> bool {
        self.openings.iter().any(|opening| opening.awaits.is_some())
    }

    /// Returns `true` if there are replies to unsolicited messages.
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

/// Rejects templates that can run out of rows: a run ends with its requests, while side messages have no end.
fn ends<M: Said>(said: Option<&M>, place: &str) -> Result<(), Complaint> {
    if said.and_then(Said::template).is_some_and(|template| template.end().is_some()) {
        let trouble = "uses each row of a file once, and out of rows means the end of the run; leave out stop and \
            unique here";
        return Err(Complaint::new(place, trouble));
    }
    Ok(())
}
