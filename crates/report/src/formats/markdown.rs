//! Markdown for a merge request or a wiki: the setup of the run, the verdict on whether to trust it, and its figures.

use std::io::{self, Write};

use brunt_record::RunStarted;

use super::text::{accounts, figures, head};
use super::{ReportFormat, Style, agents, named};
use crate::finding::Grade;
use crate::judgement;
use crate::limits::LimitText;
use crate::numbers;
use crate::ranked::{ALL_NAMES, QUANTILES};
use crate::reasons::reason;
use crate::seconds::SecondsSource;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text};

/// The Markdown format (see the module documentation).
pub(super) struct MarkdownFormat;

impl ReportFormat for MarkdownFormat {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["md", "markdown"]
    }

    fn write(&self, summary: &Summary, _: &dyn SecondsSource, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let summary = &summary.escaped();
        let mut page = MarkdownPage::new(style.lang);
        run(&mut page, summary);
        verdict(&mut page, summary);
        objectives(&mut page, summary);
        latency(&mut page, summary);
        stretches(&mut page, summary);
        iterations(&mut page, summary);
        by_name(&mut page, summary);
        agents(&mut page, summary);
        checks(&mut page, summary);
        slowest(&mut page, summary);
        reference(&mut page, summary);
        requests(&mut page, summary);
        failures(&mut page, summary);
        where_time_went(&mut page, summary);
        connections(&mut page, summary);
        limits(&mut page, summary);
        out.write_all(page.text.as_bytes())
    }
}

/// Blocks collected before they are written, separated by empty lines.
#[derive(Debug)]
pub struct MarkdownPage {
    lang: Lang,
    text: String,
}

impl MarkdownPage {
    /// Creates an empty page.
    pub fn new(lang: Lang) -> MarkdownPage {
        MarkdownPage { lang, text: String::new() }
    }

    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a block of Markdown verbatim.
    fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// Adds a paragraph of plain text.
    pub fn paragraph(&mut self, text: &str) {
        self.block(&escaped(text));
    }

    /// Adds a sentence of plain text that stands out.
    pub fn emphasis(&mut self, text: &str) {
        self.block(&format!("**{}**", escaped(text)));
    }

    /// Adds the title, of plain text.
    pub fn title(&mut self, text: &str) {
        self.block(&format!("## {}", escaped(text)));
    }

    /// Adds a heading of plain text.
    pub fn section(&mut self, heading: &str) {
        self.block(&format!("### {}", escaped(heading)));
    }

    /// Adds a list of lines of plain text.
    pub fn list(&mut self, lines: &[String]) {
        let lines: Vec<String> = lines.iter().map(|line| format!("- {}", escaped(line))).collect();
        self.block(&lines.join("\n"));
    }

    /// Adds rows of plain text below a heading; `sides` gives the alignment of each column: `l` or `r`.
    pub fn table(&mut self, sides: &str, rows: &[Vec<String>]) {
        let line = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        let mut rows = rows.iter().map(|row| line(&mut row.iter().map(|cell| escaped(cell))));
        let heading = rows.next().unwrap_or_default();
        let rule = line(&mut sides.chars().map(|side| if side == 'l' { ":--" } else { "--:" }.to_owned()));
        self.block(&(heading + &rule + &rows.collect::<String>()));
    }

    fn translate(&self, text: Text) -> String {
        self.lang.of(text).into()
    }
}

/// Adds the limits of the run, with their proof.
fn limits(page: &mut MarkdownPage, summary: &Summary) {
    let all = crate::limits::limit_texts(&summary.limits, page.lang);
    if all.is_empty() {
        return;
    }
    page.section(page.lang.of(say::limits::LIMIT));
    for LimitText { claim, details } in all {
        let lines: Vec<String> = std::iter::once(claim).chain(details).collect();
        page.list(&lines);
    }
}

