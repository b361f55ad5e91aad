//! Values out of what clap matched, and below it out of what a plan file or curl commands say; with complaints that name
//! the flag as people write it.

use clap::ArgMatches;
use measure::Nanos;
use plan::quantity;
use wire::Complaint;

use super::given::{self, Given};

/// What was asked: the command line, and what stands below it.
pub struct Matched<'a> {
    line: &'a ArgMatches,
    below: Option<&'a Given>,
}

impl<'a> Matched<'a> {
    /// The command line alone.
    pub fn line(line: &'a ArgMatches) -> Matched<'a> {
        Matched { line, below: None }
    }

    /// The command line over what is said elsewhere.
    pub fn over(line: &'a ArgMatches, below: &'a Given) -> Matched<'a> {
        Matched { line, below: Some(below) }
    }

    /// The last value of a flag.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.texts(name).last().copied()
    }

    /// All values of a flag.
    pub fn texts(&self, name: &str) -> Vec<&'a str> {
        let line = self.line_texts(name);
        if line.is_empty() { self.below(name) } else { line }
    }

    /// All values of a flag on the command line.
    pub fn line_texts(&self, name: &str) -> Vec<&'a str> {
        match self.line.try_get_many::<String>(name) {
            Ok(Some(values)) => values.map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// True where the command line itself says it.
    pub fn on_line(&self, name: &str) -> bool {
        !self.line_texts(name).is_empty() || matches!(self.line.try_get_one::<bool>(name), Ok(Some(true)))
    }

    fn below(&self, name: &str) -> Vec<&'a str> {
        let Some(below) = self.below else { return Vec::new() };
        if given::hidden(self).contains(&name) {
            return Vec::new();
        }
        below.said.iter().filter(|said| said.name == name).map(|said| said.text.as_str()).collect()
    }

    /// True where a switch was given.
    pub fn switch(&self, name: &str) -> bool {
        matches!(self.line.try_get_one::<bool>(name), Ok(Some(true))) || !self.below(name).is_empty()
    }

    /// True where a flag has a value.
    pub fn given(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// A flag's value read by `parse`; the complaint begins with `place`.
    pub fn parsed<T>(
        &self,
        name: &str,
        place: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Complaint> {
        self.text(name).map(|text| parse(text).map_err(|trouble| Complaint::new(place, trouble))).transpose()
    }

    /// A time above zero.
    pub fn time(&self, name: &str, place: &str) -> Result<Option<Nanos>, Complaint> {
        self.parsed(name, place, quantity::positive_duration)
    }

    /// One of a few words.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Complaint> {
        self.parsed(name, &format!("--{name}"), |text| {
            let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>();
            let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
            found.ok_or_else(|| format!("`{text}` is not one of {}", known.join(", ")))
        })
    }
}
