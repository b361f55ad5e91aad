//! The summary for one screen: what was asked, whether to trust the figures, throughput, latency, requests, objectives,
//! what limited the run, and the result.
//!
//! A screen has 24 lines, and one of them is the prompt. Each part says how well it can be spared; as long as the page is
//! too long, the parts that can be spared best are left out. What is wrong is therefore shown in as much detail as fits.

use brunt_record::{End, Subject};

use super::{accounts, figures, head};
use crate::columns::{Paint, pad_right, truncate, width, wrap};
use crate::formats::{agents, checks, iterations, named, scenarios};
use crate::judgement;
use crate::limits::limit_texts;
use crate::numbers;
use crate::objectives::{JudgedObjective, ObjectiveOutcome};
use crate::ranked::{FEW_NAMES, QUANTILES, RankedLatency};
use crate::sentences as say;
use crate::sentences::brief as words;
use crate::summary::Summary;
use crate::text::{Lang, Text};
use crate::verdict_line::{self, ShortVerdict};

/// Number of lines of the page.
const LINES: usize = 22;
/// Width of a screen for which the lines are counted if there is no terminal, in cells.
const CELLS: usize = 80;
/// Maximum number of rows of names, of sorts of failure, and of objectives.
const ROWS: usize = 6;
const FAILURES: usize = 3;
const OBJECTIVES: usize = 4;

/// The label of lines without one.
const NO_LABEL: Option<Text> = None;

/// Labels of the groups of lines.
const LABELS: [Text; 15] = [
    say::THROUGHPUT,
    words::LATENCY,
    scenarios::SCENARIOS,
    iterations::ITERATIONS,
    named::BY_NAME,
    agents::AGENTS,
    say::REQUESTS,
    say::FAILURES,
    say::CONNECTIONS,
    checks::CHECKS,
    say::OBJECTIVES,
    words::LIMIT,
    words::NOTICES,
    words::RESULT,
    words::MORE,
];

/// How well a part can be spared, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spare {
    /// The answer.
    Never,
    /// What to do about it.
    Remedy,
    /// Figures of names and scenarios.
    Row,
    /// Explanations of what is shown.
    Note,
    /// Details of a failure.
    Example,
    /// Further findings.
    Further,
    /// Proof of what is claimed.
    Evidence,
    /// What is true of most runs.
    Context,
}

/// A line with the label of its group, which only the first line shown of a group has.
struct BriefLine {
    spare: Spare,
    label: Option<Text>,
    text: String,
    /// Set for a line that is an answer of its own: a sort of failure, an objective, a row of a table.
    is_item: bool,
}

/// Groups of answers, and how those are named that are left out.
const ITEMS: [(Text, Text); 5] = [
    (say::OBJECTIVES, words::MORE_OBJECTIVES),
    (say::FAILURES, words::MORE_FAILURES),
    (scenarios::SCENARIOS, words::MORE_SCENARIOS),
    (iterations::ITERATIONS, words::MORE_ITERATIONS),
    (named::BY_NAME, words::MORE_NAMES),
];

/// The page in the making.
struct Brief<'a> {
    summary: &'a Summary,
    lang: Lang,
    paint: Paint,
    cells: Option<usize>,
    parts: Vec<BriefLine>,
}

/// Returns the page.
pub(super) fn page(summary: &Summary, lang: Lang, paint: Paint, cells: Option<usize>) -> String {
    let mut brief = Brief { summary, lang, paint, cells, parts: Vec::new() };
    brief.asked();
    brief.trust();
    brief.throughput();
    brief.latency();
    brief.agents();
    brief.requests();
    brief.failures();
    brief.connections();
    brief.checks();
    brief.objectives();
    brief.limit();
    brief.notices();
    brief.result();
    brief.rows();
    brief.finish()
}

