//! The floors of the design: a crate uses only floors below its own.
//!
//! They are checked against the manifests through `cargo metadata`, so that new crates and edges
//! are included automatically. Development dependencies are exempt: tests may use any crate.

use std::fs;

use serde_json::Value;

use crate::{places, shell};

/// The crates of each floor, lowest first. Every crate must be listed.
const FLOORS: [&[&str]; 10] = [
    &["measure", "cause", "assets"],
    &["plan", "contract", "record", "i18n"],
    &["load", "scenario", "values", "net", "counters", "diagnose", "arithmetic", "messenger"],
    &["http-family", "databases", "raw", "engine", "report"],
    &["protocols", "export"],
    &["test-server", "watch"],
    &["config"],
    &["bench"],
    &["console", "fleet", "experiment"],
    &["cli", "link"],
];

/// Permitted edges within one floor, each with its reason.
const MEANT: [(&str, &str, &str); 1] = [("record", "plan", "a record holds the plan of its run")];

/// Edges that go down but are forbidden, each with the invariant it would break.
const FORBIDDEN: [(&str, &str, &str); 20] = [
    ("engine", "protocols", "the engine names no protocol"),
    ("report", "contract", "reports see only the record"),
    ("report", "load", "reports see only the record"),
    ("report", "net", "reports see only the record"),
    ("report", "protocols", "reports see only the record"),
    ("report", "scenario", "reports see only the record"),
    ("diagnose", "contract", "diagnosis sees only the record"),
    ("export", "engine", "exports see only the record"),
    ("export", "protocols", "exports see only the record"),
    ("values", "rustix", "protocols do no I/O"),
    ("http-family", "rustix", "protocols do no I/O"),
    ("databases", "rustix", "protocols do no I/O"),
    ("raw", "rustix", "protocols do no I/O"),
    ("values", "socket2", "protocols do no I/O"),
    ("http-family", "socket2", "protocols do no I/O"),
    ("databases", "socket2", "protocols do no I/O"),
    ("raw", "socket2", "protocols do no I/O"),
    ("protocols", "rustix", "protocols do no I/O"),
    ("load", "rustix", "schedules use no threads and no clock"),
    ("load", "libc", "schedules use no threads and no clock"),
];

/// A crate of brunt and its dependencies: short names for brunt's own crates, package names for the others.
#[derive(Debug, PartialEq)]
struct Package {
    name: String,
    uses: Vec<String>,
}

/// Reads the manifests and checks every edge.
pub fn check() -> Result<(), String> {
    let text = shell::capture(&mut shell::cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|e| format!("cargo metadata is not JSON: {e}"))?;
    let packages = packages(&metadata);
    if packages.is_empty() {
        return Err("cargo metadata lists no crate of brunt".into());
    }
    let drawing = places::root().join("ARCHITECTURE.md");
    let drawing = fs::read_to_string(&drawing).map_err(|e| format!("cannot read {}: {e}", drawing.display()))?;
    let wrong = [judge(&packages), judge_drawing(&drawing, &packages)].concat();
    if wrong.is_empty() {
        println!("{} crates, every edge goes down, and ARCHITECTURE.md matches", packages.len());
        return Ok(());
    }
    Err(wrong.join("\n  "))
}

/// Returns the crates in `crates/`; tests and xtask are on no floor and may use all of them.
fn packages(metadata: &Value) -> Vec<Package> {
    let all = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter()
        .filter(|package| package["manifest_path"].as_str().is_some_and(|path| path.contains("/crates/")))
        .map(|package| Package {
            name: short(package["name"].as_str().unwrap_or_default()),
            uses: package["dependencies"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default()
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .filter_map(|dependency| dependency["name"].as_str().map(short))
                .collect(),
        })
        .collect()
}

fn short(name: &str) -> String {
    name.strip_prefix("brunt-").unwrap_or(name).to_owned()
}

fn floor_of(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&name))
}

