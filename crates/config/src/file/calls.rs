//! Steps that run other steps: `for-each` over a list, and calls of named flows.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_plan::flow::{Flow, LoopList, NamedFlow, ROUNDS, RepeatCount, Step, TextPiece, each, pieces, server_of};
use brunt_plan::quantity;
use brunt_plan::yaml::{FilePosition, YamlNode, YamlValue};
use brunt_scenario::Condition;

use super::positions::Section;
use super::reader::{DeferredCheck, PlanFileEntry, PlanFileReader, StepContext, text_of};
use crate::suggestions::nearest;

/// Maximum number of named flows in a plan.
const FLOWS: usize = 100;

impl PlanFileReader {
    /// Reads `for-each: NAME`, `in`, `steps`.
    pub(super) fn for_each(
        &mut self,
        (at, node): (FilePosition, &YamlNode),
        rest: &[&PlanFileEntry],
        within: &mut StepContext,
    ) -> Result<Step, UsageError> {
        let name = self.value_name("for-each", node)?;
        let (lists, rest): (Vec<&PlanFileEntry>, Vec<&PlanFileEntry>) = rest.iter().partition(|(key, ..)| key == "in");
        let [(_, _, of)] = lists[..] else {
            return self.wrong(
                at,
                "for-each",
                complaint!(
                    "needs `in`; write the name of a captured list, or [a, b, c]",
                    "需要 `in`；请写提取的列表的名称，或 [a, b, c]"
                ),
            );
        };
        let list = match &of.value {
            YamlValue::List(items) => {
                let texts: Result<Vec<String>, UsageError> = items.iter().map(|item| self.text("in", item)).collect();
                LoopList::Fixed(texts?)
            }
            _ => {
                let captured = self.scalar("in", of)?;
                self.deferred.push((DeferredCheck::List(captured.clone()), of.at));
                LoopList::Captured(captured)
            }
        };
        let steps = self.nested_steps("for-each", at, &rest, within)?;
        Ok(Step::ForEach { name, list, steps })
    }

