//! PostgreSQL as a plug-in: its schemes, its options, and everything a run will say in it, compiled before it starts.

use std::ops::RangeInclusive;
use std::sync::Arc;

use wire::{Asked, Complaint, Dialogue, Established, OptionSpec, Origin, Protocol, Scheme, Weighted};

use super::errors;
use super::options::{self, Account};
use super::scram::Keys;
use super::session::PostgresSession;
use super::statement::{Compiler, Script, Way};
use crate::weight;

/// What is asked where nothing is said.
const USUAL: &str = "SELECT 1";

/// PostgreSQL over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postgres;

impl Protocol for Postgres {
    type Dialogue = PostgresDialogue;

    fn name(&self) -> &'static str {
        "postgres"
    }

    fn schemes(&self) -> &'static [Scheme] {
        const SCHEMES: &[Scheme] = &[
            Scheme { name: "postgres", port: 5432, tls: false, datagrams: false, alpn: &[] },
            Scheme { name: "postgresql", port: 5432, tls: false, datagrams: false, alpn: &[] },
        ];
        SCHEMES
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn prepare(&self, asked: &Asked) -> Result<PostgresDialogue, Complaint> {
        let (mut origins, mut accounts) = (Vec::new(), Vec::new());
        for url in &asked.urls {
            let (origin, account) = options::place(&url.url)?;
            origins.push(Origin { bound: accounts.len() as u32, ..origin });
            accounts.push(account);
        }
        if origins.is_empty() {
            let trouble = "none was given; write one, for instance postgres://user:password@127.0.0.1:5432/test";
            return Err(Complaint::new("URL", trouble));
        }
        let (mut compiler, mut scripts) = (Compiler::default(), Vec::new());
        let mut script = |text: &str, way: Way, around: bool, place: &str| -> Result<Request, Complaint> {
            scripts.push(compiler.script(text, way, around, place)?);
            Ok(Request { script: (scripts.len() - 1) as u32 })
        };
        let (usual, given, way) = ([USUAL.to_owned()], asked.values("sql"), options::way(asked)?);
        let mut weighted = Vec::new();
        for text in if given.is_empty() { &usual[..] } else { given } {
            let (weight, text) = weight::split(text, "--sql")?;
            weighted.push((weight, script(text, way, asked.switch("transaction"), "--sql")?));
        }
        // What is said once is not worth preparing, and may make what others need.
        let mut once = |name: &str| -> Result<Vec<Request>, Complaint> {
            asked.values(name).iter().map(|text| script(text, Way::Text, false, &format!("--{name}"))).collect()
        };
        let (before, after) = (once("before")?, once("after")?);
        let requests = asked.urls.iter().enumerate().flat_map(|(origin, url)| {
            let of_url = move |(weight, request): &(f64, Request)| Weighted {
                request: *request,
                origin,
                weight: weight * url.weight,
            };
            weighted.iter().map(of_url)
        });
        let requests = requests.collect();
        let (ssl, rows, keys) = (asked.switch("ssl"), options::rows(asked)?, Keys::default());
        let plan = Plan { accounts, ssl, parses: compiler.parses, scripts, rows, keys };
        Ok(PostgresDialogue { requests, origins, before, after, plan: Arc::new(plan) })
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

/// One exchange: which script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index into [`Plan::scripts`].
    pub(super) script: u32,
}

/// Everything a run will say to PostgreSQL.
#[derive(Debug)]
pub struct PostgresDialogue {
    requests: Vec<Weighted<Request>>,
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
    fn before(&self) -> &[Request] {
        &self.before
    }
    fn after(&self) -> &[Request] {
        &self.after
    }
    fn alpn(&self) -> &[&'static [u8]] {
        &[]
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
