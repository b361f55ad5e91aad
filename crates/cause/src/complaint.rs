//! Complaints about what a user wrote: a wrong option, a wrong line of a plan.

use std::fmt;
use std::ops::Deref;

/// What is wrong with something that a user wrote and what would be right, in each language. As a `str`, it is the
/// English text.
#[derive(Clone, Debug, Default)]
pub struct Complaint {
    en: String,
    /// `None` for a text that has no translation, such as an error of the operating system.
    zh: Option<String>,
}

impl Complaint {
    /// Creates a complaint in each language; [`crate::complaint!`] also fills in its arguments.
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Complaint {
        Complaint { en: en.into(), zh: Some(zh.into()) }
    }

    /// Creates a complaint from the English text of a sentence of this crate, which came from another process; another text
    /// has no translation.
    pub fn of_text(en: impl Into<String>) -> Complaint {
        let en = en.into();
        let zh = crate::Cause::from_legacy_text(&en).and_then(|cause| cause.zh()).map(|zh| zh.into_owned());
        Complaint { en, zh }
    }

    /// Returns the Chinese text, or the English one if it has no translation.
    pub fn zh(&self) -> &str {
        self.zh.as_deref().unwrap_or(&self.en)
    }

    /// Returns `true` if the text that [`Complaint::zh`] returns is Chinese, at least in part.
    pub fn is_translated(&self) -> bool {
        self.zh().chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}'))
    }

    /// Changes the text in each language.
    #[must_use]
    pub fn map(&self, change: impl Fn(&str) -> String) -> Complaint {
        Complaint { en: change(&self.en), zh: self.zh.as_deref().map(change) }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.en)
    }
}

impl Deref for Complaint {
    type Target = str;
    fn deref(&self) -> &str {
        &self.en
    }
}

impl From<String> for Complaint {
    fn from(en: String) -> Complaint {
        Complaint { en, zh: None }
    }
}

impl From<&str> for Complaint {
    fn from(en: &str) -> Complaint {
        en.to_owned().into()
    }
}

/// Complaints are the same if their English texts are: the others are translations of it.
impl PartialEq for Complaint {
    fn eq(&self, other: &Complaint) -> bool {
        self.en == other.en
    }
}

impl Eq for Complaint {}

/// Loses the translation.
impl From<Complaint> for String {
    fn from(complaint: Complaint) -> String {
        complaint.en
    }
}

impl PartialEq<&str> for Complaint {
    fn eq(&self, other: &&str) -> bool {
        self.en == *other
    }
}

impl PartialEq<String> for Complaint {
    fn eq(&self, other: &String) -> bool {
        self.en == *other
    }
}

/// Creates a [`Complaint`] from two formats with the same arguments.
#[macro_export]
macro_rules! complaint {
    ($en:literal, $zh:literal $(, $($argument:tt)+)?) => {
        $crate::Complaint::new(format!($en $(, $($argument)+)?), format!($zh $(, $($argument)+)?))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_has_each_language_and_may_lack_one() {
        let text = "5x";
        let both = complaint!("`{text}` is not a time; use {}", "“{text}”不是时间；请用 {}", "5s");
        assert_eq!((both.to_string(), both.zh()), ("`5x` is not a time; use 5s".into(), "“5x”不是时间；请用 5s"));
        assert!(both.contains("not a time") && both.map(str::to_uppercase).zh() == "“5X”不是时间；请用 5S");
        assert_eq!(Complaint::from("File exists").zh(), "File exists");
        let told = Complaint::of_text("no answer in time");
        assert_eq!((told.to_string(), told.zh()), ("no answer in time".into(), "未按时收到应答"));
        assert_eq!(Complaint::of_text("File exists").zh(), "File exists");
        assert!(both.is_translated() && !Complaint::from("File exists").is_translated());
    }
}
