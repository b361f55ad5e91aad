//! One description of a protocol's option: from it come the flag, the key in a plan, the schema and the help.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use measure::plain;

use crate::Proxies;

/// Protocol options by long name, in the order given; a switch has one empty value.
pub type Options = std::collections::BTreeMap<String, Vec<String>>;

/// A text in the languages brunt speaks.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Chinese (simplified).
    pub zh: &'static str,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: a switch.
    Nothing,
    /// One value; the placeholder is shown in the help.
    One(&'static str),
    /// One value, and the option may be repeated.
    Many(&'static str),
}

/// One option of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Long flag and plan key: `expect-status`.
    pub name: &'static str,
    /// Short flag, where people have the habit.
    pub short: Option<char>,
    /// What follows it.
    pub takes: Takes,
    /// One line of help.
    pub help: Text,
}

impl OptionSpec {
    const fn new(name: &'static str, takes: Takes, en: &'static str, zh: &'static str) -> OptionSpec {
        OptionSpec { name, short: None, takes, help: Text { en, zh } }
    }

    /// The same with a short flag.
    pub const fn short(self, flag: char) -> OptionSpec {
        OptionSpec { short: Some(flag), ..self }
    }
}

/// An option with a value.
pub const fn one(name: &'static str, value: &'static str, en: &'static str, zh: &'static str) -> OptionSpec {
    OptionSpec::new(name, Takes::One(value), en, zh)
}

/// An option with a value that may be repeated.
pub const fn many(name: &'static str, value: &'static str, en: &'static str, zh: &'static str) -> OptionSpec {
    OptionSpec::new(name, Takes::Many(value), en, zh)
}

/// An option without a value.
pub const fn switch(name: &'static str, en: &'static str, zh: &'static str) -> OptionSpec {
    OptionSpec::new(name, Takes::Nothing, en, zh)
}

/// One URL as asked.
#[derive(Clone, Debug)]
pub struct AskedUrl {
    /// The URL with its scheme.
    pub url: String,
    /// Relative weight.
    pub weight: f64,
}

impl AskedUrl {
    /// The path as written, without a query: what requests to it are called where nothing else tells them apart.
    pub fn path(&self) -> &str {
        let behind = self.url.split_once("://").map_or(&*self.url, |(_, behind)| behind);
        let path = behind.find('/').map_or("/", |at| &behind[at..]);
        path.split(['?', '#']).next().unwrap_or_default()
    }
}

/// What a run asks of a protocol.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// At least one URL, all of schemes of this protocol.
    pub urls: Vec<AskedUrl>,
    /// The protocol's options.
    pub options: Options,
    /// What requests of single URLs are to be called in figures, by the URL's index; shorter than `urls` where the rest go by
    /// what they ask.
    pub names: Vec<Option<String>>,
    /// What single URLs were asked otherwise, by their index; shorter than `urls` where the rest were not.
    pub own: Vec<Options>,
    /// Send to this Unix socket.
    pub unix_socket: Option<String>,
    /// The proxies that connections use.
    pub proxies: Arc<Proxies>,
    /// Seed for whatever is random in the encoding (multipart boundaries).
    pub seed: u64,
    /// What the target answered to [`Protocol::inquire`](crate::Protocol::inquire), in order.
    pub learnt: Vec<Vec<u8>>,
    /// What users of a flow know by name: slots of these names stand for it.
    pub variables: Arc<[String]>,
    /// The URLs are steps of a flow that speaks several protocols: what is said on a connection follows from what came on it.
    pub steps: bool,
    /// Requests are composed during the run ([`Draft`](crate::Draft)): what prepared ones were made from is kept for that.
    pub composes: bool,
    /// Each answer is to be told whole ([`Answer`](crate::Answer)), to a client that asks beside a load.
    pub answers: bool,
}

impl Asked {
    /// The last value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.get(name).and_then(|v| v.last()).map(String::as_str)
    }
    /// All values of an option.
    pub fn values(&self, name: &str) -> &[String] {
        self.options.get(name).map_or(&[], Vec::as_slice)
    }
    /// True where a switch was given.
    pub fn switch(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }
    /// What requests of the URL of this index are to be called in figures, where that was said.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index)?.as_deref()
    }
    /// What is asked of the URL of this index alone: its own options in the place of the run's of the same name. `None`
    /// where it has none of its own.
    pub fn alone(&self, index: usize) -> Option<Asked> {
        let own = self.own.get(index).filter(|own| !own.is_empty())?;
        let mut options = self.options.clone();
        options.extend(own.iter().map(|(name, values)| (name.clone(), values.clone())));
        let urls = self.urls.get(index).cloned().into_iter().collect();
        let names = self.names.get(index).cloned().into_iter().collect();
        Some(Asked {
            urls,
            options,
            names,
            own: Vec::new(),
            unix_socket: self.unix_socket.clone(),
            proxies: Arc::clone(&self.proxies),
            seed: self.seed,
            learnt: self.learnt.clone(),
            variables: Arc::clone(&self.variables),
            steps: self.steps,
            composes: self.composes,
            answers: self.answers,
        })
    }
}

/// The user's mistake, in one sentence: which option or line, what was wrong, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The option (`--header`) or the line (`urls.txt line 3`).
    pub place: String,
    /// What was wrong with it and what would be right.
    pub trouble: String,
    /// What stands below the sentence, a line each: a command to be copied.
    pub below: Vec<String>,
}

impl Complaint {
    /// A complaint about `place`.
    pub fn new(place: impl Into<String>, trouble: impl Into<String>) -> Complaint {
        Complaint { place: place.into(), trouble: trouble.into(), below: Vec::new() }
    }

    /// The same, with lines below it.
    pub fn with_lines(self, below: Vec<String>) -> Complaint {
        Complaint { below, ..self }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever is quoted in it.
        write!(f, "{}: {}", clipped(&plain::line(&self.place)), clipped(&plain::line(&self.trouble)))?;
        self.below.iter().try_for_each(|line| write!(f, "\n  {}", plain::line(line)))
    }
}

/// A quoted text may be as long as a file: its beginning and its end.
fn clipped(text: &str) -> Cow<'_, str> {
    const MOST: usize = 1000;
    if text.len() <= MOST {
        return text.into();
    }
    let (begins, ends) = (text.floor_char_boundary(MOST / 2), text.ceil_char_boundary(text.len() - MOST / 4));
    format!("{} … {}", &text[..begins], &text[ends..]).into()
}

impl std::error::Error for Complaint {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_shown_by_its_beginning_and_its_end() {
        let said = Complaint::new("URL", format!("`{}` is too long; write less", "é".repeat(40_000))).to_string();
        assert!(
            said.len() < 900 && said.starts_with("URL: `éé") && said.ends_with("é` is too long; write less"),
            "{said}"
        );
        assert_eq!(Complaint::new("-c", "x\ny").to_string(), "-c: x\\ny");
    }
}
