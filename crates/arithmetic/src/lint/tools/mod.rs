//! The tools whose output is read, each in a file of its own.

mod ab;
mod go_stress;
mod hey;
mod jmeter;
mod k6;
mod locust;
mod table;
mod webbench;
mod wrk;

use super::command::PastedCommand;
use super::paste::PastedText;
use super::stated::{ConnectionReuse, LoadKind, StatedRun, ToolName};

pub use table::drawn_cells;

/// Lines between a command and the output that is still taken for its own.
const NEAR: usize = 120;

/// A function that finds the outputs of a tool in a paste.
type ReadFn = fn(&PastedText) -> Vec<StatedRun>;

/// All readers. Their outputs are put in the order of the paste.
const READERS: [ReadFn; 9] = [
    ab::read,
    wrk::read,
    hey::read,
    webbench::read,
    go_stress::read,
    k6::read,
    jmeter::read,
    jmeter::read_lines,
    locust::read,
];

/// Names of the tools, for a complaint about a paste in which none was found.
pub const KNOWN: &str = "ab, wrk, wrk2, hey, oha, webbench, go-stress-testing, k6, JMeter, Locust";

/// Returns the runs that a paste states, in order, each with its command if that is there as well.
pub fn runs(paste: &PastedText, commands: &[(ToolName, PastedCommand)]) -> Vec<StatedRun> {
    let mut runs: Vec<StatedRun> = READERS.iter().flat_map(|read| read(paste)).collect();
    runs.sort_by_key(|run| run.line);
    for run in &mut runs {
        let before = &commands[..commands.partition_point(|(_, command)| command.line <= run.line)];
        let mut near = before.iter().rev().take_while(|(_, command)| run.line - command.line <= NEAR);
        if let Some((tool, command)) = near.find(|(tool, _)| tool.starts(run.tool)) {
            run.command = Some(command.clone());
            complete(run, *tool, command);
        }
    }
    runs
}

/// Takes from the command of a run what its output does not tell.
fn complete(run: &mut StatedRun, tool: ToolName, command: &PastedCommand) {
    if run.tool == ToolName::Wrk && command.rate_per_s.is_some() {
        (run.tool, run.load, run.timed) = (ToolName::Wrk2, LoadKind::Open, run.requests);
    }
    if run.tool == ToolName::Hey && tool == ToolName::Oha {
        run.tool = ToolName::Oha;
    }
    if run.reuse == ConnectionReuse::Unknown {
        let is_http = command.url.as_ref().is_none_or(|url| url.starts_with("http"));
        run.reuse = match (run.tool, command.keep_alive, command.no_keep_alive) {
            (ToolName::Ab, false, _) | (_, _, true) => ConnectionReuse::Fresh,
            (ToolName::GoStressTesting, false, _) if is_http => ConnectionReuse::Fresh,
            (ToolName::Webbench, ..) => ConnectionReuse::Fresh,
            _ => ConnectionReuse::Kept,
        };
    }
}

impl ToolName {
    /// Returns `true` if a command of this tool can have made an output of the other: wrk2 is called wrk, too, and an
    /// excerpt of oha looks like one of hey.
    fn starts(self, other: ToolName) -> bool {
        self == other || [(ToolName::Wrk, ToolName::Wrk2), (ToolName::Oha, ToolName::Hey)].contains(&(self, other))
    }
}
