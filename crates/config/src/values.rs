//! The values of a command line, a plan file or curl commands: settings and options, each with its origin.

use brunt_cause::Complaint;
use brunt_contract::UsageError;
use brunt_plan::PlanOptions;

use super::origin::ValueOrigin;
use super::setting::{SettingSpec, TypedSetting};

/// A value of a setting or option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingValue {
    /// The setting or option, by its long name.
    pub name: &'static str,
    /// The value as written; empty for a switch.
    pub text: String,
    /// The origin of the value.
    pub origin: ValueOrigin,
}

impl SettingValue {
    /// Creates an error about the value; `flag` is its name on the command line.
    pub fn wrong(&self, flag: &str, trouble: impl Into<Complaint>) -> UsageError {
        self.origin.wrong(flag, trouble)
    }
}

/// All values of a source, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingValues(Vec<SettingValue>);

impl SettingValues {
    /// Appends a value.
    pub fn push(&mut self, name: &'static str, text: impl Into<String>, origin: ValueOrigin) {
        self.0.push(SettingValue { name, text: text.into(), origin });
    }

    /// Iterates over all values.
    pub fn iter(&self) -> std::slice::Iter<'_, SettingValue> {
        self.0.iter()
    }

    /// Returns the values of this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a SettingValue> {
        self.0.iter().filter(move |said| said.name == name)
    }

    /// Returns `true` if there is a value of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.named(name).next().is_some()
    }

    /// Removes and returns the values of this name.
    pub fn take(&mut self, name: &str) -> Vec<SettingValue> {
        self.take_if(|said| said.name == name)
    }

    /// Removes and returns the values that satisfy the predicate.
    pub fn take_if(&mut self, wanted: impl Fn(&SettingValue) -> bool) -> Vec<SettingValue> {
        self.0.extract_if(.., |said| wanted(said)).collect()
    }

    /// Appends values.
    pub fn extend(&mut self, more: impl IntoIterator<Item = SettingValue>) {
        self.0.extend(more);
    }

    /// Returns only the values of matching names.
    pub fn filtered(&self, wanted: impl Fn(&str) -> bool) -> SettingValues {
        SettingValues(self.0.iter().filter(|said| wanted(said.name)).cloned().collect())
    }

    /// Returns `true` if a header line sets, or drops, the same header as this line.
    pub fn sets_header(&self, line: &str) -> bool {
        self.named("header").any(|own| header_name(&own.text).eq_ignore_ascii_case(header_name(line)))
    }

    /// Merges these values over others: adds the values of `below` whose names are neither set here nor in `hidden`. Each
    /// header is a value of its own.
    pub fn merged_over(mut self, below: SettingValues, hidden: &[&str]) -> SettingValues {
        let is_set = |value: &SettingValue| match value.name {
            "header" => self.sets_header(&value.text),
            name => self.contains(name),
        };
        let silent = |value: &SettingValue| !is_set(value) && !hidden.contains(&value.name);
        let more: Vec<SettingValue> = below.0.into_iter().filter(silent).collect();
        self.extend(more);
        self
    }

    /// Returns only the texts, in the form that protocols accept.
    pub fn options(&self) -> PlanOptions {
        let mut options = PlanOptions::new();
        self.0.iter().for_each(|said| options.entry(said.name.to_owned()).or_default().push(said.text.clone()));
        options
    }

    /// Returns `true` if a setting has a value.
    pub fn has<T>(&self, setting: &TypedSetting<T>) -> bool {
        self.contains(setting.spec.name)
    }

    /// Returns the text of a setting, the last one if there are several.
    pub fn text<T>(&self, setting: &TypedSetting<T>) -> Option<&str> {
        self.named(setting.spec.name).next_back().map(|said| said.text.as_str())
    }

    /// Returns all texts of a setting.
    pub fn texts<T>(&self, setting: &TypedSetting<T>) -> Vec<&str> {
        self.named(setting.spec.name).map(|said| said.text.as_str()).collect()
    }

    /// Returns the parsed value of a setting.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn get<T>(&self, setting: &TypedSetting<T>) -> Result<Option<T>, UsageError> {
        let said = self.named(setting.spec.name).next_back();
        said.map(|said| read(setting, said)).transpose()
    }

    /// Returns the parsed values of a setting.
    ///
    /// # Errors
    /// A value is invalid; the error reports the first one.
    pub fn each<T>(&self, setting: &TypedSetting<T>) -> Result<Vec<T>, UsageError> {
        self.named(setting.spec.name).map(|said| read(setting, said)).collect()
    }

    /// Rejects these settings with a message.
    ///
    /// # Errors
    /// One of the settings has a value; the error reports the first one.
    pub fn refuse(&self, settings: &[SettingSpec], trouble: impl Into<Complaint>) -> Result<(), UsageError> {
        let trouble = trouble.into();
        let said =
            |spec: &SettingSpec| Some(self.named(spec.name).next()?.wrong(&spec.display_name(), trouble.clone()));
        settings.iter().find_map(said).map_or(Ok(()), Err)
    }

    /// Creates an error about the value of a setting.
    pub fn wrong<T>(&self, setting: &TypedSetting<T>, trouble: impl Into<Complaint>) -> UsageError {
        let said = self.named(setting.spec.name).next_back();
        said.map_or(&ValueOrigin::CommandLine, |said| &said.origin).wrong(&setting.spec.display_name(), trouble)
    }
}

/// Returns the name of a header line: `Name: value`, `Name:` or `Name;`.
pub fn header_name(line: &str) -> &str {
    line.split([':', ';']).next().unwrap_or_default().trim()
}

fn read<T>(setting: &TypedSetting<T>, value: &SettingValue) -> Result<T, UsageError> {
    (setting.read)(&value.text).map_err(|trouble| value.wrong(&setting.spec.display_name(), trouble))
}

impl IntoIterator for SettingValues {
    type Item = SettingValue;
    type IntoIter = std::vec::IntoIter<SettingValue>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
