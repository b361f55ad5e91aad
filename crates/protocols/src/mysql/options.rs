//! The options of MySQL, and what is between the parts of its URL.

use std::ops::RangeInclusive;

use url::{Host, Url};
use wire::{Asked, Complaint, OptionSpec, Origin, Takes, Text};

use super::plan::Account;
use super::statement::Way;
use crate::percent::decoded;

/// The options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &[
    option(
        "sql",
        Takes::Many("SQL"),
        "Run this statement, or several separated by ; as one exchange; `3x SELECT 1` weighs 3; slots as in {counter}",
        "执行该语句，或以 ; 分隔的多条语句（计为一次交换）；`3x SELECT 1` 权重为 3；可含 {counter} 等占位符",
    ),
    option(
        "transaction",
        Takes::Nothing,
        "Put START TRANSACTION and COMMIT around each --sql; a failure rolls back and counts once",
        "为每个 --sql 加上 START TRANSACTION 和 COMMIT；失败时回滚，只计一次失败",
    ),
    option(
        "prepared",
        Takes::Nothing,
        "Prepare all statements, also those without slots",
        "预处理所有语句，包括没有占位符的语句",
    ),
    option(
        "text",
        Takes::Nothing,
        "Prepare no statement: send SQL with the slots filled in",
        "不预处理语句：发送填好占位符的 SQL",
    ),
    option(
        "expect-rows",
        Takes::One("N"),
        "Fail unless so many rows come back or change: 1, 1..5, 1..",
        "返回或更改的行数不符则计为失败：1、1..5、1..",
    ),
    option(
        "before",
        Takes::Many("SQL"),
        "Run this once before the run, outside of its figures",
        "在运行前执行一次，不计入结果",
    ),
    option(
        "after",
        Takes::Many("SQL"),
        "Run this once after the run, outside of its figures",
        "在运行后执行一次，不计入结果",
    ),
    option(
        "ssl",
        Takes::Nothing,
        "Speak TLS, which MySQL begins behind its greeting",
        "使用 TLS（MySQL 在问候之后开始）",
    ),
];

const fn option(name: &'static str, takes: Takes, en: &'static str, zh: &'static str) -> OptionSpec {
    OptionSpec { name, short: None, takes, help: Text { en, zh } }
}

/// How statements are to be sent.
///
/// # Errors
/// Two ways at once.
pub fn way(asked: &Asked) -> Result<Way, Complaint> {
    match (asked.switch("prepared"), asked.switch("text")) {
        (true, true) => {
            Err(Complaint::new("--text", "it cannot stand beside --prepared, which is the opposite; give one of them"))
        }
        (true, false) => Ok(Way::Prepared),
        (false, true) => Ok(Way::Text),
        (false, false) => Ok(Way::Usual),
    }
}

/// How many rows an exchange must return or change.
///
/// # Errors
/// It is no number and no span.
pub fn rows(asked: &Asked) -> Result<Option<RangeInclusive<u64>>, Complaint> {
    let Some(text) = asked.value("expect-rows") else { return Ok(None) };
    let span = match text.split_once("..") {
        None => text.parse().ok().map(|n| n..=n),
        Some((low, "")) => low.parse().ok().map(|low| low..=u64::MAX),
        Some((low, high)) => low.parse().ok().zip(high.parse().ok()).map(|(low, high)| low..=high),
    };
    match span.filter(|span| !span.is_empty()) {
        Some(span) => Ok(Some(span)),
        None => {
            let trouble = format!("\"{text}\" is no number of rows; write 1, 1..5 or 1..");
            Err(Complaint::new("--expect-rows", trouble))
        }
    }
}

/// Where a URL leads, and who logs in there. `bound` is the number of the account.
///
/// # Errors
/// What is wrong with it.
pub fn place(text: &str) -> Result<(Origin, Account), Complaint> {
    let wrong = |trouble: &str| {
        let right = "write mysql://user:password@host:3306/database";
        Complaint::new("URL", format!("\"{text}\" cannot be used ({trouble}); {right}"))
    };
    let url = Url::parse(text).map_err(|trouble| wrong(&trouble.to_string()))?;
    if !matches!(url.scheme(), "mysql" | "mariadb") {
        return Err(wrong("its scheme is neither mysql nor mariadb"));
    }
    let host = match url.host().ok_or_else(|| wrong("it names no host"))? {
        // A scheme that is not of the web keeps its host as written, addresses included.
        Host::Domain(name) => decoded(name),
        Host::Ipv4(address) => address.to_string().into_bytes(),
        Host::Ipv6(address) => address.to_string().into_bytes(),
    };
    let host = String::from_utf8(host).ok().filter(|h| !h.is_empty()).ok_or_else(|| wrong("it names no host"))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("options are flags here, for instance --ssl"));
    }
    if url.username().is_empty() {
        return Err(wrong("it names no user"));
    }
    let database = url.path().trim_start_matches('/');
    if database.contains('/') {
        return Err(wrong("a database is one word"));
    }
    let account = Account {
        user: decoded(url.username()),
        password: decoded(url.password().unwrap_or_default()),
        database: decoded(database),
    };
    if [&account.user, &account.database].iter().any(|part| part.contains(&0)) {
        return Err(wrong("a zero byte ends a name"));
    }
    Ok((Origin::tcp(host, url.port().unwrap_or(3306), false), account))
}
