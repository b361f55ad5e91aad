//! A setting of a run or a command: its option, its key in plan files, its line of help, and its parser.

use brunt_cause::Complaint;
use brunt_contract::OptionArity;
use brunt_report::text::Text;
pub use brunt_report::text::text as message;

/// A setting with its type and syntax.
#[derive(Clone, Copy, Debug)]
pub struct TypedSetting<T> {
    /// The part that does not depend on the type.
    pub spec: SettingSpec,
    /// Parses the text of the value; an error message is appended to the name or position of the value.
    pub read: fn(&str) -> Result<T, Complaint>,
}

/// The syntax and help of a setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingSpec {
    /// Long option and key: `connect-timeout`.
    pub name: &'static str,
    /// Short option.
    pub short: Option<char>,
    /// The kind of value.
    pub takes: OptionArity,
    /// One line of help.
    pub help: Text,
    /// Alternative names in plan files: plurals, and the fields of a recorded plan.
    pub alias: Option<&'static str>,
    /// Set if a plan file may contain it, because it describes the run and not its presentation.
    pub is_key: bool,
}

impl SettingSpec {
    /// Returns the name of the option in errors: the short form, if there is one.
    pub fn display_name(&self) -> String {
        self.short.map_or_else(|| format!("--{}", self.name), |short| format!("-{short}"))
    }
}

impl<T> TypedSetting<T> {
    const fn new(name: &'static str, takes: OptionArity, read: fn(&str) -> Result<T, Complaint>, help: Text) -> Self {
        TypedSetting { spec: SettingSpec { name, short: None, takes, help, alias: None, is_key: true }, read }
    }

    /// Adds a short option.
    pub const fn short(mut self, short: char) -> Self {
        self.spec.short = Some(short);
        self
    }

    /// Adds another name in plan files.
    pub const fn alias(mut self, alias: &'static str) -> Self {
        self.spec.alias = Some(alias);
        self
    }

    /// Restricts the setting to the command line.
    pub const fn command_line_only(mut self) -> Self {
        self.spec.is_key = false;
        self
    }
}

/// Creates a setting with one value.
pub const fn one<T>(
    name: &'static str,
    value: &'static str,
    read: fn(&str) -> Result<T, Complaint>,
    en: &'static str,
    zh: &'static str,
) -> TypedSetting<T> {
    TypedSetting::new(name, OptionArity::One(value), read, message(en, zh))
}

/// Creates a setting that may be repeated, with one value each time.
pub const fn many<T>(
    name: &'static str,
    value: &'static str,
    read: fn(&str) -> Result<T, Complaint>,
    en: &'static str,
    zh: &'static str,
) -> TypedSetting<T> {
    TypedSetting::new(name, OptionArity::Many(value), read, message(en, zh))
}

/// Creates a setting without a value.
pub const fn switch(name: &'static str, en: &'static str, zh: &'static str) -> TypedSetting<()> {
    TypedSetting::new(name, OptionArity::Switch, |_| Ok(()), message(en, zh))
}

/// Returns a text unchanged.
pub fn text(text: &str) -> Result<String, Complaint> {
    Ok(text.to_owned())
}

/// Defines settings as constants, and their list in the order of the help.
macro_rules! settings {
    ($list:ident { $($name:ident: $type:ty = $made:expr;)* }) => {
        $(pub const $name: TypedSetting<$type> = $made;)*

        /// All settings of the list.
        pub const $list: &[SettingSpec] = &[$($name.spec),*];
    };
}

pub(crate) use settings;
