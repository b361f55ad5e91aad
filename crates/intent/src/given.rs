//! What is said elsewhere than in flags: in a plan file or in curl commands, under the names of the flags.
//!
//! Flags win: what stands on the command line hides what the file says about the same matter. Each value remembers where
//! it stands, so that a complaint about it names that place and not a flag nobody wrote.

use plan::WeightedUrl;
use plan::flow::Flow;
use plan::mask::Secrets;
use wire::Complaint;

use super::matched::Matched;
use super::scenario_file::Written;

/// One value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The long name of the flag it stands for; `URL` for URLs.
    pub name: String,
    /// The value as the flag would have it; empty for a switch.
    pub text: String,
    /// `plan.yaml line 3 column 5 (timeout)`.
    pub place: String,
}

/// All that is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The values, in the order they stand in.
    pub said: Vec<Said>,
    /// The URLs, with options of their own.
    pub urls: Vec<WeightedUrl>,
    /// What users do with them in order.
    pub flow: Option<Flow>,
    /// Or in scenarios side by side.
    pub scenarios: Vec<Written>,
    /// And what these have in common.
    pub common: Option<Flow>,
    /// Values inside a URL's own options, for their places only.
    pub inside: Vec<Said>,
    /// What differs from the command that was given: told, and kept in the record.
    pub notes: Vec<String>,
    /// What makes no difference: told only.
    pub remarks: Vec<String>,
    /// What the author of a flow will want to know, a sentence each.
    pub of_flow: Vec<String>,
}

impl Given {
    /// Notes a value.
    pub fn say(&mut self, name: &str, text: impl Into<String>, place: impl Into<String>) {
        self.said.push(Said { name: name.into(), text: text.into(), place: place.into() });
    }

    /// True where something of this name is said.
    pub fn has(&self, name: &str) -> bool {
        self.said.iter().any(|said| said.name == name)
    }

    /// All that `other` says about matters this one is silent about.
    pub fn over(mut self, other: Given) -> Given {
        let silent: Vec<Said> = other.said.into_iter().filter(|said| !self.has(&said.name)).collect();
        self.said.extend(silent);
        if self.urls.is_empty() {
            (self.urls, self.flow) = (other.urls, other.flow);
            (self.scenarios, self.common) = (other.scenarios, other.common);
            self.inside.extend(other.inside);
        }
        self.notes.extend(other.notes);
        self.remarks.extend(other.remarks);
        self.of_flow.extend(other.of_flow);
        self
    }

    /// Options that URLs have of their own cannot be said again beside them.
    ///
    /// # Errors
    /// The first flag that would be without effect.
    pub fn refuse_without_effect(&self, line: &Matched<'_>) -> Result<(), Complaint> {
        let own = self.urls.iter().flat_map(|url| url.options.keys());
        match own.into_iter().find(|name| line.on_line(name)) {
            None => Ok(()),
            Some(name) => {
                let trouble = "is set by the URLs themselves (in the plan file or the curl command); change it there";
                Err(Complaint::new(format!("--{name}"), trouble))
            }
        }
    }

    /// What of it is secret.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        self.urls.iter().for_each(|url| secrets.learn_url(&url.url));
        self.said.iter().chain(&self.inside).for_each(|said| secrets.learn_option(&said.name, &said.text));
        secrets
    }

    /// The complaint with the place the value stands in, where it is not about the command line.
    pub fn located(&self, complaint: Complaint, line: &Matched<'_>) -> Complaint {
        let named = complaint.place.rsplit(", ").next().unwrap_or_default();
        let name = SHORT.iter().find(|(short, _)| *short == named).map_or(named, |(_, long)| long);
        let name = name.trim_start_matches('-');
        if line.on_line(name) {
            return complaint;
        }
        let values: Vec<&Said> = self.said.iter().chain(&self.inside).filter(|said| said.name == name).collect();
        let meant = values.iter().find(|said| !said.text.is_empty() && complaint.trouble.contains(&said.text));
        // A complaint may quote a part of the value only.
        let quoted = complaint.trouble.split('`').nth(1).filter(|part| !part.is_empty());
        let in_part = values.iter().find(|said| quoted.is_some_and(|part| said.text.contains(part)));
        match meant.or(in_part).or(values.first()) {
            Some(said) => Complaint::new(said.place.clone(), complaint.trouble),
            None => complaint,
        }
    }
}

/// Flags that complaints call by their short names.
const SHORT: [(&str, &str); 11] = [
    ("-c", "users"),
    ("-n", "requests"),
    ("-d", "duration"),
    ("-r", "rate"),
    ("-t", "timeout"),
    ("-w", "workers"),
    ("-u", "URL"),
    ("-k", "insecure"),
    ("-o", "output"),
    ("-H", "header"),
    ("-X", "method"),
];

/// What complaints call a flag.
pub fn called(flag: &str) -> String {
    SHORT.iter().find(|(_, long)| *long == flag).map_or_else(|| format!("--{flag}"), |(short, _)| (*short).to_owned())
}

/// What a command line with this load hides of a file's load: a rate has no users, users have no arrivals.
pub fn hidden(line: &Matched<'_>) -> &'static [&'static str] {
    let stages = line.line_texts("stage");
    let rate = line.on_line("rate") || stages.iter().any(|stage| stage.contains('/'));
    match (rate, line.on_line("users") || !stages.is_empty()) {
        (true, _) if stages.is_empty() => &["users", "stage", "think", "interval", "together"],
        (true, _) => &["users", "rate", "duration", "think", "interval", "together"],
        (false, true) if stages.is_empty() => &["rate", "stage", "arrivals", "slack", "max-connections"],
        (false, true) => &["users", "rate", "duration", "arrivals", "slack", "max-connections"],
        (false, false) => &[],
    }
}