/// Adds the verdict on whether to trust the figures that follow.
fn line(page: &mut MarkdownPage, summary: &Summary) {
    page.emphasis(&crate::verdict_line::verdict_line(summary, page.lang));
}

/// Adds the setup of the run, its time, and its origin.
fn run(page: &mut MarkdownPage, summary: &Summary) {
    let lang = page.lang;
    let Some(started) = &summary.started else {
        page.title("brunt");
        return line(page, summary);
    };
    page.title(&format!("brunt {}", head::target(&started.plan, lang)));
    line(page, summary);
    let load = head::load_as_run(summary, lang).join(lang.of(say::COMMA));
    let mut rows = vec![
        vec![page.translate(say::RUN), String::new()],
        vec![page.translate(say::TARGET), target(summary, started, lang)],
        vec![page.translate(say::LOAD), load],
        vec![page.translate(say::BEGUN), numbers::moment(started.unix_ms)],
        vec![page.translate(say::TOOK), numbers::duration(summary.elapsed)],
    ];
    if started.workers > 0 {
        let machine = |host: &brunt_record::GeneratorHost| {
            let cores = host.cores.to_string();
            let facts: [(&str, &str); 4] =
                [("version", &started.brunt), ("host", &host.name), ("kernel", &host.kernel), ("cores", &cores)];
            lang.fill(say::MACHINE, &facts)
        };
        let machines = started.hosts.iter().map(machine);
        let generator: Vec<String> = std::iter::once(head::machinery(started, lang)).chain(machines).collect();
        rows.push(vec![page.translate(say::GENERATOR), generator.join(lang.of(say::SEMICOLON))]);
    }
    if !summary.joined.is_empty() {
        rows.push(vec![page.translate(say::PROBES), head::probed(summary, lang).join(lang.of(say::SEMICOLON))]);
    }
    page.table("ll", &rows);
}

/// Returns all URLs if there are few, with the protocol if an answer revealed it. They are separated by ` , ` because a
/// space ends a URL where links are recognized automatically.
fn target(summary: &Summary, started: &RunStarted, lang: Lang) -> String {
    const FEW: usize = 5;
    let urls = &started.plan.urls;
    let spoken = summary.probe.as_ref().map_or("", |p| &p.spoken);
    let shown = if started.plan.count_urls() <= FEW {
        urls.iter().map(|u| u.url.as_str()).collect::<Vec<_>>().join(" , ")
    } else {
        head::target(&started.plan, lang)
    };
    if spoken.is_empty() { shown } else { format!("{shown} ({spoken})") }
}

fn verdict(page: &mut MarkdownPage, summary: &Summary) {
    let lang = page.lang;
    let verdict = lang.of(judgement::verdict(summary.trust.verdict()));
    let exit = escaped(&judgement::exit(summary, lang));
    page.block(&format!("**{}{}{verdict}** · {exit}", lang.of(say::TRUST), lang.of(say::COLON)));
    let reasons = summary.trust.findings.iter().map(|found| {
        let mark = match found.grade {
            Grade::Unchecked => "–",
            Grade::Ok => "✓",
            Grade::TooShort | Grade::Warn => "!",
            Grade::Fail => "✗",
        };
        format!("{mark} {}", found.sentence(lang))
    });
    let notices = summary.notices.iter().map(|notice| format!("! {}", judgement::notice(notice, lang)));
    let changes = judgement::changes(&summary.changes, lang).map(|said| format!("! {said}"));
    page.list(&reasons.chain(changes).chain(notices).collect::<Vec<_>>());
}

fn objectives(page: &mut MarkdownPage, summary: &Summary) {
    if summary.objectives.is_empty() {
        return;
    }
    let mut rows = vec![vec![page.translate(say::OBJECTIVES), String::new(), String::new()]];
    rows.extend(summary.objectives.iter().map(|o| {
        let word = crate::judgement::outcome(o.outcome);
        vec![o.objective.clone(), page.translate(word), judgement::measured(o, page.lang)]
    }));
    page.table("lll", &rows);
}

