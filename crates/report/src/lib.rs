//! A run's record as text, JSON, CSV, Markdown, JUnit and HTML.
//!
//! This crate reads only the record, live or from a file: a [`Summary`] is made by streaming its events once,
//! judged (`rules`, `objectives`, `exit`), and written in one of the [`formats`]; [`Live`] shows the seconds as
//! they pass. Out of scope: anything that would need the engine, the network or a clock.

mod repeat_command;
mod bars;
mod name_rows;
mod checks;
mod columns;
pub mod comparison;
pub mod contrast;
mod early_end;
mod document;
mod service_host;
mod exit;
mod finding;
pub mod formats;
mod iterations;
mod judgement;
mod failure_kind;
mod connection_limit;
mod limits;
mod verdict_line;
mod name_totals;
mod objectives;
mod overload;
mod escape;
mod ranked;
mod reasons;
mod reference;
mod rules;
mod seconds;
mod sentences;
mod summary;
mod sums;
mod terminal;
mod totals;
mod trust;
mod rate_limited_steps;

pub use checks::CheckRow;
pub use columns::wrap;
#[cfg(feature = "schema")]
#[cfg(feature = "schema")]
pub use document::schema_json;
pub use exit::Exit;
pub use finding::{Finding, Grade};
pub use formats::{FORMATS, ReportFormat, Style, format};
pub use iterations::SpanRow;
pub use judgement::{sort as sort_of_failure, word as word_of_failure};
pub use name_totals::NamedTotals;
pub use objectives::{JudgedObjective, Objective, StretchObjectives};
pub use ranked::RankedLatency;
pub use reasons::reason;
pub use brunt_record::End;
pub use reference::ReferenceTotals;
pub use seconds::{RecordedSeconds, SecondsSource};
pub use summary::{Headroom, InterimSummary, Summary, SummaryBuilder};
pub use sums::RunSums;
pub use terminal::{SecondsTable, LiveMode};
pub use totals::RunTotals;
pub use trust::Trust;
pub use brunt_i18n::{Lang, numbers, text};
