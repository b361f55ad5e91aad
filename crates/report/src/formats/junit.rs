//! JUnit XML for continuous integration: one test case per objective, and one for the trust verdict. An objective that
//! brunt's own delays leave undecided is an error: the test could not be made.

use std::io::{self, Write};

use brunt_measure::Nanos;

use super::{ReportFormat, Style};
use crate::exit::Exit;
use crate::finding::Finding;
use crate::judgement;
use crate::objectives::ObjectiveOutcome;
use crate::seconds::SecondsSource;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::Lang;

/// The JUnit format (see the module documentation).
pub(super) struct JunitFormat;

/// A test case: its name, its result, and what was found.
#[derive(Debug)]
pub struct TestCase {
    /// Name, in plain text.
    pub name: String,
    /// Result.
    pub result: TestResult,
    /// What was found, in plain text.
    pub output: String,
}

/// The result of a test case, with its message.
#[derive(Debug)]
pub enum TestResult {
    /// It passed.
    Passed,
    /// It failed.
    Failed(String),
    /// The test could not be made.
    Error(String),
}

impl ReportFormat for JunitFormat {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["xml"]
    }

    fn write(&self, summary: &Summary, _: &dyn SecondsSource, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let summary = &summary.escaped();
        let cases = cases(summary, style.lang);
        write_suite(&name(summary), &cases, summary.elapsed, out, |out| by_name(out, summary, style.lang))
    }
}

/// Writes a suite of test cases; `rest` adds what follows them.
///
/// # Errors
/// Returns the error of writing.
pub fn write_suite(
    name: &str,
    cases: &[TestCase],
    took: Nanos,
    out: &mut dyn Write,
    rest: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let failed = cases.iter().filter(|case| matches!(case.result, TestResult::Failed(_))).count();
    let errors = cases.iter().filter(|case| matches!(case.result, TestResult::Error(_))).count();
    let (tests, time) = (cases.len(), format!("{:.3}", took.as_secs_f64()));
    let counts = format!("tests=\"{tests}\" failures=\"{failed}\" errors=\"{errors}\" time=\"{time}\"");
    let name = attribute(&visible(name));
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>")?;
    writeln!(out, "  <testsuite name=\"{name}\" {counts}>")?;
    cases.iter().try_for_each(|case| write_case(out, &name, case))?;
    rest(out)?;
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// Returns the name of the suite, which distinguishes several runs of a job and is the same in every language.
fn name(summary: &Summary) -> String {
    let Some(started) = &summary.started else { return "brunt".into() };
    let load = super::text::head::load(&started.plan, Lang::En).join(", ");
    let url = started.plan.urls.first().map_or("", |u| &u.url);
    format!("brunt {url} ({load})")
}

fn write_case(out: &mut dyn Write, suite: &str, case: &TestCase) -> io::Result<()> {
    writeln!(out, "    <testcase classname=\"{suite}\" name=\"{}\">", attribute(&case.name))?;
    match &case.result {
        TestResult::Passed => {}
        TestResult::Failed(why) => writeln!(out, "      <failure message=\"{}\"/>", attribute(why))?,
        TestResult::Error(why) => writeln!(out, "      <error message=\"{}\"/>", attribute(why))?,
    }
    writeln!(out, "      <system-out>{}</system-out>\n    </testcase>", escaped(&case.output))
}

/// Escapes a text for an XML attribute between double quotes, in which a line end would be read as a space.
fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Escapes a text for an XML element.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            _ => out.push(c),
        }
    }
    out
}

/// Writes the totals of each name, if there are several, and of each check.
fn by_name(out: &mut dyn Write, summary: &Summary, lang: Lang) -> io::Result<()> {
    let mut lines = Vec::new();
    if summary.by_name().next().is_some() {
        lines.extend(crate::columns::table(&super::named::rows(summary, lang)));
    }
    let checks = super::checks::lines(summary, lang);
    if !checks.is_empty() {
        lines.extend((!lines.is_empty()).then(String::new));
        lines.push(lang.of(super::checks::CHECKS).to_owned());
        lines.extend(checks);
    }
    if !lines.is_empty() {
        writeln!(out, "    <system-out>{}</system-out>", escaped(&visible(&lines.join("\n"))))?;
    }
    Ok(())
}

fn cases(summary: &Summary, lang: Lang) -> Vec<TestCase> {
    let mut cases: Vec<TestCase> = summary
        .objectives
        .iter()
        .map(|o| {
            let said = visible(&judgement::measured(o, lang));
            let result = match o.outcome {
                ObjectiveOutcome::Met => TestResult::Passed,
                ObjectiveOutcome::Missed => TestResult::Failed(said.clone()),
                ObjectiveOutcome::Undecided => {
                    TestResult::Error(format!("{}{}{said}", lang.of(say::UNDECIDED), lang.of(say::COLON)))
                }
            };
            TestCase { name: visible(&o.objective), result, output: said }
        })
        .collect();
    let said = |found: &Finding| visible(&found.sentence(lang));
    let line = visible(&crate::verdict_line::verdict_line(summary, lang));
    let mut reasons: Vec<String> =
        std::iter::once(line.clone()).chain(summary.trust.findings.iter().map(said)).collect();
    // As for the exit code; objectives that the bands leave undecided are errors of their own.
    let doubted = summary.trust.doubts(summary.trust_policy(), !summary.objectives.is_empty()).next();
    let mut against: Vec<String> = doubted.map(|_| line).into_iter().collect();
    if let Some(failure) = summary.probe.as_ref().and_then(|probe| probe.failure.as_ref())
        && summary.totals.due == 0
    {
        let said = visible(&lang.fill(say::PROBE_FAILED, &[("failure", failure)]));
        against.push(said.clone());
        reasons.push(said);
    }
    // A run that an objective or a step ended early is judged by these and by its figures.
    let interrupted = summary.end != brunt_record::End::Completed && !matches!(summary.exit, Exit::Ok | Exit::Missed);
    let result = match (against.is_empty(), interrupted) {
        (false, _) => TestResult::Failed(against.join("; ")),
        (true, true) => TestResult::Failed(judgement::exit(summary, lang)),
        (true, false) => TestResult::Passed,
    };
    cases.push(TestCase { name: "trust".into(), result, output: reasons.join("\n") });
    cases
}

/// Replaces characters that control a terminal, and those that XML 1.0 cannot contain.
fn visible(text: &str) -> String {
    brunt_measure::sanitize::text(text).replace(['\u{fffe}', '\u{ffff}', '\r'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use quick_xml::events::Event;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let text = "a'<&amp;\"]]>\n\tb\u{e9}";
        let case = TestCase { name: text.into(), result: TestResult::Failed(text.into()), output: text.into() };
        let mut out = Vec::new();
        write_case(&mut out, &attribute(text), &case).unwrap();
        let xml = String::from_utf8(out).unwrap();
        let (mut reader, mut read) = (quick_xml::Reader::from_str(&xml), Vec::new());
        let mut said = String::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Start(element) | Event::Empty(element) => read.extend(element.attributes().map(|attribute| {
                    let value = attribute.unwrap().normalized_value(quick_xml::XmlVersion::Implicit1_0);
                    value.unwrap().into_owned()
                })),
                Event::Text(text) => said += &text.xml10_content(),
                Event::GeneralRef(name) => {
                    said += quick_xml::escape::unescape(&format!("&{};", &*name)).unwrap().as_ref()
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(read, [text; 3]);
        assert_eq!(said.trim(), text);
    }
}
