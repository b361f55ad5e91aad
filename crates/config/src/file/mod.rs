//! The parser of plan files.
//!
//! The keys are the names of settings and protocol options. The same reader accepts the `plan` of a JSON report, in
//! which `load` is a map, times are in nanoseconds and words are joined by `_`.

mod calls;
pub mod keys;
mod positions;
mod reader;
mod remarks;
mod report_plan;
mod scenarios;
pub mod schema;
mod sections;
mod single_pass;
mod steps;

use std::rc::Rc;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_plan::document;
use brunt_plan::mask::FilledBlanks;
use brunt_plan::yaml::{self, FilePosition, YamlNode, YamlValue};

use self::keys::{KeyKind, PlanKeys};
use self::positions::StepPositions;
use self::reader::{PlanFileEntry, PlanFileReader, text_of};
use crate::draft::RunDraft;

/// Parses the plan in this text.
///
/// # Errors
/// The plan is invalid; the error has the line and column, and what to write instead.
pub fn read(path: &str, text: &str, protocols: &[Arc<dyn Protocol>]) -> Result<RunDraft, UsageError> {
    let wrong = |(FilePosition { line, column }, trouble): yaml::YamlError| {
        UsageError::new(format!("{path} line {line} column {column}"), trouble)
    };
    let mut root = yaml::parse(text).map_err(wrong)?;
    let filled = FilledBlanks::of(&mut root, &|name| std::env::var(name).ok());
    if let [(at, _), ..] = filled.missing[..] {
        return Err(wrong((at, missing_secrets(&filled.missing))));
    }
    let schemes = protocols.iter().flat_map(|p| p.schemes()).copied().collect();
    let mut reader = PlanFileReader {
        path: path.into(),
        keys: Rc::new(PlanKeys::new(protocols)),
        schemes,
        recorded: false,
        draft: RunDraft { filled: filled.secrets, ..RunDraft::default() },
        deferred: Vec::new(),
        places: StepPositions::default(),
    };
    reader.root(&root)?;
    Ok(reader.draft)
}

/// Describes the secrets that a plan has blanks for, and how to give them.
fn missing_secrets(missing: &[(FilePosition, String)]) -> Complaint {
    let named: Vec<String> = missing.iter().map(|(at, name)| format!("{name} (line {})", at.line)).collect();
    complaint!(
        "has blanks for secrets that were left out when the plan was saved; set the environment variables {}, or write \
         the values in their places",
        "中有保存计划时留空的密钥；请设置环境变量 {}，或在相应位置写出其值",
        named.join(", ")
    )
}

impl PlanFileReader {
    fn root(&mut self, root: &YamlNode) -> Result<(), UsageError> {
        let YamlValue::Map(entries) = &root.value else {
            let trouble = yaml::missing_space_hint(text_of(root));
            let usual = || {
                complaint!(
                    "must be a map of keys and values, such as `users: 10`",
                    "必须是键和值的映射，例如 `users: 10`"
                )
            };
            let list = matches!(root.value, YamlValue::List(_)).then(|| {
                complaint!(
                    "is a list, but a plan is a map of keys and values; for a list of URLs write `urls:` above it, or else \
                        leave out the dashes",
                    "是列表，而计划是键和值的映射；若是 URL 列表，请在上面写 `urls:`，否则请去掉短横线"
                )
            });
            return self.wrong(root.at, "plan", trouble.or(list).unwrap_or_else(usual));
        };
        // The file is a whole report, so use its plan.
        if let (Some((.., plan)), true) = (entry(entries, "plan"), entry(entries, "schema").is_some()) {
            return self.root(plan);
        }
        self.recorded = matches!(entry(entries, "load"), Some((.., YamlNode { value: YamlValue::Map(_), .. })));
        let closed =
            self.recorded && entry(entries, "load").is_some_and(|(.., load)| word_of(load, "model") == "closed");
        let keys = Rc::clone(&self.keys);
        let side_by_side =
            entry(entries, "scenarios").is_some_and(|(.., node)| node.value != YamlValue::List(Vec::new()));
        for (written, at, node) in entries {
            let name = written.replace('_', "-");
            let nothing =
                node.value == YamlValue::Null || (closed && ["max-connections", "slack"].contains(&&name[..]));
            if nothing {
                continue;
            }
            match keys.find(&name) {
                None if self.recorded && name == "common" => self.recorded_common(*at, node)?,
                None => {
                    let trouble = keys.unknown(&name);
                    return self.wrong(*at, written, trouble);
                }
                Some(KeyKind::Urls) => match self.urls_refused() {
                    Some(trouble) => return self.wrong(*at, written, trouble),
                    None => self.urls(node)?,
                },
                Some(KeyKind::Flow) => self.flow(*at, node, entries)?,
                Some(KeyKind::FlowSection) if side_by_side || entry(entries, "flow").is_some() => {}
                Some(KeyKind::FlowSection) => {
                    return self.wrong(
                        *at,
                        written,
                        complaint!(
                            "needs a `flow` or `scenarios`; add one, or leave it out",
                            "需要 `flow` 或 `scenarios`；请加上其一，或去掉"
                        ),
                    );
                }
                Some(KeyKind::Scenarios) => self.scenarios(*at, node, entries)?,
                Some(KeyKind::Protocol) => {}
                // The total load of scenarios is computed from their own loads.
                Some(KeyKind::Load) if self.recorded && side_by_side => {}
                // The duration is already part of the load.
                Some(KeyKind::Setting("duration")) if self.recorded => {}
                Some(KeyKind::Options) => {
                    self.map(node, "options", |reader, name, at, node| match reader.keys.find(name) {
                        Some(KeyKind::Option(name)) => reader.setting(name, at, node),
                        _ => {
                            let trouble = reader.keys.unknown(name);
                            reader.wrong(at, name, trouble)
                        }
                    })?
                }
                Some(KeyKind::Tls) => self.map(node, "tls", Self::tls)?,
                Some(KeyKind::Load) => self.load(node, entries)?,
                Some(KeyKind::Setting("net")) if text_of(node) == "auto" => {}
                // In the plan of a report with a flow, `requests` is the number of iterations.
                Some(KeyKind::Setting("requests")) if self.recorded && entry(entries, "flow").is_some() => {
                    self.setting("iterations", *at, node)?;
                }
                Some(KeyKind::Setting(name) | KeyKind::Option(name)) => self.setting(name, *at, node)?,
            }
        }
        Ok(())
    }

