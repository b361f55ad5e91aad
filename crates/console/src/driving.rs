//! Control of a run by the console: a process of brunt that is given the path of its record, and takes commands, one
//! per line, from a named pipe next to it.

use std::fmt;

use plan::Change;

/// Environment variable with the path of the record of a driven run.
pub const RECORD: &str = "BRUNT_DRIVEN_RECORD";
/// Suffix of the pipe's name after the name of the record.
pub const PIPE: &str = ".orders";

/// A command to a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Changes the load.
    Change(Change),
    /// Multiplies the current load.
    By(f64),
    /// Ends now: requests in flight stay unfinished.
    Stop,
    /// Sends nothing more, and ends once nothing is in flight or the plan's drain is over.
    Drain,
}

/// Range of factors in one command.
const STEPS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

impl Order {
    /// Parses the text form of an [`Order`]; `None` if it is not one.
    pub fn parse(line: &str) -> Option<Order> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "rate" => rest.parse().ok().map(|rate| Order::Change(Change::Rate(rate))),
            "users" => rest.parse().ok().map(|users| Order::Change(Change::Users(users))),
            "pause" => Some(Order::Change(Change::Pause)),
            "resume" => Some(Order::Change(Change::Resume)),
            "by" => rest.parse().ok().filter(|factor| STEPS.contains(factor)).map(Order::By),
            "stop" => Some(Order::Stop),
            "drain" => Some(Order::Drain),
            _ => None,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Change(Change::Rate(rate)) => write!(f, "rate {rate}"),
            Order::Change(Change::Users(users)) => write!(f, "users {users}"),
            Order::Change(Change::Pause) => f.write_str("pause"),
            Order::Change(Change::Resume) => f.write_str("resume"),
            Order::Change(Change::Drain) | Order::Drain => f.write_str("drain"),
            Order::By(factor) => write!(f, "by {factor}"),
            Order::Stop => f.write_str("stop"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_are_written() {
        for order in [
            Order::Change(Change::Rate(0.1)),
            Order::Change(Change::Users(7)),
            Order::Change(Change::Pause),
            Order::Change(Change::Resume),
            Order::By(1.1),
            Order::Stop,
            Order::Drain,
        ] {
            assert_eq!(Order::parse(&order.to_string()), Some(order));
        }
        for wrong in ["", "rate", "users -1", "users 1.5", "by 0", "by 1000", "by NaN", "rm -rf", "stop now"] {
            let read = Order::parse(wrong);
            assert!(read.is_none() || wrong == "stop now", "{wrong}: {read:?}");
        }
    }
}
