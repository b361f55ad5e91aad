//! The settings of `brunt find`: those of a run, objectives in front of the URL, and the limits of the search.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_measure::Nanos;
use brunt_plan::{Load, Stage, quantity};
use brunt_report::{AllowedLoss, Lang, Objective};

use super::intent::{self, Defaults, Intent};
use super::protocol_flags::ProtocolOptions;
use super::resume::{self, RESUME};
use super::setting::{SettingSpec, TypedSetting, message, one, text};
use super::settings::*;
use super::values::SettingValues;
use super::{command_line, help, parsers};

/// Lowest and highest rate of a search without limits of its own, per second.
const LOWEST_RATE: f64 = 10.0;
const HIGHEST_RATE: f64 = 1e6;
/// Width of the result without one of its own, and the bounds of what can be asked for.
const WIDTH: f64 = 0.05;
const WIDTHS: std::ops::RangeInclusive<f64> = 0.01..=0.5;

/// The settings of a search for the highest load.
#[derive(Debug)]
pub struct FindSettings {
    /// The run that each trial is; its load is the lowest one, its duration that of a trial.
    pub intent: Intent,
    /// What is searched for: each objective with the loss that it allows.
    pub objectives: Vec<(String, AllowedLoss)>,
    /// Highest load to try: requests per second, or users.
    pub highest: f64,
    /// Distance of both bounds, as a share of the lower one.
    pub width: f64,
    /// The scenario whose load is searched; `None` if the plan has none.
    pub scenario: Option<u16>,
    /// Record to go on with.
    pub resume: Option<String>,
}

const UP_TO: TypedSetting<String> = one(
    "up-to",
    "LOAD",
    text,
    "Try no load above LOAD: a rate (5000/s), or users [default: 1,000,000/s, or all the users that brunt can hold]",
    "最高只试到 LOAD：速率（5000/s）或用户数 [默认：1,000,000/s，或 brunt 能承载的全部用户]",
);
const WIDTH_ASKED: TypedSetting<f64> = one(
    "width",
    "SHARE",
    width,
    "How close the bounds from below and above shall be, 1% to 50% [default: 5%]",
    "上下界之间的相对间隔，1% 到 50% [默认：5%]",
);

const VARY: TypedSetting<String> = one(
    "vary",
    "SCENARIO",
    text,
    "Search the load of this scenario of the plan; the others keep theirs",
    "搜索计划中该场景的负载；其他场景保持各自的负载",
);

/// Options that `brunt find` has beside those of a run.
pub const FIND: [SettingSpec; 4] = [UP_TO.spec, WIDTH_ASKED.spec, VARY.spec, RESUME.spec];

/// Returns the command line of `brunt find`: that of `brunt run`, and the limits of the search.
pub fn command(spoken: &[ProtocolOptions], lang: Lang) -> clap::Command {
    command_line::run_command(spoken, lang)
        .name("brunt find")
        .override_usage(lang.of(message(
            "brunt find OBJECTIVE... [OPTIONS] URL... | PLAN.yaml",
            "brunt find 目标... [选项] URL... | PLAN.yaml",
        )))
        .about(lang.of(message(
            "Find the highest rate, or number of users, that keeps the objectives.",
            "找出仍能满足目标的最高速率或用户数。",
        )))
        .before_help("")
        .after_help(lang.of(help::FIND))
        .after_long_help(lang.of(help::FIND))
        .args(command_line::args(&FIND, lang))
}

