//! Which agents make a run: `4`, `all`, `label=eu`, `eu=2,asia=1`, `one,two`.

use std::fmt::{self, Display, Formatter};
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

/// Maximum number of labels of an agent, and of the letters of each.
pub const MOST_LABELS: usize = 20;
const LONGEST_LABEL: usize = 40;

/// Returns `true` for what an agent may have as a label.
pub fn is_label(text: &str) -> bool {
    let fits = (1..=LONGEST_LABEL).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    fits && text != "all" && text != "label"
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
        let able: Vec<usize> =
            (0..there.len()).filter(|n| there[*n].run.is_none() && self.asks_for(&there[*n])).collect();
        match self {
            AgentSelection::Number(number) if able.len() >= *number => Ok(able[..*number].to_vec()),
            AgentSelection::All if !able.is_empty() => Ok(able),
            AgentSelection::Number(_) | AgentSelection::All => Err(missing(self, &able, there)),
            AgentSelection::Label(label) if able.is_empty() => Err(no_label(label, self, there)),
            AgentSelection::Label(_) => Ok(able),
            AgentSelection::Labels(labels) => choose_by_labels(labels, &able, there),
            AgentSelection::Names(names) => {
                match names.iter().find(|name| able.iter().all(|n| there[*n].name != **name)) {
                    Some(lacking) => Err(no_name(lacking, &able, there)),
                    None => Ok(able),
                }
            }
        }
    }

    /// Returns `true` if an agent would be taken for this selection, were it idle and needed.
    fn asks_for(&self, agent: &NamedAgent) -> bool {
        match self {
            AgentSelection::Number(_) | AgentSelection::All => true,
            AgentSelection::Label(label) => has(agent, label),
            AgentSelection::Labels(labels) => labels.iter().any(|(label, _)| has(agent, label)),
            AgentSelection::Names(names) => names.contains(&agent.name),
        }
    }
}

/// Writes a selection as it is asked for.
impl Display for AgentSelection {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AgentSelection::Number(number) => write!(out, "{number}"),
            AgentSelection::All => out.write_str("all"),
            AgentSelection::Label(label) => write!(out, "label={label}"),
            AgentSelection::Labels(labels) => {
                let parts: Vec<String> = labels.iter().map(|(label, number)| format!("{label}={number}")).collect();
                out.write_str(&parts.join(","))
            }
            AgentSelection::Names(names) => out.write_str(&names.join(",")),
        }
    }
}

