//! All findings about a paste, and what was checked; as text.

use std::collections::BTreeSet;

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, LocalizedSentence, numbers};

use super::checks::{CHECKS, Examined, LintCheck, LintEvidence};
use super::finding::{LintFinding, LintGrade};
use super::stated::ToolName;

const IN_RUNS: Text = text("{runs} {runs|output|outputs} ({tools}): ", "{runs} 份输出（{tools}）：");
const IN_TEXT: Text = text("tables and text: ", "表格和文字：");
const FOUND: Text = text("{findings} {findings|finding|findings}", "发现 {findings} 个问题");
const CLEAN: Text = text("nothing wrong found", "没有发现问题");
const NOTES: Text = text(", {notes} {notes|note|notes}", "，另有 {notes} 条说明");
const SETTLE: Text = text("    to settle it: {command}", "    核实方法：{command}");
const CHECKED: Text = text("checked: ", "检查了：");
const UNCHECKED: Text = text("not in the text, so not checked: ", "文中没有、因此未检查：");
const COMMA: Text = text(", ", "、");

/// The findings about a paste.
#[derive(Clone, Debug)]
pub struct LintReport {
    /// Tools of the outputs, one entry for each output, in the order of the paste.
    pub outputs: Vec<(ToolName, usize)>,
    /// Findings in the order of the paste, those that weigh more first where they are about the same line.
    pub findings: Vec<LintFinding>,
    /// Checks with the number of figures that each of them examined.
    pub(super) checks: Vec<(&'static LintCheck, usize)>,
}

impl LintReport {
    /// Runs all checks.
    pub(super) fn new(evidence: &LintEvidence<'_>) -> LintReport {
        let mut findings = Vec::new();
        let mut checks = Vec::new();
        for check in &CHECKS {
            let mut examined = Examined::default();
            (check.examine)(evidence, &mut examined);
            checks.push((check, examined.count));
            findings.extend(examined.findings.into_iter().map(|found| LintFinding { check: check.name, ..found }));
        }
        findings.sort_by_key(|found| (found.line, std::cmp::Reverse(found.grade)));
        LintReport { outputs: evidence.runs.iter().map(|run| (run.tool, run.line)).collect(), findings, checks }
    }

    /// Returns `true` if no check had anything to examine.
    pub(super) fn is_about_nothing(&self) -> bool {
        self.checks.iter().all(|(_, count)| *count == 0)
    }

    /// Returns the number of findings that are more than notes.
    pub fn count(&self) -> usize {
        self.findings.iter().filter(|found| found.grade > LintGrade::Note).count()
    }

    /// Returns the names of the checks that had something to examine.
    pub fn checked(&self) -> impl Iterator<Item = &'static str> {
        self.checks.iter().filter(|(_, count)| *count > 0).map(|(check, _)| check.name)
    }

    /// Returns the findings as text in a language, and what was checked.
    pub fn text(&self, lang: Lang) -> String {
        let mut page = format!("{}\n", self.headline().render(lang));
        for found in &self.findings {
            page.push_str(&format!("{}{}\n", found.grade.mark(), found.text(lang)));
            if let Some(command) = &found.command {
                page.push_str(&format!("{}\n", lang.fill(SETTLE, &[("command", command)])));
            }
        }
        for (about, wanted) in [(CHECKED, true), (UNCHECKED, false)] {
            let names = self.checks.iter().filter(|(_, count)| (*count > 0) == wanted);
            let names: Vec<&str> = names.map(|(check, _)| lang.of(check.about)).collect();
            if !names.is_empty() {
                page.push_str(&format!("{}{}\n", lang.of(about), names.join(lang.of(COMMA))));
            }
        }
        page
    }

    fn headline(&self) -> LocalizedSentence {
        let tools: BTreeSet<ToolName> = self.outputs.iter().map(|(tool, _)| *tool).collect();
        let tools: Vec<&str> = tools.into_iter().map(ToolName::name).collect();
        let found = self.count();
        let said = match found {
            0 => LocalizedSentence::from(CLEAN),
            found => LocalizedSentence::new(FOUND, [("findings", numbers::count(found as u64))]),
        };
        let what = match self.outputs.len() {
            0 => LocalizedSentence::from(IN_TEXT),
            runs => {
                LocalizedSentence::new(IN_RUNS, [("runs", numbers::count(runs as u64)), ("tools", tools.join(", "))])
            }
        };
        match self.findings.len() - found {
            0 => what.followed_by(said),
            notes => what.followed_by(said).with_clause(NOTES, [("notes", numbers::count(notes as u64))]),
        }
    }
}
