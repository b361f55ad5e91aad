//! The common parts of the plan file reader: values of keys with their positions, URLs and their options, errors.

use std::rc::Rc;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionArity, UsageError};
use brunt_measure::Nanos;
use brunt_plan::flow::{AT_MOST, CAPTURE, CHECK_NAMES, TIMEOUT};
use brunt_plan::yaml::{FilePosition, YamlNode, YamlValue};
use brunt_plan::{WeightedUrl, document};

use super::keys::PlanKeys;
use super::positions::StepPositions;
use crate::draft::{DraftUrl, RunDraft};
use crate::origin::ValueOrigin;
use crate::values::SettingValue;
use crate::{parsers, urls};

/// A key, its position, and its value.
pub(super) type PlanFileEntry = (String, FilePosition, YamlNode);

pub(super) struct PlanFileReader {
    pub(super) path: Arc<str>,
    pub(super) keys: Rc<PlanKeys>,
    pub(super) schemes: Vec<&'static str>,
    /// Set for the plan of a report: bare numbers are nanoseconds.
    pub(super) recorded: bool,
    pub(super) draft: RunDraft,
    /// Checks that need the complete flow, with their positions.
    pub(super) deferred: Vec<(DeferredCheck, FilePosition)>,
    /// Positions of the steps.
    pub(super) places: StepPositions,
}

/// A check that needs the complete flow.
pub(super) enum DeferredCheck {
    /// A condition, as written.
    Condition(String),
    /// The name of a list.
    List(String),
    /// The name of the value that says how often steps are repeated.
    Count(String),
    /// The name of a called flow.
    Call(String),
    /// A text that contains values.
    Text(String),
    /// The definition of a called flow.
    Called(String),
    /// A server in `close`, which must be one that steps connect to.
    Server(String),
}

/// The context of a list of steps.
#[derive(Default)]
pub(super) struct StepContext {
    /// The names of the enclosing groups.
    pub(super) groups: Vec<String>,
    /// The nesting depth.
    pub(super) depth: usize,
}

impl PlanFileReader {
    pub(super) fn origin(&self, at: FilePosition, key: &str) -> ValueOrigin {
        ValueOrigin::File { path: Arc::clone(&self.path), at, key: key.into() }
    }

    pub(super) fn wrong<T>(
        &self,
        at: FilePosition,
        name: &str,
        trouble: impl Into<Complaint>,
    ) -> Result<T, UsageError> {
        Err(self.origin(at, name).wrong(name, trouble))
    }

    pub(super) fn say(&mut self, name: &'static str, text: impl Into<String>, (at, key): (FilePosition, &str)) {
        let origin = self.origin(at, key);
        self.draft.values.push(name, text, origin);
    }

    /// Reads a setting of the run or a protocol option: one value, or a list if it may be repeated.
    pub(super) fn setting(&mut self, name: &'static str, at: FilePosition, node: &YamlNode) -> Result<(), UsageError> {
        let takes = self.keys.takes(name);
        for (text, at) in self.values(name, at, node, takes)? {
            let bare = self.recorded && takes == OptionArity::One("TIME") && text.bytes().all(|b| b.is_ascii_digit());
            let text = text.parse().ok().filter(|_| bare).map_or(text, |nanos| document::time(Nanos(nanos)));
            self.say(name, text, (at, name));
        }
        Ok(())
    }

    /// Returns the values of a key; an enabled switch has one empty value.
    fn values(
        &self,
        name: &str,
        at: FilePosition,
        node: &YamlNode,
        takes: OptionArity,
    ) -> Result<Vec<(String, FilePosition)>, UsageError> {
        match (&node.value, takes) {
            (YamlValue::Text(text), OptionArity::Switch) => match &text[..] {
                "true" => Ok(vec![(String::new(), at)]),
                "false" => Ok(Vec::new()),
                other => self.wrong(
                    node.at,
                    name,
                    complaint!(
                        "`{other}` is neither true nor false; use one of them",
                        "`{other}` 既不是 true 也不是 false；请用其中之一"
                    ),
                ),
            },
            (YamlValue::List(items), OptionArity::Switch) if self.recorded && items.len() == 1 => {
                Ok(vec![(String::new(), at)])
            }
            (YamlValue::Text(text), _) => self.revealed(name, text, node.at).map(|text| vec![(text, node.at)]),
            (YamlValue::List(items), takes) => {
                if matches!(takes, OptionArity::One(_)) && !(self.recorded && items.len() == 1) {
                    return self.wrong(
                        node.at,
                        name,
                        complaint!("takes a single value, not a list", "只接受单个值，不接受列表"),
                    );
                }
                items.iter().map(|item| Ok((self.scalar(name, item)?, item.at))).collect()
            }
            (YamlValue::Map(_), OptionArity::Many(_)) => self.wrong(
                node.at,
                name,
                complaint!(
                    "is a map; write a value or a list of values, in quotes if it begins with a slot: '{{…}}'",
                    "是映射；请写一个值或值的列表，以占位符开头的值要加引号：'{{…}}'"
                ),
            ),
            (YamlValue::Map(_), _) => {
                let trouble = complaint!(
                    "is a map; write a single value, in quotes if it begins with a slot: '{{…}}'",
                    "是映射；请写单个值，以占位符开头的值要加引号：'{{…}}'"
                );
                self.wrong(node.at, name, trouble)
            }
            (YamlValue::Null, _) => Ok(Vec::new()),
        }
    }

