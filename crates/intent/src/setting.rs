//! One setting of a run or a command: its option, its key in plan files, its line of help, and how its text is read.

use wire::Takes;

/// Of which type a setting is, and how people write it.
#[derive(Clone, Copy, Debug)]
pub struct Setting<T> {
    /// What is the same of all types.
    pub spec: Spec,
    /// Reads its text; a complaint goes behind the place of the value.
    pub read: fn(&str) -> Result<T, String>,
}

/// How a setting is written and explained.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Long option and key: `connect-timeout`.
    pub name: &'static str,
    /// Short option.
    pub short: Option<char>,
    /// What follows it.
    pub takes: Takes,
    /// One line of help.
    pub help: &'static str,
    /// What else a plan file may call it: plurals, and the fields of a recorded plan.
    pub alias: Option<&'static str>,
    /// A plan file may have it by its own name: it says what is run, not how whoever starts it watches.
    pub is_key: bool,
}

impl Spec {
    /// What complaints call it on the command line: as most people write it.
    pub fn called(&self) -> String {
        self.short.map_or_else(|| format!("--{}", self.name), |short| format!("-{short}"))
    }
}

impl<T> Setting<T> {
    const fn new(name: &'static str, takes: Takes, read: fn(&str) -> Result<T, String>, help: &'static str) -> Self {
        Setting { spec: Spec { name, short: None, takes, help, alias: None, is_key: true }, read }
    }

    /// The setting with a short option.
    pub const fn short(mut self, short: char) -> Self {
        self.spec.short = Some(short);
        self
    }

    /// The setting with another name in plan files.
    pub const fn alias(mut self, alias: &'static str) -> Self {
        self.spec.alias = Some(alias);
        self
    }

    /// The setting as one of the command line alone.
    pub const fn line_only(mut self) -> Self {
        self.spec.is_key = false;
        self
    }
}

/// A setting with one value.
pub const fn one<T>(
    name: &'static str,
    value: &'static str,
    read: fn(&str) -> Result<T, String>,
    help: &'static str,
) -> Setting<T> {
    Setting::new(name, Takes::One(value), read, help)
}

/// A setting that may be repeated, with a value each time.
pub const fn many<T>(
    name: &'static str,
    value: &'static str,
    read: fn(&str) -> Result<T, String>,
    help: &'static str,
) -> Setting<T> {
    Setting::new(name, Takes::Many(value), read, help)
}

/// A setting without a value.
pub const fn switch(name: &'static str, help: &'static str) -> Setting<()> {
    Setting::new(name, Takes::Nothing, |_| Ok(()), help)
}

/// Takes a text as it is.
pub fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// Settings as constants, and the list of them in the order of the help.
macro_rules! settings {
    ($list:ident { $($name:ident: $type:ty = $made:expr;)* }) => {
        $(pub const $name: Setting<$type> = $made;)*

        /// All of them.
        pub const $list: &[Spec] = &[$($name.spec),*];
    };
}

pub(crate) use settings;
