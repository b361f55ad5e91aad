//! The rows of figures by name: the names of a run, and what each comes to.

use record::FailureExample;

use crate::named::NamedTotals;
use crate::sums::Sums;

/// A row of figures by name.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// What its requests are called.
    pub name: &'a str,
    /// Its index in the names of the run.
    pub index: u16,
    /// What they come to.
    pub totals: &'a NamedTotals,
}

impl Sums {
    /// The names of the run.
    pub fn names(&self) -> &[String] {
        self.started.as_ref().map_or(&[], |started| &started.names)
    }

    /// What each name comes to, without those that no user sends; nothing where the run has but one, whose figures are the run's.
    pub fn by_name(&self) -> impl Iterator<Item = Row<'_>> {
        let names = self.names();
        let several = if names.len() > 1 { names } else { &[] };
        let totals = self.totals.named.each().iter().map(Some).chain(std::iter::repeat(None));
        let nothing = nothing();
        let around = self.started.as_ref().map_or(&[][..], |started| &started.around);
        several.iter().zip(totals).enumerate().filter_map(move |(index, (name, totals))| {
            let index = index as u16;
            let row = Row { name, index, totals: totals.unwrap_or(nothing) };
            (!around.contains(&index)).then_some(row)
        })
    }

    /// The kept examples of failures of a name, one of each sort and status.
    pub fn examples_of(&self, name: u16) -> impl Iterator<Item = &FailureExample> {
        let all = self.examples.iter().chain(&self.examples_by_name);
        all.filter(move |example| example.name == Some(name))
    }
}

/// Of a name that nothing was asked by.
pub(crate) fn nothing() -> &'static NamedTotals {
    static NOTHING: std::sync::LazyLock<NamedTotals> = std::sync::LazyLock::new(NamedTotals::default);
    &NOTHING
}
