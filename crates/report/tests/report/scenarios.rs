//! Scenarios side by side: their rows in every format, and objectives that name them.

use brunt_measure::{Nanos, PackedHistogram};
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_plan::{Arrivals, Load, ScenarioPlan, Stage};
use brunt_record::{NamedCounts, NamedFigures, RunEvent};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, ms, open, second};

/// Creates a run with two names and two scenarios: a shop at a rate, with some dropped iterations, and two admins.
fn side_by_side() -> RunBuilder {
    let scenario = |name: &str, load: Load, steps: Vec<Step>| ScenarioPlan {
        name: name.into(),
        load,
        start: Nanos::ZERO,
        duration: Some(Nanos::from_secs(2)),
        iterations: None,
        iterations_per_user: None,
        graceful_stop: Nanos::ZERO,
        spawn_rate: None,
        max_users: None,
        max_connections: 10,
        flow: Flow { steps, ..Flow::default() },
    };
    let stage = |level| vec![Stage { lasts: Nanos::from_secs(2), from: level, to: level }];
    let send = |url| vec![Step::Request { url, on_failure: OnFailure::default() }];
    let mut run = open(20.0, 2);
    run.names = vec!["item".into(), "admin".into()];
    let rate = Load::Open { stages: stage(20.0), arrivals: Arrivals::Poisson };
    let users = Load::Closed { stages: stage(2.0), think: None, together: false };
    run.plan.scenarios = vec![
        scenario("shop", rate, vec![Step::Group { name: "browse".into(), steps: send(0) }]),
        scenario("staff", users, send(1)),
    ];
    let row = |name, [due, finished, failed, censored, dropped, users]: [u64; 6], took: Nanos| NamedFigures {
        name,
        counts: NamedCounts { due, finished, failed, censored, dropped, users, ..NamedCounts::default() },
        latency: PackedHistogram::of(took, finished),
        ..NamedFigures::default()
    };
    let told = |n| brunt_record::Second {
        named: vec![
            row(0, [8, 7, 1, 0, 0, 0], ms(5)),
            row(1, [3, 3, 0, 0, 0, 0], ms(9)),
            row(2, [20, 7, 1, 0, 12, 0], ms(40)),
            row(4, [8, 7, 1, 0, 0, 0], ms(30)),
            row(5, [0, 7, 0, 0, 0, 0], ms(12)),
            row(6, [3, 3, 0, 0, 0, 0], ms(9)),
            row(8, [8, 7, 1, 0, 0, 4], ms(5)),
            row(9, [3, 3, 0, 0, 0, 2], ms(9)),
        ],
        ..second(n).answered(10, ms(5)).failing(1, "wrong_body", "transfer", None)
    };
    run.second(told(0)).second(told(1))
}

#[test]
fn every_format_for_people_has_a_row_for_each_scenario_and_its_iterations_above_its_groups() {
    for format in ["text", "markdown"] {
        let written = side_by_side().written(format, Lang::En);
        let rows = |name: &str| {
            let lines = written.lines().filter(|line| line.trim_start_matches(['|', ' ']).starts_with(name));
            let words = |line: &str| line.split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ");
            lines.map(words).collect::<Vec<_>>()
        };
        let shop = rows("shop ");
        assert!(shop[0].starts_with("shop 4.00 16 14 2 0"), "requests, with users at a time: {shop:?}");
        assert!(shop[1].starts_with("shop 16 24 14 2 0"), "iterations, with those that were dropped: {shop:?}");
        assert!(rows("· browse")[0].starts_with("· browse 16 0 14 2 0"), "{written}");
        assert!(rows("staff ")[1].starts_with("staff 6 0 6 0 0"), "{written}");
        assert!(written.contains("Scenarios") && written.contains("dropped"), "{written}");
        assert!(
            written.contains("shop: open load, 20.0/s of iterations (Poisson arrivals), for 2.00 s; staff:"),
            "{written}"
        );
    }
    let zh = side_by_side().written("text", Lang::Zh);
    assert!(zh.contains("场景") && zh.contains("放弃"), "{zh}");
}

