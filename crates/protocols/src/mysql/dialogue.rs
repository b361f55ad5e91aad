//! MySQL as a plug-in: its schemes, its options, and everything a run will say in it, compiled before it starts.

use std::sync::Arc;

use wire::{Asked, Complaint, Dialogue, Established, OptionSpec, Origin, Protocol, Scheme, Weighted};

use super::plan::{Account, Plan, Request, Script};
use super::session::MysqlSession;
use super::sql::{self, Piece};
use super::statement::{Compiler, Way};
use super::{errors, options};
use crate::weight;

/// MySQL and MariaDB over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mysql;

/// What is asked where nothing is said.
const USUAL: &str = "SELECT 1";

impl Protocol for Mysql {
    type Dialogue = MysqlDialogue;

    fn name(&self) -> &'static str {
        "mysql"
    }

    fn schemes(&self) -> &'static [Scheme] {
        const SCHEMES: &[Scheme] = &[
            Scheme { name: "mysql", port: 3306, tls: false, datagrams: false, alpn: &[] },
            Scheme { name: "mariadb", port: 3306, tls: false, datagrams: false, alpn: &[] },
        ];
        SCHEMES
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn prepare(&self, asked: &Asked) -> Result<MysqlDialogue, Complaint> {
        let (origins, logins) = places(asked)?;
        let mut writer = Writer { way: options::way(asked)?, ..Writer::default() };
        let given = asked.values("sql");
        let usual = [USUAL.to_owned()];
        let around = asked.switch("transaction");
        let mut weights = Vec::new();
        for text in if given.is_empty() { &usual[..] } else { given } {
            let (weight, text) = weight::split(text, "--sql")?;
            weights.push((weight, writer.script(text, "--sql", around)?));
        }
        let mut once = |name: &str| -> Result<Vec<Request>, Complaint> {
            let place = format!("--{name}");
            // What is said once is not worth preparing on every connection.
            let way = std::mem::replace(&mut writer.way, Way::Text);
            let requests = asked.values(name).iter().map(|text| writer.script(text, &place, false)).collect();
            writer.way = way;
            requests
        };
        let (before, after) = (once("before")?, once("after")?);
        let requests = (asked.urls.iter().enumerate())
            .flat_map(|(origin, url)| {
                weights.iter().map(move |(weight, request)| Weighted {
                    request: *request,
                    origin,
                    weight: weight * url.weight,
                })
            })
            .collect();
        let plan = Plan {
            logins,
            ssl: asked.switch("ssl"),
            private: asked.unix_socket.is_some(),
            prepares: writer.compiler.prepares,
            scripts: writer.scripts,
            rows: options::rows(asked)?,
        };
        Ok(MysqlDialogue { requests, origins, before, after, plan: Arc::new(plan) })
    }
}

/// Where the URLs lead; each has an origin of its own, bound to its account.
fn places(asked: &Asked) -> Result<(Vec<Origin>, Vec<Account>), Complaint> {
    if asked.urls.is_empty() {
        return Err(Complaint::new(
            "URL",
            "none was given; write one, for instance mysql://user:password@127.0.0.1:3306/test",
        ));
    }
    let (mut origins, mut logins) = (Vec::new(), Vec::new());
    for url in &asked.urls {
        let (origin, account) = options::place(&url.url)?;
        origins.push(Origin { bound: logins.len() as u32, ..origin });
        logins.push(account);
    }
    Ok((origins, logins))
}

struct Writer {
    way: Way,
    compiler: Compiler,
    scripts: Vec<Script>,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { way: Way::Usual, compiler: Compiler::default(), scripts: Vec::new() }
    }
}

impl Writer {
    /// A script of the statements of a text.
    fn script(&mut self, text: &str, place: &str, transaction: bool) -> Result<Request, Complaint> {
        let wrong = |trouble: &str| Complaint::new(place, format!("\"{text}\": {trouble}"));
        let statements = sql::statements(text).map_err(|trouble| wrong(&trouble))?;
        if statements.is_empty() {
            return Err(wrong("holds no statement; write one, for instance SELECT 1"));
        }
        let mut compiled = Vec::new();
        // Servers do not prepare these.
        let mut plain = |compiler: &mut Compiler, text: &str| {
            compiler.statement(&[Piece::Sql(text.to_owned())], Way::Text, place).map(|s| compiled.push(s))
        };
        if transaction {
            plain(&mut self.compiler, "START TRANSACTION")?;
        }
        let mut own = Vec::new();
        for pieces in &statements {
            let way = if controls(pieces) { Way::Text } else { self.way };
            own.push(self.compiler.statement(pieces, way, place)?);
        }
        compiled.extend(own);
        if transaction {
            compiled.push(self.compiler.statement(&[Piece::Sql("COMMIT".to_owned())], Way::Text, place)?);
        }
        self.scripts.push(Script { statements: compiled.into() });
        Ok(Request { script: (self.scripts.len() - 1) as u32 })
    }
}

/// True for statements that begin or end a transaction, which MySQL does not prepare.
fn controls(pieces: &[Piece]) -> bool {
    let [Piece::Sql(sql)] = pieces else { return false };
    let word = sql.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    matches!(word.as_str(), "begin" | "start" | "commit" | "rollback" | "savepoint" | "release" | "use")
}

/// Everything a run will say in MySQL's protocol.
#[derive(Debug)]
pub struct MysqlDialogue {
    requests: Vec<Weighted<Request>>,
    origins: Vec<Origin>,
    before: Vec<Request>,
    after: Vec<Request>,
    plan: Arc<Plan>,
}

impl Dialogue for MysqlDialogue {
    type Request = Request;
    type Session = MysqlSession;

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
        let script = &self.plan.scripts[request.script as usize];
        let texts: Vec<&str> = script.statements.iter().map(|s| s.shown.as_str()).collect();
        texts.join("; ").into_bytes()
    }
    fn session(&self, origin: &Origin, _established: &Established) -> MysqlSession {
        MysqlSession::new(Arc::clone(&self.plan), origin.bound)
    }
    fn spoken(&self, _established: &Established) -> String {
        "MySQL".to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        errors::name(code)
    }
}
