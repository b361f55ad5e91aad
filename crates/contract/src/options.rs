//! Descriptions of protocol options: the flag, the key in a plan, the schema and the help are all derived from one.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use brunt_cause::Complaint;
use brunt_measure::sanitize;

use crate::ProxyRules;

/// Values of protocol options by long name, in the order given; a switch has one empty value.
pub type OptionValues = std::collections::BTreeMap<String, Vec<String>>;

/// A text in each language of brunt's interface.
#[derive(Clone, Copy, Debug)]
pub struct HelpText {
    /// English.
    pub en: &'static str,
    /// Chinese (simplified).
    pub zh: &'static str,
}

/// The argument of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionArity {
    /// No argument: a switch.
    Switch,
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
    /// Short flag, for options that users know by such a flag.
    pub short: Option<char>,
    /// Argument of the option.
    pub arity: OptionArity,
    /// Help text of one line.
    pub help: HelpText,
}

impl OptionSpec {
    const fn new(name: &'static str, takes: OptionArity, en: &'static str, zh: &'static str) -> OptionSpec {
        OptionSpec { name, short: None, arity: takes, help: HelpText { en, zh } }
    }

    /// Returns the option with a short flag.
    pub const fn short(self, flag: char) -> OptionSpec {
        OptionSpec { short: Some(flag), ..self }
    }
}

/// Creates an option with a value.
pub const fn one(name: &'static str, value: &'static str, en: &'static str, zh: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionArity::One(value), en, zh)
}

/// Creates an option with a value that may be repeated.
pub const fn many(name: &'static str, value: &'static str, en: &'static str, zh: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionArity::Many(value), en, zh)
}

/// Creates an option without a value.
pub const fn switch(name: &'static str, en: &'static str, zh: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionArity::Switch, en, zh)
}

/// A requested URL.
#[derive(Clone, Debug)]
pub struct RequestedUrl {
    /// The URL with its scheme.
    pub url: String,
    /// Relative weight.
    pub weight: f64,
}

impl RequestedUrl {
    /// Returns the path as written, without a query: the default name of requests to this URL.
    pub fn path(&self) -> &str {
        let behind = self.url.split_once("://").map_or(&*self.url, |(_, behind)| behind);
        let path = behind.find('/').map_or("/", |at| &behind[at..]);
        path.split(['?', '#']).next().unwrap_or_default()
    }
}

/// The run's configuration for one protocol.
#[derive(Clone, Debug, Default)]
pub struct ProtocolConfig {
    /// URLs, at least one, all with schemes of this protocol.
    pub urls: Vec<RequestedUrl>,
    /// Options of the protocol.
    pub options: OptionValues,
    /// Names in reports for the requests of individual URLs, by the URL's index. May be shorter than `urls`; the
    /// remaining URLs have default names.
    pub names: Vec<Option<String>>,
    /// Options of individual URLs that override the run's, by the URL's index. May be shorter than `urls`; the
    /// remaining URLs have no options of their own.
    pub url_options: Vec<OptionValues>,
    /// Scenarios that request each URL, by the URL's index: requests of different scenarios belong to different users.
    /// Empty in a run without scenarios.
    pub url_scenarios: Vec<Vec<u16>>,
    /// Unix socket to connect to instead of the URLs' hosts.
    pub unix_socket: Option<String>,
    /// Proxies of the run.
    pub proxies: Arc<ProxyRules>,
    /// Seed for everything random in the encoding (multipart boundaries).
    pub seed: u64,
    /// Responses of the target to the inquiries so far ([`crate::Protocol::inquiry`]), in order.
    pub inquiry_responses: Vec<Vec<u8>>,
    /// Names of a flow's variables: slots with these names are replaced by the user's values.
    pub variables: Arc<[String]>,
    /// Set if the URLs are steps of a flow that uses several protocols: what is sent on a connection may depend on what
    /// was received on it.
    pub is_composite_flow: bool,
    /// Set if requests are composed during the run ([`crate::RequestDraft`]): the sources of prepared requests are then
    /// kept.
    pub composes_requests: bool,
    /// Set if the content of each response is returned ([`crate::ResponseContent`]), for a client that runs alongside a
    /// load.
    pub returns_content: bool,
}

impl ProtocolConfig {
    /// Returns the last value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.get(name).and_then(|v| v.last()).map(String::as_str)
    }
    /// Returns all values of an option.
    pub fn values(&self, name: &str) -> &[String] {
        self.options.get(name).map_or(&[], Vec::as_slice)
    }
    /// Returns `true` if a switch was given.
    pub fn switch(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }
    /// Returns the configured name of requests of the URL at this index, if any.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index)?.as_deref()
    }
    /// Returns the configuration of the URL at this index alone, with its own options in place of the run's options of
    /// the same name. `None` if it has no options of its own.
    pub fn for_url(&self, index: usize) -> Option<ProtocolConfig> {
        let own = self.url_options.get(index).filter(|own| !own.is_empty())?;
        let mut options = self.options.clone();
        options.extend(own.iter().map(|(name, values)| (name.clone(), values.clone())));
        let urls = self.urls.get(index).cloned().into_iter().collect();
        let names = self.names.get(index).cloned().into_iter().collect();
        Some(ProtocolConfig {
            urls,
            options,
            names,
            url_options: Vec::new(),
            url_scenarios: Vec::new(),
            unix_socket: self.unix_socket.clone(),
            proxies: Arc::clone(&self.proxies),
            seed: self.seed,
            inquiry_responses: self.inquiry_responses.clone(),
            variables: Arc::clone(&self.variables),
            is_composite_flow: self.is_composite_flow,
            composes_requests: self.composes_requests,
            returns_content: self.returns_content,
        })
    }
}

