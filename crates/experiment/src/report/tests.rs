//! Every format of a report.

use std::io;

use brunt_i18n::Lang;
use brunt_measure::Nanos;
use serde_json::Value;

use super::*;

/// A report with one of everything, and names that no format may take for its own signs.
struct Everything;

const NAME: &str = "a|b <i>\"c\" & =d";

impl Reported for Everything {
    fn title(&self, lang: Lang) -> String {
        format!("{lang:?} {NAME}")
    }

    fn blocks(&self, _: Lang) -> Vec<ReportBlock> {
        let rows = |n: u32| vec![vec!["name".to_owned(), "n".to_owned()], vec![NAME.to_owned(), n.to_string()]];
        let axis = || Axis::logarithmic("n", AxisUnit::Names { names: vec![NAME.to_owned()] });
        let point = ChartPoint { interval: Some([1.0, 3.0]), ..ChartPoint::new(0.0, 2.0, NAME.to_owned()) };
        let series = vec![ChartSeries::new(NAME.to_owned(), SeriesKind::Bars, vec![point])];
        vec![
            ReportBlock::Answer { tone: Tone::Bad, sentence: "It is worse.".into() },
            ReportBlock::Table { caption: None, rows: rows(1), is_detail: false },
            ReportBlock::Table { caption: Some("of b".into()), rows: rows(2), is_detail: false },
            ReportBlock::Sentences { sentences: vec!["One.".into(), "Two.".into()] },
            ReportBlock::Chart(Chart { title: "picture".into(), x: axis(), y: axis(), series }),
            ReportBlock::Table { caption: Some("runs".into()), rows: rows(3), is_detail: true },
        ]
    }

    fn checks(&self, _: Lang) -> Vec<ExperimentCheck> {
        [Tone::Good, Tone::Bad, Tone::Doubt, Tone::Plain]
            .map(|tone| ExperimentCheck { name: NAME.into(), tone, said: NAME.into() })
            .into()
    }

    fn csv(&self) -> Vec<Vec<String>> {
        vec![vec!["name".into(), "n".into()], vec![NAME.into(), "-1.5".into()], vec!["=1+1".into(), String::new()]]
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "{{}}")
    }

    fn exit_code(&self) -> u8 {
        11
    }
}

fn written(format: &str) -> String {
    let command = vec!["brunt".to_owned(), "compare".to_owned()];
    let head = PageHead { kind: "compare", brunt: "0.1".into(), unix_ms: 5, command, live: false };
    let mut out = Vec::new();
    write(format, (&head, Nanos::from_secs(3)), &Everything, Lang::En, &mut out).expect("memory");
    String::from_utf8(out).expect("text")
}

#[test]
fn text_has_empty_lines_around_tables_and_no_details() {
    let expected =
        format!("It is worse.\n\nname            n\n{NAME}  1\n\nof b\nname            n\n{NAME}  2\n\nOne.\nTwo.\n");
    let squeeze = |text: &str| {
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(squeeze(&written("text")), squeeze(&expected));
}

#[test]
fn markdown_has_everything_but_pictures() {
    let text = written("markdown");
    assert!(text.starts_with("## En a\\|b"), "{text}");
    assert!(text.contains("**It is worse.**") && text.contains("### runs") && text.contains("| :-- | --: |"), "{text}");
    assert!(!text.contains("picture"), "{text}");
}

#[test]
fn csv_is_quoted_and_is_no_formula() {
    assert_eq!(written("csv"), "name,n\n\"a|b <i>\"\"c\"\" & =d\",-1.5\n'=1+1,\n");
}

#[test]
fn junit_has_a_case_for_each_check() {
    let text = written("junit");
    assert!(text.contains("tests=\"4\" failures=\"1\" errors=\"1\" time=\"3.000\""), "{text}");
    assert!(text.contains("a|b &lt;i&gt;&quot;c&quot; &amp; =d"), "{text}");
}

#[test]
fn the_page_holds_both_languages_and_no_details_of_ours() {
    let mut line = Vec::new();
    let head = PageHead { kind: "compare", brunt: "0.1".into(), unix_ms: 5, command: Vec::new(), live: true };
    page_lines(&head, &Everything, &mut line).expect("memory");
    let page: Value = serde_json::from_slice(&line).expect("JSON");
    let page = &page["experiment"];
    assert_eq!((&page["kind"], &page["live"], &page["exit_code"]), (&"compare".into(), &true.into(), &11.into()));
    let blocks = page["text"]["zh"]["blocks"].as_array().expect("blocks");
    let kinds: Vec<&str> = blocks.iter().filter_map(|block| block["block"].as_str()).collect();
    assert_eq!(kinds, ["answer", "table", "table", "sentences", "chart", "table"]);
    let chart = &blocks[4];
    assert_eq!((&chart["x"]["unit"], &chart["x"]["log"]), (&"names".into(), &true.into()));
    assert_eq!(chart["series"][0]["points"][0]["interval"], serde_json::json!([1.0, 3.0]));
    assert!(written("html").starts_with("<!doctype html>"));
}
