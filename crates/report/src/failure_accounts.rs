//! Failures as a reader counts them: in words, unexpected statuses by code, and each by the names it hit.
//!
//! A record counts failures by sort, and statuses and failures by name. A count by code or by name is told only where
//! these add up to the count of the sort, so that it is exact.

use std::collections::BTreeMap;

use brunt_measure::sanitize;
use brunt_record::{Failure, FailureExample, Kind, Phase};

use crate::failure_kind::FailureKind as _;
use crate::judgement;
use crate::sentences as say;
use crate::sums::RunSums;
use crate::text::{Lang, Text, text};

/// A part of the failures of one sort.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FailureAccount<'a> {
    /// Status code of the responses; `None` if the failures are not counted by it.
    pub status: Option<&'a str>,
    /// Number of failures.
    pub count: u64,
    /// Counts by name, most first; empty if the run has only one name, or if they are not known.
    pub names: Vec<(&'a str, u64)>,
}

/// Counts by name.
type ByName<'a> = Vec<(&'a str, u64)>;

/// Returns the parts of a sort of failure, most first; a single one if they are not known.
pub(crate) fn accounts<'a>(sums: &'a RunSums, failure: &Failure) -> Vec<FailureAccount<'a>> {
    let by_code = by_code(sums);
    let mut parts: Vec<FailureAccount<'a>> = match &by_code {
        Some(codes) if failure.is(Kind::WrongStatus) => {
            codes.iter().map(|(code, names)| of_code(code, names)).collect()
        }
        _ => {
            let names = others_by_name(sums, failure, by_code.as_ref()).unwrap_or_default();
            vec![FailureAccount { status: None, count: failure.count, names }]
        }
    };
    parts.iter_mut().for_each(|part| part.names.sort_by_key(|(_, n)| std::cmp::Reverse(*n)));
    parts.sort_by_key(|part| std::cmp::Reverse(part.count));
    parts
}

fn of_code<'a>(code: &'a str, names: &ByName<'a>) -> FailureAccount<'a> {
    let count = names.iter().map(|(_, n)| n).sum();
    // A run with one name has no counts by name.
    let names = names.iter().filter(|(name, _)| !name.is_empty()).copied().collect();
    FailureAccount { status: Some(code), count, names }
}

/// Returns the unexpected statuses with their counts by name; `None` if they do not add up to the failures, or if there
/// are none.
fn by_code(sums: &RunSums) -> Option<BTreeMap<&str, ByName<'_>>> {
    let mut wrong = sums.totals.failures.iter().filter(|failure| failure.is(Kind::WrongStatus));
    let (Some(sort), None) = (wrong.next(), wrong.next()) else { return None };
    let mut codes: BTreeMap<&str, ByName<'_>> = BTreeMap::new();
    let is_wrong = |example: &&FailureExample| example.is(Kind::WrongStatus) && !example.status.is_empty();
    if sums.by_name().next().is_none() {
        for example in sums.examples.iter().chain(&sums.examples_by_name).filter(is_wrong) {
            let count = sums.totals.status.get(&example.status).copied().unwrap_or(0);
            codes.insert(&example.status, vec![("", count)]);
        }
    }
    for row in sums.by_name() {
        for example in sums.examples_of(row.index).filter(is_wrong) {
            let count = row.totals.status.get(&example.status).copied().unwrap_or(0);
            let names = codes.entry(&example.status).or_default();
            // The first failure of a sort may be kept twice.
            if count > 0 && !names.iter().any(|(name, _)| *name == row.name) {
                names.push((row.name, count));
            }
        }
    }
    let total: u64 = codes.values().flatten().map(|(_, n)| n).sum();
    (total == sort.count).then_some(codes)
}

/// Returns the failures of a sort by name: those of each name that have no unexpected status, if there is only this
/// sort of them.
fn others_by_name<'a>(
    sums: &'a RunSums,
    failure: &Failure,
    codes: Option<&BTreeMap<&str, ByName<'a>>>,
) -> Option<ByName<'a>> {
    let others = sums.totals.failures.iter().filter(|other| codes.is_none() || !other.is(Kind::WrongStatus)).count();
    let wrong = |name: &str| -> u64 {
        codes.into_iter().flat_map(|codes| codes.values().flatten()).filter(|(of, _)| *of == name).map(|(_, n)| n).sum()
    };
    let rest = sums.by_name().map(|row| (row.name, row.totals.counts.failed.saturating_sub(wrong(row.name))));
    let names: ByName<'a> = rest.filter(|(_, n)| *n > 0).collect();
    let total: u64 = names.iter().map(|(_, n)| n).sum();
    (others == 1 && total == failure.count).then_some(names)
}

