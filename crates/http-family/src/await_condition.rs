//! Conditions on the message that a step of a flow awaits (`await: json $.type == "joined"`), for WebSocket and gRPC
//! streams.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{SlotContext, UsageError};
use memchr::memmem;

use brunt_values::group_captures::GroupCaptures;
use brunt_values::steps::{OutOfSteps, StepBudget};
use brunt_values::template::{SlotScope, Template};
use brunt_values::verify::json::JsonRule;
use brunt_values::verify::raw_json;

/// The message to wait for.
#[derive(Debug)]
pub enum AwaitCondition {
    /// The next message.
    Any,
    /// The next message that matches.
    Matching(MessageMatch),
    /// Like [`AwaitCondition::Matching`], for a condition with slots.
    WithSlots(MatchKind, Template),
}

/// Kind of a match condition.
#[derive(Clone, Copy, Debug)]
pub enum MatchKind {
    Json,
    Regex,
    Text,
}

/// A match condition on a message.
#[derive(Debug)]
pub enum MessageMatch {
    Json(JsonRule),
    Regex(GroupCaptures),
    Text(Vec<u8>),
}

impl MessageMatch {
    /// Parses a condition; `pattern` compiles a pattern.
    fn parse(
        kind: MatchKind,
        text: &str,
        pattern: fn(&str) -> Result<GroupCaptures, Complaint>,
    ) -> Result<MessageMatch, Complaint> {
        match kind {
            MatchKind::Json => JsonRule::parse(text).map(MessageMatch::Json),
            MatchKind::Regex => pattern(text).map(MessageMatch::Regex),
            MatchKind::Text => Ok(MessageMatch::Text(text.as_bytes().to_vec())),
        }
    }

    /// Returns `true` if the message matches.
    ///
    /// # Errors
    /// Finding out would take too long.
    pub fn matches(&self, message: &[u8]) -> Result<bool, OutOfSteps> {
        let steps = StepBudget::default();
        match self {
            MessageMatch::Json(rule) => {
                let holds = raw_json::parse_whole(message).is_some_and(|message| rule.holds(message, &steps));
                steps.result().map(|()| holds)
            }
            MessageMatch::Regex(pattern) => {
                let mut found = false;
                let searched = pattern.each(message, &steps, &mut |_| {
                    found = true;
                    false
                });
                searched.map(|()| found)
            }
            MessageMatch::Text(text) => Ok(memmem::find(message, text).is_some()),
        }
    }
}

impl AwaitCondition {
    /// Parses `any`, `json $.type == "joined"`, `regex PATTERN` or `text TEXT`.
    ///
    /// # Errors
    /// Returns an error if the text names no condition, or an invalid one.
    pub fn parse(text: &str, variables: &[String]) -> Result<AwaitCondition, UsageError> {
        let wrong = |trouble: Complaint| UsageError::new("--await", trouble);
        let (word, rest) = text.trim().split_once(' ').map_or((text.trim(), ""), |(word, rest)| (word, rest.trim()));
        let kind = match (word, rest) {
            ("any", "") => return Ok(AwaitCondition::Any),
            ("json", _) if !rest.is_empty() => MatchKind::Json,
            ("regex", _) if !rest.is_empty() => MatchKind::Regex,
            ("text", _) if !rest.is_empty() => MatchKind::Text,
            _ => {
                return Err(wrong(complaint!(
                    "`{text}` is not a message to wait for; write any, json $.type == \"joined\", regex PATTERN or text TEXT",
                    "`{text}` 不是可等待的消息；请写 any、json $.type == \"joined\"、regex PATTERN 或 text TEXT"
                )));
            }
        };
        let scope = SlotScope { variables, ..SlotScope::default() };
        let template = Template::parse_text(rest, "--await", brunt_values::template::Notation::Plain, scope)?;
        match template.fixed_bytes() {
            Some(_) => MessageMatch::parse(kind, rest, GroupCaptures::new).map(AwaitCondition::Matching).map_err(wrong),
            None => Ok(AwaitCondition::WithSlots(kind, template)),
        }
    }

    /// Returns the condition with its slots filled, or `None` if it has no slots.
    pub fn fill(&self, context: &SlotContext<'_>) -> Option<Result<MessageMatch, Complaint>> {
        let AwaitCondition::WithSlots(kind, template) = self else { return None };
        let mut text = Vec::new();
        template.fill(context, &mut text);
        Some(MessageMatch::parse(*kind, &String::from_utf8_lossy(&text), GroupCaptures::for_one_text))
    }
}
