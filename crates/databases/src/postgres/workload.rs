//! The PostgreSQL plug-in: URL schemes, options, and the workload of a run compiled before it starts.

use std::sync::Arc;

use brunt_contract::{
    ConnectionOwner, EstablishedConnection, HelpText, OptionSpec, Origin, PreparedWorkload, Protocol, ProtocolConfig,
    ProtocolDescription, Session, SlotContext, UsageError, UserState, Workload,
};

use super::errors;
use super::scram::ScramKeys;
use super::session::PostgresSession;
use super::statement::{PostgresCompiler, PostgresScript};
use crate::sql::{self, DatabaseAccount, DatabaseUrls, SqlRequest};
use brunt_values::budget::MemoryBudget;

/// PostgreSQL over TCP, Unix sockets and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct PostgresProtocol;

/// Options in the order of the help.
const OPTIONS: &[OptionSpec] = &sql::options(
    HelpText {
        en: "Put BEGIN and COMMIT around each --sql; a failure rolls back and counts once",
        zh: "为每个 --sql 加上 BEGIN 和 COMMIT；失败时回滚，只计一次失败",
    },
    HelpText { en: "Use TLS (negotiated with SSLRequest)", zh: "使用 TLS（由 SSLRequest 协商）" },
);

impl Protocol for PostgresProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: &["expect-rows"],
            heartbeats: true,
            ..ProtocolDescription::new("postgres", &["postgres", "postgresql"], OPTIONS, sql::OF_ONE_URL)
        }
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        const DOOR: DatabaseUrls =
            DatabaseUrls { schemes: ["postgres", "postgresql"], port: 5432, password_nul_terminated: true };
        let (origins, accounts) = DOOR.parse_all(&config.urls)?;
        let (mut compiler, mut scripts) = (PostgresCompiler::default(), Vec::new());
        compiler.slots.variables = Arc::clone(&config.variables);
        let prepared = sql::prepare_workload(config, (&mut scripts, origins), |text, way, around, place, checks| {
            let mut script = compiler.script(text, way, around, place)?;
            script.checks = Arc::clone(checks);
            Ok(script)
        })?;
        let prepared = PreparedWorkload { max_requests: compiler.slots.end, ..prepared };
        let (ssl, kept, keys) = (config.switch("ssl"), MemoryBudget::default(), ScramKeys::default());
        let plan = PostgresPlan { accounts, ssl, parses: compiler.parses, scripts, row_budget: kept, keys };
        Ok(Arc::new(PostgresWorkload { prepared, plan: Arc::new(plan) }))
    }
}

/// The part of a run that all its sessions share.
#[derive(Debug, Default)]
pub struct PostgresPlan {
    /// Accounts to log in to, by [`Origin::bound`].
    pub accounts: Vec<DatabaseAccount>,
    /// Set if connections begin with a request for TLS.
    pub ssl: bool,
    /// Parse messages of the statements that connections prepare.
    pub parses: Vec<Box<[u8]>>,
    /// Exchanges of the run.
    pub scripts: Vec<PostgresScript>,
    /// Memory budget for rows that values are captured from.
    pub row_budget: MemoryBudget,
    /// Keys derived from passwords.
    pub keys: ScramKeys,
}

/// The workload of a run over PostgreSQL's protocol.
#[derive(Debug)]
pub struct PostgresWorkload {
    prepared: PreparedWorkload,
    plan: Arc<PostgresPlan>,
}

impl Workload for PostgresWorkload {
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
        self.plan.scripts[request.script as usize].shown.clone().into_bytes()
    }
    fn session(&self, origin: &Origin, established: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(PostgresSession::new(Arc::clone(&self.plan), origin.bound, established.seed))
    }
    fn protocol_version(&self, _established: &EstablishedConnection) -> String {
        "PostgreSQL".to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        errors::name(code)
    }
}
