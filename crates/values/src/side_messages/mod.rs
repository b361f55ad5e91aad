//! Side messages of a connection: messages that open it (`--on-connect`) and replies to unsolicited messages
//! (`--reply`), for every protocol with user-defined messages.
//!
//! Side messages are not requests: they are counted separately, have no scheduled time and no latency. The protocol
//! encodes a message; this module decides which message is sent, when, and with which values. An opening message cannot
//! use values from an earlier response.

mod state;
#[cfg(test)]
mod tests;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionSpec, ProtocolConfig, UsageError, many};

use crate::group_captures::GroupCaptures;
use crate::pattern::Regex;
use crate::template::{SlotScope, Template};

pub use state::{SideMessageState, UnsolicitedKind};

/// The option for opening messages.
pub const ON_CONNECT: OptionSpec = many(
    "on-connect",
    "TEXT=>ANSWER",
    "Send TEXT on every connection before its requests, then wait for a message matching the regex ANSWER, if given",
    "在每个连接上先于请求发送 TEXT；若给出 ANSWER，再等待匹配该正则的消息",
);
/// The option for replies to unsolicited messages.
pub const REPLY: OptionSpec = many(
    "reply",
    "PATTERN=>TEXT",
    "Reply with TEXT to each unsolicited message matching the regex PATTERN; {captured} is what its group matched",
    "收到没有对应请求且匹配正则 PATTERN 的消息时，回复 TEXT；{captured} 为分组捕获的内容",
);

/// Separator between the two parts of the value of such an option.
const ARROW: &str = "=>";

/// A message that can be sent outside of requests.
pub trait SideMessage {
    /// Returns the template of the message; `None` if it is constant.
    fn template(&self) -> Option<&Template>;
}

impl SideMessage for Template {
    fn template(&self) -> Option<&Template> {
        Some(self)
    }
}

/// The side messages of all connections of a run.
#[derive(Debug)]
pub struct SideMessages<M> {
    openings: Vec<OpeningMessage<M>>,
    replies: Vec<AutoReply<M>>,
    /// Set if a message contains its number (`{sequence}`).
    numbered: bool,
}

/// One step of the opening of a connection.
#[derive(Debug)]
struct OpeningMessage<M> {
    /// Message to send; `None` if the step only waits for the peer.
    message: Option<M>,
    /// Pattern that the peer's next message must match; `None` if no message is awaited.
    awaits: Option<Box<Regex>>,
}

/// A reply to an unsolicited message.
#[derive(Debug)]
struct AutoReply<M> {
    pattern: Box<Regex>,
    /// The capture groups of the pattern, if the reply uses them.
    captures: Option<GroupCaptures>,
    /// Reply to send; `None` if the message is accepted without a reply.
    message: Option<M>,
}

impl<M: SideMessage> SideMessages<M> {
    /// Parses the options. `compile` turns a text into a message, given the option that contains the text and the slots
    /// that it may use.
    ///
    /// # Errors
    /// A value is invalid; the error names the first one.
    pub fn read(
        config: &ProtocolConfig,
        mut compile: impl FnMut(&str, &str, SlotScope<'static>) -> Result<M, UsageError>,
    ) -> Result<SideMessages<M>, UsageError> {
        let (mut openings, mut replies) = (Vec::new(), Vec::new());
        for text in config.values(ON_CONNECT.name) {
            openings.push(parse_opening(text, &mut compile)?);
        }
        for text in config.values(REPLY.name) {
            replies.push(parse_reply(text, &mut compile)?);
        }
        let all = openings.iter().filter_map(|opening| opening.message.as_ref());
        let mut all = all.chain(replies.iter().filter_map(|reply: &AutoReply<M>| reply.message.as_ref()));
        let counts = all.any(|said| said.template().is_some_and(Template::is_numbered));
        Ok(SideMessages { openings, replies, numbered: counts })
    }

    /// Makes each connection wait for a first message of any content from the peer.
    ///
    /// # Errors
    /// Fails only if the empty pattern cannot be compiled.
    pub fn with_peer_greeting(mut self) -> Result<SideMessages<M>, Complaint> {
        self.openings.insert(0, OpeningMessage { message: None, awaits: Some(Box::new(Regex::new("")?)) });
        Ok(self)
    }

    /// Records whether some requests contain their number.
    pub fn with_numbered_requests(self, counts: bool) -> SideMessages<M> {
        SideMessages { numbered: self.numbered || counts, ..self }
    }

    /// Returns the state of one connection; `None` if there are no side messages and no request is numbered.
    pub fn connection_state(&self, fill: &brunt_contract::SlotContext) -> Option<SideMessageState> {
        let any = self.has_opening() || self.has_replies() || self.numbered;
        any.then(|| SideMessageState::new(fill))
    }

    /// Returns `true` if connections begin with an opening.
    pub fn has_opening(&self) -> bool {
        !self.openings.is_empty()
    }

    /// Returns `true` if a message is awaited before requests are sent.
    pub fn awaits_message(&self) -> bool {
        self.openings.iter().any(|opening| opening.awaits.is_some())
    }

    /// Returns `true` if there are replies to unsolicited messages.
    #[inline]
    pub fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }
}

