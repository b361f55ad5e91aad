//! A run's record as text, JSON, CSV, Markdown, JUnit and HTML.
//!
//! This crate reads only the record, live or from a file: a [`Summary`] is built by reading its events once, is judged
//! (`rules`, `objectives`, `exit`), and is written in one of the [`formats`]; [`SecondsTable`] shows the seconds as
//! they pass. Anything that needs the engine, the network or a clock is out of scope.

mod agents;
mod bars;
mod checks;
pub mod columns;
pub mod comparison;
mod connection_limit;
pub mod contrast;
mod document;
mod early_end;
mod escape;
mod exit;
mod failed_addresses;
mod failure_accounts;
mod failure_kind;
mod few_arrivals;
mod finding;
pub mod formats;
mod gist;
mod iterations;
mod judgement;
mod kept_notices;
mod limits;
mod load_course;
mod load_stretches;
mod name_rows;
mod name_totals;
mod objectives;
mod overload;
mod ranked;
mod rate_limited_steps;
mod reasons;
mod reference;
mod rejections;
mod rules;
mod running;
mod seconds;
mod sentences;
mod service_host;
mod summary;
mod sums;
mod terminal;
mod totals;
mod trust;
mod verdict_line;

pub use agents::{AgentSummary, FleetFigures, LabelSummary, StartSpread};
pub use brunt_i18n::{Lang, numbers, text};
pub use brunt_record::End;
pub use checks::CheckRow;
pub use columns::{table, wrap};
#[cfg(feature = "schema")]
pub use document::schema_json;
pub use exit::Exit;
pub use failure_accounts::{failure_in_words, kind_in_words};
pub use finding::{Finding, Grade};
pub use formats::{FORMATS, ReportFormat, Style, format};
pub use iterations::SpanRow;
pub use limits::repeat_command;
pub use load_stretches::{LoadStretch, LoadTurn};
pub use name_totals::NamedTotals;
pub use objectives::{AllowedLoss, JudgedObjective, Objective, ObjectiveOutcome, StretchObjectives};
pub use ranked::RankedLatency;
pub use reasons::reason;
pub use reference::ReferenceTotals;
pub use rules::missing::MissingStretch;
pub use seconds::{EventsPass, RecordedSeconds, SecondsPass, SecondsSource};
pub use summary::{Headroom, InterimSummary, Summary, SummaryBuilder};
pub use sums::RunSums;
pub use terminal::{LiveMode, SecondsTable};
pub use totals::RunTotals;
pub use trust::Trust;
