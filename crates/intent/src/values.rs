//! What was said, value by value: the settings and options of a command line, a plan file or curl commands, each with its origin.

use plan::Options;
use wire::Complaint;

use super::origin::Origin;
use super::setting::{Setting, Spec};

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The setting or option, by its long name.
    pub name: &'static str,
    /// The value as people write it; empty for a switch.
    pub text: String,
    /// Where it was said.
    pub origin: Origin,
}

impl Said {
    /// A complaint about it; `flag`: what people call it on the command line.
    pub fn wrong(&self, flag: &str, trouble: impl Into<String>) -> Complaint {
        self.origin.wrong(flag, trouble)
    }
}

/// All values of a source, in the order they stand in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<Said>);

impl Values {
    /// Notes a value.
    pub fn say(&mut self, name: &'static str, text: impl Into<String>, origin: Origin) {
        self.0.push(Said { name, text: text.into(), origin });
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Said> {
        self.0.iter()
    }

    /// The values of an option or setting of this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Said> {
        self.0.iter().filter(move |said| said.name == name)
    }

    /// Returns `true` if something of this name was said.
    pub fn says(&self, name: &str) -> bool {
        self.named(name).next().is_some()
    }

    /// Takes the values of this name out.
    pub fn take(&mut self, name: &str) -> Vec<Said> {
        self.0.extract_if(.., |said| said.name == name).collect()
    }

    /// Puts values behind the others.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Said>) {
        self.0.extend(more);
    }

    /// The values of these names alone.
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Values {
        Values(self.0.iter().filter(|said| wanted(said.name)).cloned().collect())
    }

    /// These over others: whatever these are silent about, and do not hide.
    pub fn over(mut self, below: Values, hidden: &[&str]) -> Values {
        let silent = |said: &Said| !self.says(said.name) && !hidden.contains(&said.name);
        let more: Vec<Said> = below.0.into_iter().filter(silent).collect();
        self.extend(more);
        self
    }

    /// Their texts alone, as protocols take them.
    pub fn options(&self) -> Options {
        let mut options = Options::new();
        self.0.iter().for_each(|said| options.entry(said.name.to_owned()).or_default().push(said.text.clone()));
        options
    }

    /// Returns `true` if a setting was said.
    pub fn has<T>(&self, setting: &Setting<T>) -> bool {
        self.says(setting.spec.name)
    }

    /// The text of a setting, the last where there are several.
    pub fn text<T>(&self, setting: &Setting<T>) -> Option<&str> {
        self.named(setting.spec.name).next_back().map(|said| said.text.as_str())
    }

    /// All texts of a setting.
    pub fn texts<T>(&self, setting: &Setting<T>) -> Vec<&str> {
        self.named(setting.spec.name).map(|said| said.text.as_str()).collect()
    }

    /// The value of a setting.
    ///
    /// # Errors
    /// Its text is none.
    pub fn get<T>(&self, setting: &Setting<T>) -> Result<Option<T>, Complaint> {
        let said = self.named(setting.spec.name).next_back();
        said.map(|said| read(setting, said)).transpose()
    }

    /// The values of a setting.
    ///
    /// # Errors
    /// The first text that is none.
    pub fn each<T>(&self, setting: &Setting<T>) -> Result<Vec<T>, Complaint> {
        self.named(setting.spec.name).map(|said| read(setting, said)).collect()
    }

    /// Refuses settings.
    ///
    /// # Errors
    /// The first of them that was said, with this trouble.
    pub fn refuse(&self, settings: &[Spec], trouble: &str) -> Result<(), Complaint> {
        let said = |spec: &Spec| Some(self.named(spec.name).next()?.wrong(&spec.called(), trouble));
        settings.iter().find_map(said).map_or(Ok(()), Err)
    }

    /// A complaint about what was said of a setting.
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