    pub(super) fn scalar(&self, name: &str, node: &YamlNode) -> Result<String, UsageError> {
        match &node.value {
            YamlValue::Text(text) => self.revealed(name, text, node.at),
            // The notation of k6: `{duration: 1m, target: 50}`.
            YamlValue::Map(_) if name == "stage" => {
                self.wrong(node.at, name, complaint!("is a map; write `1m:50` (users) or `1m:10/s..100/s` (a rate), which begins where the stage before it ended", "是映射；请写 `1m:50`（用户数）或 `1m:10/s..100/s`（速率），起点是上一阶段的终点"))
            }
            _ => self.wrong(
                node.at,
                name,
                complaint!("must be a single value; write a text or a number", "必须是单个值；请写文本或数字"),
            ),
        }
    }

    /// Rejects a masked value, which cannot be sent. In a hand-written file, three asterisks may be literal text, so
    /// they are rejected only in place of a secret.
    fn revealed(&self, name: &str, text: &str, at: FilePosition) -> Result<String, UsageError> {
        if self.recorded && text.contains(brunt_plan::mask::MASK) {
            return self.wrong(
                at,
                name,
                complaint!(
                    "is masked in the report (***); write the real value, or record with --keep-secrets",
                    "在报告中已被隐去（***）；请写真实的值，或用 --keep-secrets 记录"
                ),
            );
        }
        if !self.recorded && brunt_plan::mask::is_masked(name, text) {
            return self.wrong(
                at,
                name,
                complaint!(
                    "was masked (***) when the plan was saved; write the real value",
                    "在保存计划时已被隐去（***）；请写真实的值"
                ),
            );
        }
        Ok(text.to_owned())
    }

