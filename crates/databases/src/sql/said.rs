//! The workload of a run on a database: scripts by index, with their weights and URLs.

use std::sync::Arc;

use wire::{Asked, Complaint, Names, Origin, Prepared, Weighted};

use super::checks::{Checks, OF_ONE_URL};
use super::options::Way;
use values::{before_after, url_overrides, weight};

/// The default statement.
const USUAL: &str = "SELECT 1";

/// One exchange: a reference to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index into the scripts of the run.
    pub(crate) script: u32,
}

/// Prepares the workload for these origins. `compile` makes a script of each text, given the SQL, how it is sent,
/// whether it is enclosed in a transaction, the option it comes from, and the checks of its answer. Requests refer to
/// scripts by index, in the order of compilation.
///
/// # Errors
/// The first mistake.
pub fn prepared<S>(
    asked: &Asked,
    (scripts, origins): (&mut Vec<S>, Vec<Origin>),
    mut compile: impl FnMut(&str, Way, bool, &str, &Arc<Checks>) -> Result<S, Complaint>,
) -> Result<Prepared, Complaint> {
    let mut script = |text: &str, way: Way, around: bool, place: &str, checks: &Arc<Checks>| {
        scripts.push(compile(text, way, around, place, checks)?);
        Ok::<_, Complaint>(Request { script: (scripts.len() - 1) as u32 })
    };
    let of_run = Arc::new(Checks::read(asked)?);
    let common = weighted(asked, &of_run, &mut script)?;
    // Statements executed once are not worth preparing, and may create objects that others need.
    let once = |text: &str, place: &str| script(text, Way::Text, false, place, &of_run).map(wire::Request::shared);
    let (before, after) = before_after::compiled(asked, once)?;
    let (mut requests, mut names) = (Vec::new(), Names::default());
    for (index, url) in asked.urls.iter().enumerate() {
        let own = url_overrides::wished(asked, index, OF_ONE_URL, |alone| {
            weighted(alone, &Arc::new(Checks::read(alone)?), &mut script)
        })?;
        // Steps with the same URL share a connection.
        let first = asked.urls.iter().position(|other| asked.steps && other.url == url.url);
        let origin = first.unwrap_or(index);
        for (weight, request, text) in own.as_ref().unwrap_or(&common) {
            requests.push(Weighted::new(*request, origin, weight * url.weight));
            names.add(asked.name(index).unwrap_or(text));
        }
    }
    Ok(Prepared { before, after, has_slots: true, ..Prepared::new(requests, origins, names) })
}

/// Compiles the statements of a run with their weights and original texts.
fn weighted(
    asked: &Asked,
    checks: &Arc<Checks>,
    script: &mut impl FnMut(&str, Way, bool, &str, &Arc<Checks>) -> Result<Request, Complaint>,
) -> Result<Vec<(f64, Request, String)>, Complaint> {
    let (usual, given, way) = ([USUAL.to_owned()], asked.values("sql"), checks.way(asked)?);
    let of_text = |text: &String| {
        let (weight, text) = weight::split(text, "--sql")?;
        Ok((weight, script(text, way, asked.switch("transaction"), "--sql", checks)?, text.to_owned()))
    };
    (if given.is_empty() { &usual[..] } else { given }).iter().map(of_text).collect()
}
