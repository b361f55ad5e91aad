//! What holds for every connection of a run, and what is sent over them.

use super::statement::Statement;
use crate::sql::Account;

/// One thing a user does: an exchange of one statement or several.
#[derive(Debug)]
pub struct Script {
    /// Sent one after the other, each when the answer to the one before has come.
    pub statements: Box<[Statement]>,
}

/// Everything a session must know of a run.
#[derive(Debug, Default)]
pub struct Plan {
    /// Who logs in to what; at least one.
    pub logins: Vec<Account>,
    /// Begin TLS before the password is proved.
    pub ssl: bool,
    /// Nobody can listen on the way: a Unix socket.
    pub private: bool,
    /// `COM_STMT_PREPARE` of each statement that connections prepare.
    pub prepares: Vec<Box<[u8]>>,
    /// What is done.
    pub scripts: Vec<Script>,
    /// How many rows an exchange must return or change.
    pub rows: Option<std::ops::RangeInclusive<u64>>,
}
