//! What the protocols of databases have in common: the same options, accounts in URLs, SQL cut where its slots stand, and
//! slots filled into SQL. Each database keeps what differs: where quotes and comments end, and how statements travel.

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
