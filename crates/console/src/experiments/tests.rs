//! Tests with a script that stands in for brunt.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brunt_record::SERIES_ENDING;
use serde_json::json;

use super::*;
use crate::library::{RunSource, RunState};
use crate::plans::{CheckedExperiment, PlanExecutor, PlanService};
use crate::program::BruntProgram;

/// A reader of the records that the stand-in writes: one that was resumed is complete.
struct StandInPlans;

impl PlanService for StandInPlans {
    fn check(&self, _plan: &Path, _agents: Option<&str>, _lang: &str) -> serde_json::Value {
        serde_json::Value::Null
    }
    fn plan_of_curl(&self, _commands: &Path, _as_flow: bool, _lang: &str) -> Result<String, String> {
        Err("no".into())
    }
    fn schema(&self) -> String {
        "{}".into()
    }
    fn check_experiment(&self, _command: &str, _lang: &str) -> Result<CheckedExperiment, String> {
        Err("no".into())
    }
    fn experiment_page(&self, record: &Path, is_live: bool) -> Result<String, String> {
        let text = std::fs::read_to_string(record).map_err(|error| error.to_string())?;
        if text.starts_with("damaged") {
            return Err("line 1: damaged".into());
        }
        let exit = if text.contains("--resume") { 0 } else { 21 };
        let of = |sentence: &str| {
            json!({ "title": "t", "blocks": [{ "block": "sentences", "sentences": [] },
                { "block": "answer", "tone": "good", "sentence": sentence }] })
        };
        let page = json!({ "experiment": { "kind": "find", "command": ["brunt", "find", "****"], "exit_code": exit, "unix_ms": 7,
            "live": is_live, "text": { "en": of("Yes."), "zh": of("是。") } } });
        Ok(page.to_string())
    }
    fn experiment_document(&self, _record: &Path, _format: &str, _lang: &str) -> Result<Vec<u8>, String> {
        Err("no".into())
    }
}

/// Opens the experiments in this directory; the command line keeps its own in `kept` beneath.
fn opened(directory: &Path) -> Arc<ActiveExperiments> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/experiments/stand-in.sh");
    let shelf = ExperimentShelf::open(directory, Some(directory.join("kept"))).unwrap();
    let plans = PlanExecutor::new(Arc::new(StandInPlans));
    Arc::new(ActiveExperiments::new(BruntProgram(program), plans, shelf, crate::testing::no_fleet()))
}

fn asked(words: &[&str]) -> ExperimentRequest {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    ExperimentRequest { words, name: "n".into(), yes: true, lang: "en" }
}

