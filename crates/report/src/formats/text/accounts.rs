//! Counts: requests and their outcomes, failures with an example, connections and bytes.

use brunt_record::{ConnectionLoss, Failure, FailureExample, Kind, Phase};

use super::TextPage;
use crate::columns::{pad_left, truncate, width};
use crate::failure_kind::FailureKind as _;
use crate::formats::slowest;
use crate::judgement;
use crate::numbers;
use crate::reasons::reason;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text};

pub(super) fn requests(page: &mut TextPage, summary: &Summary) {
    let totals = &summary.totals;
    page.section(page.translate(say::REQUESTS));
    let line = account(summary, page.lang);
    let line = if totals.is_consistent() { line } else { page.paint.red(&line) };
    page.indented_line(&line);
    let (before, after) = outside_account(summary, page.lang);
    before.iter().for_each(|line| page.indented_line(line));
    if !totals.status.is_empty() {
        page.indented_line(&status_codes(summary, page.lang));
    }
    after.iter().for_each(|line| page.indented_line(line));
}

/// Returns the number of responses of each status code, as a line.
pub(super) fn status_codes(summary: &Summary, lang: Lang) -> String {
    let codes = summary.totals.status.iter().map(|(code, n)| format!("{code}: {}", numbers::count(*n)));
    format!("{}  {}", lang.of(say::STATUS_CODES), codes.collect::<Vec<_>>().join("  "))
}

/// Returns the request counts as a line, with each request counted once.
pub(crate) fn account(summary: &Summary, lang: Lang) -> String {
    let totals = &summary.totals;
    let text = if totals.is_consistent() { say::ACCOUNT } else { say::ACCOUNT_BROKEN };
    let counts = [totals.due, totals.finished, totals.failed, totals.censored].map(numbers::count);
    let [due, finished, failed, censored] = &counts;
    lang.fill(text, &[("due", due), ("finished", finished), ("failed", failed), ("censored", censored)])
}

/// Returns the counts outside the request account, and notes on those within it.
pub(crate) fn outside_account(summary: &Summary, lang: Lang) -> (Option<String>, Vec<String>) {
    let totals = &summary.totals;
    let probe = summary.probe.as_ref().map_or(0, |p| p.requests);
    let uncounted = (totals.warmup > 0 || probe > 0).then(|| {
        lang.fill(say::APART, &[("warmup", &numbers::count(totals.warmup)), ("probe", &numbers::count(probe))])
    });
    let special = [
        (say::LATE, totals.late),
        (say::MESSAGES, totals.messages),
        (say::OPENING_MESSAGES, totals.opening_messages),
        (say::REPLIES, totals.replies),
        (say::UNSOLICITED, totals.unsolicited),
        (say::ONE_WAY, totals.one_way),
        (say::RESENT, totals.resent),
        (say::DECLINED, totals.declined),
        (say::RELEASED, totals.released),
        (say::HOPS, totals.hops),
        (say::RESOURCES_ELSEWHERE, totals.resources_elsewhere),
        (say::RESOURCES_BEYOND, totals.resources_beyond),
        (say::PAGES_CUT, totals.pages_cut),
        (say::FROM_CACHE, totals.from_cache),
        (say::NOT_MODIFIED, totals.not_modified),
        (say::CACHE_BYTES, totals.cache_bytes),
        (say::NOT_CACHED, totals.not_cached),
    ];
    let lines = special.into_iter().filter(|(_, n)| *n > 0);
    let line = |(text, n)| lang.fill(text, &[("n", &numbers::count(n)), ("size", &numbers::bytes(n))]);
    (uncounted, lines.map(line).collect())
}

pub(super) fn failures(page: &mut TextPage, summary: &Summary) {
    let failures = &summary.totals.failures;
    if failures.is_empty() {
        return;
    }
    page.section(page.translate(say::FAILURES));
    let sorted = most_frequent_first(summary);
    let width = sorted.iter().map(|f| numbers::count(f.count).len()).max().unwrap_or(0);
    for failure in sorted {
        let line = format!("{}  {}", pad_left(&numbers::count(failure.count), width), sort_of(failure, page.lang));
        page.indented_line(&page.paint.red(&line));
        if let Some(advice) = advice(failure, page.lang) {
            page.indented_line(&format!("{}{advice}", " ".repeat(width + 2)));
        }
        if let Some(e) = summary.example(failure) {
            example(page, e, width);
        }
    }
}

/// Returns the sorts of failure, the most frequent first.
pub(crate) fn most_frequent_first(summary: &Summary) -> Vec<&Failure> {
    let mut sorted: Vec<&Failure> = summary.totals.failures.iter().collect();
    sorted.sort_by_key(|f| std::cmp::Reverse(f.count));
    sorted
}

