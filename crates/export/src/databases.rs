//! Requests to databases and over plain connections, as OpenTelemetry describes them: the operation of each request,
//! known from the plan, and its attributes by the semantic conventions for database clients.

use brunt_record::{RequestSpan, RunStarted};
use hyper::Uri;

use crate::messages::{KeyValue, number, text};

/// Maximum number of characters of a statement that are exported.
const LONGEST: usize = 2000;

/// The system that a request is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetSystem {
    Redis,
    Mysql,
    Mariadb,
    Postgresql,
    /// No database: bytes over TCP, TLS or UDP.
    Plain,
}

impl TargetSystem {
    /// Returns the system of a URL; `None` for any other.
    pub fn of(url: &str) -> Option<TargetSystem> {
        match url.split_once("://")?.0 {
            "redis" | "rediss" => Some(TargetSystem::Redis),
            "mysql" => Some(TargetSystem::Mysql),
            "mariadb" => Some(TargetSystem::Mariadb),
            "postgres" | "postgresql" => Some(TargetSystem::Postgresql),
            "tcp" | "tls" | "udp" => Some(TargetSystem::Plain),
            _ => None,
        }
    }

    /// Returns the option that contains the requests, and the request that is sent without this option.
    fn request_option(self) -> (&'static str, Option<&'static str>) {
        match self {
            TargetSystem::Redis => ("command", Some("PING")),
            TargetSystem::Mysql | TargetSystem::Mariadb | TargetSystem::Postgresql => ("sql", Some("SELECT 1")),
            TargetSystem::Plain => ("send", None),
        }
    }

    fn port(self) -> Option<u16> {
        match self {
            TargetSystem::Redis => Some(6379),
            TargetSystem::Mysql | TargetSystem::Mariadb => Some(3306),
            TargetSystem::Postgresql => Some(5432),
            TargetSystem::Plain => None,
        }
    }
}

/// A prepared request to one of these systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreparedQuery {
    pub system: TargetSystem,
    pub url: String,
    /// Text as written: a command or a statement.
    pub text: Option<String>,
}

/// Returns the prepared requests of a run, in order: for each URL, all requests sent to it. An entry is `None` for a
/// request in another protocol.
pub(crate) fn prepared(started: &RunStarted, most: usize) -> Vec<Option<PreparedQuery>> {
    let plan = &started.plan;
    let of_url = |url: &str, own: &dyn Fn(&str) -> Option<Vec<String>>| {
        let Some(system) = TargetSystem::of(url) else { return vec![None] };
        let (option, usual) = system.request_option();
        let given = own(option).unwrap_or_default();
        let texts: Vec<Option<String>> = match given.is_empty() {
            true => vec![usual.map(str::to_owned)],
            false => given.iter().map(|text| Some(unweighted(text).to_owned())).collect(),
        };
        let one = |text| Some(PreparedQuery { system, url: url.to_owned(), text });
        texts.into_iter().map(one).collect()
    };
    let urls = plan.urls.iter().flat_map(|url| {
        let own = |option: &str| url.options.get(option).or_else(|| plan.options.get(option)).cloned();
        of_url(&url.url, &own)
    });
    urls.take(most).collect()
}

/// Strips the weight from `3x GET key`.
fn unweighted(text: &str) -> &str {
    let text = text.trim();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    match rest.strip_prefix('x') {
        Some(behind) if rest.len() < text.len() && behind.starts_with(char::is_whitespace) => behind.trim_start(),
        _ => text,
    }
}

/// The operation of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Operation {
    /// Name, such as `SELECT`, or `BATCH` for several different operations; empty if there is none.
    name: String,
    /// Number of statements or commands.
    count: usize,
    /// Summary, such as `SELECT items`.
    summary: String,
}

impl Operation {
    fn of(system: TargetSystem, asked: &str) -> Operation {
        let all: Vec<&str> = pieces(asked);
        let word = |piece: &&str| piece.split_whitespace().next().unwrap_or_default().to_uppercase();
        let words: Vec<String> = all.iter().map(word).collect();
        let first = words.first().cloned().unwrap_or_default();
        let alike = words.iter().all(|word| *word == first);
        let name = match (words.len(), alike) {
            (..=1, _) => first,
            (_, true) => format!("BATCH {first}"),
            (_, false) if system == TargetSystem::Redis && first == "MULTI" => first,
            (_, false) => "BATCH".to_owned(),
        };
        let table = (words.len() == 1 && system != TargetSystem::Redis).then(|| table(asked)).flatten();
        let summary = table.map_or_else(|| name.clone(), |table| format!("{name} {table}"));
        Operation { name, count: words.len(), summary }
    }
}

