//! Code shared by the SQL protocols: options, accounts in URLs, splitting of SQL at slots, and filling slots into SQL.
//! Each database implements what differs: quotes and comments, and the transfer of statements.

mod account;
mod checks;
mod options;
mod said;
mod scan;
mod slots;

pub use account::{Account, Door};
pub use checks::{Checks, Looking, OF_ONE_URL};
pub use options::{Way, options, other_rows};
pub use said::{Request, prepared};
pub use scan::{Part, Piece, Scan, is_word, unclosed};
pub use slots::{Filled, Slot, Slots, braced, doubled, filled, gives_integer, template};
