//! JUnit XML for continuous integration: one test case an objective, and one for the trust in the run.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::{Format, Style};
use crate::exit::Exit;
use crate::finding::Finding;
use crate::judgement;
use crate::seconds::Seconds;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::Lang;

/// See the module.
pub(super) struct Junit;

/// A test case: its name, and why it failed.
struct Case {
    name: String,
    failure: Option<String>,
    said: String,
}

impl Format for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["xml"]
    }

    fn write(&self, summary: &Summary, _: &dyn Seconds, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let summary = &summary.plain();
        let (name, cases) = (name(summary), cases(summary, style.lang));
        let failed = cases.iter().filter(|c| c.failure.is_some()).count().to_string();
        let (tests, time) = (cases.len().to_string(), format!("{:.3}", summary.elapsed.as_secs_f64()));
        let mut to = Writer::new_with_indent(out, b' ', 2);
        to.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let counts = [("tests", &*tests), ("failures", &*failed), ("errors", "0"), ("time", &*time)];
        to.create_element("testsuites").with_attributes(counts).write_inner_content(|to| {
            let suite = to.create_element("testsuite").with_attribute(("name", &*name)).with_attributes(counts);
            suite.write_inner_content(|to| {
                cases.iter().try_for_each(|case| write_case(to, &name, case))?;
                by_name(to, summary, style.lang)
            })?;
            Ok(())
        })?;
        to.get_mut().write_all(b"\n")
    }
}

/// What ran, so that several runs of a job can be told apart; the same in every language, as a name must be.
fn name(summary: &Summary) -> String {
    let Some(started) = &summary.started else { return "brunt".into() };
    let load = super::text::head::load(&started.plan, Lang::En).join(", ");
    let url = started.plan.urls.first().map_or("", |u| &u.url);
    visible(&format!("brunt {url} ({load})"))
}

fn write_case(to: &mut Writer<&mut dyn Write>, suite: &str, case: &Case) -> io::Result<()> {
    let element = to.create_element("testcase").with_attributes([("classname", suite), ("name", &*case.name)]);
    element.write_inner_content(|to| {
        if let Some(failure) = &case.failure {
            to.create_element("failure").with_attribute(("message", &**failure)).write_empty()?;
        }
        to.create_element("system-out").write_text_content(BytesText::new(&case.said))?;
        Ok(())
    })?;
    Ok(())
}

/// What each name comes to, where there are several, and each check.
fn by_name(to: &mut Writer<&mut dyn Write>, summary: &Summary, lang: Lang) -> io::Result<()> {
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
        to.create_element("system-out").write_text_content(BytesText::new(&visible(&lines.join("\n"))))?;
    }
    Ok(())
}

fn cases(summary: &Summary, lang: Lang) -> Vec<Case> {
    let mut cases: Vec<Case> = summary
        .objectives
        .iter()
        .map(|o| {
            let said = visible(&judgement::measured(o, lang));
            Case { name: visible(&o.objective), failure: (!o.met).then(|| said.clone()), said }
        })
        .collect();
    let said = |found: &Finding| visible(&found.sentence(lang));
    let line = visible(&crate::line::line(summary, lang));
    let mut reasons: Vec<String> =
        std::iter::once(line.clone()).chain(summary.trust.findings.iter().map(said)).collect();
    let mut against: Vec<String> = summary.trust.against().next().map(|_| line).into_iter().collect();
    if let Some(failure) = summary.probe.as_ref().and_then(|probe| probe.failure.as_ref())
        && summary.totals.due == 0
    {
        let said = visible(&lang.fill(say::PROBE_FAILED, &[("failure", failure)]));
        against.push(said.clone());
        reasons.push(said);
    }
    // What an objective or a step ended early is judged by those, and by its figures.
    let interrupted = summary.end != record::End::Completed && !matches!(summary.exit, Exit::Ok | Exit::Missed);
    let failure = match (against.is_empty(), interrupted) {
        (false, _) => Some(against.join("; ")),
        (true, true) => Some(judgement::exit(summary, lang)),
        (true, false) => None,
    };
    cases.push(Case { name: "trust".into(), failure, said: reasons.join("\n") });
    cases
}

/// Without what acts on a screen, and what XML 1.0 cannot hold at all.
fn visible(text: &str) -> String {
    measure::plain::text(text).replace(['\u{fffe}', '\u{ffff}', '\r'], "\u{fffd}")
}