fn parse_opening<M: SideMessage>(
    text: &str,
    compile: &mut impl FnMut(&str, &str, SlotScope<'static>) -> Result<M, UsageError>,
) -> Result<OpeningMessage<M>, UsageError> {
    const PLACE: &str = "--on-connect";
    let wrong = |trouble: Complaint| UsageError::new(PLACE, trouble);
    let (text, answer) = text.split_once(ARROW).map_or((text, None), |(text, answer)| (text, Some(answer)));
    if text.is_empty() && answer.is_none() {
        return Err(wrong(complaint!("is empty; use, for example, 'LOGIN me=>OK'", "为空；请写，例如 'LOGIN me=>OK'")));
    }
    let scope = SlotScope { sequence: true, captured: None, variables: &[] };
    let said = (!text.is_empty()).then(|| compile(text, PLACE, scope)).transpose()?;
    reject_finite_data(said.as_ref(), PLACE)?;
    let awaits = answer.map(Regex::new).transpose().map_err(wrong)?.map(Box::new);
    Ok(OpeningMessage { message: said, awaits })
}

fn parse_reply<M: SideMessage>(
    text: &str,
    compile: &mut impl FnMut(&str, &str, SlotScope<'static>) -> Result<M, UsageError>,
) -> Result<AutoReply<M>, UsageError> {
    const PLACE: &str = "--reply";
    let wrong = |trouble: Complaint| UsageError::new(PLACE, trouble);
    let (pattern, text) = text.split_once(ARROW).ok_or_else(|| {
        wrong(complaint!(
            "\"{text}\" has no reply; write PATTERN=>TEXT, for example '^ping$=>pong'",
            "“{text}”没有回复；请写 PATTERN=>TEXT，例如 '^ping$=>pong'"
        ))
    })?;
    if pattern.is_empty() {
        return Err(wrong(complaint!(
            "has an empty pattern, which matches every message; use, for example, '^ping$=>pong'",
            "的匹配模式为空，会匹配所有消息；请写，例如 '^ping$=>pong'"
        )));
    }
    let compiled = Box::new(Regex::new(pattern).map_err(wrong)?);
    let captures = GroupCaptures::new(pattern).map_err(wrong)?;
    let scope = SlotScope { sequence: true, captured: Some(captures.groups()), variables: &[] };
    let said = (!text.is_empty()).then(|| compile(text, PLACE, scope)).transpose()?;
    reject_finite_data(said.as_ref(), PLACE)?;
    let captures =
        said.as_ref().and_then(SideMessage::template).filter(|template| template.has_captured()).map(|_| captures);
    Ok(AutoReply { pattern: compiled, captures, message: said })
}

/// Rejects templates that can run out of data rows: the end of the data ends the requests of a run, but not its side
/// messages.
fn reject_finite_data<M: SideMessage>(said: Option<&M>, place: &str) -> Result<(), UsageError> {
    if said.and_then(SideMessage::template).is_some_and(|template| template.data_end().is_some()) {
        let trouble = complaint!(
            "uses each row of a file once, and the run would end when the rows run out; leave out stop and \
            unique here",
            "对文件的每行只用一次，数据用完压测就会结束；请在这里去掉 stop 和 unique"
        );
        return Err(UsageError::new(place, trouble));
    }
    Ok(())
}
