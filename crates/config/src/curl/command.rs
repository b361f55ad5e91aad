//! The options of one curl command, parsed one by one, before they are combined.

use brunt_cause::complaint;
use brunt_contract::UsageError;

use super::options::{self, CurlOption, OptionTreatment};
use crate::draft::CurlNote;

/// The options of one part of a command; `--next` separates the parts.
#[derive(Clone, Debug, Default)]
pub struct CurlOptions {
    /// Long names of the switches.
    pub switches: Vec<&'static str>,
    /// Options with a value, in the order given.
    pub values: Vec<(&'static str, String)>,
    /// The URLs.
    pub urls: Vec<String>,
    /// Differences from curl.
    pub notes: Vec<CurlNote>,
    /// Options for curl's own output, as written.
    pub output: Vec<String>,
}

impl CurlOptions {
    /// Returns `true` if the switch is set.
    pub fn has(&self, name: &str) -> bool {
        self.switches.contains(&name)
    }

    /// Returns the last value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().rev().find(|(long, _)| *long == name).map(|(_, value)| value.as_str())
    }

    /// Returns all values of an option.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.values.iter().filter(move |(long, _)| *long == name).map(|(_, value)| value.as_str())
    }

    fn add(&mut self, found: CurlOption, written: &str, value: Option<String>, place: &str) -> Result<(), UsageError> {
        match (found.fate, value) {
            (OptionTreatment::Honoured, Some(value)) if found.long == "url" => self.urls.push(value),
            (OptionTreatment::Honoured, Some(value)) => self.values.push((found.long, value)),
            (OptionTreatment::Honoured, None) => self.switches.push(found.long),
            (OptionTreatment::Output, _) => self.output.push(written.to_owned()),
            (fate @ (OptionTreatment::Differs(why) | OptionTreatment::DiffersWithoutCookies(why)), _) => {
                let without_jar = matches!(fate, OptionTreatment::DiffersWithoutCookies(_));
                let [en, zh] = why;
                let text = complaint!("{written}: {en}", "{written}：{zh}");
                let note = CurlNote { text, without_cookies: without_jar };
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
            (OptionTreatment::Refused([en, zh]), _) => {
                return Err(UsageError::new(place, complaint!("{written} {en}", "{written} {zh}")));
            }
        }
        Ok(())
    }
}

/// Parses the words after `curl`; returns the options of each part separated by `--next`.
///
/// # Errors
/// An option is unknown to curl or cannot be honoured; `place` names the command in the error.
pub fn read(words: &[String], place: &str) -> Result<Vec<CurlOptions>, UsageError> {
    let mut parts = vec![CurlOptions::default()];
    let mut words = words.iter();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        let part = parts.last_mut().expect("there is always one");
        if only_urls || word == "-" || !word.starts_with('-') {
            part.urls.push(word.clone());
        } else if word == "--" {
            only_urls = true;
        } else if word == "--next" || word == "-:" {
            parts.push(CurlOptions::default());
        } else if let Some(name) = word.strip_prefix("--") {
            long(part, name, word, &mut words, place)?;
        } else {
            shorts(part, &word[1..], &mut words, place)?;
        }
    }
    Ok(parts)
}

fn missing(written: &str, place: &str) -> UsageError {
    UsageError::new(
        place,
        complaint!(
            "{written} needs a value, but the command ends there; add it",
            "{written} 需要一个值，而命令到此为止；请补上"
        ),
    )
}

fn long<'a>(
    part: &mut CurlOptions,
    name: &str,
    written: &str,
    words: &mut impl Iterator<Item = &'a String>,
    place: &str,
) -> Result<(), UsageError> {
    // `--no-X` switches X off, but the names of a few options begin with `no-`.
    let found = match (options::long(name), name.strip_prefix("no-").map(options::long)) {
        (Err(_), Some(Ok(off))) if !off.takes => {
            part.switches.retain(|name| *name != off.long);
            return Ok(());
        }
        (found, _) => found.map_err(|why| {
            let zh = why.zh();
            UsageError::new(place, complaint!("{written} {why}", "{written} {zh}"))
        })?,
    };
    let value = match found.takes {
        true => Some(words.next().cloned().ok_or_else(|| missing(written, place))?),
        false => None,
    };
    part.add(found, written, value, place)
}

/// Parses several short options in one word; the first one with a value takes the rest of the word.
fn shorts<'a>(
    part: &mut CurlOptions,
    letters: &str,
    words: &mut impl Iterator<Item = &'a String>,
    place: &str,
) -> Result<(), UsageError> {
    for (at, letter) in letters.char_indices() {
        let written = format!("-{letter}");
        let found = options::short(letter).ok_or_else(|| {
            UsageError::new(place, complaint!("{written} is not an option of curl", "{written} 不是 curl 的选项"))
        })?;
        if !found.takes {
            part.add(found, &written, None, place)?;
            continue;
        }
        let rest = &letters[at + letter.len_utf8()..];
        let value = match rest {
            "" => words.next().cloned().ok_or_else(|| missing(&written, place))?,
            rest => rest.to_owned(),
        };
        return part.add(found, &written, Some(value), place);
    }
    Ok(())
}
