//! The PostgreSQL plug-in: URL schemes, options, and the workload of a run compiled before it starts.

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

/// Options in the order of the help.
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

/// The part of a run that all its sessions share.
#[derive(Debug, Default)]
pub struct Plan {
    /// Accounts to log in to, by [`Origin::bound`].
    pub accounts: Vec<Account>,
    /// Set if TLS is requested before anything else.
    pub ssl: bool,
    /// Parse messages of the statements that connections prepare.
    pub parses: Vec<Box<[u8]>>,
    /// Exchanges of the run.
    pub scripts: Vec<Script>,
    /// Memory budget for rows that values are captured from.
    pub kept: Budget,
    /// Keys derived from passwords.
    pub keys: Keys,
}

/// The workload of a run over PostgreSQL's protocol.
#[derive(Debug)]
pub struct PostgresDialogue {
    prepared: Prepared,
    plan: Arc<Plan>,
}

impl Dialogue for PostgresDialogue {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }
    /// A transaction belongs to one connection.
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