    /// Returns why the plan may not list URLs, if it has steps; the plan of a report has both.
    fn urls_refused(&self) -> Option<Complaint> {
        match (self.recorded, self.draft.flow.is_some(), self.draft.scenarios.is_empty()) {
            (true, ..) | (_, false, true) => None,
            (_, true, _) => Some(complaint!(
                "cannot be combined with `flow`; make each URL a step of the flow, or leave one out",
                "不能与 `flow` 同用；请把每个 URL 写成流程的步骤，或去掉其中一个"
            )),
            _ => Some(complaint!(
                "cannot be combined with `scenarios`; move it into a scenario, or leave one out",
                "不能与 `scenarios` 同用；请移入某个场景，或去掉其中一个"
            )),
        }
    }

    /// Reads each entry of a nested map.
    fn map(
        &mut self,
        node: &YamlNode,
        name: &str,
        each: impl Fn(&mut Self, &str, FilePosition, &YamlNode) -> Result<(), UsageError>,
    ) -> Result<(), UsageError> {
        let YamlValue::Map(entries) = &node.value else {
            return self.wrong(node.at, name, complaint!("must be a map of keys and values", "必须是键和值的映射"));
        };
        entries
            .iter()
            .filter(|(.., node)| node.value != YamlValue::Null)
            .try_for_each(|(key, at, node)| each(self, key, *at, node))
    }

    fn tls(&mut self, key: &str, at: FilePosition, node: &YamlNode) -> Result<(), UsageError> {
        const VALUED: [&str; 5] = ["insecure", "cacert", "cert", "key", "no-resume"];
        match (key, text_of(node)) {
            ("resume", "true") => {}
            ("resume", "false") => self.say("no-resume", "", (at, key)),
            ("version", "1.2") => self.say("tls-max", "1.2", (at, key)),
            ("version", "1.3") => self.say("tlsv1.3", "", (at, key)),
            ("version", _) => {
                return self.wrong(
                    at,
                    key,
                    complaint!(
                        "is not a TLS version; write \"1.2\" or \"1.3\"",
                        "不是 TLS 版本；请写 \"1.2\" 或 \"1.3\""
                    ),
                );
            }
            _ => match VALUED.iter().find(|known| **known == key) {
                Some(name) => return self.setting(name, at, node),
                None => {
                    return self.wrong(
                        at,
                        key,
                        complaint!(
                            "is not one of insecure, cacert, cert, key, resume, version",
                            "不是 insecure、cacert、cert、key、resume、version 之一"
                        ),
                    );
                }
            },
        }
        Ok(())
    }

    /// Reads the load of a report.
    fn load(&mut self, node: &YamlNode, root: &[PlanFileEntry]) -> Result<(), UsageError> {
        if !self.recorded {
            let trouble = complaint!(
                "is a key of reports, not of plans; write `users: 10`, `rate: 500/s` or `stages: [...]`",
                "是报告中的键，计划中没有；请写 `users: 10`、`rate: 500/s` 或 `stages: [...]`"
            );
            return self.wrong(node.at, "load", trouble);
        }
        let load: brunt_plan::Load = serde_json::from_value(report_plan::json_of(node)).or_else(|error| {
            self.wrong(
                node.at,
                "load",
                complaint!("is not a load in the form used by reports: {error}", "不是报告所用格式的负载：{error}"),
            )
        })?;
        let place = (node.at, "load");
        let open = load.is_open();
        match load.stages() {
            [stage] if stage.from == stage.to => {
                match open {
                    true => self.say("rate", format!("{}/s", stage.from), place),
                    false => self.say("users", stage.from.to_string(), place),
                }
                if let Some((_, at, duration)) =
                    entry(root, "duration").filter(|(.., node)| node.value != YamlValue::Null)
                {
                    self.setting("duration", *at, duration)?;
                }
            }
            stages => stages.iter().for_each(|stage| self.say("stage", document::stage(stage, open), place)),
        }
        match load {
            brunt_plan::Load::Open { .. } => self.say("arrivals", word_of(node, "arrivals"), place),
            brunt_plan::Load::Closed { think, together, .. } => {
                if let Some((low, high)) = think {
                    self.say("think", format!("{}..{}", document::time(low), document::time(high)), place);
                }
                if together {
                    self.say("together", "", place);
                }
            }
        }
        Ok(())
    }
}

fn entry<'a>(entries: &'a [(String, FilePosition, YamlNode)], name: &str) -> Option<&'a PlanFileEntry> {
    entries.iter().find(|(key, ..)| key == name)
}

fn word_of<'a>(node: &'a YamlNode, name: &str) -> &'a str {
    match &node.value {
        YamlValue::Map(entries) => entry(entries, name).map_or("", |(.., node)| text_of(node)),
        _ => "",
    }
}
