//! Which agents make a run: `4`, `all`, `label=eu`, `eu=2,asia=1`, `one,two`.

use std::str::FromStr;

use brunt_cause::{Complaint, complaint};

/// What a selection looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedAgent {
    /// Name of the agent.
    pub name: String,
    /// Its labels.
    pub labels: Vec<String>,
}

/// A selection of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentSelection {
    /// This many, whichever they are.
    Number(usize),
    /// All that are there.
    All,
    /// All with this label.
    Label(String),
    /// So many with each of these labels.
    Labels(Vec<(String, usize)>),
    /// Those with these names.
    Names(Vec<String>),
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Returns `true` for what an agent of a fleet can be called; labels are less strict.
fn may_be_a_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Returns the first name or label that is there twice.
fn repeated<'a>(parts: &[&'a str]) -> Option<&'a str> {
    let words: Vec<&str> = parts.iter().map(|part| part.split('=').next().unwrap_or(part)).collect();
    (1..words.len()).find(|n| words[..*n].contains(&words[*n])).map(|n| words[n])
}

impl FromStr for AgentSelection {
    type Err = Complaint;

    fn from_str(text: &str) -> Result<AgentSelection, Complaint> {
        let wrong = || {
            complaint!(
                "write a number (4), all, label=eu, numbers by label (eu=2,asia=1) or names (one,two), not `{text}`",
                "请写数量（4）、all、label=eu、各标签的数量（eu=2,asia=1）或名称（one,two），而不是“{text}”"
            )
        };
        if text == "all" {
            return Ok(AgentSelection::All);
        }
        if let Ok(number) = text.parse::<usize>() {
            return if number > 0 { Ok(AgentSelection::Number(number)) } else { Err(wrong()) };
        }
        if let Some(label) = text.strip_prefix("label=").filter(|label| is_word(label)) {
            return Ok(AgentSelection::Label(label.to_owned()));
        }
        let parts: Vec<&str> = text.split(',').collect();
        if let Some(twice) = repeated(&parts) {
            return Err(complaint!("`{twice}` is there twice in `{text}`", "“{text}”中“{twice}”出现了两次"));
        }
        let labels: Option<Vec<(String, usize)>> = parts
            .iter()
            .map(|part| {
                let (label, number) = part.split_once('=')?;
                let number = number.parse().ok().filter(|number| *number > 0)?;
                is_word(label).then(|| (label.to_owned(), number))
            })
            .collect();
        match labels {
            Some(labels) => Ok(AgentSelection::Labels(labels)),
            None if parts.iter().all(|part| is_word(part)) => match parts.iter().find(|part| !may_be_a_name(part)) {
                None => Ok(AgentSelection::Names(parts.iter().map(ToString::to_string).collect())),
                Some(part) => Err(complaint!(
                    "`{part}` cannot be the name of an agent, which is of small letters, digits and hyphens; `all` are \
                         all agents, and `label={part}` those with a label",
                    "“{part}”不可能是施压机的名称（小写字母、数字和连字符）；`all` 表示全部施压机，\
                         `label={part}` 表示带有该标签的施压机"
                )),
            },
            None => Err(wrong()),
        }
    }
}

impl AgentSelection {
    /// Chooses among agents that could take a share, in their order; an agent with several labels counts for one of them.
    ///
    /// # Errors
    /// Too few are there: what is missing, in a sentence.
    pub fn choose(&self, there: &[NamedAgent]) -> Result<Vec<usize>, Complaint> {
        let missing = |wanted: String, found: usize| missing(&wanted, found, there);
        match self {
            AgentSelection::Number(number) if there.len() >= *number => Ok((0..*number).collect()),
            AgentSelection::Number(number) => Err(missing(number.to_string(), there.len())),
            AgentSelection::All if there.is_empty() => Err(missing("all".into(), 0)),
            AgentSelection::All => Ok((0..there.len()).collect()),
            AgentSelection::Label(label) => {
                let chosen: Vec<usize> = (0..there.len()).filter(|n| has(&there[*n], label)).collect();
                if chosen.is_empty() { Err(no_label(label, there)) } else { Ok(chosen) }
            }
            AgentSelection::Labels(labels) => {
                let mut chosen = Vec::new();
                for (label, number) in labels {
                    let free = (0..there.len()).filter(|n| has(&there[*n], label) && !chosen.contains(n));
                    let more: Vec<usize> = free.take(*number).collect();
                    if !there.iter().any(|agent| has(agent, label)) {
                        return Err(no_label(label, there));
                    }
                    if more.len() < *number {
                        return Err(missing(format!("{label}={number}"), more.len()));
                    }
                    chosen.extend(more);
                }
                Ok(chosen)
            }
            AgentSelection::Names(names) => {
                let find = |name: &String| {
                    there.iter().position(|agent| agent.name == *name).ok_or_else(|| no_name(name, there))
                };
                let mut chosen: Vec<usize> = names.iter().map(find).collect::<Result<_, _>>()?;
                chosen.sort_unstable();
                Ok(chosen)
            }
        }
    }
}

