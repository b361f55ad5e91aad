//! The settings of `brunt sweep`: those of a run, one or two of which take several values.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_report::Lang;
use serde::{Deserialize, Serialize};

use super::intent::{self, Defaults, Intent};
use super::protocol_flags::ProtocolOptions;
use super::resume::{self, RESUME};
use super::setting::{SettingSpec, TypedSetting, many, message, one, switch, text};
use super::settings::*;
use super::values::{SettingValue, SettingValues};
use super::{command_line, help};

/// Most runs of a sweep, and most axes.
const MOST_RUNS: usize = 500;
const MOST_AXES: usize = 2;
/// Bounds of the number of runs of each cell.
const REPEATS: std::ops::RangeInclusive<usize> = 1..=30;

/// What the values of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// Numbers of users.
    Users,
    /// Requests per second.
    Rate,
    /// Values of any other option.
    Other,
}

/// An option that takes several values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepAxis {
    /// Long name of the option.
    pub name: String,
    /// What its values are.
    pub kind: AxisKind,
    /// Values, in the order of the table.
    pub values: Vec<String>,
}

/// A combination of values.
#[derive(Debug)]
pub struct SweepCell {
    /// Index of the value on each axis.
    pub at: Vec<usize>,
    /// The run.
    pub intent: Intent,
}

/// The settings of a sweep.
#[derive(Debug)]
pub struct SweepSettings {
    /// One or two axes.
    pub axes: Vec<SweepAxis>,
    /// All combinations, the last axis varied first.
    pub cells: Vec<SweepCell>,
    /// Runs of each cell.
    pub repeat: usize,
    /// Set if the order is random.
    pub shuffle: bool,
    /// Record to go on with.
    pub resume: Option<String>,
}

const REPEAT: TypedSetting<usize> = one(
    "repeat",
    "N",
    repeat,
    "Runs of each cell; 6 or more give intervals [default: 1]",
    "每格的运行次数；6 次以上可给出置信区间 [默认：1]",
);
const SHUFFLE: TypedSetting<()> =
    switch("shuffle", "Run the cells in random order (--seed)", "以随机顺序运行各格（--seed）");
const OPTION: TypedSetting<String> = many(
    "option",
    "NAME=V,V",
    text,
    "Another option with several values: no-keepalive=on,off; workers=1,2; http=1,2",
    "另一个取多个值的选项：no-keepalive=on,off；workers=1,2；http=1,2",
);

/// Options that `brunt sweep` has beside those of a run.
pub const SWEEP: [SettingSpec; 4] = [REPEAT.spec, SHUFFLE.spec, OPTION.spec, RESUME.spec];

/// Returns the command line of `brunt sweep`: that of `brunt run`, and how the cells are run.
pub fn command(spoken: &[ProtocolOptions], lang: Lang) -> clap::Command {
    command_line::run_command(spoken, lang)
        .name("brunt sweep")
        .override_usage(lang.of(message(
            "brunt sweep -c 1,4,16 | -r 100..2000/8 | --option NAME=V,V [OPTIONS] URL... | PLAN.yaml",
            "brunt sweep -c 1,4,16 | -r 100..2000/8 | --option NAME=V,V [选项] URL... | PLAN.yaml",
        )))
        .about(lang.of(message(
            "Run a table of loads and options: throughput and latency of each, and how they scale.",
            "按负载与选项的组合逐一压测：给出各自的吞吐量与延迟，以及随负载变化的规律。",
        )))
        .before_help("")
        .after_help(lang.of(help::SWEEP))
        .after_long_help(lang.of(help::SWEEP))
        .args(command_line::args(&SWEEP, lang))
}

/// Reads a sweep from the values of a command line, whose words are `words`.
///
/// # Errors
/// A setting is invalid, or there are not one or two axes; the error names the option.
pub fn read(
    mut values: SettingValues,
    words: &[String],
    (spoken, protocols): (&[ProtocolOptions], &[Arc<dyn Protocol>]),
    defaults: &Defaults,
) -> Result<SweepSettings, UsageError> {
    let mut own = SettingValues::default();
    own.extend(values.take_if(|said| SWEEP.iter().any(|spec| spec.name == said.name)));
    values.refuse(
        &[HOLD.spec, STAGE.spec, DEBUG.spec, PROMETHEUS.spec, OTLP.spec],
        complaint!("is for a single run, not for a sweep; leave it out", "用于单次压测，不能用于批量压测；请去掉"),
    )?;
    let resume = resume::read(&own, &values)?;
    let (axes, origins) = axes(&mut values, &own, spoken)?;
    let (repeat, shuffle) = (own.get(&REPEAT)?.unwrap_or(1), own.has(&SHUFFLE));
    let count = axes.iter().map(|axis| axis.values.len()).product::<usize>();
    if count * repeat > MOST_RUNS {
        return Err(UsageError::new(
            "sweep",
            complaint!(
                "{} runs are too many; use {MOST_RUNS} or fewer",
                "{} 次运行太多；请不超过 {MOST_RUNS} 次",
                count * repeat
            ),
        ));
    }
    let switches = switches(spoken);
    let mut cells = Vec::new();
    for n in 0..count {
        let at = indices(&axes, n);
        let mut of_cell = values.clone();
        for ((axis, (name, origin)), index) in axes.iter().zip(&origins).zip(&at) {
            let text = &axis.values[*index];
            match (switches.contains(name), text.as_str()) {
                (true, "off") => {}
                (true, _) => of_cell.push(name, "", origin.clone()),
                (false, _) => of_cell.push(name, text.clone(), origin.clone()),
            }
        }
        cells.push(SweepCell { at, intent: intent::read(of_cell, words, protocols, defaults)? });
    }
    Ok(SweepSettings { axes, cells, repeat, shuffle, resume })
}