/// Waits until an experiment is in this state.
fn once(all: &ActiveExperiments, id: &str, is: impl Fn(&ShelvedExperiment) -> bool) -> ShelvedExperiment {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let found = all.find(id).unwrap();
        if is(&found) {
            return found;
        }
        assert!(Instant::now() < until, "{found:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn one_is_started_stopped_and_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let all = opened(directory.path());
    let id = all.start(&asked(&["find", "p99<50ms", "x"])).unwrap();
    let going = once(&all, &id, |found| found.bytes > 0);
    assert_eq!((going.state, &*going.kind, &*going.name, can_go_on(&going)), (RunState::Running, "find", "n", false));
    let record = std::fs::read_to_string(all.shelf.record(&id)).unwrap();
    let path = all.shelf.record(&id).display().to_string();
    assert_eq!(record.trim(), format!("find --record {path} --quiet --lang en --yes p99<50ms x"));
    let live = all.page(&going).unwrap();
    assert!(live.contains("\"live\":true"));
    assert!(Arc::ptr_eq(&live, &all.page(&going).unwrap()), "nothing was added, so it is not made again");
    assert!(all.start(&asked(&["find", "y"])).unwrap_err().sentence().contains("disturb"));
    assert!(all.go_on(&id, "en").unwrap_err().sentence().contains("still going"));

    // Asking twice must not end it at once.
    all.stop(&id).unwrap();
    let _ = all.stop(&id);
    let over = once(&all, &id, |found| found.state == RunState::Over && !all.is_active(&id));
    assert_eq!((over.exit, over.fault.clone(), over.process), (Some(21), None, None));
    let answer = over.answer.clone().unwrap();
    assert_eq!((&*answer.tone, &*answer.en, &*answer.zh), ("good", "Yes.", "是。"));
    assert_eq!(over.command, ["brunt", "find", "****"]);
    assert!(all.page(&over).unwrap().contains("\"live\":false"));
    assert!(can_go_on(&over));
    assert!(all.stop(&id).is_err());

    all.go_on(&id, "zh").unwrap();
    let whole = once(&all, &id, |found| found.exit == Some(0) && !all.is_active(&id));
    assert!(whole.state == RunState::Over && !can_go_on(&whole), "{whole:?}");
    let record = std::fs::read_to_string(all.shelf.record(&id)).unwrap();
    assert!(record.ends_with(&format!("find --resume {path} --quiet --lang zh --yes p99<50ms x\n")), "{record}");
    assert!(all.go_on(&id, "en").unwrap_err().sentence().contains("complete"));
}

#[test]
fn one_that_is_refused_leaves_nothing_and_one_that_cannot_begin_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let all = opened(directory.path());
    let refused = all.start(&asked(&["find", "-r", "wrong"])).unwrap_err();
    assert_eq!(refused.sentence(), "--rate: `wrong` is not a rate; use 100/s");
    assert!(all.all().unwrap().is_empty());
    let id = all.start(&asked(&["find", "unreachable"])).unwrap();
    let failed = once(&all, &id, |found| found.state == RunState::Failed && !all.is_active(&id));
    assert_eq!((failed.exit, failed.fault.as_deref()), (Some(20), Some("nobody answers")));
    assert!(all.page(&failed).is_err());
    assert!(all.start(&asked(&[])).is_err());
    assert!(!all.is_active(&id));
}

#[test]
fn the_next_console_finds_those_of_an_earlier_one_and_of_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    let of_line = kept.join(format!("00000000000007-99{SERIES_ENDING}"));
    std::fs::write(&of_line, "find").unwrap();
    let first = opened(directory.path());
    let id = first.start(&asked(&["find", "x"])).unwrap();
    once(&first, &id, |found| found.bytes > 0);
    // As one that is killed: its process goes on, and nobody waits for it.
    let next = opened(directory.path());
    let listed = next.all().unwrap();
    assert_eq!(listed.iter().map(|one| &*one.id).collect::<Vec<_>>(), [&*id, "00000000000007-99"]);
    let adopted = &listed[1];
    assert_eq!((adopted.origin, adopted.state, adopted.started_ms), (RunSource::CommandLine, RunState::Over, 7));
    assert!(adopted.answer.is_some() && !can_go_on(adopted));
    assert!(next.stop(&adopted.id).is_err());

    next.shelf.delete(&adopted.id);
    assert!(!of_line.exists(), "it would be added again");
    assert_eq!(next.all().unwrap().len(), 1);
    first.stop_all();
    assert!(!first.is_active(&id));
}

#[test]
fn one_made_elsewhere_is_taken_in_with_its_own_start_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let all = opened(directory.path());
    let incoming = directory.path().join("incoming");
    std::fs::write(&incoming, "find").unwrap();
    all.take_in(&incoming, "00000000000009-a", "from ci".into()).unwrap();
    let found = all.find("00000000000009-a").unwrap();
    assert_eq!((found.origin, found.started_ms, &*found.name), (RunSource::Dropped, 7, "from ci"));
    assert!(!incoming.exists() && found.answer.is_some());
    std::fs::write(&incoming, "damaged").unwrap();
    assert_eq!(all.take_in(&incoming, "9-b", String::new()).unwrap_err().sentence(), "line 1: damaged");
    assert_eq!(all.all().unwrap().len(), 1);
}

#[test]
fn a_damaged_record_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let all = opened(directory.path());
    std::fs::write(all.shelf.record("1-a"), "damaged").unwrap();
    let [found] = &all.all().unwrap()[..] else { panic!("one") };
    assert_eq!((found.state, found.fault.as_deref()), (RunState::Failed, Some("line 1: damaged")));
    assert!(all.find("../1-a").is_err() && all.find("2-b").is_err());
}
