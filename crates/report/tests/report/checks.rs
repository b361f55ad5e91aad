//! Named checks: the results of each in every format, and objectives on a check.

use brunt_record::{CheckResults, RunPart, Second};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, second};

fn checked() -> RunBuilder {
    let with = |part, failed| Second {
        part,
        checks: vec![CheckResults { check: 1, passed: 49, failed }],
        ..second(0).answered(50, ms(5))
    };
    let seconds = [(RunPart::Warmup, 90), (RunPart::Window, 1), (RunPart::Window, 0), (RunPart::Drain, 1)];
    let mut run = seconds.into_iter().fold(closed(3, 2), |run, (part, failed)| run.second(with(part, failed)));
    run.checks = ["login: status 201", "has {id}"].map(String::from).to_vec();
    run
}

#[test]
fn checks_have_a_row_in_every_format_and_the_warm_up_is_in_none() {
    for format in ["text", "markdown"] {
        let written = checked().written(format, Lang::En);
        let row = written.lines().find(|line| line.contains("has {id}")).unwrap_or_else(|| panic!("{written}"));
        let words: Vec<&str> = row.split_whitespace().filter(|word| *word != "|").collect();
        assert_eq!(words[2..], ["147", "2", "1.3", "%"], "{format}: {row}");
    }
    assert!(checked().written("text", Lang::Zh).contains("未通过"));
    let json = checked().json();
    assert_eq!(
        json["checks"][1],
        serde_json::json!({"name": "has {id}", "passed": 147, "failed": 2, "failed_share": 2.0 / 149.0})
    );
    assert_eq!(
        (&json["checks"][0]["passed"], &json["checks"][0]["failed_share"]),
        (&0.into(), &serde_json::Value::Null)
    );
    let csv = checked().written("csv", Lang::En);
    let of_check = csv.lines().filter(|line| line.contains(",has {id},check,"));
    let counts: Vec<Vec<&str>> = of_check.map(|line| line.split(',').collect()).collect();
    let counts: Vec<[&str; 3]> = counts.iter().map(|row| [row[2], row[5], row[6]]).collect();
    assert_eq!(counts, [["window", "49", "1"], ["window", "49", "0"], ["drain", "49", "1"]]);
    let junit = checked().written("junit", Lang::En);
    let (_, table) = junit.split_once("Checks").unwrap_or_else(|| panic!("{junit}"));
    assert!(table.contains("share failed") && table.contains("has {id}") && table.contains("147"), "{junit}");
    assert!(!closed(1, 1).second(second(0)).written("junit", Lang::En).contains("Checks"));
    assert!(closed(1, 1).second(second(0)).json().get("checks").is_none());
}

#[test]
fn objectives_may_be_about_a_check() {
    let judged = |objective: &str| {
        let judged = checked().objectives(&[objective]).summary().objectives;
        judged.into_iter().map(|judged| (judged.is_met(), judged.counted)).next().expect("judged")
    };
    assert_eq!(judged("failed{check has {id}}<2%"), (true, Some((147, 149))));
    assert_eq!(judged("failed{check has {id}} < 1%"), (false, Some((147, 149))));
    assert!(!judged("failed{check has {id}}<2% for 1s").0, "one in fifty of the first second");
    assert!(!judged("failed{check login: status 201}<1%").0, "nothing was looked at");
}