#[test]
fn json_has_them_for_the_run_and_in_every_second() {
    let json = side_by_side().json();
    let of = |row: &serde_json::Value, keys: &[&str]| keys.iter().map(|key| row[key].as_u64()).collect::<Vec<_>>();
    let shop = &json["scenarios"][0];
    assert_eq!(of(shop, &["scheduled", "succeeded", "failed", "unfinished"]), [Some(16), Some(14), Some(2), Some(0)]);
    assert_eq!((&shop["name"], &shop["users_mean"]), (&"shop".into(), &4.0.into()));
    let iterations = &json["iterations"];
    let named = |at: usize| (iterations[at]["scenario"].as_str(), iterations[at]["name"].as_str());
    assert_eq!(
        [0, 1, 2].map(named),
        [(Some("shop"), Some("iteration")), (Some("shop"), Some("browse")), (Some("staff"), Some("iteration"))]
    );
    assert_eq!(of(&iterations[0], &["started", "dropped", "succeeded", "failed", "cut"]), [16, 24, 14, 2, 0].map(Some));
    let second = &json["seconds"][1]["scenarios"][0];
    let keys = ["users", "scheduled", "succeeded", "iterations_started", "iterations_succeeded", "iterations_dropped"];
    assert_eq!(of(second, &keys), [4, 8, 7, 8, 7, 12].map(Some));
    assert_eq!(open(1.0, 1).second(second_of_none()).json()["seconds"][0].get("scenarios"), None);
}

fn second_of_none() -> brunt_record::Second {
    second(0).answered(1, ms(1))
}

#[test]
fn objectives_name_the_requests_the_iterations_and_the_groups_of_one() {
    let judged = |objective: &str| {
        let mut run = side_by_side();
        run.plan.objectives = vec![objective.into()];
        let json = run.json();
        (json["objectives"][0]["met"].as_bool(), json["objectives"][0]["measured"].as_str().map(str::to_owned))
    };
    for (objective, met) in [
        ("failed{scenario staff}<1%", true),
        ("failed{scenario shop}<1%", false),
        ("max{scenario staff}<8ms", false),
        // Of the 40 that were due, 24 were dropped; those that began were fast enough.
        ("mean{iteration shop}<50ms", false),
        ("p50{iteration shop}<50ms", false),
        ("p35{iteration shop}<50ms", true),
        ("p50{scenario shop}<50ms", false),
        ("p50{iteration shop}<50ms for 1s", false),
        ("failed{iteration shop}<65%", false),
        ("failed{iteration shop}<=65%", true),
        ("mean{iteration staff}<9ms", false),
        ("mean{browse}<31ms", true),
        ("mean{shop/browse}<30ms", false),
        ("failed{scenario none}<1%", false),
        // Without pauses; one of eight failed.
        ("p80{browse active}<13ms", true),
        ("p80{browse}<13ms", false),
        ("p95{browse active}<13ms", false),
        ("mean{shop/browse active}<13ms", true),
        ("p80{browse active}<13ms for 1s", true),
    ] {
        let (found, measured) = judged(objective);
        assert_eq!(found, Some(met), "{objective}: {measured:?}");
    }
    assert_eq!(judged("failed{iteration shop}<1%").1.as_deref(), Some("failed 65.0 % (24 dropped)"));
}

#[test]
fn a_run_that_dropped_iterations_did_not_keep_its_load() {
    let (run, json) = (side_by_side().written("text", Lang::En), side_by_side().json());
    assert!(run.contains("24 of 40 iterations of shop were dropped"), "{run}");
    assert_eq!((&json["trust"]["verdict"], &json["diagnosis"]["outcome"]), (&"caution".into(), &"max_users".into()));
    let mut kept = side_by_side();
    for event in &mut kept.events {
        let RunEvent::Second(second) = event else { continue };
        let iterations = second.named.iter_mut().filter(|row| row.name == 2);
        iterations.for_each(|row| (row.counts.due, row.counts.dropped) = (8, 0));
    }
    let json = kept.json();
    assert_ne!(json["diagnosis"]["outcome"], "max_users");
    assert!(!json["trust"].to_string().contains("iterations_dropped"), "{}", json["trust"]);
}

#[test]
fn a_run_whose_iterations_were_all_cut_off_is_too_short_to_be_judged() {
    let mut cut = side_by_side();
    for event in &mut cut.events {
        let RunEvent::Second(second) = event else { continue };
        let iterations = second.named.iter_mut().filter(|row| row.name == 6);
        iterations.for_each(|row| (row.counts.finished, row.counts.censored) = (0, 3));
    }
    let found = |run: &RunBuilder| {
        let json = run.json();
        let all = json["trust"]["reasons"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|found| found["code"] == "no_iteration")
    };
    let told = found(&cut).expect("a finding").to_string();
    assert!(told.contains("too_short") && told.contains("no iteration of staff ended: 6 were cut off"), "{told}");
    assert_eq!(found(&side_by_side()), None);
}

