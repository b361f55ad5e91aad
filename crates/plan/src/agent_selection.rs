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
    /// Run that it makes; `None` if it is idle.
    pub run: Option<String>,
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
    /// Chooses among the agents that are there and idle, in their order; an agent with several labels counts for one of them.
    ///
    /// # Errors
    /// Too few are there: what is missing, in a sentence.
    pub fn choose(&self, there: &[NamedAgent]) -> Result<Vec<usize>, Complaint> {
        let missing = |wanted: String, found: usize| missing(&wanted, found, there);
        let idle: Vec<usize> = (0..there.len()).filter(|n| there[*n].run.is_none()).collect();
        match self {
            AgentSelection::Number(number) if idle.len() >= *number => Ok(idle[..*number].to_vec()),
            AgentSelection::Number(number) => Err(missing(number.to_string(), idle.len())),
            AgentSelection::All if idle.is_empty() => Err(missing("all".into(), 0)),
            AgentSelection::All => Ok(idle),
            AgentSelection::Label(label) => {
                let chosen: Vec<usize> = idle.into_iter().filter(|n| has(&there[*n], label)).collect();
                if chosen.is_empty() { Err(no_label(label, there)) } else { Ok(chosen) }
            }
            AgentSelection::Labels(labels) => choose_by_labels(labels, &idle, there),
            AgentSelection::Names(names) => {
                let find = |name: &String| {
                    idle.iter().copied().find(|n| there[*n].name == *name).ok_or_else(|| no_name(name, there))
                };
                let mut chosen: Vec<usize> = names.iter().map(find).collect::<Result<_, _>>()?;
                chosen.sort_unstable();
                Ok(chosen)
            }
        }
    }
}

/// Chooses so many agents with each label, whatever the order in which the labels were written.
fn choose_by_labels(labels: &[(String, usize)], idle: &[usize], there: &[NamedAgent]) -> Result<Vec<usize>, Complaint> {
    let mut matching = LabelMatching { there, idle, taken: Vec::new() };
    for (label, number) in labels {
        let able = idle.iter().filter(|n| has(&there[**n], label)).count();
        if able == 0 {
            return Err(no_label(label, there));
        }
        if able < *number {
            return Err(missing(&format!("{label}={number}"), able, there));
        }
        if !(0..*number).all(|_| matching.take_one(label)) {
            return Err(not_together(labels, there));
        }
    }
    Ok(matching.taken.into_iter().map(|(agent, _)| agent).collect())
}

/// Agents that stand for a label each: those taken make room for others, if another can stand for theirs.
struct LabelMatching<'a> {
    there: &'a [NamedAgent],
    idle: &'a [usize],
    /// Agents taken, with the label that each stands for.
    taken: Vec<(usize, &'a str)>,
}

impl<'a> LabelMatching<'a> {
    /// Takes one more agent for a label, if it can be had in any way.
    fn take_one(&mut self, label: &'a str) -> bool {
        let found = self.agent_for(label, &mut Vec::new());
        self.taken.extend(found.map(|agent| (agent, label)));
        found.is_some()
    }

    /// Finds a free agent for a label, or frees one along an augmenting path; `tried` are those that need no second look.
    fn agent_for(&mut self, label: &str, tried: &mut Vec<usize>) -> Option<usize> {
        let able: Vec<usize> = self.idle.iter().copied().filter(|n| has(&self.there[*n], label)).collect();
        let holder = |taken: &[(usize, &str)], agent: usize| taken.iter().position(|(taken, _)| *taken == agent);
        if let Some(free) = able.iter().find(|agent| holder(&self.taken, **agent).is_none()) {
            return Some(*free);
        }
        for agent in able {
            let Some(holder) = holder(&self.taken, agent).filter(|_| !tried.contains(&agent)) else { continue };
            tried.push(agent);
            if let Some(other) = self.agent_for(self.taken[holder].1, tried) {
                self.taken[holder].0 = other;
                return Some(agent);
            }
        }
        None
    }
}

/// Says how many there are of what was wanted, and what to do.
fn missing(wanted: &str, found: usize, there: &[NamedAgent]) -> Complaint {
    let [en, zh] = whereabouts(there);
    complaint!(
        "{wanted} cannot be had: {found} can take a share now ({en}); start agents (brunt agent …), look with `brunt fleet` who \
         is there, or wait for them longer with --agents-wait",
        "无法满足 {wanted}：现在能承担份额的有 {found} 个（{zh}）；请启动施压机（brunt agent …），用 `brunt fleet` 查看谁在线，\
         或用 --agents-wait 等待更久"
    )
}

/// Says that labels are shared by too few agents.
fn not_together(labels: &[(String, usize)], there: &[NamedAgent]) -> Complaint {
    let wanted: Vec<String> = labels.iter().map(|(label, number)| format!("{label}={number}")).collect();
    let (wanted, [en, zh]) = (wanted.join(","), whereabouts(there));
    complaint!(
        "{wanted} cannot be had together: an agent with several labels counts for one of them ({en}); start more agents \
         (brunt agent …), or wait for them longer with --agents-wait",
        "无法同时满足 {wanted}：有多个标签的施压机只计入其中一个（{zh}）；请启动更多施压机（brunt agent …），或用 --agents-wait \
         等待更久"
    )
}

