//! `cargo xtask lab`: real bottlenecks, each with a similar or healthy counterpart, and brunt's
//! diagnosis of them.
//!
//! Prints a table of case, expected finding and actual finding. If the machine disturbed the
//! generator, the case does not fail: it is run again, and reported as open if it is disturbed each
//! time.

mod cases;
mod program;
mod server;

use serde_json::Value;

use self::cases::{ALL, ExpectedFinding, LabCase};
use self::server::LabServer;
use crate::arguments::Arguments;
use crate::{install, pair};

/// Maximum number of runs of a disturbed case.
const TRIES: u32 = 3;

/// The outcome of a case.
enum LabVerdict {
    Right,
    Wrong,
    /// The machine disturbed the generator in every run.
    Open,
}

/// `lab [--brunt PATH] [--only WORD] [--healthy N]`.
pub fn run(mut arguments: Arguments) -> Result<(), String> {
    let given = arguments.values("--brunt")?.pop().map(std::path::PathBuf::from);
    let only = arguments.values("--only")?.pop().unwrap_or_default();
    let healthy = arguments.number("--healthy", 3)?;
    arguments.words()?;
    let missing = install::from_debian(install::FOR_LAB);
    if missing.contains(&"python3") {
        return Err("python3 is needed: apt-get install python3".into());
    }
    let brunt = pair::program(given)?.ok_or("brunt does not build")?;
    let (mut wrong, mut open, mut ran, mut skipped) = (0, 0, 0, 0);
    println!("{:<34} {:<22} {:<30} verdict", "case", "expected", "found");
    for case in ALL.iter().filter(|case| case.name.contains(&only)) {
        let times = if case.expected == ExpectedFinding::Healthy { healthy } else { 1 };
        for _ in 0..times {
            let (verdict, said, why) = match run_case(case, &brunt) {
                Ok(tried) => tried,
                Err(why) => {
                    println!("{:<34} SKIPPED: {why}", case.name);
                    skipped += 1;
                    break;
                }
            };
            let word = match verdict {
                LabVerdict::Right => "right",
                LabVerdict::Wrong => "WRONG",
                LabVerdict::Open => "open: the generator was disturbed",
            };
            println!("{:<34} {:<22} {:<30} {word}", case.name, case.expected.shown(), said);
            let wrong_now = matches!(verdict, LabVerdict::Wrong);
            why.iter().filter(|_| wrong_now).for_each(|sentence| println!("    {sentence}"));
            ran += 1;
            wrong += u32::from(matches!(verdict, LabVerdict::Wrong));
            open += u32::from(matches!(verdict, LabVerdict::Open));
        }
    }
    println!("{ran} runs, {wrong} wrong, {open} open, {skipped} cases skipped");
    if wrong == 0 { Ok(()) } else { Err(String::new()) }
}

/// Runs a case; returns the outcome, the findings in one line, and the details.
fn run_case(case: &LabCase, brunt: &std::path::Path) -> Result<(LabVerdict, String, Vec<String>), String> {
    let mut last = (LabVerdict::Open, String::new(), Vec::new());
    for _ in 0..TRIES {
        let server = LabServer::start(case, brunt)?;
        let report = server.load(case, brunt)?;
        let found = findings(&report);
        let disturbed = !case.expected.is_of_the_generator() && found.starts_with("C1");
        let verdict = match case.expected.holds(&report, &found) {
            _ if disturbed => LabVerdict::Open,
            true => LabVerdict::Right,
            false => LabVerdict::Wrong,
        };
        last = (verdict, found, details(&report));
        if !matches!(last.0, LabVerdict::Open) {
            break;
        }
    }
    Ok(last)
}

/// Lists the trust reasons, the evidence of the findings, and the notices, to explain a wrong case.
fn details(report: &Value) -> Vec<String> {
    let none = Vec::new();
    let list = |value: &Value| value.as_array().unwrap_or(&none).clone();
    let reasons = list(&report["trust"]["reasons"]).into_iter().filter(|reason| reason["grade"] != "ok");
    let reasons = reasons.map(|reason| format!("{}: {}", word(&reason["code"]), word(&reason["sentence"])));
    let found = list(&report["diagnosis"]["findings"]).into_iter();
    let found =
        found.map(|found| format!("{}: {}; {}", word(&found["rule"]), word(&found["claim"]), word(&found["evidence"])));
    let notices =
        list(&report["notices"]).into_iter().map(|notice| format!("{}: {}", word(&notice["code"]), notice["facts"]));
    reasons.chain(found).chain(notices).collect()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("?").to_owned()
}

/// Formats the findings in one line, the principal one first: `N2 proved, N3 proved`; without
/// findings, the outcome.
fn findings(report: &Value) -> String {
    let none = Vec::new();
    let findings = report["diagnosis"]["findings"].as_array().unwrap_or(&none);
    let all: Vec<String> =
        findings.iter().map(|found| format!("{} {}", word(&found["rule"]), word(&found["proof"]))).collect();
    let reasons = report["trust"]["reasons"].as_array().unwrap_or(&none).iter();
    let told = reasons.filter(|reason| reason["grade"] != "ok").map(|reason| word(&reason["code"]));
    let mut line = if all.is_empty() { word(&report["diagnosis"]["outcome"]) } else { all.join(", ") };
    let notices = report["notices"].as_array().unwrap_or(&none).iter().map(|notice| word(&notice["code"]));
    let settled: Vec<String> = told.chain(notices).filter(|code| cases::SHOWN_CODES.contains(&code.as_str())).collect();
    if !settled.is_empty() {
        line = format!("{line}; {}", settled.join(", "));
    }
    line
}