fn latency(page: &mut MarkdownPage, summary: &Summary) {
    let (ranked, lang) = (summary.headline(), page.lang);
    if summary.only_holds() {
        return page.section(&figures::heading(summary, lang));
    }
    page.section(&(figures::heading(summary, lang) + &figures::sample_size(summary, lang)));
    let answered = figures::failed_responses(summary);
    let ranked = match (ranked.count(), answered.count()) {
        (0, 0) => return page.block(&escaped(lang.of(figures::no_latency(summary)))),
        (0, n) => {
            page.block(&escaped(&lang.fill(say::ONLY_FAILED_RESPONSES, &[("n", &numbers::count(n))])));
            answered
        }
        _ => ranked,
    };
    let heading = if figures::lacks_intervals(&ranked) { String::new() } else { page.translate(say::INTERVAL) };
    let mut rows = vec![vec![String::new(), String::new(), heading]];
    rows.extend(ranked.show_min(page.lang).map(|min| vec![page.translate(say::MIN), min, String::new()]));
    rows.extend(QUANTILES.iter().map(|named| {
        let q = ranked.quantile(named.q);
        vec![named.name.into(), q.show(lang), figures::interval(q)]
    }));
    rows.push(vec![page.translate(say::MAX), ranked.show_max(lang), String::new()]);
    rows.push(vec![page.translate(say::MEAN), ranked.show_mean(lang), String::new()]);
    rows.push(vec![page.translate(say::DEVIATION), ranked.deviation().show(), String::new()]);
    page.table("lrl", &rows);
    if figures::shows_bands(summary, &ALL_NAMES) {
        page.block(&escaped(lang.of(say::BAND_NOTE)));
    }
    if figures::lacks_intervals(&ranked) {
        page.block(&escaped(lang.of(say::NO_INTERVALS)));
    }
    if ranked.unfinished() > 0 {
        page.block(&escaped(lang.of(say::LOWER_BOUND_NOTE)));
    }
}

/// Adds the figures of agents and labels, in a run of many machines.
fn agents(page: &mut MarkdownPage, summary: &Summary) {
    for (heading, rows) in
        [(agents::AGENTS, agents::rows(summary, page.lang)), (agents::BY_LABEL, agents::label_rows(summary, page.lang))]
    {
        let columns = rows.first().map_or(0, Vec::len);
        if columns == 0 {
            continue;
        }
        page.section(page.lang.of(heading));
        page.table(&format!("l{}", "r".repeat(columns - 1)), &rows);
        let notes = agents::notes(summary, page.lang);
        if heading == agents::AGENTS && !notes.is_empty() {
            page.list(&notes);
        }
    }
}

/// Adds the figures by stretches of the load, if it changed.
fn stretches(page: &mut MarkdownPage, summary: &Summary) {
    let rows = super::stretches::rows(summary, page.lang);
    if !rows.is_empty() {
        page.section(page.lang.of(super::stretches::STRETCHES));
        page.table("lrrrrrrr", &rows);
        page.block(&escaped(super::stretches::note(page.lang)));
    }
}

/// Adds the totals of scenarios, and of the iterations and groups of flows.
fn iterations(page: &mut MarkdownPage, summary: &Summary) {
    let scenarios = (super::scenarios::SCENARIOS, super::scenarios::rows(summary, page.lang));
    let iterations = (super::iterations::ITERATIONS, super::iterations::rows(summary, page.lang));
    for (title, rows) in [scenarios, iterations] {
        if let Some(heading) = rows.first() {
            page.section(page.lang.of(title));
            page.table(&format!("l{}", "r".repeat(heading.len() - 1)), &rows);
        }
    }
}

/// Adds the results of named checks.
fn checks(page: &mut MarkdownPage, summary: &Summary) {
    let rows = super::checks::rows(summary, page.lang);
    if !rows.is_empty() {
        page.section(page.lang.of(super::checks::CHECKS));
        page.table("lrrr", &rows);
    }
}