fn no_name(name: &str, there: &[NamedAgent]) -> Complaint {
    if there.iter().any(|agent| has(agent, name)) {
        return complaint!(
            "no agent that is there is called {name}, which is a label: write label={name}",
            "在线的施压机中没有 {name}，它是标签：请写 label={name}"
        );
    }
    if there.iter().any(|agent| agent.name == *name) {
        return missing(name, 0, there);
    }
    let [en, zh] = whereabouts(there);
    complaint!(
        "no agent that is there has the name or label {name} ({en}); start it (brunt agent …), or wait for it longer with \
         --agents-wait",
        "在线的施压机中没有名称或标签为 {name} 的（{zh}）；请启动它（brunt agent …），或用 --agents-wait 等待更久"
    )
}

fn no_label(label: &str, there: &[NamedAgent]) -> Complaint {
    let mut labels: Vec<&str> = there.iter().flat_map(|agent| &agent.labels).map(String::as_str).collect();
    labels.sort_unstable();
    labels.dedup();
    if labels.is_empty() || labels.contains(&label) {
        return missing(&format!("label={label}"), 0, there);
    }
    let (en, zh) = (labels.join(", "), labels.join("、"));
    complaint!(
        "no agent that is there has the label {label}; their labels: {en}",
        "在线的施压机都没有标签 {label}；它们的标签：{zh}"
    )
}

/// Says in each language which agents are idle, and which run others make.
fn whereabouts(there: &[NamedAgent]) -> [String; 2] {
    let idle: Vec<&str> = there.iter().filter(|agent| agent.run.is_none()).map(|agent| &*agent.name).collect();
    let listed = |between: &str| if idle.is_empty() { "-".to_owned() } else { idle.join(between) };
    let mut said = [format!("there and idle: {}", listed(", ")), format!("在线且空闲：{}", listed("、"))];
    for (name, run) in there.iter().filter_map(|agent| Some((&agent.name, agent.run.as_ref()?))) {
        said[0] += &format!("; {name} makes run {run}");
        said[1] += &format!("；{name} 正在承担压测 {run} 的份额");
    }
    said
}

fn has(agent: &NamedAgent, label: &str) -> bool {
    agent.labels.iter().any(|own| own == label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents() -> Vec<NamedAgent> {
        [("a", "eu"), ("b", "asia"), ("c", "eu"), ("d", "us")]
            .map(|(name, label)| NamedAgent { name: name.into(), labels: vec![label.into(), "big".into()], run: None })
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
            ("label=mars", "no agent that is there has the label mars; their labels: asia, big, eu, us"),
            (
                "a,z",
                "no agent that is there has the name or label z (there and idle: a, b, c, d); start it (brunt agent",
            ),
            ("mars=1", "no agent that is there has the label mars; their labels: asia, big, eu, us"),
        ] {
            let complaint = text.parse::<AgentSelection>().unwrap().choose(&agents()).unwrap_err().to_string();
            assert!(complaint.starts_with(said), "{text}: {complaint}");
        }
    }

    fn agents_of(all: &[(&str, &[&str])]) -> Vec<NamedAgent> {
        let agent = |(name, labels): &(&str, &[&str])| NamedAgent {
            name: (*name).into(),
            labels: labels.iter().map(|label| (*label).into()).collect(),
            run: None,
        };
        all.iter().map(agent).collect()
    }

    #[test]
    fn the_order_of_labels_does_not_decide_whether_agents_are_found() {
        let there = agents_of(&[("a1", &["eu", "big"]), ("a2", &["eu"]), ("a3", &["asia"])]);
        let choose = |text: &str| text.parse::<AgentSelection>().expect("a selection").choose(&there);
        for (text, chosen) in [("eu=1,big=1", [1, 0]), ("big=1,eu=1", [0, 1])] {
            assert_eq!(choose(text), Ok(chosen.to_vec()), "{text}");
        }
        // A path over two agents that stand for others.
        let chain = agents_of(&[("a", &["x", "y"]), ("b", &["y", "z"]), ("c", &["z"])]);
        let selection: AgentSelection = "z=1,y=1,x=1".parse().expect("a selection");
        assert_eq!(selection.choose(&chain), Ok(vec![2, 1, 0]));
        let both = choose("eu=2,big=1").expect_err("too few").to_string();
        assert!(both.starts_with("eu=2,big=1 cannot be had together: an agent with several labels counts"), "{both}");
        assert!(choose("eu=99999999999,big=1").is_err());
    }

    #[test]
    fn busy_agents_are_not_chosen_and_are_named_with_their_run() {
        let mut there = agents_of(&[("a1", &["eu"]), ("a2", &["asia"])]);
        there[0].run = Some("6b0a-e7".into());
        let choose = |text: &str| text.parse::<AgentSelection>().expect("a selection").choose(&there);
        assert_eq!(choose("all"), Ok(vec![1]));
        for text in ["2", "a1", "label=eu", "eu=1"] {
            let said = choose(text).expect_err("too few");
            assert!(said.to_string().contains("(there and idle: a2; a1 makes run 6b0a-e7)"), "{text}: {said}");
            assert!(said.zh().contains("在线且空闲：a2；a1 正在承担压测 6b0a-e7 的份额"), "{text}: {}", said.zh());
        }
        let zh = choose("label=mars").expect_err("no label").zh().to_owned();
        assert!(zh.ends_with("它们的标签：asia、eu"), "{zh}");
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
