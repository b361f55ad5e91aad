//! What holds for every connection of a run, and what is sent over them.

use super::statement::Statement;

/// One thing a user does: an exchange of one statement or several.
#[derive(Debug)]
pub struct Script {
    /// Sent one after the other, each when the answer to the one before has come.
    pub statements: Box<[Statement]>,
}

/// Who logs in, to which database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub user: Vec<u8>,
    /// The password; empty for none.
    pub password: Vec<u8>,
    /// The database; empty for none.
    pub database: Vec<u8>,
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

/// One exchange: which script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index into [`Plan::scripts`].
    pub(super) script: u32,
}
