//! The formats in which experiments are written: those of a run.

use std::io::{self, Write};

use brunt_i18n::Lang;
use brunt_measure::{Nanos, sanitize};
use brunt_report::formats::junit::{TestCase, TestResult, write_suite};
use brunt_report::formats::markdown::MarkdownPage;
use brunt_report::table;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

use super::{ReportBlock, Reported, Tone};

/// Names of the formats, as in `--format`.
pub const FORMATS: [&str; 6] = ["text", "json", "csv", "markdown", "junit", "html"];

/// What a page says beside the report.
#[derive(Clone, Debug, Serialize)]
pub struct PageHead {
    /// Kind of the experiment: the name of its command.
    pub kind: &'static str,
    /// Version of brunt.
    pub brunt: String,
    /// Wall clock at its beginning, milliseconds since 1970.
    pub unix_ms: u64,
    /// Command line, secrets masked.
    pub command: Vec<String>,
    /// Set if it still runs.
    pub live: bool,
}

/// Writes an experiment in the format of this name; `took` is the time that it took.
///
/// # Errors
/// Returns the error of writing.
pub fn write(
    format: &str,
    (head, took): (&PageHead, Nanos),
    found: &dyn Reported,
    lang: Lang,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        "json" => found.write_json(out),
        "csv" => write_csv(&found.csv(), out),
        "markdown" => out.write_all(markdown(found, lang).as_bytes()),
        "junit" => write_junit(found, took, lang, out),
        "html" => write_page(head, found, lang, out),
        _ => writeln!(out, "{}", text(found, lang)),
    }
}

/// Returns the report as text: sentences, and tables between empty lines.
pub fn text(found: &dyn Reported, lang: Lang) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut after_table = false;
    for block in found.blocks(lang) {
        let part = match block {
            ReportBlock::Answer { sentence, .. } => vec![sentence],
            ReportBlock::Sentences { sentences } => sentences,
            ReportBlock::Table { is_detail: true, .. } | ReportBlock::Chart(_) => continue,
            ReportBlock::Table { caption, rows, .. } => {
                if !lines.is_empty() {
                    lines.push(String::new());
                }
                lines.extend(caption);
                lines.extend(table(&rows));
                after_table = true;
                continue;
            }
        };
        if after_table && !part.is_empty() {
            lines.push(String::new());
            after_table = false;
        }
        lines.extend(part);
    }
    lines.join("\n")
}

fn markdown(found: &dyn Reported, lang: Lang) -> String {
    let mut page = MarkdownPage::new(lang);
    page.title(&found.title(lang));
    for block in found.blocks(lang) {
        match block {
            ReportBlock::Answer { sentence, .. } => page.emphasis(&sentence),
            ReportBlock::Sentences { sentences } => sentences.iter().for_each(|sentence| page.paragraph(sentence)),
            ReportBlock::Table { caption, rows, .. } => {
                caption.iter().for_each(|caption| page.section(caption));
                let width = rows.first().map_or(0, Vec::len);
                page.table(&format!("l{}", "r".repeat(width.saturating_sub(1))), &rows);
            }
            ReportBlock::Chart(_) => {}
        }
    }
    page.text().to_owned()
}

/// Writes rows as RFC 4180 has them, with the line ends of this system.
fn write_csv(rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
        writeln!(out, "{}", cells.join(","))
    })
}

/// Quotes a cell where it must be, and keeps spreadsheets from taking it for a formula.
fn quoted(cell: &str) -> String {
    let cell = sanitize::line(cell);
    let is_number = cell.parse::<f64>().is_ok();
    let guard = if !is_number && cell.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    match cell.contains([',', '"']) {
        true => format!("\"{guard}{}\"", cell.replace('"', "\"\"")),
        false => format!("{guard}{cell}"),
    }
}

fn write_junit(found: &dyn Reported, took: Nanos, lang: Lang, out: &mut dyn Write) -> io::Result<()> {
    let case = |check: super::ExperimentCheck| {
        let output = sanitize::text(&check.said).into_owned();
        let result = match check.tone {
            Tone::Good | Tone::Plain => TestResult::Passed,
            Tone::Bad => TestResult::Failed(output.clone()),
            Tone::Doubt => TestResult::Error(output.clone()),
        };
        TestCase { name: sanitize::text(&check.name).into_owned(), result, output }
    };
    let cases: Vec<TestCase> = found.checks(lang).into_iter().map(case).collect();
    // The name is the same in every language, so that a server recognizes the suite.
    write_suite(&found.title(Lang::En), &cases, took, out, |_| Ok(()))
}

/// The report in one language, for the page.
#[derive(Serialize)]
struct PageText {
    title: String,
    blocks: Vec<ReportBlock>,
}

#[derive(Serialize)]
struct PageTexts {
    en: PageText,
    zh: PageText,
}

/// The data of a page.
#[derive(Serialize)]
struct ExperimentPage<'a> {
    #[serde(flatten)]
    head: &'a PageHead,
    exit_code: u8,
    text: PageTexts,
}

#[derive(Serialize)]
struct PageLine<'a> {
    experiment: ExperimentPage<'a>,
}

/// Writes the line of JSON that a page draws.
///
/// # Errors
/// Returns the error of writing.
pub fn page_lines(head: &PageHead, found: &dyn Reported, out: &mut dyn Write) -> io::Result<()> {
    let of = |lang| PageText { title: found.title(lang), blocks: found.blocks(lang) };
    let text = PageTexts { en: of(Lang::En), zh: of(Lang::Zh) };
    let experiment = ExperimentPage { head, exit_code: found.exit_code(), text };
    serde_json::to_writer(&mut *out, &PageLine { experiment })?;
    out.write_all(b"\n")
}

fn write_page(head: &PageHead, found: &dyn Reported, lang: Lang, out: &mut dyn Write) -> io::Result<()> {
    let code = if lang == Lang::Zh { "zh" } else { "en" };
    brunt_assets::fill(&brunt_assets::EXPERIMENT, code, &found.title(lang), out, |out| {
        let text = base64::write::EncoderWriter::new(out, &base64::engine::general_purpose::STANDARD);
        let mut packed = ZlibEncoder::new(text, Compression::new(7));
        page_lines(head, found, &mut packed)?;
        packed.finish()?.finish().map(drop)
    })
}
