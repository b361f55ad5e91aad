//! A run's record as text, JSON, CSV, Markdown and JUnit.
//!
//! Everything here reads the record and nothing else, live or from a file: a [`Summary`] is made by streaming its events
//! once, judged (`rules`, [`objectives`], [`exit`]), and written by one of the [`formats`]; [`terminal`] shows the
//! seconds as they pass. Left out: anything that would need the engine, the network or a clock.

mod bars;
mod by_name;
mod columns;
pub mod document;
pub mod exit;
pub mod finding;
pub mod formats;
pub mod judgement;
mod kinds;
pub mod limit;
pub mod named;
pub mod objectives;
pub mod overload;
mod plainly;
pub mod ranked;
mod reasons;
mod rules;
pub mod seconds;
mod sentences;
pub mod show;
pub mod summary;
pub mod sums;
pub mod terminal;
pub mod text;
pub mod totals;
pub mod trust;

pub use columns::wrapped;
pub use document::schema_json;
pub use exit::Exit;
pub use finding::{Finding, Grade};
pub use formats::{FORMATS, Format, Style, format};
pub use objectives::{Judged, Objective};
pub use reasons::reason;
pub use record::End;
pub use seconds::{Replayed, Seconds};
pub use summary::{Summary, Summing};
pub use terminal::{Live, Mode};
pub use text::Lang;
pub use trust::Trust;
