//! PostgreSQL as a plug-in: its schemes, its options, and everything a run will say in it, compiled before it starts.

use std::sync::Arc;

use wire::{
    Asked, Belongs, Complaint, Dialogue, Established, Names, OptionSpec, Origin, Protocol, RequestList, Session,
    Weighted,
};

use super::scram::Keys;
use super::session::PostgresSession;
use super::statement::{Compiler, Script};
use super::{errors, options};
use crate::sql::{self, Account, Door, Request, Said};
use values::kept::Budget;

/// PostgreSQL over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postgres;

impl Protocol for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn checks(&self, _url: &str) -> &'static [&'static str] {
        &["expect-rows"]
    }
    fn options_of_one_url(&self) -> &'static [&'static str] {
        sql::OF_ONE_URL
    }

    fn heartbeats(&self, _asked: &Asked) -> Result<(), String> {
        Ok(())
    }

    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        const DOOR: Door = Door { schemes: ["postgres", "postgresql"], port: 5432, password_ends: true };
        let (origins, accounts) = DOOR.places(&asked.urls)?;
        let (mut compiler, mut scripts) = (Compiler::default(), Vec::new());
        compiler.slots.variables = Arc::clone(&asked.variables);
        let Said { requests, names, before, after } =
            sql::said(asked, &mut scripts, |text, way, around, place, checks| {
                let mut script = compiler.script(text, way, around, place)?;
                script.checks = Arc::clone(checks);
                Ok(script)
            })?;
        let end = compiler.slots.end;
        let (ssl, kept, keys) = (asked.switch("ssl"), Budget::default(), Keys::default());
        let plan = Plan { accounts, ssl, parses: compiler.parses, scripts, kept, keys };
        Ok(Arc::new(PostgresDialogue { requests, names, end, origins, before, after, plan: Arc::new(plan) }))
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
    requests: Vec<Weighted<Request>>,
    /// After how many of them their data is at its end.
    end: Option<u64>,
    names: Names,
    origins: Vec<Origin>,
    before: Vec<Arc<wire::Request>>,
    after: Vec<Arc<wire::Request>>,
    plan: Arc<Plan>,
}

impl Dialogue for PostgresDialogue {
    fn requests(&self) -> &dyn RequestList {
        &self.requests
    }
    fn origins(&self) -> &[Origin] {
        &self.origins
    }
    fn names(&self) -> &Names {
        &self.names
    }
    /// A transaction is one connection's.
    fn belongs(&self, _origin: &Origin) -> Belongs {
        Belongs::ForIteration
    }
    fn has_slots(&self) -> bool {
        true
    }
    fn requests_at_most(&self) -> Option<u64> {
        self.end
    }
    fn before(&self) -> &[Arc<wire::Request>] {
        &self.before
    }
    fn after(&self) -> &[Arc<wire::Request>] {
        &self.after
    }
    fn says_no_trace(&self, _request: &wire::Request) -> bool {
        true
    }
    fn sent(&self, request: &wire::Request) -> Vec<u8> {
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
