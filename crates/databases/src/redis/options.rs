//! Options and URLs of Redis, checked before anything is sent.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionSpec, Origin, ProtocolConfig, UsageError, many, one};
use memchr::memmem::Finder;
use url::Url;

use super::request::RedisRequest;
use brunt_values::capture::CAPTURE;
use brunt_values::capture::{self, Capture};
use brunt_values::{before_after, percent, weight};

/// Options in the order of the help.
pub const OPTIONS: &[OptionSpec] = &[
    many(
        "command",
        "LINE",
        "Send this command (default PING): SET key:{counter} {random 16}; `3x GET k` three times as often as others; \
         commands separated by `;` are one exchange",
        "发送的命令（默认 PING）：SET key:{counter} {random 16}；`3x GET k` 表示权重 3；用 `;` 分隔的命令算一次交换",
    ),
    one(
        "pipeline",
        "N",
        "Each user has N exchanges in flight on its connection (default 1)",
        "每个用户的连接上同时有 N 次在途交换（默认 1）",
    ),
    one(
        "resp",
        "2|3",
        "Protocol version: 3 starts every connection with HELLO (default 2)",
        "协议版本：3 会在每个连接开始时发送 HELLO（默认 2）",
    ),
    many(
        "before",
        "LINE",
        "Send this once before the run, not counted; repeatable, sent in order",
        "压测前发送一次，不计入结果；可重复，按顺序发送",
    ),
    many(
        "after",
        "LINE",
        "Send this once after the run, not counted; repeatable, sent in order",
        "压测后发送一次，不计入结果；可重复，按顺序发送",
    ),
    one("expect-body", "TEXT", "Fail a response unless it contains TEXT", "应答不含该文本则计为失败"),
];

/// Options that may be set for a single URL.
pub const OF_ONE_URL: &[&str] = &["command", "expect-body", CAPTURE];

/// Kinds of captures that replies support.
const KNOWN: &[&str] = &["body", "element", "json", "regex", "between"];

/// Maximum number of exchanges in flight on a connection.
const MOST_IN_FLIGHT: u32 = 10_000;

/// The parsed and checked options.
#[derive(Debug)]
pub struct RedisOptions {
    /// Commands with their weights.
    pub commands: Vec<(f64, RedisRequest)>,
    /// Maximum number of exchanges in flight on a connection.
    pub pipeline: u32,
    /// Set if RESP3 is requested.
    pub resp3: bool,
    /// Requests sent once before the run.
    pub before: Vec<Arc<brunt_contract::Request>>,
    /// Requests sent once after the run.
    pub after: Vec<Arc<brunt_contract::Request>>,
    /// Checks of replies.
    pub checks: RedisChecks,
}

/// The checks and captures of a reply.
#[derive(Debug, Default)]
pub struct RedisChecks {
    /// Text that the reply must contain.
    pub expect: Option<Finder<'static>>,
    /// Values captured from the reply.
    pub captures: Vec<(u16, Capture)>,
    /// Set if the whole reply is reported.
    pub answers: bool,
}

impl RedisChecks {
    /// Returns `true` if replies are not searched.
    pub fn is_empty(&self) -> bool {
        self.expect.is_none() && !self.keeps_reply()
    }

    /// Returns `true` if the whole reply is kept.
    pub fn keeps_reply(&self) -> bool {
        self.answers || !self.captures.is_empty()
    }

    fn read(config: &ProtocolConfig) -> Result<RedisChecks, UsageError> {
        let expect = config.value("expect-body").filter(|text| !text.is_empty());
        let holds = |name: &&String| expect.is_some_and(|text| text.contains(&format!("{{{name}}}")));
        if let Some(name) = config.variables.iter().find(holds) {
            let trouble = complaint!(
                "`{{{name}}}` is not filled in for Redis replies; capture the reply (`capture: {{reply: body}}`) \
                    and compare it with `if: reply == {name}`",
                "`{{{name}}}` 在 Redis 应答的检查中不会被填充；请提取应答（`capture: {{reply: body}}`），再用 `if: reply == {name}` 比较"
            );
            return Err(UsageError::new("--expect-body", trouble));
        }
        let expect = expect.map(|text| Finder::new(text.as_bytes()).into_owned());
        let captures = capture::parse_captures(config, (["a Redis reply", "Redis 应答"], KNOWN))?;
        Ok(RedisChecks { expect, captures, answers: config.returns_content })
    }
}

