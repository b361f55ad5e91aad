//! `brunt capacity`: the machines that a load needs, from numbers or from the record of a run.

use std::path::{Path, PathBuf};

use brunt_arithmetic::capacity::{CapacityQuestion, CapacitySource, MachineCapacity};
use brunt_cause::complaint;
use brunt_config::{ArithmeticFormat, CapacitySettings};
use brunt_contract::UsageError;
use brunt_experiment::record::ExperimentOutcome;
use brunt_i18n::LocalizedSentence;
use brunt_record::{End, RecordFile, SeriesReader};
use brunt_report::text::{Text, text};
use brunt_report::{Exit, Finding, Grade, Lang, ObjectiveOutcome, Summary};

use crate::experiments;
use crate::replay::summarize;
use crate::run::CommandResult;
use crate::screen;

const UNTRUSTED: Text = text("its figures are not trusted ({why})", "其数据不可信（{why}）");
const TOO_SHORT: Text = text("it was too short to be judged ({why})", "时间太短，无法判断（{why}）");
const MISSED: Text = text("it missed {objective}", "未通过 {objective}");
const UNDECIDED: Text = text("it cannot decide {objective}", "无法判断 {objective}");
const NOT_FOUND: Text = text("the search did not come to its end", "搜索没有完成");
const CUT_OFF: Text = text("it was interrupted", "压测被中断");

/// Shows how many machines a load needs; returns 20 if the record of a run does not support the answer.
///
/// # Errors
/// Returns an error if the record cannot be read or nothing in it succeeded.
pub fn capacity(asked: CapacitySettings) -> CommandResult {
    let lang = asked.language.unwrap_or_else(Lang::from_env);
    let mut question = asked.question;
    if let Some(path) = asked.record {
        if SeriesReader::is_series(Path::new(&path)) {
            add_search(&mut question, path)?;
        } else {
            let summary = summarize(&RecordFile(PathBuf::from(&path)))?;
            add_record(&mut question, path, &summary, lang)?;
        }
    }
    let said = match asked.format {
        ArithmeticFormat::Text => question.text(lang),
        ArithmeticFormat::Json => document(&question.document(lang)),
    };
    let exit = if question.doubted_record().is_some() { Exit::NotTrusted } else { Exit::Ok };
    Ok(screen::print(&said, exit.code(), lang))
}

/// Formats a document as JSON.
pub fn document(document: &impl serde::Serialize) -> String {
    format!("{}\n", serde_json::to_string_pretty(document).expect("a document is JSON"))
}

/// Takes the capacity of a machine from a run, with every reason not to.
fn add_record(question: &mut CapacityQuestion, path: String, summary: &Summary, lang: Lang) -> Result<(), UsageError> {
    let per_s = summary.throughput_per_s();
    if per_s <= 0.0 {
        return Err(UsageError::new(
            "--per-machine",
            complaint!(
                "no request succeeded in {path}; name the record of a run that did",
                "{path} 中没有成功的请求；请给出有成功请求的压测记录"
            ),
        ));
    }
    let mean = summary.headline().mean().exact().map(|mean| mean.as_secs_f64());
    question.latency_s = question.latency_s.or(mean);
    let objectives = summary.objectives.iter().map(|judged| judged.objective.clone()).collect();
    let source = CapacitySource::Record { path, objectives, doubts: doubts(summary, lang) };
    question.per_machine = Some(MachineCapacity { per_s, source });
    Ok(())
}

/// Takes the capacity of a machine from a search: the highest rate that was held.
fn add_search(question: &mut CapacityQuestion, path: String) -> Result<(), UsageError> {
    let ExperimentOutcome::Find(found) = experiments::read(Path::new(&path))? else {
        return Err(UsageError::new(
            "--per-machine",
            complaint!(
                "{path} is the record of an experiment, but of no search (find); name one, or the record of a run",
                "{path} 是实验记录，但不是搜索（find）的记录；请给出搜索的记录，或一次压测的记录"
            ),
        ));
    };
    let Some(per_s) = found.result.bounds.lower.filter(|_| found.is_rate) else {
        return Err(UsageError::new(
            "--per-machine",
            complaint!(
                "no rate was shown to be held in {path}; name a search of a rate that found one",
                "{path} 中没有被证实能满足的速率；请给出找到速率的搜索记录"
            ),
        ));
    };
    let doubts = if found.exit() == Exit::Ok { Vec::new() } else { vec![NOT_FOUND.into()] };
    let source = CapacitySource::Record { path, objectives: found.objectives.clone(), doubts };
    question.per_machine = Some(MachineCapacity { per_s, source });
    Ok(())
}

/// Returns the reasons why the throughput of a run is no capacity.
fn doubts(summary: &Summary, lang: Lang) -> Vec<LocalizedSentence> {
    // Objectives that are met are met whatever delays may be brunt's own.
    let is_decided = |finding: &Finding| finding.is_of_band() && !summary.objectives.is_empty();
    let worst = |grade: Grade| summary.trust.findings.iter().find(|found| found.grade == grade && !is_decided(found));
    let mut doubts = Vec::new();
    let by_grade = [(Grade::Fail, UNTRUSTED), (Grade::TooShort, TOO_SHORT)];
    if let Some((finding, text)) = by_grade.into_iter().find_map(|(grade, text)| Some((worst(grade)?, text))) {
        doubts.push(LocalizedSentence::new(text, [("why", finding.sentence(lang))]));
    }
    for judged in &summary.objectives {
        let text = match judged.outcome {
            ObjectiveOutcome::Met => continue,
            ObjectiveOutcome::Undecided => UNDECIDED,
            ObjectiveOutcome::Missed => MISSED,
        };
        doubts.push(LocalizedSentence::new(text, [("objective", judged.objective.clone())]));
    }
    if summary.end != End::Completed && !summary.was_stopped() {
        doubts.push(CUT_OFF.into());
    }
    doubts
}
