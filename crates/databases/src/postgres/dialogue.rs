//! PostgreSQL as a plug-in: its schemes, its options, and everything a run will say in it, compiled before it starts.

use std::sync::Arc;

use wire::{
    About, Asked, Belongs, Complaint, Dialogue, Established, Fill, Memory, OptionSpec, Origin, Prepared, Protocol,
    Session, Text,
};

use super::errors;
use super::scram::Keys;
use super::session::PostgresSession;
use super::statement::{Compiler, Script};
use crate::sql::{self, Account, Door, Request};
use values::kept::Budget;

/// PostgreSQL over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postgres;

/// The options, in the order the help shows them.
const OPTIONS: &[OptionSpec] = &sql::options(
    Text {
        en: "Put BEGIN and COMMIT around each --sql; a failure rolls back and counts once",
        zh: "为每个 --sql 加上 BEGIN 和 COMMIT；失败时回滚，只计一次失败",
    },
    Text { en: "Use TLS (negotiated with SSLRequest)", zh: "使用 TLS（在协议内部开始）" },
);

impl Protocol for Postgres {
    fn about(&self) -> About<'_> {
        About {
            checks: &["expect-rows"],
            heartbeats: true,
            ..About::new("postgres", &["postgres", "postgresql"], OPTIONS, sql::OF_ONE_URL)
        }
    }

    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        const DOOR: Door = Door { schemes: ["postgres", "postgresql"], port: 5432, password_ends: true };
        let (origins, accounts) = DOOR.places(&asked.urls)?;
        let (mut compiler, mut scripts) = (Compiler::default(), Vec::new());
        compiler.slots.variables = Arc::clone(&asked.variables);
        let prepared = sql::prepared(asked, (&mut scripts, origins), |text, way, around, place, checks| {
            let mut script = compiler.script(text, way, around, place)?;
            script.checks = Arc::clone(checks);
            Ok(script)
        })?;
        let prepared = Prepared { requests_at_most: compiler.slots.end, ..prepared };
        let (ssl, kept, keys) = (asked.switch("ssl"), Budget::default(), Keys::default());
        let plan = Plan { accounts, ssl, parses: compiler.parses, scripts, kept, keys };
        Ok(Arc::new(PostgresDialogue { prepared, plan: Arc::new(plan) }))
    }
}

/// Everything a session must know of a run.
#[derive(Debug, Default)]
pub struct Plan {
    /// Who logs in to what, by [`Origin::bound`].
    pub accounts: Vec<Account>,
    /// Ask for TLS before anything else.
    pub ssl: bool,
    /// Parse of each statement that connections prepare, as messages.
    pub parses: Vec<Box<[u8]>>,
    /// What is done.
    pub scripts: Vec<Script>,
    /// What rows are kept within that are looked at.
    pub kept: Budget,
    /// Keys that were derived from passwords.
    pub keys: Keys,
}

/// Everything a run will say to PostgreSQL.
#[derive(Debug)]
pub struct PostgresDialogue {
    prepared: Prepared,
    plan: Arc<Plan>,
}

impl Dialogue for PostgresDialogue {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }
    /// A transaction is one connection's.
    fn belongs(&self, _origin: &Origin) -> Belongs {
        Belongs::ForIteration
    }
    fn says_no_trace(&self, _request: &wire::Request) -> bool {
        true
    }
    fn sent_with(&self, request: &wire::Request, _fill: &Fill, _memory: Option<&Memory>) -> Vec<u8> {
        let request = request.of::<Request>();
        self.plan.scripts[request.script as usize].shown.clone().into_bytes()
    }
    fn session(&self, origin: &Origin, established: &Established) -> Box<dyn Session> {
        Box::new(PostgresSession::new(Arc::clone(&self.plan), origin.bound, established.seed))
    }
    fn spoken(&self, _established: &Established) -> String {
        "PostgreSQL".to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        errors::name(code)
    }
}