impl RedisOptions {
    /// Reads the options of a run.
    ///
    /// # Errors
    /// Returns a usage error for the first mistake.
    pub fn read(config: &ProtocolConfig) -> Result<RedisOptions, UsageError> {
        let weighted = |line: &String| {
            let (weight, line) = weight::split_weight(line, "--command")?;
            Ok((weight, RedisRequest::compile_with(line, "--command", &config.variables)?))
        };
        let mut commands = config.values("command").iter().map(weighted).collect::<Result<Vec<_>, UsageError>>()?;
        if commands.is_empty() {
            commands.push((1.0, RedisRequest::compile("PING", "--command")?));
        }
        let (before, after) = before_after::compile_lists(config, |text, place| {
            RedisRequest::compile(text, place).map(brunt_contract::Request::shared)
        })?;
        Ok(RedisOptions {
            commands,
            pipeline: config.value("pipeline").map_or(Ok(1), parse_pipeline)?,
            resp3: config.value("resp").map_or(Ok(false), parse_resp)?,
            before,
            after,
            checks: RedisChecks::read(config)?,
        })
    }
}

fn parse_pipeline(text: &str) -> Result<u32, UsageError> {
    text.parse().ok().filter(|n| (1..=MOST_IN_FLIGHT).contains(n)).ok_or_else(|| {
        UsageError::new(
            "--pipeline",
            complaint!(
                "\"{text}\" is not a number from 1 to {MOST_IN_FLIGHT}; use, for example, 16",
                "“{text}”不是 1 到 {MOST_IN_FLIGHT} 的数；请写，例如 16"
            ),
        )
    })
}

fn parse_resp(text: &str) -> Result<bool, UsageError> {
    match text {
        "2" => Ok(false),
        "3" => Ok(true),
        _ => Err(UsageError::new(
            "--resp",
            complaint!("\"{text}\" is not a protocol version; use 2 or 3", "“{text}”不是协议版本；请用 2 或 3"),
        )),
    }
}

/// The target of connections, with their login and database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisTarget {
    /// Address of the server.
    pub origin: Origin,
    /// User name (may be empty) and password.
    pub login: Option<(Vec<u8>, Vec<u8>)>,
    /// Database to select; 0 needs no command.
    pub database: u32,
}

impl RedisTarget {
    /// Parses `redis://[name:password@]host[:port][/database]`.
    ///
    /// # Errors
    /// Returns what is wrong with the URL.
    pub fn read(text: &str) -> Result<RedisTarget, UsageError> {
        let wrong = |trouble: Complaint| {
            let zh = trouble.zh();
            UsageError::new(
                "URL",
                complaint!(
                    "\"{text}\" cannot be used ({trouble}); use redis://host:port/database",
                    "无法使用“{text}”（{zh}）；请写 redis://host:port/database"
                ),
            )
        };
        let url = Url::parse(text).map_err(|trouble| wrong(trouble.to_string().into()))?;
        let tls = match url.scheme() {
            "redis" => false,
            "rediss" => true,
            _ => {
                return Err(wrong(complaint!(
                    "its scheme is neither redis nor rediss",
                    "协议既不是 redis 也不是 rediss"
                )));
            }
        };
        let host = percent::host(&url).ok_or_else(|| wrong(complaint!("it has no host", "缺少主机")))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(complaint!(
                "it has a query or fragment, which Redis URLs do not have",
                "带有查询参数或片段，而 Redis 的 URL 没有这些"
            )));
        }
        let login = match (url.username(), url.password()) {
            ("", None) => None,
            (_, None) => {
                let trouble = complaint!(
                    "the password is missing after the name; a password alone is written as :password@",
                    "用户名之后缺少密码；只有密码时写作 :password@"
                );
                return Err(wrong(trouble.to_owned()));
            }
            (name, Some(password)) => Some((percent::decoded(name), percent::decoded(password))),
        };
        let database = match url.path().trim_start_matches('/') {
            "" => 0,
            number => number
                .parse()
                .map_err(|_| wrong(complaint!("\"{number}\" is not a database number", "“{number}”不是数据库编号")))?,
        };
        Ok(RedisTarget { origin: Origin::tcp(host, url.port().unwrap_or(6379), tls), login, database })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_user_is_no_text_to_expect() {
        let checks = |text: &str| {
            let options = [("expect-body".to_owned(), vec![text.to_owned()])].into();
            RedisChecks::read(&ProtocolConfig {
                options,
                variables: vec!["heard".to_owned()].into(),
                ..ProtocolConfig::default()
            })
        };
        assert!(checks("{\"a\":{b}}").is_ok());
        let refused = checks("x{heard}").map_err(crate::bilingual).expect_err("a value");
        assert!(refused.contains("`{heard}` is not filled in") && refused.contains("if: reply == heard"), "{refused}");
    }
}
