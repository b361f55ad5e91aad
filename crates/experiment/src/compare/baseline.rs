//! Baselines: figures of earlier runs in a small file, to be kept in a repository and compared with in CI.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_plan::Trial;
use brunt_report::contrast::ComparedFigures;
use serde::{Deserialize, Serialize};

use super::{CompareOutcome, ComparedRunRow};
use crate::runs::RunSide;

/// Version of the format; a reader refuses others.
const SCHEMA: &str = "brunt-baseline/1";

/// A baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    schema: String,
    /// Version of brunt.
    pub brunt: String,
    /// Wall clock at its beginning, milliseconds since 1970.
    pub unix_ms: u64,
    /// What was loaded, as written, secrets masked.
    pub target: String,
    /// A run of it, without its seed.
    pub trial: Trial,
    /// Runs.
    pub runs: Vec<BaselineRun>,
}

/// A run of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineRun {
    /// Figures of the whole run.
    pub figures: ComparedFigures,
    /// Figures by name, if the run has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<(String, ComparedFigures)>,
}

impl Baseline {
    /// Creates the baseline of a test that has none yet.
    pub fn none(target: String, trial: Trial) -> Baseline {
        Baseline { schema: SCHEMA.into(), brunt: String::new(), unix_ms: 0, target, trial, runs: Vec::new() }
    }

    /// Creates a baseline from the second side of a comparison; `None` unless all its runs were made and none is in doubt.
    pub fn of(found: &CompareOutcome, (brunt, unix_ms): (&str, u64)) -> Option<Baseline> {
        let rows: Vec<&ComparedRunRow> = found.rows.iter().filter(|row| row.side == RunSide::After).collect();
        let is_whole = found.is_complete() && rows.iter().all(|row| row.doubt.is_none());
        let run = |row: &&ComparedRunRow| BaselineRun { figures: row.figures, named: row.named.clone() };
        is_whole.then(|| Baseline {
            brunt: brunt.into(),
            unix_ms,
            runs: rows.iter().map(run).collect(),
            ..Baseline::none(found.plan.names[1].clone(), found.plan.trials[1].clone())
        })
    }

    /// Reads a baseline, for runs like `trial`.
    ///
    /// # Errors
    /// Returns an error if the text is none, or one of another load.
    pub fn parse(text: &str, trial: &Trial) -> Result<Baseline, UsageError> {
        let wrong = |why| UsageError::new("--baseline", why);
        let baseline: Baseline = serde_json::from_str(text).map_err(|error| {
            wrong(complaint!(
                "the file cannot be read ({error}); write it anew with --update",
                "无法读取该文件（{error}）；请用 --update 重新写入"
            ))
        })?;
        if baseline.schema != SCHEMA {
            return Err(wrong(complaint!(
                "the file has the format {}, and this brunt reads {SCHEMA}; write it anew with --update",
                "该文件的格式为 {}，而本版 brunt 读取 {SCHEMA}；请用 --update 重新写入",
                baseline.schema
            )));
        }
        if baseline.trial != *trial {
            return Err(wrong(complaint!(
                "the file is of runs with another load or duration; repeat those of `{}`, or write it anew with --update",
                "该文件来自负载或时长不同的运行；请使用与 `{}` 相同的设置，或用 --update 重新写入",
                baseline.target
            )));
        }
        Ok(baseline)
    }

    /// Returns the file.
    pub fn to_json(&self) -> String {
        format!("{}\n", serde_json::to_string_pretty(self).expect("figures are JSON"))
    }
}
