//! The rows of figures by name: the names of a run, and the totals of each.

use brunt_record::FailureExample;

use crate::name_totals::NamedTotals;
use crate::sums::RunSums;

/// A row of figures by name.
#[derive(Clone, Copy, Debug)]
pub struct NameTotalsRow<'a> {
    /// Name of the requests.
    pub name: &'a str,
    /// Index in the names of the run.
    pub index: u16,
    /// Totals of the requests.
    pub totals: &'a NamedTotals,
}

impl RunSums {
    /// Returns the names of the run's requests.
    pub fn names(&self) -> &[String] {
        self.started.as_ref().map_or(&[], |started| &started.names)
    }

    /// Returns the totals of each name, except those sent only before or after the load; empty if the run has only one
    /// name, whose figures are those of the run.
    pub fn by_name(&self) -> impl Iterator<Item = NameTotalsRow<'_>> {
        let names = self.names();
        let several = if names.len() > 1 { names } else { &[] };
        let totals = self.totals.named.each().iter().map(Some).chain(std::iter::repeat(None));
        let nothing = empty_totals();
        let around = self.started.as_ref().map_or(&[][..], |started| &started.around);
        several.iter().zip(totals).enumerate().filter_map(move |(index, (name, totals))| {
            let index = index as u16;
            let row = NameTotalsRow { name, index, totals: totals.unwrap_or(nothing) };
            (!around.contains(&index)).then_some(row)
        })
    }

    /// Returns the kept examples of a name's failures, one for each sort and status.
    pub fn examples_of(&self, name: u16) -> impl Iterator<Item = &FailureExample> {
        let all = self.examples.iter().chain(&self.examples_by_name);
        all.filter(move |example| example.name == Some(name))
    }
}

/// Returns empty totals, for a name without requests.
pub(crate) fn empty_totals() -> &'static NamedTotals {
    static NOTHING: std::sync::LazyLock<NamedTotals> = std::sync::LazyLock::new(NamedTotals::default);
    &NOTHING
}
