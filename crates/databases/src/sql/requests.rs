//! The workload of a run on a database: scripts by index, with their weights and URLs.

use std::sync::Arc;

use brunt_contract::{Origin, PreparedWorkload, ProtocolConfig, RequestNames, UsageError, WeightedRequest};

use super::checks::{OF_ONE_URL, SqlChecks};
use super::options::StatementMode;
use brunt_values::{before_after, url_overrides, weight};

/// The default statement.
const USUAL: &str = "SELECT 1";

/// One exchange: a reference to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlRequest {
    /// Index into the scripts of the run.
    pub(crate) script: u32,
}

/// Prepares the workload for these origins. `compile` turns each text into a script, given the SQL, how it is sent,
/// whether it is enclosed in a transaction, the option it comes from, and the checks of its answer. Requests refer to
/// scripts by index, in the order of compilation.
///
/// # Errors
/// Returns a usage error for the first mistake.
pub fn prepare_workload<S>(
    config: &ProtocolConfig,
    (scripts, origins): (&mut Vec<S>, Vec<Origin>),
    mut compile: impl FnMut(&str, StatementMode, bool, &str, &Arc<SqlChecks>) -> Result<S, UsageError>,
) -> Result<PreparedWorkload, UsageError> {
    let mut script = |text: &str, way: StatementMode, around: bool, place: &str, checks: &Arc<SqlChecks>| {
        scripts.push(compile(text, way, around, place, checks)?);
        Ok::<_, UsageError>(SqlRequest { script: (scripts.len() - 1) as u32 })
    };
    let of_run = Arc::new(SqlChecks::read(config)?);
    let common = weighted_requests(config, &of_run, &mut script)?;
    // Statements executed once are not worth preparing, and may create objects that others need.
    let once = |text: &str, place: &str| {
        script(text, StatementMode::Text, false, place, &of_run).map(brunt_contract::Request::shared)
    };
    let (before, after) = before_after::compile_lists(config, once)?;
    let (mut requests, mut names) = (Vec::new(), RequestNames::default());
    for (index, url) in config.urls.iter().enumerate() {
        let own = url_overrides::read_overrides(config, index, OF_ONE_URL, |alone| {
            weighted_requests(alone, &Arc::new(SqlChecks::read(alone)?), &mut script)
        })?;
        // Steps with the same URL share a connection.
        let first = config.urls.iter().position(|other| config.is_composite_flow && other.url == url.url);
        let origin = first.unwrap_or(index);
        for (weight, request, text) in own.as_ref().unwrap_or(&common) {
            requests.push(WeightedRequest::new(*request, origin, weight * url.weight));
            names.add(config.name(index).unwrap_or(text));
        }
    }
    Ok(PreparedWorkload { before, after, has_slots: true, ..PreparedWorkload::new(requests, origins, names) })
}

/// Compiles the statements of a run with their weights and original texts.
fn weighted_requests(
    config: &ProtocolConfig,
    checks: &Arc<SqlChecks>,
    script: &mut impl FnMut(&str, StatementMode, bool, &str, &Arc<SqlChecks>) -> Result<SqlRequest, UsageError>,
) -> Result<Vec<(f64, SqlRequest, String)>, UsageError> {
    let (usual, given, way) = ([USUAL.to_owned()], config.values("sql"), checks.statement_mode(config)?);
    let of_text = |text: &String| {
        let (weight, text) = weight::split_weight(text, "--sql")?;
        Ok((weight, script(text, way, config.switch("transaction"), "--sql", checks)?, text.to_owned()))
    };
    (if given.is_empty() { &usual[..] } else { given }).iter().map(of_text).collect()
}