/// Returns a message for each edge or crate that breaks the rules.
fn judge(packages: &[Package]) -> Vec<String> {
    let mut wrong = Vec::new();
    for Package { name, uses } in packages {
        let Some(floor) = floor_of(name) else {
            wrong.push(format!("crates/{name} is on no floor: add it to FLOORS"));
            continue;
        };
        for used in uses {
            if let Some((_, _, reason)) = FORBIDDEN.iter().find(|(from, to, _)| from == name && to == used) {
                wrong.push(format!("{name} uses {used}, but {reason}"));
            }
            let meant = MEANT.iter().any(|(from, to, _)| from == name && to == used);
            match floor_of(used) {
                Some(below) if below >= floor && !meant => wrong.push(format!(
                    "{name} (floor {floor}) uses {used} (floor {below}): a crate uses only floors below its own"
                )),
                _ => {}
            }
        }
    }
    wrong
}

/// Compares the rows of the map (`| floor | `crate` | …`) with the existing crates.
fn judge_drawing(map: &str, packages: &[Package]) -> Vec<String> {
    let drawn: Vec<(&str, &str)> = map.lines().filter_map(drawn).collect();
    let mut wrong = Vec::new();
    for Package { name, .. } in packages {
        let floor = floor_of(name).map(|floor| floor.to_string()).unwrap_or_default();
        match drawn.iter().find(|(_, krate)| krate == name) {
            Some((shown, _)) if *shown == floor => {}
            Some((shown, _)) => wrong.push(format!("ARCHITECTURE.md draws {name} on floor {shown}; it is on {floor}")),
            None => wrong.push(format!("ARCHITECTURE.md does not draw {name} (floor {floor})")),
        }
    }
    let gone = drawn.iter().filter(|(_, krate)| packages.iter().all(|package| package.name != *krate));
    wrong.extend(gone.map(|(_, krate)| format!("ARCHITECTURE.md draws {krate}, which does not exist")));
    wrong
}

/// Parses floor and crate from a row of the map.
fn drawn(line: &str) -> Option<(&str, &str)> {
    let (floor, rest) = line.strip_prefix("| ")?.split_once(" | `")?;
    let (krate, _) = rest.split_once("` |")?;
    let is_crate = krate.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_crate && floor.parse::<usize>().is_ok()).then_some((floor, krate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str]) -> Package {
        Package { name: name.into(), uses: uses.iter().map(|u| (*u).to_owned()).collect() }
    }

    #[test]
    fn holds_the_drawing_to_the_crates() {
        let packages = [package("plan", &[]), package("measure", &[])];
        let right = "| floor | crate |\n| 1 | `plan` | a |\n| 0 | `measure` | b |\n";
        assert_eq!(judge_drawing(right, &packages), Vec::<String>::new());
        let wrong = judge_drawing("| 2 | `plan` | a |\n| 0 | `gone` | b |\n", &packages);
        assert_eq!(
            wrong,
            [
                "ARCHITECTURE.md draws plan on floor 2; it is on 1",
                "ARCHITECTURE.md does not draw measure (floor 0)",
                "ARCHITECTURE.md draws gone, which does not exist",
            ]
        );
    }

    #[test]
    fn judges_edges() {
        let cases: [(Package, Option<&str>); 8] = [
            (package("engine", &["measure", "net", "serde"]), None),
            (package("record", &["plan"]), None),
            (package("plan", &["record"]), Some("plan (floor 1) uses record (floor 1)")),
            (package("measure", &["contract"]), Some("measure (floor 0) uses contract (floor 1)")),
            (package("net", &["values"]), Some("net (floor 2) uses values (floor 2)")),
            (package("engine", &["protocols"]), Some("the engine names no protocol")),
            (package("raw", &["socket2"]), Some("protocols do no I/O")),
            (package("common", &[]), Some("crates/common is on no floor")),
        ];
        for (package, complaint) in cases {
            let wrong = judge(std::slice::from_ref(&package));
            match complaint {
                None => assert_eq!(wrong, Vec::<String>::new(), "{package:?}"),
                Some(part) => assert!(wrong.iter().any(|w| w.contains(part)), "{package:?}: {wrong:?}"),
            }
        }
    }

    #[test]
    fn leaves_out_development_dependencies_and_crates_outside_the_floors() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "brunt-contract", "manifest_path": "/r/crates/contract/Cargo.toml", "dependencies": [
                { "name": "brunt-measure", "kind": null }, { "name": "brunt-engine", "kind": "dev" } ] },
            { "name": "xtask", "manifest_path": "/r/xtask/Cargo.toml", "dependencies": [] } ] });
        assert_eq!(packages(&metadata), [package("contract", &["measure"])]);
    }
}
