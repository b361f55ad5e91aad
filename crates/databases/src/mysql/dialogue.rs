//! The MySQL plug-in: URL schemes, options, and the workload of a run compiled before it starts.

use std::sync::Arc;

use wire::{
    About, Asked, Belongs, Complaint, Dialogue, Established, Fill, Memory, OptionSpec, Origin, Prepared, Protocol,
    Session, Text,
};

use super::dialect::statements;
use super::errors;
use super::session::MysqlSession;
use super::statement::{Compiler, Statement};
use crate::sql::{self, Account, Checks, Door, Piece, Request, Way};
use values::kept::Budget;

/// MySQL and MariaDB over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mysql;

/// Options in the order of the help.
const OPTIONS: &[OptionSpec] = &sql::options(
    Text {
        en: "Put START TRANSACTION and COMMIT around each --sql; a failure rolls back and counts once",
        zh: "为每个 --sql 加上 START TRANSACTION 和 COMMIT；失败时回滚，只计一次失败",
    },
    Text { en: "Use TLS, which MySQL starts after its greeting", zh: "使用 TLS（MySQL 在问候之后开始）" },
);

impl Protocol for Mysql {
    fn about(&self) -> About<'_> {
        About {
            checks: &["expect-rows"],
            heartbeats: true,
            ..About::new("mysql", &["mysql", "mariadb"], OPTIONS, sql::OF_ONE_URL)
        }
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

/// Compiles the statements of a text; with `around`, enclosed in a transaction.
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

/// Returns `true` for statements that begin or end a transaction, which MySQL does not prepare.
fn controls(pieces: &[Piece]) -> bool {
    let [Piece::Sql(sql)] = pieces else { return false };
    let word = sql.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    matches!(word.as_str(), "begin" | "start" | "commit" | "rollback" | "savepoint" | "release" | "use")
}

/// One exchange of a user: one statement or several.
#[derive(Debug)]
pub struct Script {
    /// Statements, each sent when the answer to the previous one has arrived.
    pub statements: Box<[Statement]>,
    /// Checks of the answer.
    pub checks: Arc<Checks>,
}

/// The part of a run that all its sessions share.
#[derive(Debug, Default)]
pub struct Plan {
    /// Accounts to log in to; at least one.
    pub logins: Vec<Account>,
    /// Set if TLS begins before the password is proved.
    pub ssl: bool,
    /// Set if the connection cannot be eavesdropped on: a Unix socket.
    pub private: bool,
    /// `COM_STMT_PREPARE` packets of the statements that connections prepare.
    pub prepares: Vec<Box<[u8]>>,
    /// Exchanges of the run.
    pub scripts: Vec<Script>,
    /// Memory budget for rows that values are captured from.
    pub kept: Budget,
}

/// The workload of a run over MySQL's protocol.
#[derive(Debug)]
pub struct MysqlDialogue {
    prepared: Prepared,
    plan: Arc<Plan>,
}

impl Dialogue for MysqlDialogue {
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
