//! How the console drives a run: a process of brunt that is told where its record goes, and takes orders, a line each, from a
//! named pipe beside it.

use std::fmt;

use plan::Change;

/// The variable of the environment that names the record of a driven run.
pub const RECORD: &str = "BRUNT_DRIVEN_RECORD";
/// What the name of the pipe has beyond the name of the record.
pub const PIPE: &str = ".orders";

/// What a run may be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Another load.
    Change(Change),
    /// So many times the load of now.
    By(f64),
    /// End now: what is in flight is unfinished.
    Stop,
    /// Send nothing more, and end once nothing is in flight or the plan's drain is over.
    Drain,
}

/// The steps that may be asked for at once.
const STEPS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

impl Order {
    /// Reads what [`Order`] shows; None: it is none.
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
