//! `brunt lint`: contradictions in the pasted output of a load testing tool.

use std::fs::File;
use std::io::{self, IsTerminal, Read};

use brunt_arithmetic::lint::{LONGEST_BYTES, lint as check};
use brunt_cause::complaint;
use brunt_config::{ArithmeticFormat, LintSettings};
use brunt_contract::UsageError;
use brunt_protocols::standard_input;
use brunt_report::Lang;
use brunt_report::text::{Text, text};

use crate::capacity::document;
use crate::run::CommandResult;
use crate::screen;

const PASTE: Text = text("paste the output, then press Ctrl-D", "请粘贴输出，然后按 Ctrl-D");

/// The exit code if something was found.
const FOUND: u8 = 10;

/// Shows what contradicts itself in a file or standard input; returns 10 if anything does.
///
/// # Errors
/// Returns an error if it cannot be read, or has nothing to check.
pub fn lint(asked: &LintSettings) -> CommandResult {
    let lang = asked.language.unwrap_or_else(Lang::from_env);
    let path = &asked.file;
    let shown = if path == standard_input::NAME { "standard input" } else { path };
    if path == standard_input::NAME && io::stdin().is_terminal() {
        screen::print_error(lang.of(PASTE));
    }
    let bytes = read(path).map_err(|error| {
        UsageError::new(
            shown,
            complaint!(
                "cannot be read ({error}); name a file with the output, or use - for standard input",
                "无法读取（{error}）；请给出含有输出的文件，或用 - 表示标准输入"
            ),
        )
    })?;
    let report = check(&bytes).map_err(|complaint| UsageError::new(shown, complaint))?;
    let said = match asked.format {
        ArithmeticFormat::Text => report.text(lang),
        ArithmeticFormat::Json => document(&report.document(lang)),
    };
    let code = if report.count() > 0 { FOUND } else { 0 };
    Ok(screen::print(&said, code, lang))
}

/// Reads at most one byte more than may be checked, so that the checks can tell.
fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = LONGEST_BYTES as u64 + 1;
    match path == standard_input::NAME {
        true => io::stdin().lock().take(limit).read_to_end(&mut bytes)?,
        false => File::open(path)?.take(limit).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}
