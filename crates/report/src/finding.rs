//! The result of a rule: a stable identifier, its severity, and sentences in every language.

use brunt_i18n::LocalizedSentence;

use crate::text::{Lang, Text};

/// The result of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// A check that was not made.
    Unchecked,
    /// No objection.
    #[default]
    Ok,
    /// Too few requests, or too short a time, to judge.
    TooShort,
    /// A caution; the figures remain valid.
    Warn,
    /// The figures are invalid.
    Fail,
}

impl Grade {
    /// Returns the identifier that documents use for a verdict with this worst grade.
    pub fn verdict(self) -> &'static str {
        match self {
            Grade::Unchecked | Grade::Ok => "trusted",
            Grade::TooShort => "too_short",
            Grade::Warn => "caution",
            Grade::Fail => "not_trusted",
        }
    }

    /// Returns the identifier that documents use for the grade of a single check.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Unchecked => "unchecked",
            Grade::Ok => "ok",
            Grade::TooShort => "too_short",
            Grade::Warn => "warn",
            Grade::Fail => "fail",
        }
    }
}

/// A finding about the validity of a run's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Stable identifier for documents.
    pub code: &'static str,
    /// Severity.
    pub grade: Grade,
    /// Sentences with their facts.
    sentences: LocalizedSentence,
}

impl Finding {
    /// Creates a finding with a sentence, without a full stop.
    pub(crate) fn new<const N: usize>(
        code: &'static str,
        grade: Grade,
        text: Text,
        facts: [(&'static str, String); N],
    ) -> Finding {
        Finding { code, grade, sentences: LocalizedSentence::new(text, facts) }
    }

    /// Appends a sentence.
    pub(crate) fn and<const N: usize>(mut self, text: Text, facts: [(&'static str, String); N]) -> Finding {
        self.sentences = self.sentences.with_clause(text, facts);
        self
    }

    /// Returns the same finding of an agent, in the verdict on the whole run.
    pub(crate) fn of_agent(self, prefix: LocalizedSentence, grade: Grade) -> Finding {
        Finding { grade, sentences: prefix.followed_by(self.sentences), ..self }
    }

    /// Returns `true` if it concerns the bands of figures only: what the figures say beyond their bands is certain.
    pub fn is_of_band(&self) -> bool {
        self.code == crate::rules::band::CODE
    }

    /// Returns `true` if it says that no request succeeded.
    pub(crate) fn is_of_failures(&self) -> bool {
        self.code == crate::rules::answers::CODE
    }

    /// Returns `true` if the counts of the run are in doubt, and with them everything else.
    pub(crate) fn refutes_counts(&self) -> bool {
        ["accounting", "little", "pairing", crate::rules::not_sent::CODE].contains(&self.code)
    }

    /// Returns the sentence, without a full stop.
    pub fn sentence(&self, lang: Lang) -> String {
        self.sentences.render(lang)
    }
}