#[test]
fn csv_has_a_kind_for_each_row_and_those_of_requests_add_up_to_the_run() {
    let csv = side_by_side().written("csv", Lang::En);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = |column: &str| lines[0].iter().position(|name| *name == column).unwrap();
    let told: Vec<(&str, &str)> = lines[2..10].iter().map(|line| (line[at("name")], line[at("kind")])).collect();
    let wanted = [
        ("item", "request"),
        ("admin", "request"),
        ("iteration shop", "iteration"),
        ("shop/browse", "group"),
        ("shop/browse", "group_active"),
        ("iteration staff", "iteration"),
        ("shop", "scenario"),
        ("staff", "scenario"),
    ];
    assert_eq!(told, wanted, "{csv}");
    let scheduled =
        |lines: &[Vec<&str>]| lines.iter().filter_map(|line| line[at("scheduled")].parse::<u64>().ok()).sum();
    let (run, named): (u64, u64) = (scheduled(&lines[1..2]), scheduled(&lines[2..4]));
    assert_eq!(run, named);
}

#[test]
fn a_scenario_of_which_nothing_was_measured_is_told() {
    let idle = |run: RunBuilder| {
        let trust = run.json()["trust"]["reasons"].as_array().expect("reasons").clone();
        trust.iter().find(|reason| reason["code"] == "scenario_idle").map(|reason| reason["sentence"].to_string())
    };
    assert_eq!(idle(side_by_side()), None);
    let without_staff = || {
        let mut run = side_by_side();
        run.events.iter_mut().for_each(|event| {
            if let brunt_record::RunEvent::Second(second) = event {
                second.named.retain(|row| ![1, 6, 9].contains(&row.name));
            }
        });
        run
    };
    let told = idle(without_staff()).expect("a reason");
    assert!(told.contains("nothing was measured for scenario staff"), "{told}");
    let mut later = without_staff();
    later.plan.scenarios[1].start = Nanos::from_secs(9);
    assert_eq!(idle(later), None, "the run had not come to it");
}

#[test]
fn iterations_dropped_by_one_of_several_workers_while_users_were_free_are_told() {
    let split = |workers: u32, users: u64| {
        let mut run = side_by_side();
        run.plan.workers = workers;
        run.plan.scenarios[0].max_users = Some(3);
        for event in &mut run.events {
            let brunt_record::RunEvent::Second(second) = event else { continue };
            second
                .named
                .iter_mut()
                .filter(|row| row.name == 8)
                .for_each(|row| row.counts.users_ns = users * 100_000_000);
        }
        let reasons = run.json()["trust"]["reasons"].as_array().expect("reasons").clone();
        reasons.iter().find(|reason| reason["code"] == "split_users").map(|reason| reason["sentence"].to_string())
    };
    let told = split(2, 23).expect("2.3 of 3 were busy");
    assert!(told.contains("iterations of shop were dropped by one of 2 workers, which split its 3 users"), "{told}");
    assert_eq!([split(1, 23), split(2, 30)], [None, None], "one worker; nobody was free");
}

#[test]
fn a_page_has_each_scenario_second_by_second_as_the_json_report_has() {
    let run = side_by_side();
    let all = crate::html::lines(&run.written("html", Lang::En));
    let json: serde_json::Value = serde_json::from_str(&run.written("json", Lang::En)).unwrap();
    assert_eq!(all[0]["flows"], serde_json::json!(["shop", "staff"]));
    let seconds: Vec<_> = all.iter().filter(|line| line["s"].is_array()).collect();
    let columns = ["users", "scheduled", "succeeded", "failed", "iterations_started", "iterations_succeeded"];
    for (line, second) in seconds.iter().zip(json["seconds"].as_array().unwrap()) {
        for (row, told) in line["x"].as_array().unwrap().iter().zip(second["scenarios"].as_array().unwrap()) {
            let of = |column: &str| told[column].clone();
            assert_eq!(row.as_array().unwrap()[..6], columns.map(of)[..], "{line}");
            assert_eq!(row[7], told["iterations_dropped"]);
        }
    }
    assert_eq!(seconds[0]["x"][0], serde_json::json!([4, 8, 7, 1, 8, 7, 1, 12, 4000]));
    let block = all.iter().find(|line| line["n"] == 0).unwrap();
    let shop = block["r"].as_array().unwrap().iter().find(|row| row[0] == 2).unwrap();
    assert_eq!((&shop[1], &shop[9]), (&20.into(), &12.into()), "due, and of these dropped");
    let events = run.events();
    let mut live =
        brunt_report::formats::html::LiveLines::of(&brunt_report::Summary::from_events(events.iter().take(1).cloned()));
    let mut told: Vec<_> = events.iter().flat_map(|event| live.see(event)).collect();
    told.extend(live.flush());
    assert!(told.contains(block), "while it goes on its names, scenarios and iterations are told as well");
}
