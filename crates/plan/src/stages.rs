//! Parsing of stages: `--stage 30s:1000/s` and `--stage 2m:10..200`.
//!
//! A level with a unit is a rate; a bare number is a number of users. All stages of a run must be of the same kind,
//! because users wait for responses and arrivals do not.

use brunt_measure::Nanos;

use crate::{Stage, quantity};
use brunt_cause::{Complaint, complaint};

/// The unit of the levels of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Users, each sending one request after another.
    Users,
    /// Arrivals per second.
    Rate,
}

/// Parses one stage.
///
/// # Errors
/// The text is invalid; the error describes why and what to write instead.
pub fn parse(text: &str) -> Result<(Stage, Level), Complaint> {
    let wrong = || {
        complaint!(
            "`{text}` is not a stage; write TIME:LEVEL or TIME:FROM..TO, such as 30s:1000/s or 2m:10..200",
            "`{text}` 不是阶段；请写 TIME:LEVEL 或 TIME:FROM..TO，例如 30s:1000/s 或 2m:10..200"
        )
    };
    let (lasts, levels) = text.split_once(':').ok_or_else(wrong)?;
    let lasts = quantity::duration(lasts)?;
    let (from, to) = levels.split_once("..").unwrap_or((levels, levels));
    let (from, to) = (from.trim(), to.trim());
    if from.is_empty() || to.is_empty() {
        return Err(wrong());
    }
    let level = if to.contains('/') { Level::Rate } else { Level::Users };
    if level == Level::Users && from.contains('/') {
        return Err(complaint!(
            "`{text}` goes from a rate to users; write both ends as rates ({from}..{to}/s) or as users",
            "`{text}` 从速率变为用户数；请把两端都写成速率（{from}..{to}/s），或都写成用户数"
        ));
    }
    let (from, to) = match level {
        Level::Rate => (rate(from)?, rate(to)?),
        Level::Users => (users(from)?, users(to)?),
    };
    Ok((Stage { lasts, from, to }, level))
}

/// Parses all stages of a run, which must be of the same kind.
///
/// # Errors
/// A stage is invalid; the error has its index, and a message with what to write instead.
pub fn parse_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<(Vec<Stage>, Level), (usize, Complaint)> {
    let mut stages = Vec::new();
    let mut first: Option<(Level, &str)> = None;
    for (which, text) in texts.into_iter().enumerate() {
        let (stage, level) = parse(text).map_err(|trouble| (which, trouble))?;
        match first {
            None => first = Some((level, text)),
            Some((other, shown)) if other != level => {
                let trouble = complaint!(
                    "`{shown}` and `{text}` mix users and rates; write every stage with users (30s:50) or every stage \
                     with a rate (30s:50/s)",
                    "`{shown}` 与 `{text}` 混用了用户数和速率；请让每个阶段都用用户数（30s:50）或都用速率（30s:50/s）"
                );
                return Err((0, trouble));
            }
            Some(_) => {}
        }
        stages.push(stage);
    }
    // A stage without a length only names a level: the next stage begins with its own.
    stages.retain(|stage| stage.lasts > Nanos::ZERO);
    let (level, _) = first.ok_or((
        0,
        complaint!("no stage is given; use one such as 30s:1000/s", "没有给出阶段；请写，例如 30s:1000/s"),
    ))?;
    if stages.is_empty() {
        return Err((
            0,
            complaint!(
                "no stage lasts any time; give one a length, such as 30s",
                "所有阶段的时长都为零；请给出时长，例如 30s"
            ),
        ));
    }
    if stages.iter().all(|s| s.from == 0.0 && s.to == 0.0) {
        return Err((
            0,
            complaint!("no stage has any load; use a level above zero", "没有任何阶段有负载；请用大于零的值"),
        ));
    }
    Ok((stages, level))
}

/// Parses a rate, which may be zero, because a stage may begin or end at zero.
fn rate(text: &str) -> Result<f64, Complaint> {
    let amount = text.split('/').next().unwrap_or("");
    if amount.parse() == Ok(0.0) { Ok(0.0) } else { quantity::rate(text) }
}

fn users(text: &str) -> Result<f64, Complaint> {
    if text == "0" { Ok(0.0) } else { quantity::bounded_count(text, "users", 10_000_000).map(f64::from) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_of_both_sorts() {
        let table = [
            ("30s:1000/s", 30, 1000.0, 1000.0, Level::Rate),
            ("2m:1000/s..5000/s", 120, 1000.0, 5000.0, Level::Rate),
            ("2m:1000..5000/s", 120, 1000.0, 5000.0, Level::Rate),
            ("1m:0/s..600/min", 60, 0.0, 10.0, Level::Rate),
            ("10s:50", 10, 50.0, 50.0, Level::Users),
            ("10s:0..50", 10, 0.0, 50.0, Level::Users),
            ("10s:1k..10", 10, 1000.0, 10.0, Level::Users),
        ];
        for (text, seconds, from, to, level) in table {
            assert_eq!(parse(text), Ok((Stage { lasts: Nanos::from_secs(seconds), from, to }, level)), "{text}");
        }
    }

    #[test]
    fn wrong_stages_say_what_would_be_right() {
        let table = [
            ("30s", "write TIME:LEVEL"),
            ("30:100", "is missing its unit; use 30s"),
            ("30s:", "write TIME:LEVEL"),
            ("30s:..5", "write TIME:LEVEL"),
            ("30s:x", "is not a number of users"),
            ("30s:x/s", "is not a rate"),
            ("30s:10/s..20", "goes from a rate to users"),
        ];
        for (text, said) in table {
            let complaint = parse(text).unwrap_err();
            assert!(complaint.contains(said), "{text}: {complaint}");
        }
    }

    #[test]
    fn stages_may_have_no_users_or_no_length() {
        for unit in ["", "/s"] {
            let stages = |texts: &[&str]| {
                let texts: Vec<String> = texts.iter().map(|text| format!("{text}{unit}")).collect();
                let (stages, _) = parse_all(texts.iter().map(String::as_str)).expect("stages");
                stages.into_iter().map(|stage| (stage.lasts.0 / 1_000_000_000, stage.to)).collect::<Vec<_>>()
            };
            assert_eq!(stages(&["1s:20", "1s:0", "2s:20"]), [(1, 20.0), (1, 0.0), (2, 20.0)]);
            assert_eq!(stages(&["0s:20", "5s:10"]), [(5, 10.0)]);
            assert!(parse_all([&*format!("0s:20{unit}")]).unwrap_err().1.contains("no stage lasts any time"));
        }
    }

    #[test]
    fn sorts_do_not_mix() {
        assert!(parse_all(["30s:10/s", "30s:10"]).unwrap_err().1.contains("mix users and rates"));
        let (stages, level) = parse_all(["30s:10/s", "30s:0/s"]).unwrap();
        assert_eq!((stages.len(), level), (2, Level::Rate));
        for none in ["30s:0/s", "30s:0"] {
            assert!(parse_all([none]).unwrap_err().1.contains("no stage has any load"));
        }
        assert!(parse_all([]).is_err());
    }
}
