//! Requests to databases and over plain connections as OpenTelemetry describes them: the operation of each,
//! known from the plan, and its attributes by the semantic conventions of database clients.

use hyper::Uri;
use record::{RequestSpan, RunStarted};

use crate::messages::{KeyValue, number, text};

/// Maximum number of bytes exported of a statement.
const LONGEST: usize = 2000;

/// The system that a request is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Redis,
    Mysql,
    Mariadb,
    Postgresql,
    /// No database: bytes over TCP, TLS or UDP.
    Plain,
}

impl System {
    /// Returns the system of a URL; `None` if it is none of these.
    pub fn of(url: &str) -> Option<System> {
        match url.split_once("://")?.0 {
            "redis" | "rediss" => Some(System::Redis),
            "mysql" => Some(System::Mysql),
            "mariadb" => Some(System::Mariadb),
            "postgres" | "postgresql" => Some(System::Postgresql),
            "tcp" | "tls" | "udp" => Some(System::Plain),
            _ => None,
        }
    }

    /// Returns the option that holds the request, and the default request without it.
    fn asks(self) -> (&'static str, Option<&'static str>) {
        match self {
            System::Redis => ("command", Some("PING")),
            System::Mysql | System::Mariadb | System::Postgresql => ("sql", Some("SELECT 1")),
            System::Plain => ("send", None),
        }
    }

    fn port(self) -> Option<u16> {
        match self {
            System::Redis => Some(6379),
            System::Mysql | System::Mariadb => Some(3306),
            System::Postgresql => Some(5432),
            System::Plain => None,
        }
    }
}

/// A prepared request to one of these systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub system: System,
    pub url: String,
    /// Text as it was written: a command or a statement.
    pub text: Option<String>,
}

/// Returns the prepared requests of a run, in order: for each URL, all requests sent to it. `None` stands for a
/// request in another protocol.
pub(crate) fn prepared(started: &RunStarted, most: usize) -> Vec<Option<Prepared>> {
    let plan = &started.plan;
    let of_url = |url: &str, own: &dyn Fn(&str) -> Option<Vec<String>>| {
        let Some(system) = System::of(url) else { return vec![None] };
        let (option, usual) = system.asks();
        let given = own(option).unwrap_or_default();
        let texts: Vec<Option<String>> = match given.is_empty() {
            true => vec![usual.map(str::to_owned)],
            false => given.iter().map(|text| Some(unweighted(text).to_owned())).collect(),
        };
        let one = |text| Some(Prepared { system, url: url.to_owned(), text });
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
    /// Name such as `SELECT`; empty for several different operations that are not a batch.
    name: String,
    /// Number of statements or commands.
    many: usize,
    /// Summary such as `SELECT items`.
    summary: String,
}

impl Operation {
    fn of(system: System, asked: &str) -> Operation {
        let all: Vec<&str> = pieces(asked);
        let word = |piece: &&str| piece.split_whitespace().next().unwrap_or_default().to_uppercase();
        let words: Vec<String> = all.iter().map(word).collect();
        let first = words.first().cloned().unwrap_or_default();
        let alike = words.iter().all(|word| *word == first);
        let name = match (words.len(), alike) {
            (..=1, _) => first,
            (_, true) => format!("BATCH {first}"),
            (_, false) if system == System::Redis && first == "MULTI" => first,
            (_, false) => "BATCH".to_owned(),
        };
        let table = (words.len() == 1 && system != System::Redis).then(|| table(asked)).flatten();
        let summary = table.map_or_else(|| name.clone(), |table| format!("{name} {table}"));
        Operation { name, many: words.len(), summary }
    }
}

/// Splits at semicolons outside of quotes.
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

/// Returns the first table that a statement names, recognized by the keyword before it.
fn table(statement: &str) -> Option<&str> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let before = |word: &&str| ["FROM", "INTO", "UPDATE"].iter().any(|known| word.eq_ignore_ascii_case(known));
    let at = words.iter().position(before)?;
    let name = words.get(at + 1)?.split('(').next()?.trim_matches(['`', '"', ';', ',']);
    (!name.is_empty() && !name.contains(['{', '\''])).then_some(name)
}

impl Prepared {
    /// Returns the name of a span: the request's own name if the user gave one, otherwise its operation.
    pub fn called(&self, named: &str) -> String {
        if !named.is_empty() && named != self.url && self.text.as_deref() != Some(named) {
            return named.to_owned();
        }
        match &self.text {
            Some(text) if self.system != System::Plain => Operation::of(self.system, text).summary,
            _ => self.url.clone(),
        }
    }

    /// Returns the attributes of a span.
    pub fn attributes(&self, span: &RequestSpan) -> Vec<KeyValue> {
        let mut all = Vec::with_capacity(16);
        let uri = self.url.parse::<Uri>().ok();
        match self.system {
            System::Plain => {
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

    fn of_database(&self, system: System, uri: Option<&Uri>, span: &RequestSpan, all: &mut Vec<KeyValue>) {
        all.push(text(
            "db.system.name",
            match system {
                System::Mysql => "mysql",
                System::Mariadb => "mariadb",
                System::Postgresql => "postgresql",
                System::Redis | System::Plain => "redis",
            },
        ));
        let database = uri.map(|uri| uri.path().trim_matches('/')).filter(|name| !name.is_empty());
        all.extend(database.map(|name| text("db.namespace", name)));
        if let Some(asked) = &self.text {
            let operation = Operation::of(system, asked);
            all.extend((!operation.name.is_empty()).then(|| text("db.operation.name", &operation.name)));
            all.extend((operation.many > 1).then(|| number("db.operation.batch.size", operation.many as i64)));
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
            let Operation { name, many, summary } = Operation::of(system, asked);
            (name, many, summary)
        };
        let told = |name: &str, many, summary: &str| (name.to_owned(), many, summary.to_owned());
        let sql = System::Postgresql;
        assert_eq!(of(sql, "select name from shop.items where id = {counter}"), told("SELECT", 1, "SELECT shop.items"));
        assert_eq!(of(sql, "INSERT INTO t(a) VALUES ('from x; y')"), told("INSERT", 1, "INSERT t"));
        assert_eq!(of(sql, "UPDATE `t` SET a = 1;"), told("UPDATE", 1, "UPDATE t"));
        assert_eq!(of(sql, "SELECT 1 FROM orders_{user}"), told("SELECT", 1, "SELECT"));
        assert_eq!(of(sql, "SELECT 1"), told("SELECT", 1, "SELECT"));
        assert_eq!(of(sql, "DELETE FROM t; INSERT INTO t VALUES (1)"), told("BATCH", 2, "BATCH"));
        assert_eq!(of(System::Redis, "get a"), told("GET", 1, "GET"));
        assert_eq!(of(System::Redis, "INCR a; INCR b"), told("BATCH INCR", 2, "BATCH INCR"));
        assert_eq!(of(System::Redis, "MULTI; INCR a; EXEC"), told("MULTI", 3, "MULTI"));
        assert_eq!(of(sql, ""), told("", 0, ""));
    }

    #[test]
    fn weights_are_no_part_of_what_is_asked() {
        let texts = ["3x GET k", "0.5x  SET k 1x", "3xyz", "x GET", " PING "].map(unweighted);
        assert_eq!(texts, ["GET k", "SET k 1x", "3xyz", "x GET", "PING"]);
    }
}