/// Adds the traces of slow requests.
fn slowest(page: &mut MarkdownPage, summary: &Summary) {
    let rows = super::slowest::rows(summary, page.lang, usize::MAX);
    if !rows.is_empty() {
        page.section(page.lang.of(super::slowest::SLOWEST));
        page.table(&format!("rr{}", "l".repeat(rows[0].len() - 2)), &rows);
    }
}

/// Adds the results of the reference client.
fn reference(page: &mut MarkdownPage, summary: &Summary) {
    let lines = super::reference::lines(summary, page.lang);
    if !lines.is_empty() {
        page.section(page.lang.of(super::reference::REFERENCE));
        lines.iter().for_each(|line| page.block(&escaped(line)));
    }
}

/// Adds the totals of each name, if there are several.
fn by_name(page: &mut MarkdownPage, summary: &Summary) {
    let rows = named::rows(summary, page.lang);
    if rows.len() < 2 {
        return;
    }
    page.section(page.lang.of(named::BY_NAME));
    let figures = "r".repeat(rows[0].len() - 2);
    page.table(&format!("l{figures}l"), &rows);
    let failures = named::failures(summary, page.lang);
    if !failures.is_empty() {
        let heading = vec![page.translate(named::FAILURES_BY_NAME), String::new(), String::new()];
        page.table("lll", &std::iter::once(heading).chain(failures).collect::<Vec<_>>());
    }
}

/// Adds the rate, the account of requests and the status codes.
fn requests(page: &mut MarkdownPage, summary: &Summary) {
    let totals = &summary.totals;
    page.section(page.lang.of(say::REQUESTS));
    let mut lines = Vec::new();
    if !summary.only_holds() {
        lines = figures::throughput_lines(summary, page.lang);
    }
    lines.push(accounts::account(summary, page.lang));
    let (uncounted, special) = accounts::outside_account(summary, page.lang);
    lines.extend(uncounted.into_iter().chain(special));
    page.list(&lines);
    if totals.status.is_empty() {
        return;
    }
    let all = totals.status.values().sum();
    let mut rows =
        vec![vec![page.translate(say::STATUS_CODES), page.translate(say::TIMES), page.translate(say::SHARE)]];
    rows.extend(totals.status.iter().map(|(code, &n)| vec![code.clone(), numbers::count(n), numbers::percent(n, all)]));
    page.table("lrr", &rows);
}

/// Adds failures by kind, with the remedy, or otherwise the details of an example.
fn failures(page: &mut MarkdownPage, summary: &Summary) {
    if summary.totals.failures.is_empty() {
        return;
    }
    let mut rows = vec![vec![page.translate(say::FAILURES), page.translate(say::TIMES), String::new()]];
    rows.extend(accounts::most_frequent_first(summary).into_iter().map(|f| {
        let advice = accounts::advice(f, page.lang);
        let detail = || summary.example(f).map(|e| reason(&e.detail, e.cause.as_ref(), page.lang).into_owned());
        let known = advice.map(str::to_owned).or_else(detail).unwrap_or_default();
        vec![accounts::sort_of(f, page.lang), numbers::count(f.count), known]
    }));
    page.table("lrl", &rows);
}

fn where_time_went(page: &mut MarkdownPage, summary: &Summary) {
    let rows = figures::parts(summary, page.lang);
    if rows.len() > 1 {
        page.section(page.lang.of(say::WHERE_TIME));
        page.table("lrrrrr", &rows);
    }
}

fn connections(page: &mut MarkdownPage, summary: &Summary) {
    page.section(page.lang.of(say::CONNECTIONS));
    page.list(&accounts::connection_lines(summary, page.lang));
}

/// Escapes text so that none of it is interpreted as Markdown, and puts it on one line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' | '~' | '&' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