impl Brief<'_> {
    fn add(&mut self, spare: Spare, label: impl Into<Option<Text>>, text: impl Into<String>) {
        self.parts.push(BriefLine { spare, label: label.into(), text: text.into(), is_item: false });
    }

    fn add_item(&mut self, spare: Spare, label: Text, text: String) {
        self.parts.push(BriefLine { spare, label: Some(label), text, is_item: true });
    }

    fn blank(&mut self) {
        self.add(Spare::Never, NO_LABEL, "");
    }

    fn asked(&mut self) {
        let Some(started) = &self.summary.started else { return };
        let title = format!("brunt {}  {}", started.brunt, head::target(&started.plan, self.lang));
        let title = self.cells.map_or_else(|| title.clone(), |cells| truncate(&title, cells));
        self.add(Spare::Never, NO_LABEL, self.paint.bold(&title));
        let mut load = head::load(&started.plan, self.lang);
        load.push(head::machinery(started, self.lang));
        self.add(Spare::Never, NO_LABEL, load.join(self.lang.of(say::COMMA)));
        self.blank();
    }

    fn trust(&mut self) {
        let summary = self.summary;
        let ShortVerdict { line, advice, further } = verdict_line::short(summary, self.lang);
        self.add(Spare::Never, NO_LABEL, super::verdict::colored(summary, self.paint, &line));
        let overload = judgement::overload(summary, self.lang);
        overload.into_iter().for_each(|said| self.add(Spare::Never, NO_LABEL, self.paint.yellow(&said)));
        // A limit comes with a remedy of its own.
        if let Some(advice) = advice.filter(|_| summary.limits.principal().is_none()) {
            self.add(Spare::Remedy, NO_LABEL, advice);
        }
        for found in further {
            let line = format!("{} {}", super::verdict::mark(found.grade, self.paint), found.sentence(self.lang));
            self.add(Spare::Further, NO_LABEL, line);
        }
        self.blank();
    }

    fn throughput(&mut self) {
        if self.summary.only_holds() {
            return;
        }
        let mut lines = figures::throughput_lines(self.summary, self.lang).into_iter();
        let first = lines.next().unwrap_or_default();
        self.add(Spare::Never, say::THROUGHPUT, first);
        lines.for_each(|line| self.add(Spare::Context, say::THROUGHPUT, line));
    }

    fn latency(&mut self) {
        let (summary, lang) = (self.summary, self.lang);
        if summary.only_holds() {
            return self.add(Spare::Never, words::LATENCY, figures::heading(summary, lang));
        }
        self.add(Spare::Never, words::LATENCY, figures::heading(summary, lang) + &figures::sample_size(summary, lang));
        let (ranked, answered) = (summary.headline(), figures::failed_responses(summary));
        match (ranked.count(), answered.count()) {
            (0, 0) => self.add(Spare::Never, words::LATENCY, lang.of(figures::no_latency(summary))),
            (0, n) => {
                let heading = lang.fill(say::ONLY_FAILED_RESPONSES, &[("n", &numbers::count(n))]);
                self.add(Spare::Note, words::LATENCY, heading);
                self.quantiles(&answered);
            }
            _ => self.quantiles(&ranked),
        }
        if figures::shows_bands(summary, &FEW_NAMES) {
            self.add(Spare::Note, words::LATENCY, lang.of(say::BAND_NOTE));
        }
        if !summary.open && ranked.count() > 0 {
            let hidden = figures::hidden(summary, lang);
            hidden.into_iter().for_each(|line| self.add(Spare::Context, words::LATENCY, line));
        }
    }

    /// Adds p50, p95, p99 and the maximum, as many on a line as fit.
    fn quantiles(&mut self, ranked: &RankedLatency<'_>) {
        let lang = self.lang;
        let named = QUANTILES.iter().filter(|named| FEW_NAMES.contains(&named.name));
        let mut all: Vec<String> =
            named.map(|named| format!("{} {}", named.name, ranked.quantile(named.q).show(lang))).collect();
        all.push(format!("{} {}", lang.of(say::MAX), ranked.show_max(lang)));
        let room = self.room();
        let mut line = String::new();
        for figure in all {
            let joined = if line.is_empty() { figure.clone() } else { format!("{line}   {figure}") };
            if width(&joined) > room && !line.is_empty() {
                let full = std::mem::replace(&mut line, figure);
                self.add(Spare::Never, words::LATENCY, self.paint.bold(&full));
            } else {
                line = joined;
            }
        }
        self.add(Spare::Never, words::LATENCY, self.paint.bold(&line));
        for note in figures::footnotes(ranked, lang, &FEW_NAMES[1..]) {
            self.add(Spare::Note, words::LATENCY, note);
        }
    }

    fn agents(&mut self) {
        let line = agents::in_short(self.summary, self.lang);
        // Whose figures they are is part of the result, whatever else there is to say.
        line.into_iter().for_each(|line| self.add(Spare::Never, agents::AGENTS, line));
    }

    fn requests(&mut self) {
        let line = accounts::account(self.summary, self.lang);
        let line = if self.summary.totals.is_consistent() { line } else { self.paint.red(&line) };
        self.add(Spare::Never, say::REQUESTS, line);
        if self.summary.totals.status.len() > 1 {
            self.add(Spare::Note, say::REQUESTS, accounts::status_codes(self.summary, self.lang));
        }
        let (_, notes) = accounts::outside_account(self.summary, self.lang);
        notes.into_iter().for_each(|note| self.add(Spare::Evidence, say::REQUESTS, note));
    }

    fn failures(&mut self) {
        let (summary, lang) = (self.summary, self.lang);
        let sorted = accounts::most_frequent_first(summary);
        for (at, failure) in sorted.iter().take(FAILURES).enumerate() {
            let line = format!("{} × {}", numbers::count(failure.count), accounts::sort_of(failure, lang));
            let spare = if at == 0 { Spare::Never } else { Spare::Note };
            self.add_item(spare, say::FAILURES, self.paint.red(&line));
            let Some(example) = summary.example(failure).filter(|_| at == 0) else { continue };
            accounts::explanation(example, lang)
                .into_iter()
                .for_each(|why| self.add(Spare::Remedy, say::FAILURES, why));
            for line in accounts::response_lines(example, lang, self.room()) {
                self.add(Spare::Example, say::FAILURES, self.paint.dim(&line));
            }
        }
    }

    /// Adds the connections where they are the result, or where some were lost.
    fn connections(&mut self) {
        let totals = &self.summary.totals;
        let is_result = self.summary.only_holds();
        if !is_result && totals.connections.lost == 0 && totals.unopened.is_empty() {
            return;
        }
        for line in accounts::connection_lines(self.summary, self.lang) {
            self.add(if is_result { Spare::Row } else { Spare::Evidence }, say::CONNECTIONS, line);
        }
    }

    fn checks(&mut self) {
        for line in checks::lines(self.summary, self.lang) {
            self.add(Spare::Row, checks::CHECKS, line);
        }
    }

    fn objectives(&mut self) {
        let mut sorted: Vec<&JudgedObjective> = self.summary.objectives.iter().collect();
        sorted.sort_by_key(|judged| judged.outcome != ObjectiveOutcome::Missed);
        sorted.sort_by_key(|judged| judged.outcome == ObjectiveOutcome::Met);
        for (at, judged) in sorted.iter().enumerate() {
            let is_met = judged.outcome == ObjectiveOutcome::Met;
            let spare = match (at < OBJECTIVES, is_met) {
                (true, false) => Spare::Never,
                (true, true) => Spare::Row,
                (false, _) => Spare::Evidence,
            };
            let word = super::verdict::outcome(judged, 0, self.lang, self.paint);
            let line = format!("{word}  {}  {}", judged.objective, judgement::measured(judged, self.lang));
            self.add_item(spare, say::OBJECTIVES, line);
        }
    }

    fn limit(&mut self) {
        for (at, limit) in limit_texts(&self.summary.limits, self.lang).into_iter().enumerate() {
            self.add(if at == 0 { Spare::Never } else { Spare::Further }, words::LIMIT, limit.claim);
            // The evidence, the remedy and the experiment of the main limit.
            let details = limit.details.into_iter().filter(|_| at == 0);
            for (spare, detail) in [Spare::Evidence, Spare::Remedy, Spare::Evidence].into_iter().zip(details) {
                self.add(spare, words::LIMIT, detail);
            }
        }
    }

    fn notices(&mut self) {
        // Figures of a run whose load was changed describe no load that ran; a run that ended early says why.
        let of_end = if self.summary.end == End::Completed { Spare::Note } else { Spare::Remedy };
        let changes = judgement::changes(&self.summary.changes, self.lang).into_iter();
        let changes = changes.enumerate().map(|(at, said)| (if at == 0 { Spare::Remedy } else { Spare::Note }, said));
        let notices = self.summary.notices.iter().map(|notice| {
            // What can still be had must be seen.
            let spare = if notice.subject() == Some(Subject::AgentsAwaited) { Spare::Never } else { of_end };
            (spare, judgement::notice(notice, self.lang))
        });
        for (spare, said) in changes.chain(notices).collect::<Vec<_>>() {
            self.add(spare, words::NOTICES, self.paint.yellow(&format!("! {said}")));
        }
    }

    fn result(&mut self) {
        self.add(Spare::Never, words::RESULT, judgement::exit(self.summary, self.lang));
        self.add(Spare::Never, words::MORE, self.paint.dim(self.lang.of(words::WHERE_MORE)));
    }

    /// Inserts the figures of iterations, scenarios and names before the counts, as many as there is room for.
    fn rows(&mut self) {
        let (summary, lang, room) = (self.summary, self.lang, self.room());
        let labelled = |label: Text, lines: Vec<String>| lines.into_iter().map(move |text| (label, text));
        let mut all: Vec<(Text, String)> = Vec::new();
        all.extend(labelled(scenarios::SCENARIOS, scenarios::fitted(summary, lang, room)));
        all.extend(labelled(iterations::ITERATIONS, iterations::fitted(summary, lang, room)));
        if summary.by_name().next().is_some() {
            let mut lines = named::most_requested(summary, lang, Some(room), ROWS);
            lines.truncate(1 + ROWS);
            all.extend(labelled(named::BY_NAME, lines));
        }
        let at = self.parts.iter().position(|part| part.label == Some(say::REQUESTS)).unwrap_or(self.parts.len());
        let mut group = None;
        let parts = all.into_iter().map(|(label, text)| {
            // The first line of a table names its columns.
            let is_item = group.replace(label) == Some(label);
            BriefLine { spare: Spare::Row, label: Some(label), text, is_item }
        });
        drop(self.parts.splice(at..at, parts));
    }

    /// Returns the width of the column of labels.
    fn indent(&self) -> usize {
        LABELS.iter().map(|label| width(self.lang.of(*label))).max().unwrap_or(0) + 2
    }

    /// Returns the width beside the labels.
    fn room(&self) -> usize {
        self.cells.unwrap_or(CELLS).saturating_sub(self.indent())
    }

    /// Returns the number of lines of the parts up to this rank.
    fn lines(&self, most: Spare) -> usize {
        let (indent, cells) = (self.indent(), self.cells.unwrap_or(CELLS));
        let shown = self.parts.iter().filter(|part| part.spare <= most);
        shown.map(|part| part.wrapped(indent, Some(cells)).split('\n').count()).sum()
    }

    /// Leaves out what can be spared until the page fits, says what was left out, and returns the page.
    fn finish(mut self) -> String {
        self.tell_what_is_left_out();
        while self.lines(Spare::Context) > LINES {
            let most = self.parts.iter().map(|part| part.spare).max().filter(|most| *most > Spare::Never);
            let Some(most) = most else { break };
            // The last of a rank is of the least interest: it stands furthest down.
            let at = self.parts.iter().rposition(|part| part.spare == most).unwrap_or_default();
            let label = self.parts.remove(at).label;
            // A table without rows says nothing.
            let is_table = ITEMS[2..].iter().any(|(table, _)| Some(*table) == label);
            if is_table && self.items(label) == 0 {
                self.parts.retain(|part| part.label != label);
            }
            self.tell_what_is_left_out();
        }
        self.print()
    }

    fn tell_what_is_left_out(&mut self) {
        let what = self.left_out().join(self.lang.of(say::COMMA));
        let facts = [("what", what.as_str()), ("more", self.lang.of(words::WHERE_MORE))];
        let said = self.paint.dim(&self.lang.fill(words::NOT_SHOWN, &facts));
        let line = self.parts.iter_mut().find(|part| part.label == Some(words::MORE) && !what.is_empty());
        line.into_iter().for_each(|line| line.text.clone_from(&said));
    }

    /// Returns the number of answers shown of a group.
    fn items(&self, label: Option<Text>) -> usize {
        self.parts.iter().filter(|part| part.label == label && part.is_item).count()
    }

    /// Returns what this page has no room for, each with its number.
    fn left_out(&self) -> Vec<String> {
        let summary = self.summary;
        let all = [
            summary.objectives.len(),
            accounts::most_frequent_first(summary).len(),
            summary.scenarios().count(),
            summary.spans().count(),
            summary.by_name().count(),
        ];
        let left =
            ITEMS.iter().zip(all).map(|((label, more), all)| (more, all.saturating_sub(self.items(Some(*label)))));
        left.filter(|(_, n)| *n > 0).map(|(more, n)| self.lang.fill(*more, &[("n", &n.to_string())])).collect()
    }

    fn print(&self) -> String {
        let indent = self.indent();
        let mut page = String::new();
        let mut group: Option<Text> = None;
        for part in &self.parts {
            let is_new = part.label.is_some() && part.label != group;
            group = part.label;
            let label = part.label.filter(|_| is_new).map_or("", |label| self.lang.of(label));
            let margin = if part.label.is_some() { self.paint.bold(&pad_right(label, indent)) } else { String::new() };
            page += &format!("{margin}{}", part.wrapped(indent, self.cells));
            page.push('\n');
        }
        page
    }
}

impl BriefLine {
    /// Returns the text, wrapped beside its label.
    fn wrapped(&self, indent: usize, cells: Option<usize>) -> String {
        let indent = if self.label.is_some() { indent } else { 0 };
        let Some(cells) = cells else { return self.text.clone() };
        let text = wrap(&self.text, cells.saturating_sub(indent).max(1));
        text.replace('\n', &format!("\n{}", " ".repeat(indent)))
    }
}