/// Chooses so many agents with each label, whatever the order in which the labels were written.
fn choose_by_labels(labels: &[(String, usize)], idle: &[usize], there: &[NamedAgent]) -> Result<Vec<usize>, Complaint> {
    let mut matching = LabelMatching { there, idle, taken: Vec::new() };
    for (label, number) in labels {
        let able: Vec<usize> = idle.iter().copied().filter(|n| has(&there[*n], label)).collect();
        let wanted = || AgentSelection::Labels(vec![(label.clone(), *number)]);
        if able.is_empty() {
            return Err(no_label(label, &wanted(), there));
        }
        if able.len() < *number {
            return Err(missing(&wanted(), &able, there));
        }
        if !(0..*number).all(|_| matching.take_one(label)) {
            return Err(not_together(labels, idle, there));
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

/// Says which agents there are (`able`) of what was wanted, and what to do.
fn missing(wanted: &impl Display, able: &[usize], there: &[NamedAgent]) -> Complaint {
    let [en, zh] = whereabouts(able, there);
    complaint!(
        "{wanted} cannot be had: {en}; start agents (brunt agent …), look with `brunt fleet` who is there, or wait for them \
         longer with --agents-wait",
        "无法满足 {wanted}：{zh}；请启动施压机（brunt agent …），用 `brunt fleet` 查看谁在线，或用 --agents-wait 等待更久"
    )
}

/// Says that labels are shared by too few agents.
fn not_together(labels: &[(String, usize)], able: &[usize], there: &[NamedAgent]) -> Complaint {
    let (wanted, [en, zh]) = (AgentSelection::Labels(labels.to_vec()), whereabouts(able, there));
    complaint!(
        "{wanted} cannot be had together: an agent with several labels counts for one of them; {en}; start agents \
         (brunt agent …), or wait for more with --agents-wait",
        "无法同时满足 {wanted}：有多个标签的施压机只计入其中一个；{zh}；请启动施压机（brunt agent …），或用 --agents-wait \
         等待更多"
    )
}

fn no_name(name: &String, able: &[usize], there: &[NamedAgent]) -> Complaint {
    if there.iter().any(|agent| has(agent, name)) {
        return complaint!(
            "no agent that is there is called {name}, which is a label: write label={name}",
            "在线的施压机中没有 {name}，它是标签：请写 label={name}"
        );
    }
    if there.iter().any(|agent| agent.name == *name) {
        return missing(name, &[], there);
    }
    let [en, zh] = whereabouts(able, there);
    complaint!(
        "no agent that is there has the name or label {name}; {en}; start it (brunt agent …), or wait for it longer with \
         --agents-wait",
        "在线的施压机中没有名称或标签为 {name} 的；{zh}；请启动它（brunt agent …），或用 --agents-wait 等待更久"
    )
}

fn no_label(label: &str, wanted: &AgentSelection, there: &[NamedAgent]) -> Complaint {
    let mut labels: Vec<&str> = there.iter().flat_map(|agent| &agent.labels).map(String::as_str).collect();
    labels.sort_unstable();
    labels.dedup();
    if labels.is_empty() || labels.contains(&label) {
        return missing(wanted, &[], there);
    }
    let (en, zh) = (labels.join(", "), labels.join("、"));
    complaint!(
        "no agent that is there has the label {label}; their labels: {en}",
        "在线的施压机都没有标签 {label}；它们的标签：{zh}"
    )
}

/// Says in each language how many agents can take a share of what is wanted, which these are, and what the others do.
fn whereabouts(able: &[usize], there: &[NamedAgent]) -> [String; 2] {
    let names = |of: &[usize], between: &str| of.iter().map(|n| &*there[*n].name).collect::<Vec<_>>().join(between);
    let others: Vec<usize> = (0..there.len()).filter(|n| there[*n].run.is_none() && !able.contains(n)).collect();
    let (mut en, mut zh) = (Vec::new(), Vec::new());
    if !able.is_empty() {
        en.push(names(able, ", "));
        zh.push(names(able, "、"));
    }
    if !others.is_empty() {
        en.push(format!("idle, but not asked for: {}", names(&others, ", ")));
        zh.push(format!("空闲但不在所选之列：{}", names(&others, "、")));
    }
    for (name, run) in there.iter().filter_map(|agent| Some((&agent.name, agent.run.as_ref()?))) {
        en.push(format!("{name} makes run {run}"));
        zh.push(format!("{name} 正在承担压测 {run} 的份额"));
    }
    let [mut said_en, mut said_zh] = match able.len() {
        0 => ["none can take a share now".to_owned(), "现在没有能承担份额的".to_owned()],
        able => [format!("{able} can take a share now"), format!("现在能承担份额的有 {able} 个")],
    };
    if !en.is_empty() {
        said_en += &format!(" ({})", en.join("; "));
        said_zh += &format!("（{}）", zh.join("；"));
    }
    [said_en, said_zh]
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
                "eu=3 cannot be had: 2 can take a share now (a, c; idle, but not asked for: b, d); start agents (brunt agent",
            ),
            ("eu", "no agent that is there is called eu, which is a label: write label=eu"),
            ("label=mars", "no agent that is there has the label mars; their labels: asia, big, eu, us"),
            (
                "a,z",
                "no agent that is there has the name or label z; 1 can take a share now (a; idle, but not asked for: b, c, d); start it",
            ),
            ("5", "5 cannot be had: 4 can take a share now (a, b, c, d); start agents (brunt agent"),
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
        for (text, en, zh) in [
            ("2", "1 can take a share now (a2; ", "有 1 个（a2；"),
            (
                "a1",
                "none can take a share now (idle, but not asked for: a2; ",
                "没有能承担份额的（空闲但不在所选之列：a2；",
            ),
            ("label=eu", "none can take a share now (idle, but not asked for: a2; ", "（空闲但不在所选之列：a2；"),
            ("eu=1", "none can take a share now (idle, but not asked for: a2; ", "（空闲但不在所选之列：a2；"),
        ] {
            let said = choose(text).expect_err("too few");
            let expected = format!("{text} cannot be had: {en}a1 makes run 6b0a-e7); start agents (brunt agent …)");
            assert!(said.starts_with(&expected), "{said}");
            let expected = format!("{zh}a1 正在承担压测 6b0a-e7 的份额）；请启动施压机");
            assert!(said.zh().contains(&expected), "{text}: {}", said.zh());
        }
        let nobody = "eu=2".parse::<AgentSelection>().expect("a selection").choose(&[]).expect_err("nobody");
        assert!(nobody.starts_with("eu=2 cannot be had: none can take a share now; start agents"), "{nobody}");
        let zh = choose("label=mars").expect_err("no label").zh().to_owned();
        assert!(zh.ends_with("它们的标签：asia、eu"), "{zh}");
    }

    #[test]
    fn labels_are_short_words() {
        for (text, fits) in [("eu-west.1", true), ("", false), ("all", false), ("a b", false), ("é", false)] {
            assert_eq!(is_label(text), fits, "{text}");
        }
        assert_eq!([40, 41].map(|letters| is_label(&"x".repeat(letters))), [true, false]);
    }

    #[test]
    fn a_selection_is_shown_as_it_was_written() {
        for text in ["4", "all", "label=eu", "eu=1", "eu=2,asia=1", "one,two"] {
            assert_eq!(text.parse::<AgentSelection>().expect("a selection").to_string(), text);
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