/// Returns the remedy for a failure caused by this machine; `None` for any other.
pub(crate) fn advice(failure: &Failure, lang: Lang) -> Option<&'static str> {
    say::ADVICE.iter().find(|(kind, _)| failure.is(*kind)).map(|(_, advice)| lang.of(*advice))
}

/// Formats a sort of failure: `refused · connect · ECONNREFUSED`; the identifiers of documents, or their
/// translation.
pub(crate) fn sort_of(f: &Failure, lang: Lang) -> String {
    judgement::sort((&f.kind, &f.phase, f.errno.as_deref()), lang)
}

fn example(page: &mut TextPage, example: &FailureExample, indent: usize) {
    let indent = " ".repeat(indent + 2);
    explanation(example, page.lang).iter().for_each(|line| page.indented_line(&format!("{indent}{line}")));
    if let Some(trace) = &example.trace {
        let id = slowest::id(trace, page.lang);
        page.indented_line(&format!("{indent}{}", page.lang.fill(slowest::OF_EXAMPLE, &[("id", &id)])));
    }
    let unknown = || page.translate(say::NOT_KNOWN).to_owned();
    let of_values = |used: &brunt_record::UsedValue| match &used.value {
        Some(value) => format!("{}={value}", used.name),
        None => format!("{} {}", used.name, unknown()),
    };
    let values: Vec<String> = example.values.iter().map(of_values).collect();
    let values = values.join(" · ");
    // The text is truncated rather than wrapped: data sent need not consist of words.
    let room = page.cells.map_or(EXAMPLE_CELLS, |cells| cells.saturating_sub(indent.len() + 2).min(EXAMPLE_CELLS));
    let sides: [(Text, &str); 2] = [(say::VALUES, &values), (say::SENT, &example.sent)];
    let sides = sides.into_iter().filter(|(_, bytes)| !bytes.is_empty());
    let mut lines: Vec<String> = sides.map(|(side, bytes)| excerpt(side, bytes, page.lang, room)).collect();
    lines.extend(response_lines(example, page.lang, room));
    lines.into_iter().for_each(|line| page.indented_line(&page.paint.dim(&format!("{indent}{line}"))));
}

/// Returns what is known of the cause of a failure, as sentences.
pub(super) fn explanation(example: &FailureExample, lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    if !example.detail.is_empty() {
        lines.push(one_line(&reason(&example.detail, example.cause.as_ref(), lang), SENTENCE));
    }
    // A reason given by the peer is the explanation.
    let unexplained = example.detail.is_empty() || example.errno.is_some();
    if example.reused && unexplained && (example.is(Kind::Closed) || example.is(Kind::Reset)) {
        lines.push(lang.of(say::ON_REUSED).to_owned());
    }
    lines
}

/// Number of lines shown of the body of a response.
const BODY_LINES: usize = 3;

/// Returns what was received in a failed exchange: the status line and the first lines of the body of an HTTP response,
/// the beginning of any other. The text is escaped, so line breaks are `\r\n`.
pub(super) fn response_lines(example: &FailureExample, lang: Lang, room: usize) -> Vec<String> {
    let received = &example.received;
    let response = received.split_once(r"\r\n\r\n").filter(|_| received.starts_with("HTTP/"));
    let Some((head, body)) = response else {
        let shown = (!received.is_empty()).then(|| excerpt(say::RECEIVED, received, lang, room));
        return shown.into_iter().collect();
    };
    let status = head.split(r"\r\n").next().unwrap_or_default();
    let is_chunk_size = |line: &str| line.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let lines = body.split(r"\n").map(|line| line.trim_end_matches(r"\r").trim());
    let lines = lines.filter(|line| !(line.is_empty() || is_chunked && is_chunk_size(line))).take(BODY_LINES);
    let body = lines.map(|line| excerpt(say::BODY, line, lang, room));
    std::iter::once(excerpt(say::RECEIVED, status, lang, room)).chain(body).collect()
}

/// Returns a text from the wire after its label, cut to `room` cells.
fn excerpt(label: Text, text: &str, lang: Lang, room: usize) -> String {
    let label = format!("{}{}", lang.of(label), lang.of(say::COLON));
    let room = room.saturating_sub(width(&label));
    label + &one_line(text, room)
}

/// Maximum width of a line of an example, in cells.
const EXAMPLE_CELLS: usize = 100;
/// Maximum width of a sentence about an example, longer because expected and actual values are useless if cut.
const SENTENCE: usize = 180;