/// A usage error in one sentence: the option or line, what was wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageError {
    /// Option (`--header`) or line (`urls.txt line 3`); empty if the problem names it.
    pub location: String,
    /// Explanation of what was wrong and what would be right.
    pub problem: Complaint,
    /// Lines printed below the sentence: a command to be copied.
    pub extra_lines: Vec<Complaint>,
    /// Set if nothing is wrong with what was asked: this machine cannot do it, because its disk is full, say.
    pub is_of_machine: bool,
}

impl UsageError {
    /// Creates a usage error about `place`.
    pub fn new(place: impl Into<String>, trouble: impl Into<Complaint>) -> UsageError {
        UsageError { location: place.into(), problem: trouble.into(), extra_lines: Vec::new(), is_of_machine: false }
    }

    /// Creates a usage error that names what it is about.
    pub fn whole(trouble: impl Into<Complaint>) -> UsageError {
        UsageError::new("", trouble)
    }

    /// Creates an error about this machine, which cannot do what was asked.
    pub fn of_machine(trouble: impl Into<Complaint>) -> UsageError {
        UsageError { is_of_machine: true, ..UsageError::whole(trouble) }
    }

    /// Returns `true` if [`UsageError::zh`] explains it in Chinese.
    pub fn is_translated(&self) -> bool {
        self.problem.is_translated()
    }

    /// Returns the error in Chinese, as far as it is translated.
    pub fn zh(&self) -> String {
        self.written(&zh_place(&self.location), Complaint::zh, "：")
    }

    fn written(&self, location: &str, read: fn(&Complaint) -> &str, separator: &str) -> String {
        let location = clipped(&sanitize::line(location)).into_owned();
        let separator = if location.is_empty() { "" } else { separator };
        // The message is always one line, whatever it quotes.
        let line = format!("{location}{separator}{}", clipped(&sanitize::line(read(&self.problem))));
        self.extra_lines.iter().fold(line, |lines, line| format!("{lines}\n  {}", sanitize::line(read(line))))
    }

    /// Names another place, such as the option whose value the error is about.
    #[must_use]
    pub fn at(self, place: &str) -> UsageError {
        UsageError { location: place.into(), ..self }
    }

    /// Adds lines below the sentence.
    pub fn with_lines(self, below: Vec<Complaint>) -> UsageError {
        UsageError { extra_lines: below, ..self }
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(&self.location, |text| text, ": "))
    }
}

/// Returns a place in a file in Chinese: `p.yaml line 2 column 8` becomes `p.yaml 第 2 行第 8 列`.
pub fn zh_place(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut words = text.split(' ').peekable();
    let mut follows = false;
    while let Some(word) = words.next() {
        let unit = match word {
            "line" => Some("行"),
            "column" => Some("列"),
            _ => None,
        };
        let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        match (unit, words.next_if(is_number)) {
            (Some(unit), Some(number)) => {
                out += if out.is_empty() || follows { "" } else { " " };
                out += &format!("第 {number} {unit}");
                follows = true;
            }
            (_, number) => {
                for word in [Some(word), number].into_iter().flatten() {
                    out += if out.is_empty() { "" } else { " " };
                    out += word;
                }
                follows = false;
            }
        }
    }
    out
}

/// Returns the text, or only its beginning and end if it is long: it may quote a whole file.
fn clipped(text: &str) -> Cow<'_, str> {
    const MOST: usize = 1000;
    if text.len() <= MOST {
        return text.into();
    }
    let (begins, ends) = (text.floor_char_boundary(MOST / 2), text.ceil_char_boundary(text.len() - MOST / 4));
    format!("{} … {}", &text[..begins], &text[ends..]).into()
}

impl std::error::Error for UsageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_files_are_told_in_chinese() {
        for (place, zh) in [
            ("p.yaml line 2 column 8 (users)", "p.yaml 第 2 行第 8 列 (users)"),
            ("line 3", "第 3 行"),
            ("my line 3b 4 column", "my line 3b 4 column"),
            ("a  b", "a  b"),
            ("--objective", "--objective"),
        ] {
            assert_eq!(zh_place(place), zh);
        }
        let wrong = UsageError::new("u.txt line 3", brunt_cause::complaint!("is wrong", "有误"));
        assert_eq!((wrong.to_string(), wrong.zh()), ("u.txt line 3: is wrong".into(), "u.txt 第 3 行：有误".into()));
    }

    #[test]
    fn what_is_quoted_is_shown_by_its_beginning_and_its_end() {
        let said = UsageError::new("URL", format!("`{}` is too long; write less", "é".repeat(40_000))).to_string();
        assert!(
            said.len() < 900 && said.starts_with("URL: `éé") && said.ends_with("é` is too long; write less"),
            "{said}"
        );
        assert_eq!(UsageError::new("-c", "x\ny").to_string(), "-c: x\\ny");
    }
}
