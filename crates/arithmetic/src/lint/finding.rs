//! What a check found.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, LocalizedSentence};

use super::stated::{StatedRun, ToolName};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintGrade {
    /// Worth knowing; nothing is wrong with it.
    Note,
    /// A figure cannot bear what it is read for.
    Weak,
    /// A figure contradicts another one.
    Wrong,
}

impl LintGrade {
    /// Returns the name in documents.
    pub fn name(self) -> &'static str {
        match self {
            LintGrade::Note => "note",
            LintGrade::Weak => "weak",
            LintGrade::Wrong => "wrong",
        }
    }

    /// Returns the mark in text.
    pub(super) fn mark(self) -> &'static str {
        match self {
            LintGrade::Note => "- ",
            LintGrade::Weak => "! ",
            LintGrade::Wrong => "x ",
        }
    }
}

/// A finding: a sentence with its arithmetic, and the command that would settle it.
#[derive(Clone, Debug, PartialEq)]
pub struct LintFinding {
    /// The check, by its name in documents.
    pub check: &'static str,
    /// How much it weighs.
    pub grade: LintGrade,
    /// Number of the line in the paste that it is about.
    pub line: usize,
    /// The tool whose output it is about.
    pub tool: Option<ToolName>,
    /// The sentence, without a full stop.
    pub sentence: LocalizedSentence,
    /// The command of brunt that would settle it.
    pub command: Option<String>,
}

const OF_LINE: Text = text("line {line}: ", "第 {line} 行：");
const OF_TOOL: Text = text("line {line}, {tool}: ", "第 {line} 行，{tool}：");

impl LintFinding {
    /// Creates a finding about a run.
    pub(super) fn of_run<const N: usize>(
        run: &StatedRun,
        grade: LintGrade,
        text: Text,
        facts: [(&'static str, String); N],
    ) -> LintFinding {
        let sentence = LocalizedSentence::new(text, facts);
        LintFinding { check: "", grade, line: run.line, tool: Some(run.tool), sentence, command: None }
    }

    /// Creates a finding about a line.
    pub(super) fn of_line<const N: usize>(
        line: usize,
        grade: LintGrade,
        text: Text,
        facts: [(&'static str, String); N],
    ) -> LintFinding {
        LintFinding { check: "", grade, line, tool: None, sentence: LocalizedSentence::new(text, facts), command: None }
    }

    /// Appends a clause.
    pub(super) fn and<const N: usize>(mut self, text: Text, facts: [(&'static str, String); N]) -> LintFinding {
        self.sentence = self.sentence.with_clause(text, facts);
        self
    }

    /// Adds the command that would settle it.
    pub(super) fn settled_by(mut self, command: String) -> LintFinding {
        self.command = Some(command);
        self
    }

    /// Returns the sentence with the place that it is about.
    pub fn text(&self, lang: Lang) -> String {
        let line = ("line", self.line.to_string());
        let place = match self.tool {
            Some(tool) => LocalizedSentence::new(OF_TOOL, [line, ("tool", tool.name().to_owned())]),
            None => LocalizedSentence::new(OF_LINE, [line]),
        };
        place.followed_by(self.sentence.clone()).render(lang)
    }
}
