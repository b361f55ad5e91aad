//! Code shared by the SQL protocols: options, accounts in URLs, splitting of SQL at slots, and filling slots into SQL.
//! Each database implements the parts that differ: quotes and comments, and the transfer of statements.

mod account;
mod checks;
mod options;
mod reading;
mod requests;
mod scan;
mod slots;

pub use account::{DatabaseAccount, DatabaseUrls};
pub use checks::{CapturedRows, OF_ONE_URL, SqlChecks};
pub use options::{StatementMode, options, row_count_mismatch};
pub use reading::only_reads;
pub use requests::{SqlRequest, prepare_workload};
pub use scan::{LiteralPart, SqlPiece, SqlScanner, is_word, unclosed_error};
pub use slots::{
    SqlFragment, SqlSlot, SqlSlots, braced, compile_fragments, escape_pairs, literal_template, yields_integer,
};
