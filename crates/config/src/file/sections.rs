//! The sections next to a flow (`flows`, `setup`, `start`, `end`, `teardown`), and the requests of a `batch`.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_plan::flow::{AT_MOST, Flow, OnFailure, Step};
use brunt_plan::quantity;
use brunt_plan::yaml::{YamlNode, YamlValue};

use super::positions::Section;
use super::reader::{PlanFileEntry, PlanFileReader, text_of};
use super::steps::KINDS;
use crate::draft::DraftUrl;

/// Default number of concurrent requests in a batch: the number of connections that browsers open to one origin.
const AT_ONCE: u32 = 6;
/// Maximum number of concurrent requests of a user.
const MOST_AT_ONCE: u64 = 1000;

impl PlanFileReader {
    /// Reads the sections next to a flow, and appends their requests to the URLs of the plan in this order.
    pub(super) fn flow_sections(&mut self, entries: &[PlanFileEntry], flow: &mut Flow) -> Result<(), UsageError> {
        let find = |name: &str| entries.iter().find(|(key, _, node)| key == name && node.value != YamlValue::Null);
        if let Some((_, _, node)) = find("flows") {
            flow.flows = self.called_flows(node)?;
        }
        let sections = [
            ("start", &mut flow.start),
            ("end", &mut flow.end),
            ("setup", &mut flow.setup),
            ("teardown", &mut flow.teardown),
        ];
        for (name, section) in sections {
            if let Some((_, _, node)) = find(name) {
                *section = self.section(&Section::Own("", name), node)?;
            }
        }
        Ok(())
    }

    /// Reads these sections for scenarios, which have their own `start` and `end`.
    pub(super) fn scenario_sections(&mut self, entries: &[PlanFileEntry], common: &mut Flow) -> Result<(), UsageError> {
        let of_users = entries.iter().find(|(key, ..)| key == "start" || key == "end");
        if let Some((key, at, _)) = of_users {
            return self.wrong(
                *at,
                key,
                complaint!(
                    "runs once per user; put it in the scenario it belongs to",
                    "对每个用户执行一次；请写在它所属的场景中"
                ),
            );
        }
        self.flow_sections(entries, common)
    }

    /// Reads `batch: {at-most: 6, requests: [...]}` or only the list of requests.
    pub(super) fn batch(&mut self, node: &YamlNode) -> Result<Step, UsageError> {
        let (mut at_most, mut on_failure, mut requests) = (AT_ONCE, OnFailure::default(), None);
        match &node.value {
            YamlValue::List(_) => requests = Some(node),
            YamlValue::Map(entries) => {
                for (key, at, node) in entries {
                    match &key.replace('_', "-")[..] {
                        "at-most" => {
                            let count = quantity::bounded_count(text_of(node), "requests", MOST_AT_ONCE);
                            let count = count.and_then(|count| match count {
                                0 => {
                                    Err(complaint!("0 sends nothing; use 1 or more", "0 不发送任何请求；请用 1 或更多"))
                                }
                                count => Ok(count),
                            });
                            at_most = count.or_else(|trouble| self.wrong(node.at, key, trouble))?;
                        }
                        "on-failure" => on_failure = self.on_failure((key, *at), node)?,
                        "requests" => requests = Some(node),
                        _ => {
                            let usual = complaint!(
                                "is not a key of a batch; write `requests`, `at-most` or `on-failure`",
                                "不是批量请求的键；请写 `requests`、`at-most` 或 `on-failure`"
                            );
                            return self.wrong(*at, key, usual);
                        }
                    }
                }
            }
            _ => {}
        }
        let Some(YamlNode { value: YamlValue::List(items), at }) = requests else {
            return self.wrong(
                node.at,
                "batch",
                complaint!(
                    "needs a list of requests; write `batch: [URL, URL]`",
                    "需要请求的列表；请写 `batch: [URL, URL]`"
                ),
            );
        };
        if items.is_empty() {
            return self.wrong(
                *at,
                "batch",
                complaint!("has no requests; write `batch: [URL, URL]`", "没有请求；请写 `batch: [URL, URL]`"),
            );
        }
        let requests = items.iter().map(|item| self.request_of_batch(item)).collect::<Result<Vec<_>, _>>()?;
        let (urls, mut own): (Vec<u32>, Vec<Option<OnFailure>>) = requests.into_iter().unzip();
        if own.iter().all(Option::is_none) {
            own.clear();
        }
        Ok(Step::Batch { at_most, urls, on_failure, own })
    }

    /// Reads a request of a batch; returns the index of its URL, and its own policy on failure, if any.
    fn request_of_batch(&mut self, item: &YamlNode) -> Result<(u32, Option<OnFailure>), UsageError> {
        let mut says_so = false;
        let step = match &item.value {
            YamlValue::Map(entries) => {
                says_so = entries.iter().any(|(key, ..)| key.replace('_', "-") == "on-failure");
                if let Some((key, at, _)) = entries.iter().find(|(key, ..)| key.replace('_', "-") == AT_MOST) {
                    let trouble = complaint!(
                        "is inside a batch, where requests do not wait; move it to a step",
                        "位于批量请求中，其中的请求不等待；请移到步骤中"
                    );
                    return self.wrong(*at, key, trouble);
                }
                let other = entries.iter().find(|(key, ..)| key != "url" && KINDS.contains(&key.as_str()));
                if let Some((key, at, _)) = other {
                    return self.wrong(
                        *at,
                        key,
                        complaint!(
                            "is not a request, and a batch has only requests; move it before or after the batch",
                            "不是请求，而批量请求只能含有请求；请移到它之前或之后"
                        ),
                    );
                }
                self.request_step(item, entries)?
            }
            _ => {
                let url = self.plain_url(item)?;
                self.request(item.at, url, OnFailure::default())?
            }
        };
        // In other protocols, the connection of a user sends one request at a time.
        let is_http = |url: &DraftUrl| url.url.starts_with("http://") || url.url.starts_with("https://");
        if !self.draft.urls.last().is_some_and(is_http) {
            return self.wrong(
                item.at,
                "batch",
                complaint!(
                    "takes only HTTP requests; make the others separate steps",
                    "只能含有 HTTP 请求；其他的请写成单独的步骤"
                ),
            );
        }
        let (url, on_failure) = step.requests().next().unwrap_or_default();
        Ok((url, says_so.then_some(on_failure)))
    }
}
