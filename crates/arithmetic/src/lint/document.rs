//! The findings as JSON.

use brunt_i18n::Lang;
use serde::Serialize;

use super::report::LintReport;

/// Version of the JSON format.
const SCHEMA: &str = "brunt-lint/1";

/// The findings of `brunt lint` as a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LintDocument {
    /// `brunt-lint/1`.
    pub schema: &'static str,
    /// The outputs that were found, in the order of the text.
    pub outputs: Vec<LintOutput>,
    /// What was found, in the order of the text.
    pub findings: Vec<LintedLine>,
    /// Names of the checks that had something to check.
    pub checked: Vec<&'static str>,
    /// Number of findings that are more than notes; brunt exits with 10 if there are any.
    pub count: usize,
}

/// An output of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LintOutput {
    /// Name of the tool.
    pub tool: &'static str,
    /// Number of its first line.
    pub line: usize,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LintedLine {
    /// Name of the check.
    pub check: &'static str,
    /// `wrong`: contradicts another figure; `weak`: cannot bear what it is read for; `note`: worth knowing.
    pub grade: &'static str,
    /// Number of the line.
    pub line: usize,
    /// Name of the tool, if it is about an output.
    pub tool: Option<&'static str>,
    /// The finding with its arithmetic.
    pub sentence: String,
    /// The command that would settle it.
    pub command: Option<String>,
}

impl LintReport {
    /// Returns the findings as a document, with sentences in a language.
    pub fn document(&self, lang: Lang) -> LintDocument {
        let findings = self.findings.iter().map(|found| LintedLine {
            check: found.check,
            grade: found.grade.name(),
            line: found.line,
            tool: found.tool.map(|tool| tool.name()),
            sentence: found.sentence.render(lang),
            command: found.command.clone(),
        });
        LintDocument {
            schema: SCHEMA,
            outputs: self.outputs.iter().map(|(tool, line)| LintOutput { tool: tool.name(), line: *line }).collect(),
            findings: findings.collect(),
            checked: self.checked().collect(),
            count: self.count(),
        }
    }
}