    /// Reads `repeat: 5`, or `repeat: "{n}"` for a value of the user.
    pub(super) fn repeat_count(&mut self, at: FilePosition, node: &YamlNode) -> Result<RepeatCount, UsageError> {
        let text = text_of(node).trim();
        if let Some(name) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            let name = name.trim().to_owned();
            self.deferred.push((DeferredCheck::Count(name.clone()), node.at));
            return Ok(RepeatCount::Value(name));
        }
        if text == "0" {
            return Ok(RepeatCount::Times(0));
        }
        let times = quantity::bounded_count(text, "times", ROUNDS.into());
        times.map(RepeatCount::Times).or_else(|trouble| self.wrong(at, "repeat", trouble))
    }

    /// Reads `close: all`, `close: http://localhost:8080`, or a list of servers.
    pub(super) fn close(&mut self, node: &YamlNode) -> Result<Step, UsageError> {
        let items = match &node.value {
            YamlValue::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        let mut servers = Vec::new();
        for item in items {
            let server = self.scalar("close", item)?;
            match server.as_str() {
                "all" if items.len() == 1 => return Ok(Step::Close { servers: Vec::new() }),
                "all" => {
                    return self.wrong(
                        item.at,
                        "close",
                        complaint!(
                            "lists `all` together with others; write `close: all`",
                            "把 `all` 与其他项写在一起；请写 `close: all`"
                        ),
                    );
                }
                _ => self.deferred.push((DeferredCheck::Server(server.clone()), item.at)),
            }
            servers.push(server);
        }
        match servers.is_empty() {
            true => self.wrong(
                node.at,
                "close",
                complaint!(
                    "names no server; write `close: all`, or the URL of one",
                    "没有指出服务器；请写 `close: all`，或其中一个的 URL"
                ),
            ),
            false => Ok(Step::Close { servers }),
        }
    }

    /// Reads `call: NAME`, `with`.
    pub(super) fn call(
        &mut self,
        (_, node): (FilePosition, &YamlNode),
        rest: &[&PlanFileEntry],
    ) -> Result<Step, UsageError> {
        let flow = self.scalar("call", node)?;
        self.deferred.push((DeferredCheck::Call(flow.clone()), node.at));
        let mut with = std::collections::BTreeMap::new();
        for (key, at, node) in rest {
            let (true, YamlValue::Map(entries)) = (key == "with", &node.value) else {
                let usual = Complaint::new(
                    "is not a key of a call; it takes only `with: {name: value}`",
                    "不是调用的键；调用只有 `with: {name: value}`",
                );
                return self.wrong(*at, key, usual);
            };
            for (name, at, node) in entries {
                if let Err(trouble) = brunt_protocols::capture::valid_name(name) {
                    return self.wrong(*at, name, trouble);
                }
                with.insert(name.clone(), self.text(name, node)?);
            }
        }
        Ok(Step::Call { flow, with })
    }

    /// Reads `flows`: names, each with its steps.
    pub(super) fn called_flows(&mut self, node: &YamlNode) -> Result<Vec<NamedFlow>, UsageError> {
        let YamlValue::Map(entries) = &node.value else {
            return self.wrong(
                node.at,
                "flows",
                complaint!(
                    "must be a map; write `NAME:` and its steps below it",
                    "必须是映射；请写 `NAME:`，并在其下写步骤"
                ),
            );
        };
        if entries.len() > FLOWS {
            return self.wrong(
                node.at,
                "flows",
                complaint!("are more than {FLOWS}; use fewer", "超过 {FLOWS} 个；请减少"),
            );
        }
        let mut all = Vec::new();
        for (name, at, node) in entries {
            self.deferred.push((DeferredCheck::Called(name.clone()), *at));
            self.places.called(name, *at);
            let steps = self.section(&Section::Called(name), node)?;
            all.push(NamedFlow { name: name.clone(), steps });
        }
        Ok(all)
    }

    /// Reads the name of a value.
    fn value_name(&self, key: &str, node: &YamlNode) -> Result<String, UsageError> {
        let name = self.scalar(key, node)?;
        match brunt_protocols::capture::valid_name(&name) {
            Ok(()) => Ok(name),
            Err(trouble) => self.wrong(node.at, key, trouble),
        }
    }

    /// Reads a text that may contain no placeholders except values of the user.
    fn text(&mut self, name: &str, node: &YamlNode) -> Result<String, UsageError> {
        let text = self.scalar(name, node)?;
        self.deferred.push((DeferredCheck::Text(text.clone()), node.at));
        Ok(text)
    }

    fn unknown_server(&self, server: &str) -> Option<Complaint> {
        let mut known: Vec<String> = self.draft.urls.iter().map(|url| server_of(&url.url)).collect();
        if known.contains(&server_of(server)) {
            return None;
        }
        known.sort_unstable();
        known.dedup();
        Some(complaint!(
            "no step sends anything to `{server}`; write all, or {}",
            "没有步骤向 `{server}` 发送内容；请写 all，或 {}",
            known.join(", ")
        ))
    }

    /// Checks everything that needs the complete flow.
    pub(super) fn check_flow(&self, flow: &Flow) -> Result<(), UsageError> {
        for (later, at) in &self.deferred {
            let (name, trouble) = match later {
                DeferredCheck::Condition(text) => ("condition", Condition::parse(text, &flow.variables).err()),
                DeferredCheck::List(name) => ("in", unknown_list(name, flow)),
                DeferredCheck::Count(name) => ("repeat", unknown_count(name, flow)),
                DeferredCheck::Call(name) => ("call", unknown_flow(name, flow)),
                DeferredCheck::Text(text) => ("with", placeholder_error(text)),
                DeferredCheck::Server(server) => ("close", self.unknown_server(server)),
                DeferredCheck::Called(_) => continue,
            };
            if let Some(trouble) = trouble {
                return self.wrong(*at, name, trouble);
            }
        }
        for (later, at) in &self.deferred {
            if let DeferredCheck::Called(name) = later
                && let Some(trouble) = recursion_error(name, flow).or_else(|| enclosing_group(name, flow))
            {
                return self.wrong(*at, name, trouble);
            }
        }
        Ok(())
    }
}

fn unknown_list(name: &str, flow: &Flow) -> Option<Complaint> {
    let known = flow.variables.iter().any(|known| known == name);
    (!known).then(|| match nearest(name, flow.variables.iter().map(String::as_str)) {
        Some(near) => complaint!(
            "no step captures `{name}`; write `{near}` if you meant that",
            "没有步骤提取 `{name}`；是否要写 `{near}`？"
        ),
        None if !brunt_protocols::capture::is_word(name) => {
            complaint!(
                "`{name}` is not a captured list; write [a, b, c], or a name that a step captures with `| all`",
                "`{name}` 不是提取的列表；请写 [a, b, c]，或写步骤用 `| all` 提取的名称"
            )
        }
        None => complaint!(
            "no step captures `{name}`; add `capture: {{{name}: json $.items[*].id | all}}` to an earlier step, or \
                write [a, b, c]",
            "没有步骤提取 `{name}`；请在前面的步骤加 `capture: {{{name}: json $.items[*].id | all}}`，或写 [a, b, c]"
        ),
    })
}

