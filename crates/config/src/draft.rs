//! The description of a run before validation. Command lines, plan files and curl commands each produce a draft, and
//! drafts are merged by precedence.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_measure::Nanos;
use brunt_plan::flow::Flow;
use brunt_plan::mask::Secrets;
use brunt_plan::{ScenarioPlan, WeightedUrl};

use super::origin::ValueOrigin;
use super::settings::{RATE, STAGE, USERS, all};
use super::values::{SettingValue, SettingValues};

/// A run as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunDraft {
    /// Settings and protocol options.
    pub values: SettingValues,
    /// The URLs, each with its own options.
    pub urls: Vec<DraftUrl>,
    /// The flow over these URLs.
    pub flow: Option<Flow>,
    /// Concurrent scenarios, as an alternative to `flow`.
    pub scenarios: Vec<DraftScenario>,
    /// The common parts of the scenarios.
    pub common: Option<Flow>,
    /// The secrets filled into the blanks of the plan file.
    pub filled: Vec<String>,
    /// Differences from the curl command, which are shown and recorded.
    pub notes: Vec<CurlNote>,
    /// Remarks that do not affect the run and are only shown.
    pub remarks: Vec<Complaint>,
    /// Hints for the author of a flow, one sentence each.
    pub flow_remarks: Vec<Complaint>,
}

/// A URL as written.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftUrl {
    /// The URL with its scheme.
    pub url: String,
    /// Weight relative to the other URLs.
    pub weight: f64,
    /// Name of its requests.
    pub name: Option<String>,
    /// Origin of the URL.
    pub origin: ValueOrigin,
    /// Options of the URL itself.
    pub own: SettingValues,
    /// Options of the run that do not apply to this URL.
    pub without: Vec<&'static str>,
}

impl DraftUrl {
    /// Creates a URL without options.
    pub fn plain(url: impl Into<String>, origin: ValueOrigin) -> DraftUrl {
        DraftUrl {
            url: url.into(),
            weight: 1.0,
            name: None,
            origin,
            own: SettingValues::default(),
            without: Vec::new(),
        }
    }

    /// Converts the URL to the form used in plans.
    pub fn weighted(&self) -> WeightedUrl {
        let DraftUrl { url, weight, name, .. } = self;
        let mut options = self.own.options();
        options.extend(self.without.iter().map(|name| ((*name).to_owned(), Vec::new())));
        WeightedUrl { url: url.clone(), weight: *weight, options, name: name.clone() }
    }
}

/// A scenario as written; missing values are taken from the settings of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftScenario {
    /// The scenario.
    pub scenario: ScenarioPlan,
    /// Maximum time for which iterations may continue after the end of the scenario.
    pub graceful_stop: Option<Nanos>,
    /// Maximum number of connections, for a scenario with a rate.
    pub max_connections: Option<u32>,
}

/// A difference from a curl command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurlNote {
    /// The sentence.
    pub text: Complaint,
    /// Set if the note applies only without cookies.
    pub without_cookies: bool,
}

impl From<Complaint> for CurlNote {
    fn from(text: Complaint) -> CurlNote {
        CurlNote { text, without_cookies: false }
    }
}

impl RunDraft {
    /// Merges this draft over another, whose values it replaces. A rate also replaces users, users also replace
    /// arrivals, and URLs replace all URLs of `below`.
    pub fn merged_over(mut self, below: RunDraft) -> RunDraft {
        let hidden = self.hides();
        self.values = self.values.merged_over(below.values, hidden);
        if self.urls.is_empty() {
            (self.urls, self.flow) = (below.urls, below.flow);
            (self.scenarios, self.common) = (below.scenarios, below.common);
        }
        self.filled.extend(below.filled);
        self.notes.extend(below.notes);
        self.remarks.extend(below.remarks);
        self.flow_remarks.extend(below.flow_remarks);
        self
    }

    /// Returns the settings of another draft that the load of this draft hides.
    fn hides(&self) -> &'static [&'static str] {
        let said = &self.values;
        let staged = said.has(&STAGE);
        let rate = said.has(&RATE) || said.texts(&STAGE).iter().any(|stage| stage.contains('/'));
        match (rate, said.has(&USERS) || staged) {
            (true, _) if staged => &["users", "rate", "duration", "think", "interval", "together"],
            (true, _) => &["users", "stage", "think", "interval", "together"],
            (false, true) if staged => &["users", "rate", "duration", "arrivals", "slack", "max-connections"],
            (false, true) => &["rate", "stage", "arrivals", "slack", "max-connections"],
            (false, false) => &[],
        }
    }

    /// Rejects options on the command line that the URLs set themselves.
    ///
    /// # Errors
    /// An option of the command line would have no effect; the error names the first one.
    pub fn refuse_overridden(&self) -> Result<(), UsageError> {
        let on_line = |name: &str| self.values.named(name).any(|said| said.origin == ValueOrigin::CommandLine);
        // Headers are added to those of the URLs.
        let own = self.urls.iter().flat_map(|url| url.own.iter()).filter(|said| said.name != "header");
        match own.into_iter().find(|said| on_line(said.name)) {
            None => Ok(()),
            Some(SettingValue { name, .. }) => {
                let trouble = complaint!(
                    "is set by the URLs themselves (in the plan file or the curl command); change it there",
                    "已由各 URL 自行设定（在计划文件或 curl 命令中）；请在那里修改"
                );
                Err(UsageError::new(format!("--{name}"), trouble))
            }
        }
    }

    /// Returns the values of an option, first those of the run, then those of the URLs.
    pub fn option<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a SettingValue> {
        self.values.named(name).chain(self.urls.iter().flat_map(move |url| url.own.named(name)))
    }

    /// Returns the origin of the value that caused an error, by the option name used in errors: `--header`, `-t`,
    /// `URL`. Of several values, it selects the one that the error quotes, at least in part, or else the first.
    pub fn origin_of<'a>(&'a self, called: &'a str, trouble: &str) -> Option<&'a ValueOrigin> {
        let by_short = called.strip_prefix('-').and_then(|rest| {
            let mut letters = rest.chars();
            let short = letters.next().filter(|_| letters.next().is_none())?;
            all().find(|spec| spec.short == Some(short)).map(|spec| spec.name)
        });
        let name = by_short.unwrap_or(called.trim_start_matches('-'));
        let urls = self.urls.iter().filter(|_| name == "URL").map(|url| (&url.url, &url.origin));
        let values: Vec<_> = self.option(name).map(|said| (&said.text, &said.origin)).chain(urls).collect();
        let quoted = ['`', '"'].map(|quote| trouble.split(quote).skip(1).step_by(2));
        let quoted: Vec<&str> = quoted.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let meant = values.iter().find(|(text, _)| !text.is_empty() && trouble.contains(&**text));
        let in_part = || quoted.iter().find_map(|part| values.iter().find(|(text, _)| text.contains(part)));
        meant.or_else(in_part).or(values.first()).map(|(_, origin)| *origin)
    }

    /// Returns the secrets of the draft, except those of the command line.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        self.filled.iter().for_each(|secret| secrets.learn_value(secret));
        self.urls.iter().for_each(|url| secrets.learn_url(&url.url));
        let said = self.values.iter().chain(self.urls.iter().flat_map(|url| url.own.iter()));
        said.filter(|said| said.origin != ValueOrigin::CommandLine)
            .for_each(|said| secrets.learn_option(said.name, &said.text));
        secrets
    }
}
