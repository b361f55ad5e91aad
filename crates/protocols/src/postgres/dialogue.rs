//! PostgreSQL as a plug-in: its schemes, its options, and everything a run will say in it, compiled before it starts.

use std::ops::RangeInclusive;
use std::sync::Arc;

use wire::{Asked, Complaint, Dialogue, Established, Names, OptionSpec, Origin, Protocol, Weighted};

use super::scram::Keys;
use super::session::PostgresSession;
use super::statement::{Compiler, Script};
use super::{errors, options};
use crate::sql::{self, Account, Door, Request, Said};

/// PostgreSQL over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postgres;

impl Protocol for Postgres {
    type Dialogue = PostgresDialogue;

    fn name(&self) -> &'static str {
        "postgres"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn heartbeats(&self, _asked: &Asked) -> Result<(), String> {
        Ok(())
    }

    fn prepare(&self, asked: &Asked) -> Result<PostgresDialogue, Complaint> {
        const DOOR: Door = Door { schemes: ["postgres", "postgresql"], port: 5432, password_ends: true };
        let (origins, accounts) = DOOR.places(&asked.urls)?;
        let (mut compiler, mut scripts) = (Compiler::default(), Vec::new());
        let Said { requests, names, before, after } =
            sql::said(asked, &mut scripts, |text, way, around, place| compiler.script(text, way, around, place))?;
        let end = compiler.slots.end;
        let (ssl, rows, keys) = (asked.switch("ssl"), sql::rows(asked)?, Keys::default());
        let plan = Plan { accounts, ssl, parses: compiler.parses, scripts, rows, keys };
        Ok(PostgresDialogue { requests, names, end, origins, before, after, plan: Arc::new(plan) })
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
    /// How many rows an exchange must return or change.
    pub rows: Option<RangeInclusive<u64>>,
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
    before: Vec<Request>,
    after: Vec<Request>,
    plan: Arc<Plan>,
}

impl Dialogue for PostgresDialogue {
    type Request = Request;
    type Session = PostgresSession;

    fn requests(&self) -> &[Weighted<Request>] {
        &self.requests
    }
    fn origins(&self) -> &[Origin] {
        &self.origins
    }
    fn names(&self) -> &Names {
        &self.names
    }
    fn requests_at_most(&self) -> Option<u64> {
        self.end
    }
    fn before(&self) -> &[Request] {
        &self.before
    }
    fn after(&self) -> &[Request] {
        &self.after
    }
    fn sent(&self, request: &Request) -> Vec<u8> {
        self.plan.scripts[request.script as usize].shown.clone().into_bytes()
    }
    fn session(&self, origin: &Origin, established: &Established) -> PostgresSession {
        PostgresSession::new(Arc::clone(&self.plan), origin.bound, established.seed)
    }
    fn spoken(&self, _established: &Established) -> String {
        "PostgreSQL".to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        errors::name(code)
    }
}
