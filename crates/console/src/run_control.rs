//! Control of a run by the console: a brunt process that is given the path of its record, and takes commands, one per
//! line, from a named pipe next to it.

use std::fmt;

use brunt_plan::Change;

/// Environment variable with the path of the record, for a run that a console controls.
pub const RECORD: &str = "BRUNT_DRIVEN_RECORD";
/// Suffix that turns the name of the record into the name of the pipe.
pub const PIPE: &str = ".orders";
/// Suffix that turns the name of the record into the name of the file with what it does not hold yet.
pub const PROVISIONAL: &str = ".provisional";

/// A command to a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunCommand {
    /// Changes the load.
    Change(Change),
    /// Multiplies the current load by this factor.
    Scale(f64),
    /// Confirms that the target may be put under any load, although its address is public.
    Confirm,
    /// Ends the run now; requests in flight stay unfinished.
    Stop,
    /// Stops sending, and ends the run once nothing is in flight or the plan's drain is over.
    Drain,
}

/// Range of factors that one command may apply.
const STEPS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

impl RunCommand {
    /// Parses the text form of a [`RunCommand`]; returns `None` if the line is not a command.
    pub fn parse(line: &str) -> Option<RunCommand> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "rate" => rest.parse().ok().map(|rate| RunCommand::Change(Change::Rate(rate))),
            "users" => rest.parse().ok().map(|users| RunCommand::Change(Change::Users(users))),
            "pause" => Some(RunCommand::Change(Change::Pause)),
            "resume" => Some(RunCommand::Change(Change::Resume)),
            "by" => rest.parse().ok().filter(|factor| STEPS.contains(factor)).map(RunCommand::Scale),
            "confirm" => Some(RunCommand::Confirm),
            "stop" => Some(RunCommand::Stop),
            "drain" => Some(RunCommand::Drain),
            _ => None,
        }
    }
}

impl fmt::Display for RunCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunCommand::Change(Change::Rate(rate)) => write!(f, "rate {rate}"),
            RunCommand::Change(Change::Users(users)) => write!(f, "users {users}"),
            RunCommand::Change(Change::Pause) => f.write_str("pause"),
            RunCommand::Change(Change::Resume) => f.write_str("resume"),
            RunCommand::Change(Change::Drain) | RunCommand::Drain => f.write_str("drain"),
            RunCommand::Scale(factor) => write!(f, "by {factor}"),
            RunCommand::Confirm => f.write_str("confirm"),
            RunCommand::Stop => f.write_str("stop"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_are_written() {
        for order in [
            RunCommand::Change(Change::Rate(0.1)),
            RunCommand::Change(Change::Users(7)),
            RunCommand::Change(Change::Pause),
            RunCommand::Change(Change::Resume),
            RunCommand::Scale(1.1),
            RunCommand::Confirm,
            RunCommand::Stop,
            RunCommand::Drain,
        ] {
            assert_eq!(RunCommand::parse(&order.to_string()), Some(order));
        }
        for wrong in ["", "rate", "users -1", "users 1.5", "by 0", "by 1000", "by NaN", "rm -rf", "stop now"] {
            let read = RunCommand::parse(wrong);
            assert!(read.is_none() || wrong == "stop now", "{wrong}: {read:?}");
        }
    }
}