    pub(super) fn urls(&mut self, node: &YamlNode) -> Result<(), UsageError> {
        let items = match &node.value {
            YamlValue::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        for item in items {
            let url = match &item.value {
                YamlValue::Map(entries) => self.url(item, entries)?,
                _ => self.plain_url(item)?,
            };
            self.add_url(item.at, url)?;
        }
        Ok(())
    }

    /// Reads a URL without options.
    pub(super) fn plain_url(&self, item: &YamlNode) -> Result<DraftUrl, UsageError> {
        Ok(DraftUrl::plain(self.scalar("URL", item)?, self.origin(item.at, "URL")))
    }

    pub(super) fn add_url(&mut self, at: FilePosition, url: DraftUrl) -> Result<(), UsageError> {
        let typed = urls::with_scheme(&url.url, &self.schemes).or_else(|trouble| self.wrong(at, "URL", trouble))?;
        self.places.url(at);
        self.draft.urls.push(DraftUrl { url: typed, ..url });
        Ok(())
    }

    /// Returns the URLs read so far, in the form used by plans.
    pub(super) fn weighted(&self) -> Vec<WeightedUrl> {
        self.draft.urls.iter().map(DraftUrl::weighted).collect()
    }

    /// Reads a URL with its weight and options.
    pub(super) fn url(&mut self, item: &YamlNode, entries: &[PlanFileEntry]) -> Result<DraftUrl, UsageError> {
        let mut url = DraftUrl::plain("", self.origin(item.at, "URL"));
        for (written, at, node) in entries {
            let name = written.replace('_', "-");
            match &name[..] {
                "url" => url.url = self.scalar("URL", node)?,
                "weight" => url.weight = self.weight(node)?,
                "name" => url.name = Some(self.name(node)?),
                "options" => {
                    let YamlValue::Map(inner) = &node.value else {
                        return self.wrong(
                            node.at,
                            "options",
                            complaint!("must be a map of keys and values", "必须是键和值的映射"),
                        );
                    };
                    for (name, at, node) in inner {
                        self.url_option(name, *at, node, &mut url)?;
                    }
                }
                _ => self.url_option(&name, *at, node, &mut url)?,
            }
        }
        if url.url.is_empty() {
            return self.wrong(
                item.at,
                "urls",
                complaint!(
                    "has no `url`; write `- url: http://localhost:8080/`",
                    "没有 `url`；请写 `- url: http://localhost:8080/`"
                ),
            );
        }
        Ok(url)
    }

    fn name(&mut self, node: &YamlNode) -> Result<String, UsageError> {
        let name = self.scalar("name", node)?;
        let checked = parsers::request_name(&name);
        checked.or_else(|trouble| self.wrong(node.at, "name", trouble))
    }

    pub(super) fn url_option(
        &mut self,
        name: &str,
        at: FilePosition,
        node: &YamlNode,
        url: &mut DraftUrl,
    ) -> Result<(), UsageError> {
        if let (YamlValue::Map(entries), true) = (&node.value, name.starts_with("expect-")) {
            return self.named_checks(name, (at, entries), url);
        }
        // This is an option of a step, in the form used by reports.
        let of_step = [CAPTURE, CHECK_NAMES, TIMEOUT, AT_MOST].into_iter().find(|own| self.recorded && *own == name);
        let Some(name) = of_step.or_else(|| self.keys.of_one_url(name)) else {
            let trouble = match self.keys.find(name) {
                Some(_) if ["await", "push"].contains(&name) => {
                    complaint!(
                        "is for steps that send or await messages, such as those of ws:// URLs; leave it out here",
                        "用于发送或等待消息的步骤，例如 ws:// URL 的步骤；请在这里去掉"
                    )
                }
                Some(_) => complaint!(
                    "applies to the whole run; put it at the top of the plan, not at one URL or step",
                    "作用于整个压测；请写在计划的最上层，而不是某个 URL 或步骤"
                ),
                None => self.keys.unknown_of_one_url(name),
            };
            return self.wrong(at, name, trouble);
        };
        let takes = if of_step.is_some() { OptionArity::Many("") } else { self.keys.takes(name) };
        let values = self.values(name, at, node, takes)?;
        url.own.take(name);
        if values.is_empty() {
            url.without.push(name);
        }
        values.into_iter().for_each(|(text, at)| url.own.push(name, text, self.origin(at, name)));
        Ok(())
    }

    /// Reads named checks: `expect-json: {has a token: $.token}`.
    fn named_checks(
        &mut self,
        name: &str,
        (at, entries): (FilePosition, &[PlanFileEntry]),
        url: &mut DraftUrl,
    ) -> Result<(), UsageError> {
        let items: Vec<YamlNode> = entries.iter().map(|(_, _, node)| node.clone()).collect();
        let rules = match &items[..] {
            [one] => one.clone(),
            _ => YamlNode { at, value: YamlValue::List(items) },
        };
        self.url_option(name, at, &rules, url)?;
        let mut names = url.own.take(CHECK_NAMES);
        for (which, (check, at, _)) in entries.iter().enumerate() {
            if check.trim().is_empty() || check.len() > 100 {
                return self.wrong(
                    *at,
                    check,
                    complaint!(
                        "cannot be the name of a check; use at most 100 characters",
                        "不能用作检查的名称；请用至多 100 个字符"
                    ),
                );
            }
            let text = format!("{name} {which} {check}");
            names.push(SettingValue { name: CHECK_NAMES, text, origin: self.origin(*at, name) });
        }
        // Sorted by option, as in the YAML output of a plan.
        names.sort_by_key(|said| said.text.split(' ').next().unwrap_or_default().to_owned());
        url.own.extend(names);
        Ok(())
    }

    pub(super) fn weight(&self, node: &YamlNode) -> Result<f64, UsageError> {
        let weight = text_of(node).parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight > 0.0);
        weight.map_or_else(
            || {
                self.wrong(
                    node.at,
                    "weight",
                    complaint!(
                        "`{}` is not a weight; use a number above zero, such as 3",
                        "`{}` 不是权重；请用大于零的数，例如 3",
                        text_of(node)
                    ),
                )
            },
            Ok,
        )
    }
}

pub(super) fn text_of(node: &YamlNode) -> &str {
    match &node.value {
        YamlValue::Text(text) => text,
        _ => "",
    }
}