/// Returns the index on each axis of the `n`-th cell.
fn indices(axes: &[SweepAxis], mut n: usize) -> Vec<usize> {
    let mut at: Vec<usize> = axes
        .iter()
        .rev()
        .map(|axis| {
            let index = n % axis.values.len();
            n /= axis.values.len();
            index
        })
        .collect();
    at.reverse();
    at
}

/// Axes, and for each the option with the place where its values were given.
type Axes = (Vec<SweepAxis>, Vec<(&'static str, super::origin::ValueOrigin)>);

/// Takes the options with several values from those of the run.
fn axes(values: &mut SettingValues, own: &SettingValues, spoken: &[ProtocolOptions]) -> Result<Axes, UsageError> {
    let mut found = Vec::new();
    let loads = [(USERS.spec, AxisKind::Users, "-c"), (RATE.spec, AxisKind::Rate, "-r")];
    for (spec, kind, flag) in loads {
        for said in values.take(spec.name) {
            match several(&said.text, kind == AxisKind::Users) {
                Ok(None) => values.push(spec.name, said.text, said.origin),
                Ok(Some(values)) => {
                    found.push((SweepAxis { name: spec.name.into(), kind, values }, (spec.name, said.origin)));
                }
                Err(why) => return Err(said.wrong(flag, why)),
            }
        }
    }
    for name in counts(spoken) {
        for said in values.take(name) {
            match several(&said.text, true) {
                Ok(Some(all)) => {
                    found.push((
                        SweepAxis { name: name.into(), kind: AxisKind::Other, values: all },
                        (name, said.origin),
                    ));
                }
                // What is no list is for the option itself to judge.
                Ok(None) | Err(_) => values.push(name, said.text, said.origin),
            }
        }
    }
    let options: Vec<&SettingValue> = own.named(OPTION.spec.name).collect();
    for said in options {
        let (name, axis) = option_axis(said, spoken)?;
        found.push((axis, (name, said.origin.clone())));
    }
    if !(1..=MOST_AXES).contains(&found.len()) {
        return Err(UsageError::new(
            "sweep",
            complaint!(
                "{} options have several values; give several to one or two: -c 1,4,16, -r 100..2000/8 or --option \
                 no-keepalive=on,off",
                "有 {} 个选项给出了多个值；请让一到两个选项取多个值：-c 1,4,16、-r 100..2000/8 或 --option no-keepalive=on,off",
                found.len()
            ),
        ));
    }
    Ok(found.into_iter().unzip())
}

/// Returns the names of the options that take a count, such as `--streams`, but for that of users.
fn counts(spoken: &[ProtocolOptions]) -> Vec<&'static str> {
    let described = command_line::run_command(spoken, Lang::En);
    let is_count = |name: &&'static str| {
        let mut all = described.get_arguments();
        *name != USERS.spec.name
            && all.any(|arg| {
                let takes = arg.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str);
                arg.get_id() == *name && takes == Some("N")
            })
    };
    command_line::names(spoken).filter(is_count).collect()
}

/// Returns the names of the options without a value.
fn switches(spoken: &[ProtocolOptions]) -> Vec<&'static str> {
    let described = command_line::run_command(spoken, Lang::En);
    let is_switch = |name: &&'static str| {
        let mut all = described.get_arguments();
        all.any(|arg| arg.get_id() == *name && matches!(arg.get_action(), clap::ArgAction::SetTrue))
    };
    command_line::names(spoken).filter(is_switch).collect()
}

fn option_axis(said: &SettingValue, spoken: &[ProtocolOptions]) -> Result<(&'static str, SweepAxis), UsageError> {
    let wrong = |why: Complaint| said.wrong("--option", why);
    let (name, values) = said.text.split_once('=').ok_or_else(|| {
        wrong(complaint!(
            "`{}` has no values; write a name and its values, such as no-keepalive=on,off",
            "`{}` 没有值；请写出名称和各个值，例如 no-keepalive=on,off",
            said.text
        ))
    })?;
    let name = name.trim().trim_start_matches('-');
    let known = command_line::names(spoken).find(|known| *known == name).ok_or_else(|| {
        wrong(complaint!("there is no option --{name}; see brunt help all", "没有选项 --{name}；见 brunt help all"))
    })?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    let is_switch = switches(spoken).contains(&known);
    if let Some(odd) =
        values.iter().find(|value| value.is_empty() || is_switch && !["on", "off"].contains(&value.as_str()))
    {
        return Err(wrong(complaint!(
            "`{odd}` is no value of --{known}; use {}",
            "`{odd}` 不是 --{known} 的值；请用 {}",
            if is_switch { "on,off" } else { "V,V" }
        )));
    }
    Ok((known, SweepAxis { name: known.into(), kind: AxisKind::Other, values }))
}