fn unknown_count(name: &str, flow: &Flow) -> Option<Complaint> {
    let known = || flow.variables.iter().map(String::as_str);
    (!known().any(|known| known == name)).then(|| match nearest(name, known()) {
        Some(near) => complaint!(
            "no step captures `{name}`; write {{{near}}} if you meant that",
            "没有步骤提取 `{name}`；是否要写 {{{near}}}？"
        ),
        None => complaint!(
            "no step captures `{name}`; write a number, or {{NAME}} of a value that an earlier step captures",
            "没有步骤提取 `{name}`；请写数字，或写 {{NAME}} 引用前面步骤提取的值"
        ),
    })
}

fn unknown_flow(name: &str, flow: &Flow) -> Option<Complaint> {
    flow.named_flow(name).is_none().then(|| match nearest(name, flow.flows.iter().map(|called| called.name.as_str())) {
        Some(near) => complaint!(
            "there is no flow `{name}`; write `{near}` if you meant that",
            "没有流程 `{name}`；是否要写 `{near}`？"
        ),
        None => {
            complaint!("there is no flow `{name}`; write it below `flows:`", "没有流程 `{name}`；请写在 `flows:` 之下")
        }
    })
}

/// Returns an error if the text contains a placeholder that is filled in for each request.
fn placeholder_error(text: &str) -> Option<Complaint> {
    let slots = text.match_indices('{').filter_map(|(at, _)| text[at + 1..].split(['}', ' ', ':', '=']).next());
    let slot = slots.into_iter().find(|word| brunt_protocols::template::is_reserved(word))?;
    Some(complaint!(
        "contains {{{slot} …}}, which differs in each request; write the slot in the request and only \
        values here",
        "含有 {{{slot} …}}，其值随请求变化；请把占位符写在请求中，这里只写值"
    ))
}

/// Returns an error if a flow calls itself, or has an argument with the same name as an argument of a flow that it
/// calls.
fn recursion_error(name: &str, flow: &Flow) -> Option<Complaint> {
    let called = flow.named_flow(name)?;
    let inner = calls(&called.steps);
    let all = reached(&inner, flow)?;
    if all.contains(&name) {
        return Some(complaint!(
            "calls itself; use a `while` loop to repeat steps",
            "调用了自身；重复步骤请用 `while` 循环"
        ));
    }
    let own = arguments_of(name, flow);
    let again = all.iter().flat_map(|other| arguments_of(other, flow)).find(|given| own.contains(given));
    if let Some(given) = again {
        return Some(complaint!(
            "takes `{given}`, and so does a flow that it calls; rename one of them",
            "有参数 `{given}`，而它调用的流程也有；请给其中一个改名"
        ));
    }
    None
}

/// Returns a group that contains a call of the flow and also occurs in that flow or in a flow that it calls.
fn enclosing_group(name: &str, flow: &Flow) -> Option<Complaint> {
    let mut inner = Vec::new();
    for reached in reached(&[name], flow)? {
        each(&flow.named_flow(reached)?.steps, &mut |step| {
            if let Step::Group { name, .. } = step {
                inner.push(name.as_str());
            }
        });
    }
    let mut again = None;
    flow.visit_steps(&mut |step| match step {
        Step::Group { name: group, steps } if inner.contains(&group.as_str()) && calls(steps).contains(&name) => {
            again = Some(group.clone());
        }
        _ => {}
    });
    again.map(|group| {
        complaint!(
            "is called inside the group `{group}` and has a group of that name; rename one of them",
            "在组 `{group}` 内调用，而其中也有同名的组；请给其中一个改名"
        )
    })
}

/// Returns the names of the flows called from these steps.
fn calls(steps: &[Step]) -> Vec<&str> {
    let mut all = Vec::new();
    each(steps, &mut |step| {
        if let Step::Call { flow, .. } = step {
            all.push(flow.as_str());
        }
    });
    all
}

/// Returns the names of all flows called from these flows, directly or indirectly.
fn reached<'a>(first: &[&'a str], flow: &'a Flow) -> Option<Vec<&'a str>> {
    let (mut all, mut next) = (Vec::new(), first.to_vec());
    while let Some(name) = next.pop() {
        if !all.contains(&name) {
            all.push(name);
            next.extend(calls(&flow.named_flow(name)?.steps));
        }
    }
    Some(all)
}

/// Returns the names of the arguments that calls pass to a flow.
fn arguments_of<'a>(name: &str, flow: &'a Flow) -> Vec<&'a str> {
    let mut all = Vec::new();
    flow.visit_steps(&mut |step| match step {
        Step::Call { flow, with } if flow == name => all.extend(with.keys().map(String::as_str)),
        _ => {}
    });
    all
}

/// Returns the values in a text.
pub(super) fn values_in<'a>(text: &'a str, names: &[String]) -> Vec<&'a str> {
    let value = |piece| match piece {
        TextPiece::Value(name) => Some(name),
        TextPiece::Text(_) => None,
    };
    pieces(text, names).into_iter().filter_map(value).collect()
}