/// Reads a search from the values of a command line, whose words are `words`.
///
/// # Errors
/// A setting is invalid, or there is no objective; the error names the option.
pub fn read(
    mut values: SettingValues,
    words: &[String],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<FindSettings, UsageError> {
    let mut own = SettingValues::default();
    own.extend(values.take_if(|said| FIND.iter().any(|spec| spec.name == said.name)));
    let in_front = values.take_if(|said| said.name == TARGET.spec.name && is_objective(&said.text));
    for said in in_front {
        values.push(OBJECTIVE.spec.name, said.text, said.origin);
    }
    values.refuse(
        &[REQUESTS.spec, ITERATIONS.spec, STAGE.spec, HOLD.spec, DEBUG.spec, PROMETHEUS.spec, OTLP.spec],
        complaint!("is for a single run, not for a search; leave it out", "用于单次压测，不能用于搜索；请去掉"),
    )?;
    let resume = resume::read(&own, &values)?;
    let mut intent = intent::read(values, words, protocols, defaults)?;
    let scenario = varied(&own, &intent)?;
    refuse_plan(&intent)?;
    let objectives = objectives(&intent)?;
    let load = match scenario {
        Some(varied) => intent.plan.scenarios[usize::from(varied)].load.clone(),
        None => first_load(&intent),
    };
    let highest = highest(&own, &load)?;
    for plan in [&mut intent.plan, &mut intent.shown] {
        if scenario.is_none() {
            plan.load.clone_from(&load);
        }
    }
    Ok(FindSettings { intent, objectives, highest, width: own.get(&WIDTH_ASKED)?.unwrap_or(WIDTH), scenario, resume })
}

/// Returns `true` for a word that compares: no URL and no file of a plan does.
fn is_objective(word: &str) -> bool {
    word.contains(['<', '>']) && !word.contains("://")
}

/// Returns the index of the scenario whose load is searched.
fn varied(own: &SettingValues, intent: &Intent) -> Result<Option<u16>, UsageError> {
    let names: Vec<&str> = intent.plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    let asked = own.text(&VARY);
    let found = match (asked, &names[..]) {
        (None, []) => return Ok(None),
        (None, [_]) => Some(0),
        (None, _) => None,
        (Some(name), all) => all.iter().position(|known| *known == name),
    };
    match (found, asked) {
        (Some(at), _) => Ok(Some(at as u16)),
        (None, Some(name)) if names.is_empty() => Err(own.wrong(
            &VARY,
            complaint!(
                "the plan has no scenarios, and so no `{name}`; leave it out",
                "计划没有场景，也就没有 `{name}`；请去掉"
            ),
        )),
        (None, Some(name)) => {
            Err(own.wrong(&VARY, complaint!("`{name}` is not one of {}", "`{name}` 不在 {} 之列", names.join(", "))))
        }
        (None, None) => Err(UsageError::new(
            "find",
            complaint!(
                "a search varies the load of one scenario; name it with --vary, one of {}",
                "搜索只改变一个场景的负载；请用 --vary 指定，可选 {}",
                names.join(", ")
            ),
        )),
    }
}

/// Rejects plans whose load cannot be varied.
fn refuse_plan(intent: &Intent) -> Result<(), UsageError> {
    let plan = &intent.plan;
    let wrong = |what: Complaint| Err(UsageError::new("find", what));
    if let Some(uneven) = plan.scenarios.iter().find(|one| one.start > Nanos::ZERO || !one.load.is_level()) {
        return wrong(complaint!(
            "the load of scenario `{}` changes over time; in a search it must be one level from the beginning",
            "场景 `{}` 的负载随时间变化；搜索要求它从一开始就保持不变",
            uneven.name
        ));
    }
    if !plan.scenarios.is_empty() {
        return Ok(());
    }
    if plan.requests.is_some() || plan.hold.is_some() || !plan.load.is_level() {
        return wrong(complaint!(
            "a search sets load and duration of its trials; leave `requests`, `hold` and `stages` out of the plan",
            "搜索自行设定每次试验的负载和时长；请从计划中去掉 `requests`、`hold` 和 `stages`"
        ));
    }
    Ok(())
}

/// Returns the objectives with the losses that they allow.
fn objectives(intent: &Intent) -> Result<Vec<(String, AllowedLoss)>, UsageError> {
    if intent.plan.objectives.is_empty() {
        return Err(UsageError::new(
            "find",
            complaint!(
                "no objective is named; put one in front of the URL, such as 'p99<50ms'",
                "没有给出目标；请写在 URL 之前，例如 'p99<50ms'"
            ),
        ));
    }
    let allowed = |text: &String| Objective::parse(text).ok().and_then(|objective| objective.allowed_loss());
    intent
        .plan
        .objectives
        .iter()
        .map(|text| match allowed(text) {
            Some(loss) => Ok((text.clone(), loss)),
            None => Err(UsageError::new(
                "find",
                complaint!(
                    "`{text}` is not judged by counting requests over a trial; use a percentile or failures: \
                        'p99<50ms', 'failed<0.1%'",
                    "`{text}` 不能按一次试验中的请求数判断；请用百分位或失败率：'p99<50ms'、'failed<0.1%'"
                ),
            )),
        })
        .collect()
}

/// Returns the load that the search begins with: what the user asked for, or a rate.
fn first_load(intent: &Intent) -> Load {
    let duration = intent.plan.duration.unwrap_or(Nanos::from_secs(10));
    match &intent.plan.load {
        Load::Closed { think: None, together: false, .. } if !intent.asks_for_users() => Load::Open {
            stages: vec![Stage { lasts: duration, from: LOWEST_RATE, to: LOWEST_RATE }],
            arrivals: Default::default(),
        },
        asked => asked.clone(),
    }
}

fn highest(own: &SettingValues, load: &Load) -> Result<f64, UsageError> {
    let lowest = load.peak();
    let read = match (own.text(&UP_TO), load.is_open()) {
        (None, true) => return Ok(HIGHEST_RATE.max(lowest)),
        (None, false) => return Ok(parsers::MOST_USERS as f64),
        (Some(text), true) => quantity::rate(text),
        (Some(text), false) => parsers::users(text).map(f64::from),
    };
    let highest = read.map_err(|trouble| own.wrong(&UP_TO, trouble))?;
    if highest < lowest {
        return Err(own.wrong(
            &UP_TO,
            complaint!(
                "{highest} is below the load that the search begins with, {lowest}; use a higher one",
                "{highest} 低于搜索的起始负载 {lowest}；请用更大的值"
            ),
        ));
    }
    Ok(highest)
}

/// Parses the width of a result.
fn width(text: &str) -> Result<f64, Complaint> {
    let share = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok()).map(|share| share / 100.0);
    share.filter(|share| WIDTHS.contains(share)).ok_or_else(|| {
        complaint!("`{text}` is not a width; use 1% to 50%, such as 5%", "`{text}` 不是间隔；请用 1% 到 50%，例如 5%")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Defaults};

    fn find(line: &[&str]) -> Result<FindSettings, String> {
        let words: Vec<String> = ["find"].iter().chain(line).map(ToString::to_string).collect();
        let defaults = Defaults { cores: 2.0, descriptors: 1024, seed: 7 };
        match crate::read(&words, &brunt_protocols::all(), &defaults) {
            Ok(Command::Find(found)) => Ok(*found),
            Ok(other) => panic!("{other:?}"),
            Err(wrong) => Err(wrong.to_string()),
        }
    }

    const URL: &str = "http://127.0.0.1:9/";

    #[test]
    fn objectives_stand_in_front_of_the_url() {
        let found = find(&["p99<50ms", "failed<0.1%", URL]).expect("a search");
        let allowed: Vec<(&str, f64)> =
            found.objectives.iter().map(|(text, loss)| (text.as_str(), loss.share)).collect();
        assert!(allowed[0].0 == "p99<50ms" && (allowed[0].1 - 0.01).abs() < 1e-12, "{allowed:?}");
        assert!(allowed[1].0 == "failed<0.1%" && (allowed[1].1 - 0.001).abs() < 1e-12, "{allowed:?}");
        assert_eq!((found.intent.plan.load.is_open(), found.intent.plan.load.peak()), (true, 10.0));
        assert_eq!((found.highest, found.width), (1e6, 0.05));
        assert_eq!(found.intent.plan.urls.len(), 1);
    }

    #[test]
    fn load_and_duration_of_a_run_are_where_a_search_begins() {
        let users = find(&["p95<1s", "-c", "4", "--up-to", "64", "--width", "10%", URL]).expect("a search of users");
        assert_eq!((users.intent.plan.load.is_open(), users.intent.plan.load.peak()), (false, 4.0));
        assert_eq!((users.highest, users.width), (64.0, 0.1));
        let rate = find(&["p95<1s", "-r", "200/s", "-d", "3s", "--up-to", "5000/s", URL]).expect("a search of rates");
        assert_eq!((rate.intent.plan.load.peak(), rate.highest), (200.0, 5000.0));
        assert_eq!(rate.intent.plan.duration, Some(Nanos::from_secs(3)));
    }

    #[test]
    fn one_scenario_of_a_plan_is_searched() {
        let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a file");
        let plan = |more: &str| {
            let of = |name: &str, load: &str| format!("  {name}: {{{load}, duration: 2s, urls: ['http://h/']}}\n");
            let text = format!("scenarios:\n{}{}{more}", of("shop", "rate: 20/s"), of("staff", "users: 3"));
            std::fs::write(file.path(), text).expect("written");
        };
        let name = file.path().to_str().expect("UTF-8").to_owned();
        plan("");
        let found = find(&["p99<5ms", "--vary", "staff", "--up-to", "50", &name]).expect("a search");
        assert_eq!((found.scenario, found.highest), (Some(1), 50.0));
        for (more, line, right) in [
            (
                "",
                &["p99<5ms"][..],
                "find: a search varies the load of one scenario; name it with --vary, one of shop, staff",
            ),
            ("", &["p99<5ms", "--vary", "boss"], "--vary: `boss` is not one of shop, staff"),
            (
                "",
                &["p99<5ms", "--vary", "shop", "--up-to", "5/s"],
                "--up-to: 5 is below the load that the search begins with, 20",
            ),
            (
                "  late: {users: 1, start-time: 1s, duration: 1s, urls: ['http://h/']}\n",
                &["p99<5ms", "--vary", "shop"],
                "find: the load of scenario `late` changes over time",
            ),
        ] {
            plan(more);
            let line: Vec<&str> = line.iter().copied().chain([name.as_str()]).collect();
            let said = find(&line).expect_err("cannot be searched");
            assert!(said.contains(right), "{line:?}: {said}");
        }
        let said = find(&["p99<5ms", "--vary", "shop", URL]).expect_err("no scenarios");
        assert!(said.contains("--vary: the plan has no scenarios"), "{said}");
    }

    #[test]
    fn what_cannot_be_searched_is_one_sentence() {
        let table: [(&[&str], &str); 7] = [
            (&[URL], "find: no objective is named"),
            (&["mean<5ms", URL], "find: `mean<5ms` is not judged by counting"),
            (&["p99<5ms for 10s", URL], "find: `p99<5ms for 10s` is not judged by counting"),
            (&["p99<5ms", "-n", "100", URL], "-n: is for a single run"),
            (&["p99<5ms", "--width", "5", URL], "--width: `5` is not a width; use 1% to 50%"),
            (&["p99<5ms", "-r", "100/s", "--up-to", "50/s", URL], "--up-to: 50 is below the load"),
            (&["p99<5ms"], "missing URL"),
        ];
        for (line, right) in table {
            let said = find(line).expect_err("cannot be searched");
            assert!(said.contains(right), "{line:?}: {said}");
        }
    }
}
