//! Conditions on the message that a step of a flow awaits (`await: json $.type == "joined"`), for WebSocket and gRPC
//! streams.

use memchr::memmem;
use wire::{Complaint, Fill};

use values::beside::captures::Captures;
use values::template::{Scope, Template};
use values::verify::json::Json;
use values::verify::places;

/// The message to wait for.
#[derive(Debug)]
pub enum Await {
    /// The next message.
    Any,
    /// The next message that matches.
    Like(Like),
    /// Like [`Await::Like`], for a condition with slots.
    Filled(Kind, Template),
}

/// Kind of a match condition.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Json,
    Regex,
    Text,
}

/// A match condition on a message.
#[derive(Debug)]
pub enum Like {
    Json(Json),
    Regex(Captures),
    Text(Vec<u8>),
}

impl Like {
    fn parse(kind: Kind, text: &str) -> Result<Like, String> {
        match kind {
            Kind::Json => Json::parse(text).map(Like::Json),
            Kind::Regex => Captures::new(text).map(Like::Regex),
            Kind::Text => Ok(Like::Text(text.as_bytes().to_vec())),
        }
    }

    /// Returns `true` if the message matches.
    pub fn is(&self, message: &[u8]) -> bool {
        match self {
            Like::Json(rule) => places::whole(message).is_some_and(|message| rule.holds(message)),
            Like::Regex(pattern) => {
                let mut found = false;
                pattern.each(message, &mut |_| {
                    found = true;
                    false
                });
                found
            }
            Like::Text(text) => memmem::find(message, text).is_some(),
        }
    }
}

impl Await {
    /// Parses `any`, `json $.type == "joined"`, `regex PATTERN` or `text TEXT`.
    ///
    /// # Errors
    /// Returns an error if the text names no condition, or an invalid one.
    pub fn parse(text: &str, variables: &[String]) -> Result<Await, Complaint> {
        let wrong = |trouble: String| Complaint::new("--await", trouble);
        let (word, rest) = text.trim().split_once(' ').map_or((text.trim(), ""), |(word, rest)| (word, rest.trim()));
        let kind = match (word, rest) {
            ("any", "") => return Ok(Await::Any),
            ("json", _) if !rest.is_empty() => Kind::Json,
            ("regex", _) if !rest.is_empty() => Kind::Regex,
            ("text", _) if !rest.is_empty() => Kind::Text,
            _ => {
                let usual = "write any, json $.type == \"joined\", regex PATTERN or text TEXT";
                return Err(wrong(format!("`{text}` is not a message to wait for; {usual}")));
            }
        };
        let scope = Scope { variables, ..Scope::default() };
        let template = Template::of_text(rest, "--await", values::template::Notation::Plain, scope)?;
        match template.is_fixed() {
            Some(_) => Like::parse(kind, rest).map(Await::Like).map_err(wrong),
            None => Ok(Await::Filled(kind, template)),
        }
    }

    /// Returns the condition with its slots filled, or `None` if it has no slots.
    pub fn filled(&self, fill: &Fill<'_>) -> Option<Result<Like, String>> {
        let Await::Filled(kind, template) = self else { return None };
        let mut text = Vec::new();
        template.fill(fill, &mut text);
        Some(Like::parse(*kind, &String::from_utf8_lossy(&text)))
    }
}
