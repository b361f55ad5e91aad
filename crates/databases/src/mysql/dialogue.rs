//! MySQL as a plug-in: its schemes, its options, and everything a run will say in it, compiled before it starts.

use std::sync::Arc;

use wire::{
    Asked, Belongs, Complaint, Dialogue, Established, Fill, Memory, OptionSpec, Origin, Prepared, Protocol, Session,
};

use super::dialect::statements;
use super::plan::{Plan, Script};
use super::session::MysqlSession;
use super::statement::{Compiler, Statement};
use super::{errors, options};
use crate::sql::{self, Door, Piece, Request, Way};
use values::kept::Budget;

/// MySQL and MariaDB over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mysql;

impl Protocol for Mysql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
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
        const DOOR: Door = Door { schemes: ["mysql", "mariadb"], port: 3306, password_ends: false };
        let (origins, logins) = DOOR.places(&asked.urls)?;
        let (mut compiler, mut scripts) = (Compiler::default(), Vec::new());
        compiler.slots.variables = Arc::clone(&asked.variables);
        let prepared = sql::prepared(asked, (&mut scripts, origins), |text, way, around, place, checks| {
            let statements = script(&mut compiler, text, way, around, place)?;
            Ok(Script { statements, checks: Arc::clone(checks) })
        })?;
        let prepared = Prepared { requests_at_most: compiler.slots.end, ..prepared };
        let plan = Plan {
            logins,
            ssl: asked.switch("ssl"),
            private: asked.unix_socket.is_some(),
            prepares: compiler.prepares,
            scripts,
            kept: Budget::default(),
        };
        Ok(Arc::new(MysqlDialogue { prepared, plan: Arc::new(plan) }))
    }
}

/// The statements of a text; with `around`, a transaction stands around them.
fn script(
    compiler: &mut Compiler,
    text: &str,
    way: Way,
    around: bool,
    place: &str,
) -> Result<Box<[Statement]>, Complaint> {
    let wrong = |trouble: &str| Complaint::new(place, format!("\"{text}\": {trouble}"));
    let mut statements = statements(text).map_err(|trouble| wrong(&trouble))?;
    if statements.is_empty() {
        return Err(wrong("has no statement; write one, for instance SELECT 1"));
    }
    if around {
        statements.insert(0, vec![Piece::Sql("START TRANSACTION".to_owned())]);
        statements.push(vec![Piece::Sql("COMMIT".to_owned())]);
    }
    let compiled = statements.iter().map(|pieces| {
        let way = if controls(pieces) { Way::Text } else { way };
        compiler.statement(pieces, way, place)
    });
    compiled.collect()
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
    prepared: Prepared,
    plan: Arc<Plan>,
}

impl Dialogue for MysqlDialogue {
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
        let script = &self.plan.scripts[request.script as usize];
        let texts: Vec<&str> = script.statements.iter().map(|s| s.shown.as_str()).collect();
        texts.join("; ").into_bytes()
    }
    fn session(&self, origin: &Origin, _established: &Established) -> Box<dyn Session> {
        Box::new(MysqlSession::new(Arc::clone(&self.plan), origin.bound))
    }
    fn spoken(&self, _established: &Established) -> String {
        "MySQL".to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        errors::name(code)
    }
}
