//! The settings of `brunt compare A B`: those of a run for each side, and how often both are run.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_report::Lang;

use super::intent::{self, Defaults, Intent};
use super::protocol_flags::ProtocolOptions;
use super::resume::{self, RESUME};
use super::setting::{SettingSpec, TypedSetting, message, one, switch, text};
use super::settings::*;
use super::shell_words::{PROGRAM, shell_words};
use super::values::SettingValues;
use super::{command_line, help};

/// Runs of each side without a number of one's own, and the bounds of what can be asked for.
const RUNS: usize = 6;
const MOST_RUNS: usize = 100;
/// Bounds of a margin.
const MARGINS: std::ops::RangeInclusive<f64> = 0.001..=1.0;

/// A side of a comparison.
#[derive(Debug)]
pub struct ComparedSide {
    /// Name, as written.
    pub name: String,
    /// The run.
    pub intent: Intent,
    /// Shell command before each run; `None` for none.
    pub before: Option<String>,
    /// Shell command after each run.
    pub after: Option<String>,
}

/// The settings of a comparison.
#[derive(Debug)]
pub struct CompareSettings {
    /// Sides: what is compared with, and what is compared; the latter alone if there is a baseline.
    pub sides: Vec<ComparedSide>,
    /// File of the baseline, if there is one.
    pub baseline: Option<String>,
    /// Set if the runs become the new baseline.
    pub update: bool,
    /// Runs of each side.
    pub runs: usize,
    /// Set if the order is random.
    pub shuffle: bool,
    /// Change from which ratios matter; `None` for those of the report.
    pub margin: Option<f64>,
    /// Record to go on with.
    pub resume: Option<String>,
}

const RUNS_ASKED: TypedSetting<usize> = one(
    "runs",
    "N",
    runs,
    "Runs of each side, up to 100; fewer than 4 tell nothing for certain [default: 6]",
    "每方的运行次数，最多 100；少于 4 次得不出确定结论 [默认：6]",
);
const SHUFFLE: TypedSetting<()> =
    switch("shuffle", "Run them in random order (--seed), not A B B A", "以随机顺序运行（--seed），而非 A B B A");
const MARGIN: TypedSetting<f64> = one(
    "margin",
    "SHARE",
    margin,
    "A change of SHARE or less does not matter [default: 5% of throughput and p50, 10% of p95 and p99]",
    "变化不超过 SHARE 时视为无差别 [默认：吞吐量与 p50 为 5%，p95 与 p99 为 10%]",
);
const BEFORE_A: TypedSetting<String> = one(
    "before-a",
    "COMMAND",
    text,
    "Run a shell command before each run of A, such as a deployment",
    "每次运行 A 之前执行的 shell 命令，例如部署",
);
const BEFORE_B: TypedSetting<String> =
    one("before-b", "COMMAND", text, "The same for B", "每次运行 B 之前执行的 shell 命令");
const AFTER_A: TypedSetting<String> =
    one("after-a", "COMMAND", text, "Run a shell command after each run of A", "每次运行 A 之后执行的 shell 命令");
const AFTER_B: TypedSetting<String> =
    one("after-b", "COMMAND", text, "The same for B", "每次运行 B 之后执行的 shell 命令");

const BASELINE: TypedSetting<String> = one(
    "baseline",
    "FILE",
    text,
    "Compare one side with the baseline in FILE, a small JSON file for a repository",
    "将一方与 FILE 中的基线比较；FILE 是可放入代码仓库的小型 JSON 文件",
);
const UPDATE: TypedSetting<()> = switch(
    "update",
    "Make these runs the new baseline, and exit with 0 whatever changed",
    "把本次运行作为新的基线；无论有何变化，退出码均为 0",
);

/// Options that `brunt compare` has beside those of a run.
pub const COMPARE: [SettingSpec; 10] = [
    BASELINE.spec,
    UPDATE.spec,
    RUNS_ASKED.spec,
    SHUFFLE.spec,
    MARGIN.spec,
    BEFORE_A.spec,
    BEFORE_B.spec,
    AFTER_A.spec,
    AFTER_B.spec,
    RESUME.spec,
];

/// Returns the command line of `brunt compare`: that of `brunt run`, and how both sides are run.
pub fn command(spoken: &[ProtocolOptions], lang: Lang) -> clap::Command {
    command_line::run_command(spoken, lang)
        .name("brunt compare")
        .override_usage(lang.of(message(
            "brunt compare [OPTIONS] A B, each a URL, a PLAN.yaml or '[OPTIONS] URL' in quotes",
            "brunt compare [选项] A B，各为 URL、PLAN.yaml 或用引号括起的 '[选项] URL'",
        )))
        .about(lang.of(message(
            "Run two sides in turn, and tell whether the second is worse, better or the same.",
            "交替运行两方，判断第二方更差、更好还是相同。",
        )))
        .before_help("")
        .after_help(lang.of(help::COMPARE))
        .after_long_help(lang.of(help::COMPARE))
        .args(command_line::args(&COMPARE, lang))
}

