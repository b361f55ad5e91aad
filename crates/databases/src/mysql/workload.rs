//! The MySQL plug-in: URL schemes, options, and the workload of a run compiled before it starts.

use brunt_cause::{Complaint, complaint};
use std::sync::Arc;

use brunt_contract::{
    ConnectionOwner, EstablishedConnection, HelpText, OptionSpec, Origin, PreparedWorkload, Protocol, ProtocolConfig,
    ProtocolDescription, Session, SlotContext, UsageError, UserState, Workload,
};

use super::dialect::statements;
use super::errors;
use super::session::MysqlSession;
use super::statement::{MysqlCompiler, MysqlStatement};
use crate::sql::{self, DatabaseAccount, DatabaseUrls, SqlChecks, SqlPiece, SqlRequest, StatementMode};
use brunt_values::budget::MemoryBudget;

/// MySQL and MariaDB over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct MysqlProtocol;

/// Options in the order of the help.
const OPTIONS: &[OptionSpec] = &sql::options(
    HelpText {
        en: "Put START TRANSACTION and COMMIT around each --sql; a failure rolls back and counts once",
        zh: "为每个 --sql 加上 START TRANSACTION 和 COMMIT；失败时回滚，只计一次失败",
    },
    HelpText {
        en: "Use TLS, which MySQL starts after its greeting",
        zh: "使用 TLS（MySQL 在服务器发出握手包之后启用）",
    },
);

impl Protocol for MysqlProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: &["expect-rows"],
            heartbeats: true,
            ..ProtocolDescription::new("mysql", &["mysql", "mariadb"], OPTIONS, sql::OF_ONE_URL)
        }
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        const DOOR: DatabaseUrls =
            DatabaseUrls { schemes: ["mysql", "mariadb"], port: 3306, password_nul_terminated: false };
        let (origins, logins) = DOOR.parse_all(&config.urls)?;
        let (mut compiler, mut scripts) = (MysqlCompiler::default(), Vec::new());
        compiler.slots.variables = Arc::clone(&config.variables);
        let prepared = sql::prepare_workload(config, (&mut scripts, origins), |text, way, around, place, checks| {
            let statements = script(&mut compiler, text, way, around, place)?;
            Ok(MysqlScript { statements, checks: Arc::clone(checks) })
        })?;
        let prepared = PreparedWorkload { max_requests: compiler.slots.end, ..prepared };
        let plan = MysqlPlan {
            logins,
            ssl: config.switch("ssl"),
            unix_socket: config.unix_socket.is_some(),
            prepares: compiler.prepares,
            scripts,
            row_budget: MemoryBudget::default(),
        };
        Ok(Arc::new(MysqlWorkload { prepared, plan: Arc::new(plan) }))
    }
}

/// Compiles the statements of a text; with `around`, enclosed in a transaction.
fn script(
    compiler: &mut MysqlCompiler,
    text: &str,
    way: StatementMode,
    around: bool,
    place: &str,
) -> Result<Box<[MysqlStatement]>, UsageError> {
    let wrong = |trouble: &Complaint| {
        let zh = trouble.zh();
        UsageError::new(place, complaint!("\"{text}\": {trouble}", "“{text}”：{zh}"))
    };
    let mut statements = statements(text).map_err(|trouble| wrong(&trouble))?;
    if statements.is_empty() {
        return Err(wrong(&complaint!(
            "has no statement; add one, such as SELECT 1",
            "没有语句；请加上，例如 SELECT 1"
        )));
    }
    if around {
        statements.insert(0, vec![SqlPiece::Sql("START TRANSACTION".to_owned())]);
        statements.push(vec![SqlPiece::Sql("COMMIT".to_owned())]);
    }
    let compiled = statements.iter().map(|pieces| {
        let way = if is_transaction_control(pieces) { StatementMode::Text } else { way };
        compiler.statement(pieces, way, place)
    });
    compiled.collect()
}

/// Returns `true` for statements that begin or end a transaction, which MySQL does not prepare.
fn is_transaction_control(pieces: &[SqlPiece]) -> bool {
    let [SqlPiece::Sql(sql)] = pieces else { return false };
    let word = sql.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    matches!(word.as_str(), "begin" | "start" | "commit" | "rollback" | "savepoint" | "release" | "use")
}

/// One exchange of a user: one statement or several.
#[derive(Debug)]
pub struct MysqlScript {
    /// Statements, each sent when the answer to the previous one has arrived.
    pub statements: Box<[MysqlStatement]>,
    /// Checks of the answer.
    pub checks: Arc<SqlChecks>,
}

/// The part of a run that all its sessions share.
#[derive(Debug, Default)]
pub struct MysqlPlan {
    /// Accounts to log in to; at least one.
    pub logins: Vec<DatabaseAccount>,
    /// Set if TLS begins before the password is proved.
    pub ssl: bool,
    /// Set if the connection cannot be eavesdropped on: a Unix socket.
    pub unix_socket: bool,
    /// `COM_STMT_PREPARE` packets of the statements that connections prepare.
    pub prepares: Vec<Box<[u8]>>,
    /// Exchanges of the run.
    pub scripts: Vec<MysqlScript>,
    /// Memory budget for rows that values are captured from.
    pub row_budget: MemoryBudget,
}

/// The workload of a run over MySQL's protocol.
#[derive(Debug)]
pub struct MysqlWorkload {
    prepared: PreparedWorkload,
    plan: Arc<MysqlPlan>,
}

impl Workload for MysqlWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }
    /// Returns the iteration as the owner, because a transaction belongs to one connection.
    fn connection_owner(&self, _origin: &Origin) -> ConnectionOwner {
        ConnectionOwner::Iteration
    }
    fn may_precede_run(&self, request: &brunt_contract::Request) -> bool {
        let statements = self.encoded_with(request, &SlotContext::default(), None);
        self.prepared.max_requests.is_none() && sql::only_reads(&statements)
    }
    fn carries_no_trace(&self, _request: &brunt_contract::Request) -> bool {
        true
    }
    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        _fill: &SlotContext,
        _memory: Option<&UserState>,
    ) -> Vec<u8> {
        let request = request.downcast::<SqlRequest>();
        let script = &self.plan.scripts[request.script as usize];
        let texts: Vec<&str> = script.statements.iter().map(|s| s.shown.as_str()).collect();
        texts.join("; ").into_bytes()
    }
    fn session(&self, origin: &Origin, _established: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(MysqlSession::new(Arc::clone(&self.plan), origin.bound))
    }
    fn protocol_version(&self, _established: &EstablishedConnection) -> String {
        "MySQL".to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        errors::name(code)
    }
}
