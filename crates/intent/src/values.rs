//! The values of a command line, a plan file or curl commands: settings and options, each with its origin.

use plan::Options;
use wire::Complaint;

use super::origin::Origin;
use super::setting::{Setting, Spec};

/// A value of a setting or option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The setting or option, by its long name.
    pub name: &'static str,
    /// The value as written; empty for a switch.
    pub text: String,
    /// The origin of the value.
    pub origin: Origin,
}

impl Said {
    /// Creates an error about it; `flag` is its name on the command line.
    pub fn wrong(&self, flag: &str, trouble: impl Into<String>) -> Complaint {
        self.origin.wrong(flag, trouble)
    }
}

/// All values of a source, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<Said>);

impl Values {
    /// Appends a value.
    pub fn say(&mut self, name: &'static str, text: impl Into<String>, origin: Origin) {
        self.0.push(Said { name, text: text.into(), origin });
    }

    /// Iterates over all values.
    pub fn iter(&self) -> std::slice::Iter<'_, Said> {
        self.0.iter()
    }

    /// Returns the values of this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Said> {
        self.0.iter().filter(move |said| said.name == name)
    }

    /// Returns `true` if there is a value of this name.
    pub fn says(&self, name: &str) -> bool {
        self.named(name).next().is_some()
    }

    /// Removes and returns the values of this name.
    pub fn take(&mut self, name: &str) -> Vec<Said> {
        self.0.extract_if(.., |said| said.name == name).collect()
    }

    /// Appends values.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Said>) {
        self.0.extend(more);
    }

    /// Returns only the values of matching names.
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Values {
        Values(self.0.iter().filter(|said| wanted(said.name)).cloned().collect())
    }

    /// Merges these over others: adds the values of `below` whose name is neither set here nor hidden.
    pub fn over(mut self, below: Values, hidden: &[&str]) -> Values {
        let silent = |said: &Said| !self.says(said.name) && !hidden.contains(&said.name);
        let more: Vec<Said> = below.0.into_iter().filter(silent).collect();
        self.extend(more);
        self
    }

    /// Returns only their texts, in the form for protocols.
    pub fn options(&self) -> Options {
        let mut options = Options::new();
        self.0.iter().for_each(|said| options.entry(said.name.to_owned()).or_default().push(said.text.clone()));
        options
    }

    /// Returns `true` if a setting has a value.
    pub fn has<T>(&self, setting: &Setting<T>) -> bool {
        self.says(setting.spec.name)
    }

    /// Returns the text of a setting, the last of several.
    pub fn text<T>(&self, setting: &Setting<T>) -> Option<&str> {
        self.named(setting.spec.name).next_back().map(|said| said.text.as_str())
    }

    /// Returns all texts of a setting.
    pub fn texts<T>(&self, setting: &Setting<T>) -> Vec<&str> {
        self.named(setting.spec.name).map(|said| said.text.as_str()).collect()
    }

    /// Returns the parsed value of a setting.
    ///
    /// # Errors
    /// Its text is invalid.
    pub fn get<T>(&self, setting: &Setting<T>) -> Result<Option<T>, Complaint> {
        let said = self.named(setting.spec.name).next_back();
        said.map(|said| read(setting, said)).transpose()
    }

    /// Returns the parsed values of a setting.
    ///
    /// # Errors
    /// The first invalid text.
    pub fn each<T>(&self, setting: &Setting<T>) -> Result<Vec<T>, Complaint> {
        self.named(setting.spec.name).map(|said| read(setting, said)).collect()
    }

    /// Refuses settings.
    ///
    /// # Errors
    /// The first of them that has a value, with this message.
    pub fn refuse(&self, settings: &[Spec], trouble: &str) -> Result<(), Complaint> {
        let said = |spec: &Spec| Some(self.named(spec.name).next()?.wrong(&spec.called(), trouble));
        settings.iter().find_map(said).map_or(Ok(()), Err)
    }

    /// Creates an error about the value of a setting.
    pub fn wrong<T>(&self, setting: &Setting<T>, trouble: impl Into<String>) -> Complaint {
        let said = self.named(setting.spec.name).next_back();
        said.map_or(&Origin::Line, |said| &said.origin).wrong(&setting.spec.called(), trouble)
    }
}

fn read<T>(setting: &Setting<T>, said: &Said) -> Result<T, Complaint> {
    (setting.read)(&said.text).map_err(|trouble| said.wrong(&setting.spec.called(), trouble))
}

impl IntoIterator for Values {
    type Item = Said;
    type IntoIter = std::vec::IntoIter<Said>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