/// Says how many there are of what was wanted, and what to do.
fn missing(wanted: &str, found: usize, there: &[NamedAgent]) -> Complaint {
    let (en, zh) = (names(there, ", "), names(there, "、"));
    complaint!(
        "{wanted} cannot be had: {found} can take a share now (there and idle: {en}); start agents (brunt agent …), look \
         with `brunt fleet` who is there, or wait for them longer with --agents-wait",
        "无法满足 {wanted}：现在能承担份额的有 {found} 个（在线且空闲：{zh}）；请启动施压机（brunt agent …），用 `brunt fleet` \
         查看谁在线，或用 --agents-wait 等待更久"
    )
}

fn no_name(name: &str, there: &[NamedAgent]) -> Complaint {
    if there.iter().any(|agent| has(agent, name)) {
        return complaint!(
            "no agent that is there is called {name}, which is a label: write label={name}",
            "在线的施压机中没有 {name}，它是标签：请写 label={name}"
        );
    }
    missing(name, 0, there)
}

fn no_label(label: &str, there: &[NamedAgent]) -> Complaint {
    let mut labels: Vec<&str> = there.iter().flat_map(|agent| &agent.labels).map(String::as_str).collect();
    labels.sort_unstable();
    labels.dedup();
    if labels.is_empty() {
        return missing(&format!("label={label}"), 0, there);
    }
    complaint!(
        "no agent that is there and idle has the label {label}; their labels: {}",
        "在线且空闲的施压机都没有标签 {label}；它们的标签：{}",
        labels.join(", ")
    )
}

fn names(there: &[NamedAgent], between: &str) -> String {
    let names: Vec<&str> = there.iter().map(|agent| &*agent.name).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(between) }
}

fn has(agent: &NamedAgent, label: &str) -> bool {
    agent.labels.iter().any(|own| own == label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents() -> Vec<NamedAgent> {
        [("a", "eu"), ("b", "asia"), ("c", "eu"), ("d", "us")]
            .map(|(name, label)| NamedAgent { name: name.into(), labels: vec![label.into(), "big".into()] })
            .into()
    }

    #[test]
    fn agents_are_chosen_by_number_label_and_name() {
        for (text, chosen) in [
            ("2", Some(&[0, 1][..])),
            ("4", Some(&[0, 1, 2, 3])),
            ("5", None),
            ("all", Some(&[0, 1, 2, 3])),
            ("label=eu", Some(&[0, 2])),
            ("label=mars", None),
            ("eu=2,asia=1", Some(&[0, 2, 1])),
            ("eu=1,big=2", Some(&[0, 1, 2])),
            ("asia=2", None),
            ("d,a", Some(&[0, 3])),
            ("a,z", None),
        ] {
            let selection: AgentSelection = text.parse().unwrap();
            assert_eq!(selection.choose(&agents()).ok().as_deref(), chosen, "{text}");
        }
        for (text, said) in [
            (
                "eu=3",
                "eu=3 cannot be had: 2 can take a share now (there and idle: a, b, c, d); start agents (brunt agent",
            ),
            ("eu", "no agent that is there is called eu, which is a label: write label=eu"),
            ("label=mars", "no agent that is there and idle has the label mars; their labels: asia, big, eu, us"),
            ("mars=1", "no agent that is there and idle has the label mars; their labels: asia, big, eu, us"),
        ] {
            let complaint = text.parse::<AgentSelection>().unwrap().choose(&agents()).unwrap_err().to_string();
            assert!(complaint.starts_with(said), "{text}: {complaint}");
        }
    }

    #[test]
    fn what_selects_nothing_is_refused() {
        for text in
            ["", "0", "-1", "label=", "eu=0", "eu=x", "eu=1,", "a b", "eu=1,a", "ALL", "a,a", "eu=1,asia=1,eu=2"]
        {
            assert!(text.parse::<AgentSelection>().is_err(), "{text}");
        }
    }
}