/// Splits text at semicolons outside quotes.
fn pieces(asked: &str) -> Vec<&str> {
    let (mut all, mut quote, mut from) = (Vec::new(), None, 0);
    for (at, c) in asked.char_indices() {
        match (quote, c) {
            (None, '\'' | '"' | '`') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ';') => {
                all.push(&asked[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&asked[from..]);
    all.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

/// Returns the first table in a statement, recognized by the keyword before it.
fn table(statement: &str) -> Option<&str> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let before = |word: &&str| ["FROM", "INTO", "UPDATE"].iter().any(|known| word.eq_ignore_ascii_case(known));
    let at = words.iter().position(before)?;
    let name = words.get(at + 1)?.split('(').next()?.trim_matches(['`', '"', ';', ',']);
    (!name.is_empty() && !name.contains(['{', '\''])).then_some(name)
}

impl PreparedQuery {
    /// Returns the name of a span: the request's own name if the user gave one, otherwise its operation.
    pub fn span_name(&self, named: &str) -> String {
        if !named.is_empty() && named != self.url && self.text.as_deref() != Some(named) {
            return named.to_owned();
        }
        match &self.text {
            Some(text) if self.system != TargetSystem::Plain => Operation::of(self.system, text).summary,
            _ => self.url.clone(),
        }
    }

    /// Returns the attributes of a span.
    pub fn attributes(&self, span: &RequestSpan) -> Vec<KeyValue> {
        let mut all = Vec::with_capacity(16);
        let uri = self.url.parse::<Uri>().ok();
        match self.system {
            TargetSystem::Plain => {
                all.push(text("network.transport", if self.url.starts_with("udp:") { "udp" } else { "tcp" }));
            }
            system => self.of_database(system, uri.as_ref(), span, &mut all),
        }
        if let Some(uri) = &uri {
            all.extend(uri.host().map(|host| text("server.address", host.trim_matches(['[', ']']))));
            let port = uri.port_u16().or_else(|| self.system.port());
            all.extend(port.map(|port| number("server.port", port.into())));
        }
        all
    }

    fn of_database(&self, system: TargetSystem, uri: Option<&Uri>, span: &RequestSpan, all: &mut Vec<KeyValue>) {
        all.push(text(
            "db.system.name",
            match system {
                TargetSystem::Mysql => "mysql",
                TargetSystem::Mariadb => "mariadb",
                TargetSystem::Postgresql => "postgresql",
                TargetSystem::Redis | TargetSystem::Plain => "redis",
            },
        ));
        let database = uri.map(|uri| uri.path().trim_matches('/')).filter(|name| !name.is_empty());
        all.extend(database.map(|name| text("db.namespace", name)));
        if let Some(asked) = &self.text {
            let operation = Operation::of(system, asked);
            all.extend((!operation.name.is_empty()).then(|| text("db.operation.name", &operation.name)));
            all.extend((operation.count > 1).then(|| number("db.operation.batch.size", operation.count as i64)));
            all.push(text("db.query.summary", &operation.summary));
            let whole: String = asked.chars().take(LONGEST).collect();
            all.push(text("db.query.text", &whole));
        }
        if span.failure.is_some() {
            let code = span.status.split_whitespace().next();
            all.extend(code.map(|code| text("db.response.status_code", code)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_told_by_its_first_word_and_its_table() {
        let of = |system, asked| {
            let Operation { name, count: many, summary } = Operation::of(system, asked);
            (name, many, summary)
        };
        let told = |name: &str, many, summary: &str| (name.to_owned(), many, summary.to_owned());
        let sql = TargetSystem::Postgresql;
        assert_eq!(of(sql, "select name from shop.items where id = {counter}"), told("SELECT", 1, "SELECT shop.items"));
        assert_eq!(of(sql, "INSERT INTO t(a) VALUES ('from x; y')"), told("INSERT", 1, "INSERT t"));
        assert_eq!(of(sql, "UPDATE `t` SET a = 1;"), told("UPDATE", 1, "UPDATE t"));
        assert_eq!(of(sql, "SELECT 1 FROM orders_{user}"), told("SELECT", 1, "SELECT"));
        assert_eq!(of(sql, "SELECT 1"), told("SELECT", 1, "SELECT"));
        assert_eq!(of(sql, "DELETE FROM t; INSERT INTO t VALUES (1)"), told("BATCH", 2, "BATCH"));
        assert_eq!(of(TargetSystem::Redis, "get a"), told("GET", 1, "GET"));
        assert_eq!(of(TargetSystem::Redis, "INCR a; INCR b"), told("BATCH INCR", 2, "BATCH INCR"));
        assert_eq!(of(TargetSystem::Redis, "MULTI; INCR a; EXEC"), told("MULTI", 3, "MULTI"));
        assert_eq!(of(sql, ""), told("", 0, ""));
    }

    #[test]
    fn weights_are_no_part_of_what_is_asked() {
        let texts = ["3x GET k", "0.5x  SET k 1x", "3xyz", "x GET", " PING "].map(unweighted);
        assert_eq!(texts, ["GET k", "SET k 1x", "3xyz", "x GET", "PING"]);
    }
}
