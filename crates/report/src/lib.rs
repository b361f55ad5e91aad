//! A run's record as text, JSON, CSV, Markdown, JUnit and HTML.
//!
//! This crate reads only the record, live or from a file: a [`Summary`] is made by streaming its events once,
//! judged (`rules`, `objectives`, `exit`), and written in one of the [`formats`]; [`Live`] shows the seconds as
//! they pass. Out of scope: anything that would need the engine, the network or a clock.

mod again;
mod bars;
mod by_name;
mod checks;
mod columns;
pub mod comparison;
pub mod contrast;
mod cut;
mod document;
mod elsewhere;
mod exit;
mod finding;
pub mod formats;
mod iterations;
mod judgement;
mod kinds;
mod limit;
mod limits;
mod line;
mod named;
mod objectives;
mod overload;
mod plainly;
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
mod turns;

pub use checks::CheckRow;
pub use columns::wrapped;
#[cfg(feature = "schema")]
#[cfg(feature = "schema")]
pub use document::schema_json;
pub use exit::Exit;
pub use finding::{Finding, Grade};
pub use formats::{FORMATS, Format, Style, format};
pub use iterations::SpanRow;
pub use judgement::{sort as sort_of_failure, word as word_of_failure};
pub use named::NamedTotals;
pub use objectives::{Judged, Objective, Windows};
pub use ranked::Ranked;
pub use reasons::reason;
pub use record::End;
pub use reference::ReferenceTotals;
pub use seconds::{Replayed, Seconds};
pub use summary::{Headroom, SoFar, Summary, Summing};
pub use sums::Sums;
pub use terminal::{Live, Mode};
pub use totals::Totals;
pub use trust::Trust;
pub use words::{Lang, numbers, text};
