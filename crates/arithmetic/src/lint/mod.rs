//! Checks of pasted output of load testing tools, by arithmetic alone.
//!
//! A paste may hold outputs of several tools, their commands, tables typed by hand, and prose. Readers find what it
//! states (`tools`); checks compare the statements with each other (`checks`). Nothing is measured: a finding is a
//! contradiction, or a figure that cannot bear what it is read for, and names the command that would settle it.

mod blocks;
mod checks;
mod command;
mod document;
mod finding;
mod ladder;
mod paste;
mod quantities;
mod report;
mod stated;
mod tools;

#[cfg(test)]
mod habit_tests;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
#[cfg(test)]
mod sample_outputs;
#[cfg(test)]
mod seed_tests;
#[cfg(test)]
mod tests;

pub use document::LintDocument;
pub use finding::{LintFinding, LintGrade};
pub use report::LintReport;
pub use stated::ToolName;

use brunt_cause::{Complaint, complaint};

use checks::LintEvidence;
use paste::PastedText;

/// Maximum size of a paste in bytes.
pub const LONGEST_BYTES: usize = 16 * 1024 * 1024;

/// Reads a paste and checks what it states.
///
/// # Errors
/// It is too long, or nothing in it can be checked.
pub fn lint(bytes: &[u8]) -> Result<LintReport, Complaint> {
    if bytes.len() > LONGEST_BYTES {
        return Err(complaint!(
            "is longer than {} MB; paste only the outputs",
            "超过 {} MB；请只粘贴压测工具的输出",
            LONGEST_BYTES / 1024 / 1024
        ));
    }
    let paste = PastedText::read(bytes);
    let commands = command::commands(&paste);
    let runs = tools::runs(&paste, &commands);
    let ladders = ladder::ladders(&paste);
    let report = LintReport::new(&LintEvidence { paste: &paste, runs: &runs, ladders: &ladders });
    if report.is_about_nothing() {
        return Err(complaint!(
            "has no output that can be checked; paste what {} printed at its end, with its command",
            "没有可以检查的输出；请粘贴 {} 结束时的输出，连同其命令",
            tools::KNOWN
        ));
    }
    Ok(report)
}