/// Returns the loads of a list (`1,4,16`) or of a range with a number of points (`100..2000/8`), ascending; `None` for a
/// single load.
fn several(text: &str, whole: bool) -> Result<Option<Vec<String>>, Complaint> {
    let shown =
        |load: f64| if whole { format!("{}", load.round()) } else { format!("{}", (load * 10.0).round() / 10.0) };
    if text.contains(',') {
        let unit = if text.trim_end().ends_with("/s") { "/s" } else { "" };
        let one = |load: &str| load.trim().trim_end_matches("/s").parse::<f64>().ok().filter(|load| *load > 0.0);
        let mut loads = text.split(',').map(one).collect::<Option<Vec<f64>>>().ok_or_else(|| {
            complaint!(
                "`{text}` is not a list of loads; use numbers, such as 1,4,16",
                "`{text}` 不是负载列表；请用数字，例如 1,4,16"
            )
        })?;
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        return Ok(Some(loads.into_iter().map(|load| shown(load) + unit).collect()));
    }
    let Some((from, rest)) = text.split_once("..") else { return Ok(None) };
    let wrong = || {
        complaint!(
            "`{text}` is not a range of loads; use FROM..TO/POINTS, such as 100..2000/8",
            "`{text}` 不是负载区间；请用 起..止/点数，例如 100..2000/8"
        )
    };
    let (to, points) = rest.rsplit_once('/').ok_or_else(wrong)?;
    let number =
        |text: &str| text.trim().trim_end_matches("/s").parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    let (from, to) = number(from).zip(number(to)).filter(|(from, to)| from < to).ok_or_else(wrong)?;
    let points: usize = points.trim().parse().ok().filter(|points| (2..=100).contains(points)).ok_or_else(wrong)?;
    let step = (to - from) / (points - 1) as f64;
    let unit = if whole { "" } else { "/s" };
    let mut all: Vec<String> = (0..points).map(|n| shown(from + step * n as f64) + unit).collect();
    all.dedup();
    Ok(Some(all))
}

fn repeat(text: &str) -> Result<usize, Complaint> {
    text.parse().ok().filter(|repeat| REPEATS.contains(repeat)).ok_or_else(|| {
        complaint!("`{text}` is not a number of runs; use 1 to 30", "`{text}` 不是运行次数；请用 1 到 30")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_lists_or_ranges() {
        let of = |text: &str, whole| several(text, whole).map_err(|why| why.to_string());
        let list = |all: &[&str]| Ok(Some(all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()));
        assert_eq!(of("16,1,4,4", true), list(&["1", "4", "16"]));
        assert_eq!(of("100..300/3", false), list(&["100/s", "200/s", "300/s"]));
        assert_eq!(of("100/s..300/s/2", false), list(&["100/s", "300/s"]));
        assert_eq!(of("50/s,10.5/s", false), list(&["10.5/s", "50/s"]));
        assert_eq!(of("1..4/100", true), list(&["1", "2", "3", "4"]), "users are whole");
        assert_eq!(of("8", true), Ok(None));
        for wrong in ["1,x", "5..5/3", "9..1/3", "1..9", "1..9/1", "0,4"] {
            assert!(of(wrong, true).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_option_that_takes_a_count_takes_a_list() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let defaults = Defaults { cores: 2.0, descriptors: 1024, seed: 7 };
        let read = |line: &str| crate::read(&words(line), &brunt_protocols::all(), &defaults);
        let Ok(crate::Command::Sweep(found)) = read("sweep --streams 1,8 --http 2 -c 4,8 -d 1s http://h/") else {
            panic!("a sweep");
        };
        let axes: Vec<_> = found.axes.iter().map(|axis| (axis.name.as_str(), axis.kind, axis.values.len())).collect();
        assert_eq!(axes, [("users", AxisKind::Users, 2), ("streams", AxisKind::Other, 2)]);
        assert_eq!(found.cells.len(), 4);
        // What is no list is left to the option, which is checked with the requests.
        let Ok(crate::Command::Sweep(found)) = read("sweep --streams 1,x --http 2 -c 4,8 -d 1s http://h/") else {
            panic!("a sweep");
        };
        assert_eq!(found.axes.len(), 1);
    }

    #[test]
    fn the_last_axis_varies_first() {
        let axis = |n: usize| SweepAxis { name: "users".into(), kind: AxisKind::Users, values: vec![String::new(); n] };
        let all: Vec<Vec<usize>> = (0..6).map(|n| indices(&[axis(2), axis(3)], n)).collect();
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    }
}
