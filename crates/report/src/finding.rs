//! What a rule found: a stable word, how bad it is, and sentences in every language.

use words::LocalizedSentence;

use crate::text::{Lang, Text};

/// How a check came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Nothing to say.
    #[default]
    Ok,
    /// Worth knowing; the figures stand.
    Warn,
    /// The figures do not stand.
    Fail,
}

impl Grade {
    /// The verdict's word in documents, when this is the worst grade.
    pub fn verdict(self) -> &'static str {
        match self {
            Grade::Ok => "trusted",
            Grade::Warn => "caution",
            Grade::Fail => "not_trusted",
        }
    }

    /// The word for a single check.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Ok => "ok",
            Grade::Warn => "warn",
            Grade::Fail => "fail",
        }
    }
}

/// One thing found out about the run's own truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// A stable word for documents. Nothing in brunt hangs on it.
    pub code: &'static str,
    /// How bad it is.
    pub grade: Grade,
    /// Its sentence.
    said: LocalizedSentence,
}

impl Finding {
    /// One with a sentence, without a full stop.
    pub(crate) fn new<const N: usize>(
        code: &'static str,
        grade: Grade,
        text: Text,
        facts: [(&'static str, String); N],
    ) -> Finding {
        Finding { code, grade, said: LocalizedSentence::new(text, facts) }
    }

    /// The same, and its sentence goes on.
    pub(crate) fn and<const N: usize>(mut self, text: Text, facts: [(&'static str, String); N]) -> Finding {
        self.said = self.said.with_clause(text, facts);
        self
    }

    /// Its sentence, without a full stop.
    pub fn sentence(&self, lang: Lang) -> String {
        self.said.render(lang)
    }
}
