//! Values out of what clap matched, with complaints that name the flag as people write it.

use clap::ArgMatches;
use measure::Nanos;
use plan::quantity;
use wire::Complaint;

/// What clap matched.
pub struct Matched<'a>(pub &'a ArgMatches);

impl<'a> Matched<'a> {
    /// The last value of a flag.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.texts(name).last().copied()
    }

    /// All values of a flag.
    pub fn texts(&self, name: &str) -> Vec<&'a str> {
        match self.0.try_get_many::<String>(name) {
            Ok(Some(values)) => values.map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// True where a switch was given.
    pub fn switch(&self, name: &str) -> bool {
        matches!(self.0.try_get_one::<bool>(name), Ok(Some(true)))
    }

    /// True where a flag was given on the command line.
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
            found.ok_or_else(|| format!("`{text}` is not known; write one of {}", known.join(", ")))
        })
    }
}