/// Reads a comparison from the values of a command line, whose words are `words`; `described` is the command line of a run,
/// for sides with options of their own.
///
/// # Errors
/// A setting is invalid, or there are not two sides; the error names the option.
pub fn read(
    mut values: SettingValues,
    words: &[String],
    (spoken, protocols): (&[ProtocolOptions], &[Arc<dyn Protocol>]),
    defaults: &Defaults,
) -> Result<CompareSettings, UsageError> {
    let mut own = SettingValues::default();
    own.extend(values.take_if(|said| COMPARE.iter().any(|spec| spec.name == said.name)));
    values.refuse(
        &[HOLD.spec, DEBUG.spec, PROMETHEUS.spec, OTLP.spec],
        complaint!("is for a single run, not for a comparison; leave it out", "用于单次压测，不能用于比较；请去掉"),
    )?;
    let resume = resume::read(&own, &values)?;
    let targets = values.take(TARGET.spec.name);
    let baseline = own.get(&BASELINE)?;
    check_sides(targets.len(), (baseline.is_some(), own.has(&UPDATE)))?;
    let side = |said: &super::values::SettingValue, [before, after]: [&TypedSetting<String>; 2]| {
        let of_side = side_values(said, &values, spoken)?;
        Ok(ComparedSide {
            name: said.text.strip_prefix(PROGRAM).unwrap_or(&said.text).trim_start().to_owned(),
            intent: intent::read(of_side, words, protocols, defaults)?,
            before: own.get(before)?,
            after: own.get(after)?,
        })
    };
    let around = [[&BEFORE_A, &AFTER_A], [&BEFORE_B, &AFTER_B]];
    // With a baseline, the only side is B.
    let sides = targets.iter().zip(&around[2 - targets.len()..]).map(|(said, around)| side(said, *around));
    Ok(CompareSettings {
        sides: sides.collect::<Result<_, UsageError>>()?,
        baseline,
        update: own.has(&UPDATE),
        runs: own.get(&RUNS_ASKED)?.unwrap_or(RUNS),
        shuffle: own.has(&SHUFFLE),
        margin: own.get(&MARGIN)?,
        resume,
    })
}

/// Checks the number of sides against the baseline, if there is one, which may be written.
fn check_sides(sides: usize, (has_baseline, is_updated): (bool, bool)) -> Result<(), UsageError> {
    let wrong = |place: &str, why: Complaint| Err(UsageError::new(place, why));
    match (has_baseline, sides) {
        (false, _) if is_updated => wrong(
            "--update",
            complaint!("needs the file to write; add --baseline FILE", "需要指定要写入的文件；请加上 --baseline FILE"),
        ),
        (true, 1) | (false, 2) => Ok(()),
        (true, _) => wrong(
            "--baseline",
            complaint!(
                "{sides} sides given; name the one that is compared with the baseline",
                "给出了 {sides} 方；请只给出与基线比较的一方"
            ),
        ),
        (false, _) => wrong(
            "compare",
            complaint!(
                "{sides} given; name two sides, each a URL, a plan or '[OPTIONS] URL' in quotes",
                "给出了 {sides} 个；请给出两方，各为 URL、计划文件或用引号括起的 '[选项] URL'"
            ),
        ),
    }
}

/// Puts the name of the program in front of each side that begins with an option: clap would take it for one.
pub fn marked(words: &[String]) -> Vec<String> {
    let is_option = |word: &str| {
        let letters = word.trim_start_matches('-');
        let of = |long: bool| letters.bytes().all(|b| b.is_ascii_alphanumeric() || long && b == b'-');
        match word.len() - letters.len() {
            1 => letters.len() == 1 && of(false),
            2 => !letters.is_empty() && of(true),
            _ => false,
        }
    };
    let is_line = |word: &str| word.split_once(char::is_whitespace).is_some_and(|(first, _)| is_option(first));
    words.iter().map(|word| if is_line(word) { format!("{PROGRAM} {word}") } else { word.clone() }).collect()
}

/// Returns the values of a side: those of both, and over them its own, if it is a command line.
pub(super) fn side_values(
    said: &super::values::SettingValue,
    shared: &SettingValues,
    spoken: &[ProtocolOptions],
) -> Result<SettingValues, UsageError> {
    if !said.text.contains(char::is_whitespace) {
        let mut values = shared.clone();
        values.push(TARGET.spec.name, said.text.clone(), said.origin.clone());
        return Ok(values);
    }
    let unreadable = |why: Complaint| {
        let why = Complaint::new(format!("`{}`: {why}", said.text), format!("`{}`：{}", said.text, why.zh()));
        UsageError::new("compare", why)
    };
    let words = shell_words(&said.text).map_err(unreadable)?;
    let described = command_line::run_command(spoken, Lang::En);
    let line = std::iter::once(String::new()).chain(words.iter().cloned());
    let matches = described
        .clone()
        .try_get_matches_from(line)
        .map_err(|error| super::clap_errors::complaint(&error, &described, &words))?;
    let names = command_line::names(spoken).filter(|name| described.get_arguments().any(|arg| arg.get_id() == *name));
    Ok(command_line::values(&matches, names).merged_over(shared.clone(), &[]))
}

fn runs(text: &str) -> Result<usize, Complaint> {
    text.parse().ok().filter(|runs| (1..=MOST_RUNS).contains(runs)).ok_or_else(|| {
        complaint!(
            "`{text}` is not a number of runs; use 1 to {MOST_RUNS}",
            "`{text}` 不是运行次数；请用 1 到 {MOST_RUNS}"
        )
    })
}

fn margin(text: &str) -> Result<f64, Complaint> {
    let share = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok()).map(|share| share / 100.0);
    share.filter(|share| MARGINS.contains(share)).ok_or_else(|| {
        complaint!(
            "`{text}` is not a margin; use 0.1% to 100%, such as 5%",
            "`{text}` 不是容许变化；请用 0.1% 到 100%，例如 5%"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_begins_with_an_option_is_no_option() {
        let of = |word: &str| marked(&[word.to_owned()]).remove(0);
        assert_eq!(of("-c 2 http://h/"), "brunt -c 2 http://h/");
        assert_eq!(of("--no-keepalive http://h/"), "brunt --no-keepalive http://h/");
        for word in ["http://h/", "-c", "-HAccept: text", "--header=A: b", "-", "a -c 1"] {
            assert_eq!(of(word), word);
        }
    }
}