/// Reason phrases of HTTP (RFC 9110).
const PHRASES: [(&str, &str); 28] = [
    ("301", "Moved Permanently"),
    ("302", "Found"),
    ("303", "See Other"),
    ("304", "Not Modified"),
    ("307", "Temporary Redirect"),
    ("308", "Permanent Redirect"),
    ("400", "Bad Request"),
    ("401", "Unauthorized"),
    ("402", "Payment Required"),
    ("403", "Forbidden"),
    ("404", "Not Found"),
    ("405", "Method Not Allowed"),
    ("406", "Not Acceptable"),
    ("408", "Request Timeout"),
    ("409", "Conflict"),
    ("410", "Gone"),
    ("411", "Length Required"),
    ("412", "Precondition Failed"),
    ("413", "Content Too Large"),
    ("415", "Unsupported Media Type"),
    ("422", "Unprocessable Content"),
    ("429", "Too Many Requests"),
    ("431", "Request Header Fields Too Large"),
    ("500", "Internal Server Error"),
    ("501", "Not Implemented"),
    ("502", "Bad Gateway"),
    ("503", "Service Unavailable"),
    ("504", "Gateway Timeout"),
];

/// Names a status: `500 Internal Server Error`; codes of other protocols stay as they are.
fn status(code: &str, sums: &RunSums) -> String {
    let is_http = sums.started.as_ref().is_some_and(|started| started.plan.protocol == "http");
    let phrase = PHRASES.iter().find(|(known, _)| is_http && *known == code);
    phrase.map_or_else(|| sanitize::line(code).into_owned(), |(_, phrase)| format!("{code} {phrase}"))
}

/// Describes a part of the failures of a sort: `500 Internal Server Error`, `timed out waiting for the first byte`.
pub(crate) fn describe(failure: &Failure, part: &FailureAccount<'_>, sums: &RunSums, lang: Lang) -> String {
    match part.status {
        Some(code) => status(code, sums),
        None => failure_in_words((&failure.kind, &failure.phase, failure.errno.as_deref()), lang),
    }
}

/// Describes the kind of a failure in words; an unknown one stays as it is.
pub fn kind_in_words(kind: &str, lang: Lang) -> String {
    Kind::of(kind).map_or_else(|| kind.to_owned(), |kind| lang.of(kind_words(kind)).to_owned())
}

/// Describes a sort of failure in words, by its kind, phase and system error: `timed out waiting for the first byte`.
pub fn failure_in_words((kind, phase, errno): (&str, &str, Option<&str>), lang: Lang) -> String {
    let Some(kind) = Kind::of(kind) else { return judgement::sort((kind, phase, errno), lang) };
    let errno = errno.map(|errno| lang.fill(say::BRACKETS, &[("inner", errno)])).unwrap_or_default();
    let phase = Phase::of(phase).filter(|phase| !tells_phase(kind, *phase)).map(phase_words);
    let what = lang.of(kind_words(kind)).to_owned() + &errno;
    match phase {
        Some(phase) => lang.fill(IN_PHASE, &[("what", &what), ("phase", lang.of(phase))]),
        None => what,
    }
}

const IN_PHASE: Text = text("{what} {phase}", "{what}（{phase}）");

/// Returns `true` if a kind of failure says by itself in which phase it happened.
fn tells_phase(kind: Kind, phase: Phase) -> bool {
    match kind {
        Kind::WrongStatus | Kind::WrongBody | Kind::WrongHeader | Kind::TooManyRedirects | Kind::Proxy => true,
        Kind::Unchecked | Kind::BadValue => true,
        Kind::Resolve => phase == Phase::Resolve,
        Kind::Tls => phase == Phase::Tls,
        Kind::Refused | Kind::Unreachable | Kind::NoPorts | Kind::NoDescriptors => phase == Phase::Connect,
        Kind::BrokenProtocol => matches!(phase, Phase::FirstByte | Phase::Transfer),
        Kind::Reset | Kind::Closed | Kind::Timeout | Kind::Io => false,
    }
}

fn kind_words(kind: Kind) -> Text {
    let en = match kind {
        Kind::Resolve => "the host name could not be resolved",
        Kind::Refused => "connection refused",
        Kind::Unreachable => "host unreachable",
        Kind::NoPorts => "no local port left",
        Kind::NoDescriptors => "no file descriptor left",
        Kind::Reset => "connection reset",
        Kind::Closed => "connection closed",
        Kind::Timeout => "timed out",
        Kind::Tls => "TLS failed",
        Kind::BrokenProtocol => "the response violates the protocol",
        Kind::WrongStatus => "unexpected status",
        Kind::WrongBody => "unexpected body",
        Kind::TooManyRedirects => "too many redirects",
        Kind::Io => "system error",
        Kind::WrongHeader => "unexpected header",
        Kind::Unchecked => "the response could not be checked",
        Kind::BadValue => "a captured value does not fit",
        Kind::Proxy => "the proxy refused or closed the connection",
    };
    text(en, say::kind_zh(kind))
}

fn phase_words(phase: Phase) -> Text {
    let en = match phase {
        Phase::Resolve => "resolving the name",
        Phase::Wait => "waiting for a connection",
        Phase::Connect => "connecting",
        Phase::Tls => "in the TLS handshake",
        Phase::Greeting => "in the handshake of the protocol",
        Phase::FirstByte => "waiting for the first byte",
        Phase::Transfer => "receiving the response",
        Phase::Hold => "while idle",
    };
    text(en, say::phase_zh(phase))
}
