//! What holds for every connection of a run, and what is sent over them.

use std::sync::Arc;

use super::statement::Statement;
use crate::sql::{Account, Checks};
use values::kept::Budget;

/// One thing a user does: an exchange of one statement or several.
#[derive(Debug)]
pub struct Script {
    /// Sent one after the other, each when the answer to the one before has come.
    pub statements: Box<[Statement]>,
    /// What decides about the answer.
    pub checks: Arc<Checks>,
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
    /// What rows are kept within that are looked at.
    pub kept: Budget,
}
