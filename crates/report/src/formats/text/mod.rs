//! Text for people: the requested load, one headline, the supporting figures, and the verdict on whether to trust them.
//! The page has two forms: the complete one, and one for the screen of a terminal.

pub(super) mod accounts;
mod brief;
pub(super) mod figures;
pub(crate) mod head;
mod verdict;

use std::io::{self, Write};

use super::{ReportFormat, Style, agents, named};
use crate::columns::{Paint, wrap};
use crate::seconds::SecondsSource;
use crate::summary::Summary;
use crate::text::{Lang, Text as Message};

/// The text format (see the module documentation).
pub(super) struct TextFormat;

impl ReportFormat for TextFormat {
    fn name(&self) -> &'static str {
        "text"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["txt"]
    }

    fn is_on_screen(&self) -> bool {
        true
    }

    fn write(&self, summary: &Summary, _: &dyn SecondsSource, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let summary = &summary.escaped();
        let (lang, paint, cells) = (style.lang, Paint(style.color), style.cells);
        if style.is_brief {
            return out.write_all(brief::page(summary, lang, paint, cells).as_bytes());
        }
        let mut page = TextPage { lang, paint, cells, text: String::new() };
        head::requested_load(&mut page, summary);
        verdict::line(&mut page, summary);
        figures::headline(&mut page, summary);
        figures::throughput(&mut page, summary);
        stretches(&mut page, summary);
        figures::distribution(&mut page, summary);
        figures::where_time_went(&mut page, summary);
        iterations(&mut page, summary);
        by_name(&mut page, summary);
        agents(&mut page, summary);
        checks(&mut page, summary);
        slowest(&mut page, summary);
        reference(&mut page, summary);
        accounts::requests(&mut page, summary);
        accounts::failures(&mut page, summary);
        accounts::connections(&mut page, summary);
        verdict::limits(&mut page, summary);
        verdict::notices(&mut page, summary);
        verdict::objectives(&mut page, summary);
        verdict::trust(&mut page, summary);
        out.write_all(page.text.as_bytes())
    }
}

/// Adds the figures by stretches of the load, if it changed.
fn stretches(page: &mut TextPage, summary: &Summary) {
    let lines = super::stretches::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.translate(super::stretches::STRETCHES));
        lines.iter().for_each(|line| page.indented_line(line));
    }
}

/// Adds the totals of each name, if there are several. Tables are not wrapped like sentences.
fn by_name(page: &mut TextPage, summary: &Summary) {
    if summary.by_name().next().is_none() {
        return;
    }
    page.section(page.translate(named::BY_NAME));
    let room = page.cells.map(|cells| cells.saturating_sub(2));
    named::lines(summary, page.lang, room).iter().for_each(|line| page.indented_line(line));
}

/// Adds the figures of agents and labels, in a run of many machines.
fn agents(page: &mut TextPage, summary: &Summary) {
    let room = page.cells.map(|cells| cells.saturating_sub(2));
    for (heading, lines) in [
        (agents::AGENTS, agents::lines(summary, page.lang, room)),
        (agents::BY_LABEL, agents::label_lines(summary, page.lang, room)),
    ] {
        if lines.is_empty() {
            continue;
        }
        page.section(page.translate(heading));
        lines.iter().for_each(|line| page.indented_line(line));
        if heading == agents::AGENTS {
            agents::notes(summary, page.lang).iter().for_each(|line| page.indented_line(line));
        }
    }
}

/// Adds the totals of scenarios, and of the iterations and groups of flows.
fn iterations(page: &mut TextPage, summary: &Summary) {
    if summary.scenarios().next().is_some() {
        page.section(page.translate(super::scenarios::SCENARIOS));
        super::scenarios::lines(summary, page.lang).iter().for_each(|line| page.indented_line(line));
    }
    if summary.spans().next().is_some() {
        page.section(page.translate(super::iterations::ITERATIONS));
        super::iterations::lines(summary, page.lang).iter().for_each(|line| page.indented_line(line));
    }
}

/// Adds the results of named checks.
fn checks(page: &mut TextPage, summary: &Summary) {
    let lines = super::checks::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.translate(super::checks::CHECKS));
        lines.iter().for_each(|line| page.indented_line(line));
    }
}

/// Adds the traces of slow requests.
fn slowest(page: &mut TextPage, summary: &Summary) {
    let lines = super::slowest::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.translate(super::slowest::SLOWEST));
        // Ids must not be wrapped.
        lines.iter().for_each(|line| page.text.push_str(&format!("  {line}\n")));
    }
}

/// Adds the results of the reference client.
fn reference(page: &mut TextPage, summary: &Summary) {
    let lines = super::reference::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.translate(super::reference::REFERENCE));
        lines.iter().for_each(|line| page.indented_line(line));
    }
}

/// Lines collected before they are written.
struct TextPage {
    lang: Lang,
    paint: Paint,
    cells: Option<usize>,
    text: String,
}

impl TextPage {
    /// Appends a line, wrapped between words if it is wider than the terminal.
    fn line(&mut self, text: &str) {
        self.text.push_str(&self.cells.map_or_else(|| text.to_owned(), |cells| wrap(text, cells)));
        self.text.push('\n');
    }

    /// Appends a line within a section.
    fn indented_line(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }

    /// Begins a section.
    fn section(&mut self, heading: &str) {
        let heading = self.paint.bold(heading);
        self.text.push('\n');
        self.line(&heading);
    }

    /// Returns a message in the page's language.
    fn translate(&self, text: Message) -> &'static str {
        self.lang.of(text)
    }
}
