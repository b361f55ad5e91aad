//! Text for people: what was asked, one headline, what supports it, and whether to trust it.

pub(super) mod accounts;
pub(super) mod figures;
pub(crate) mod head;
mod verdict;

use std::io::{self, Write};

use super::{Format, Style, named};
use crate::columns::{Paint, wrapped};
use crate::seconds::Seconds;
use crate::summary::Summary;
use crate::text::{Lang, Text as Message};

/// See the module.
pub(super) struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["txt"]
    }

    fn is_on_screen(&self) -> bool {
        true
    }

    fn write(&self, summary: &Summary, _: &dyn Seconds, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let summary = &summary.plain();
        let mut page = Page { lang: style.lang, paint: Paint(style.color), cells: style.cells, text: String::new() };
        head::asked(&mut page, summary);
        verdict::line(&mut page, summary);
        figures::headline(&mut page, summary);
        figures::throughput(&mut page, summary);
        figures::distribution(&mut page, summary);
        figures::where_time_went(&mut page, summary);
        iterations(&mut page, summary);
        by_name(&mut page, summary);
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

/// What each name comes to, where there are several. Tables are not broken as sentences are.
fn by_name(page: &mut Page, summary: &Summary) {
    if summary.by_name().next().is_none() {
        return;
    }
    page.section(page.say(named::BY_NAME));
    let room = page.cells.map(|cells| cells.saturating_sub(2));
    named::lines(summary, page.lang, room).iter().for_each(|line| page.inner(line));
}

/// What scenarios, and the iterations and groups of flows come to.
fn iterations(page: &mut Page, summary: &Summary) {
    if summary.scenarios().next().is_some() {
        page.section(page.say(super::scenarios::SCENARIOS));
        super::scenarios::lines(summary, page.lang).iter().for_each(|line| page.inner(line));
    }
    if summary.spans().next().is_some() {
        page.section(page.say(super::iterations::ITERATIONS));
        super::iterations::lines(summary, page.lang).iter().for_each(|line| page.inner(line));
    }
}

/// What the checks by name came to.
fn checks(page: &mut Page, summary: &Summary) {
    let lines = super::checks::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.say(super::checks::CHECKS));
        lines.iter().for_each(|line| page.inner(line));
    }
}

/// What slow requests are looked up by.
fn slowest(page: &mut Page, summary: &Summary) {
    let lines = super::slowest::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.say(super::slowest::SLOWEST));
        // Ids are of no use in pieces.
        lines.iter().for_each(|line| page.text.push_str(&format!("  {line}\n")));
    }
}

/// What the client beside the load found.
fn reference(page: &mut Page, summary: &Summary) {
    let lines = super::reference::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.say(super::reference::REFERENCE));
        lines.iter().for_each(|line| page.inner(line));
    }
}

/// Lines collected before they are written.
struct Page {
    lang: Lang,
    paint: Paint,
    cells: Option<usize>,
    text: String,
}

impl Page {
    /// Appends a line; on a terminal that is narrower, several, broken between words.
    fn line(&mut self, text: &str) {
        self.text.push_str(&self.cells.map_or_else(|| text.to_owned(), |cells| wrapped(text, cells)));
        self.text.push('\n');
    }

    /// Appends a line within a section.
    fn inner(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }

    /// Begins a section.
    fn section(&mut self, heading: &str) {
        let heading = self.paint.bold(heading);
        self.text.push('\n');
        self.line(&heading);
    }

    /// A message in the page's language.
    fn say(&self, text: Message) -> &'static str {
        self.lang.of(text)
    }
}
