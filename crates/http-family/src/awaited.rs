//! Which message a step of a flow awaits (`await: json $.type == "joined"`), on a WebSocket or a stream of gRPC.

use memchr::memmem;
use wire::{Complaint, Fill};

use values::beside::captures::Captures;
use values::template::{Scope, Template};
use values::verify::json::Json;
use values::verify::places;

/// Which message is awaited.
#[derive(Debug)]
pub enum Await {
    /// The next that comes.
    Any,
    /// One that is like this.
    Like(Like),
    /// One that is like this once its slots are filled.
    Filled(Kind, Template),
}

/// How a message is recognised.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Json,
    Regex,
    Text,
}

/// What a message is to be like.
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

    /// True of a message that is so.
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
    /// `any`, `json $.type == "joined"`, `regex PATTERN`, `text TEXT`.
    ///
    /// # Errors
    /// It says not which message, or not as it must.
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

    /// The same with its slots filled; None: as it is.
    pub fn filled(&self, fill: &Fill<'_>) -> Option<Result<Like, String>> {
        let Await::Filled(kind, template) = self else { return None };
        let mut text = Vec::new();
        template.fill(fill, &mut text);
        Some(Like::parse(*kind, &String::from_utf8_lossy(&text)))
    }
}
