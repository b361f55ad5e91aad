//! The settings of `brunt ladder`: those of a run for each rung, and how far each is climbed.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_report::Lang;

use super::compare_settings::side_values;
use super::intent::{self, Defaults, Intent};
use super::protocol_flags::ProtocolOptions;
use super::resume::{self, RESUME};
use super::setting::{SettingSpec, TypedSetting, many, message, one};
use super::settings::*;
use super::values::{SettingValue, SettingValues};
use super::{command_line, help, parsers};

/// Highest number of users without one of one's own.
const UP_TO_USERS: u32 = 1024;
/// Most rungs.
const MOST_RUNGS: usize = 12;

/// A rung.
#[derive(Debug)]
pub struct RungSettings {
    /// Name, or the target as written.
    pub name: String,
    /// The run.
    pub intent: Intent,
}

/// The settings of a ladder.
#[derive(Debug)]
pub struct LadderSettings {
    /// Rungs, the lowest first.
    pub rungs: Vec<RungSettings>,
    /// Highest number of users to try.
    pub up_to: u32,
    /// Sizes of pools that the services have.
    pub pools: Vec<u32>,
    /// Record to go on with.
    pub resume: Option<String>,
}

const UP_TO: TypedSetting<u32> =
    one("up-to", "N", parsers::users, "Try no more than N users [default: 1024]", "最多试到 N 个用户 [默认：1024]");
const POOL: TypedSetting<u32> = many(
    "pool",
    "N",
    parsers::users,
    "Size of a pool that the services have: whether it is the limit is told",
    "服务中某个池的大小：据此判断它是否为瓶颈",
);

/// Options that `brunt ladder` has beside those of a run.
pub const LADDER: [SettingSpec; 3] = [UP_TO.spec, POOL.spec, RESUME.spec];

/// Returns the command line of `brunt ladder`: that of `brunt run`, and how far each rung is climbed.
pub fn command(spoken: &[ProtocolOptions], lang: Lang) -> clap::Command {
    command_line::run_command(spoken, lang)
        .name("brunt ladder")
        .override_usage(lang.of(message(
            "brunt ladder [OPTIONS] NAME=URL NAME=URL..., each what the one before does and one thing more",
            "brunt ladder [选项] NAME=URL NAME=URL...，每一级比前一级多做一件事",
        )))
        .about(lang.of(message(
            "Measure what each further dependency costs: latency, CPU and capacity, rung by rung.",
            "逐级测量每多一个依赖的代价：延迟、CPU 与容量。",
        )))
        .before_help("")
        .after_help(lang.of(help::LADDER))
        .after_long_help(lang.of(help::LADDER))
        .args(command_line::args(&LADDER, lang))
}

/// Reads a ladder from the values of a command line, whose words are `words`.
///
/// # Errors
/// A setting is invalid, or there are not two rungs or more; the error names the option.
pub fn read(
    mut values: SettingValues,
    words: &[String],
    (spoken, protocols): (&[ProtocolOptions], &[Arc<dyn Protocol>]),
    defaults: &Defaults,
) -> Result<LadderSettings, UsageError> {
    let mut own = SettingValues::default();
    own.extend(values.take_if(|said| LADDER.iter().any(|spec| spec.name == said.name)));
    values.refuse(
        &[HOLD.spec, DEBUG.spec, PROMETHEUS.spec, OTLP.spec],
        complaint!("is for a single run, not for a ladder; leave it out", "用于单次压测，不能用于阶梯测量；请去掉"),
    )?;
    values.refuse(
        &[USERS.spec, RATE.spec, STAGE.spec, REQUESTS.spec],
        complaint!(
            "is set by the ladder, which tries 1, 2, 4 … users; leave it out, or bound them with --up-to",
            "由阶梯测量自行设定（依次为 1、2、4……个用户）；请去掉，或用 --up-to 限制"
        ),
    )?;
    let resume = resume::read(&own, &values)?;
    let targets = values.take(TARGET.spec.name);
    if !(2..=MOST_RUNGS).contains(&targets.len()) {
        return Err(UsageError::new(
            "ladder",
            complaint!(
                "{} given; name 2 to {MOST_RUNGS} rungs, such as empty=URL redis=URL",
                "给出了 {} 级；请给出 2 到 {MOST_RUNGS} 级，例如 empty=URL redis=URL",
                targets.len()
            ),
        ));
    }
    let rung = |said: &SettingValue| {
        let (name, target) = named(&said.text).map_err(|why| UsageError::new("ladder", why))?;
        let target = SettingValue { text: target.to_owned(), ..said.clone() };
        let intent = intent::read(side_values(&target, &values, spoken)?, words, protocols, defaults)?;
        match intent.plan.scenarios.is_empty() && !intent.plan.load.is_open() {
            true => Ok(RungSettings { name: name.to_owned(), intent }),
            false => Err(UsageError::new("ladder", of_one_load(name))),
        }
    };
    let rungs: Vec<RungSettings> = targets.iter().map(rung).collect::<Result<_, UsageError>>()?;
    if let Some(twice) =
        rungs.iter().enumerate().find(|(at, rung)| rungs[..*at].iter().any(|one| one.name == rung.name))
    {
        return Err(UsageError::new(
            "ladder",
            complaint!(
                "two rungs are named `{}`; give each a name of its own: empty=URL redis=URL",
                "有两级都名为 `{}`；请各取一个名称：empty=URL redis=URL",
                twice.1.name
            ),
        ));
    }
    Ok(LadderSettings { rungs, up_to: own.get(&UP_TO)?.unwrap_or(UP_TO_USERS), pools: own.each(&POOL)?, resume })
}

fn of_one_load(name: &str) -> Complaint {
    complaint!(
        "`{name}` has a load of its own; a ladder tries 1, 2, 4 … users of plans with one flow",
        "`{name}` 自带负载；阶梯测量对只有一个流程的计划依次使用 1、2、4……个用户"
    )
}

/// Splits `redis=http://h/` into name and target; a target without a name is its own.
fn named(text: &str) -> Result<(&str, &str), Complaint> {
    let is_name = |name: &str| {
        !name.is_empty() && !name.starts_with('-') && name.chars().all(|c| c.is_alphanumeric() || "-_.+ ".contains(c))
    };
    match text.split_once('=') {
        Some((name, target)) if is_name(name) && !target.is_empty() => Ok((name, target)),
        Some((name, target)) if !name.contains([':', '/', '?']) && target.contains("://") => Err(complaint!(
            "`{name}` is no name of a rung; use letters, digits, blanks and -_.+, such as redis=URL",
            "`{name}` 不能作为级的名称；请使用字母、数字、空格和 -_.+，例如 redis=URL"
        )),
        _ => Ok((text, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn names_stand_before_targets() {
        let named = |text| named(text).map_err(|why| why.to_string());
        assert_eq!(named("redis=http://h/?a=b"), Ok(("redis", "http://h/?a=b")));
        assert_eq!(named("a + b=-H 'X: y' http://h/"), Ok(("a + b", "-H 'X: y' http://h/")));
        for text in ["http://h/?a=b", "h:80/x", "=h", "name=", "-H 'X: y=z' http://h/"] {
            assert_eq!(named(text), Ok((text, text)));
        }
        let odd = named("a|b=http://h/").expect_err("no name");
        assert!(odd.starts_with("`a|b` is no name of a rung"), "{odd}");
    }
}