/// Returns the beginning of a text, on one line; the JSON report contains the whole text.
fn one_line(text: &str, cells: usize) -> String {
    let begins = text.char_indices().nth(4 * EXAMPLE_CELLS).map_or(text, |(at, _)| &text[..at]);
    truncate(&brunt_measure::sanitize::line(begins), cells)
}

/// Number of causes of lost connections shown; the JSON report contains all of them.
const WAYS: usize = 5;

/// Returns connections that were lost or could not be opened, by cause, the most frequent first.
fn by_cause(losses: &[ConnectionLoss], text: Text, lang: Lang) -> Vec<String> {
    let mut all: Vec<&ConnectionLoss> = losses.iter().collect();
    all.sort_by_key(|loss| std::cmp::Reverse(loss.count));
    let line = |loss: &ConnectionLoss| {
        // Lost connections all have the same phase, because they had been open.
        let phase = (!loss.is_in(Phase::Hold)).then(|| judgement::word(&loss.phase, lang));
        let detail = reason(&loss.detail, loss.cause.as_ref(), lang);
        let parts = [Some(judgement::word(&loss.kind, lang)), phase, loss.errno.as_deref(), Some(&*detail)];
        let why = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
        lang.fill(text, &[("n", &numbers::count(loss.count)), ("why", &one_line(&why, SENTENCE))])
    };
    all.into_iter().take(WAYS).map(line).collect()
}

pub(super) fn connections(page: &mut TextPage, summary: &Summary) {
    page.section(page.translate(say::CONNECTIONS));
    connection_lines(summary, page.lang).iter().for_each(|line| page.indented_line(line));
}

/// Returns the counts of connections, and of their traffic.
pub(crate) fn connection_lines(summary: &Summary, lang: Lang) -> Vec<String> {
    let (c, b) = (&summary.totals.connections, &summary.totals.bytes);
    let counts = [c.opened, c.failed, c.reused].map(numbers::count);
    let facts: [(&str, &str); 3] = [("opened", &counts[0]), ("failed", &counts[1]), ("reused", &counts[2])];
    let mut lines = vec![lang.fill(say::CONNECTIONS_LINE, &facts)];
    lines.extend(by_cause(&summary.totals.unopened, say::NOT_OPENED_BY, lang));
    lines.extend(held(summary, lang));
    if !summary.totals.words.is_empty() {
        let words = &summary.totals.words;
        let words =
            words.iter().map(|(word, n)| format!("{} {}", brunt_measure::sanitize::line(word), numbers::count(*n)));
        let words = words.collect::<Vec<_>>().join(lang.of(say::COMMA));
        lines.push(lang.fill(say::WORDS, &[("words", &words)]));
    }
    if c.refused > 0 {
        lines.push(lang.fill(say::REFUSED, &[("n", &numbers::count(c.refused))]));
    }
    if c.handshakes > 0 {
        let facts = [("n", &*numbers::count(c.handshakes)), ("resumed", &*numbers::count(c.resumed))];
        let cheap = if c.resumed > 0 { lang.of(say::ALL_RESUMED) } else { "" };
        lines.push(lang.fill(say::HANDSHAKES, &facts) + cheap);
    }
    let rate = numbers::bytes(summary.per_s(summary.totals.bytes_in_window.received).round() as u64);
    let sizes = [b.sent, b.received, b.payload].map(numbers::bytes);
    let facts: [(&str, &str); 4] =
        [("sent", &sizes[0]), ("received", &sizes[1]), ("payload", &sizes[2]), ("rate", &rate)];
    lines.push(lang.fill(say::BYTES_LINE, &facts));
    lines
}

/// Returns notes on connections that are part of the plan.
fn held(summary: &Summary, lang: Lang) -> Vec<String> {
    let (c, beats) = (&summary.totals.connections, &summary.totals.heartbeats);
    let mut lines = Vec::new();
    let planned = summary.started.as_ref().is_some_and(|s| s.plan.hold.is_some());
    if planned || summary.only_holds() || c.lost > 0 {
        let rate = numbers::rate(summary.opened_per_s());
        let counts = [summary.totals.max_established, c.lost].map(numbers::count);
        let facts: [(&str, &str); 3] = [("n", &counts[0]), ("lost", &counts[1]), ("rate", &rate)];
        lines.push(lang.fill(say::STANDING, &facts));
    }
    lines.extend(by_cause(&summary.totals.losses, say::LOST_BY, lang));
    if beats.sent > 0 {
        let counts = [beats.sent, beats.answered, beats.missed, beats.open].map(numbers::count);
        let names = ["sent", "answered", "missed", "open"];
        let facts: Vec<(&str, &str)> = names.into_iter().zip(counts.iter().map(String::as_str)).collect();
        lines.push(lang.fill(say::HEARTBEATS, &facts));
    }
    lines
}
