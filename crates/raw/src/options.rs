//! The options for declared framing, and their values, which are checked before anything is sent.

use base64::Engine as _;
use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionSpec, ProtocolConfig, UsageError, many, one, switch};
use memchr::memmem::Finder;

use super::field::{FieldExtras, RawField};
use super::framing::{AnswerEnd, LengthField};
use super::request::SCOPE;
use super::rules::{RawChecks, RawRules};
use brunt_values::file;
use brunt_values::pattern::{Regex, TEXT_BOUND};
use brunt_values::side_messages::{ON_CONNECT, REPLY, SideMessages};
use brunt_values::template::{Notation, Template};

/// Maximum number of exchanges in flight on a connection.
const DEEPEST: usize = 4096;
const UNTILS: [&str; 5] = ["until", "until-bytes", "until-length", "until-regex", "until-close"];

/// The options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &[
    many(
        "send",
        "TEXT",
        "Send TEXT: \\r \\n \\xNN and slots such as {counter} or {random 16}; {{ is a brace",
        "发送文本：支持 \\r \\n \\xNN 与 {counter} 等占位符；{{ 表示花括号",
    ),
    many("send-hex", "HEX", "Send bytes written in hexadecimal, slots included", "发送十六进制字节，可含占位符"),
    many("send-base64", "TEXT", "Send bytes written in base64", "发送 base64 编码的字节"),
    many("send-file", "FILE", "Send the bytes of FILE as they are", "原样发送文件内容"),
    switch("template", "The file of --send-file is text with slots", "--send-file 的文件内容含占位符"),
    one("until", "TEXT", "A response ends with TEXT: --until '\\r\\n'", "响应以该文本结束"),
    one("until-bytes", "N", "A response is N bytes long", "响应固定为 N 字节"),
    one(
        "until-length",
        "FIELD",
        "A response contains its length: 'at 2, 2 bytes, big, +4' (number + 4 is the total), or 'at 1, varint'",
        "响应自带长度字段",
    ),
    one("until-regex", "REGEX", "A response ends with the first match of REGEX", "响应到首次匹配该正则处结束"),
    switch("until-close", "A response ends when its connection is closed", "响应随连接关闭而结束"),
    switch("no-answer", "No response: a request is complete once it is written", "无响应：写出即完成"),
    switch("greeting", "The server speaks first, in the same framing", "服务器先发送消息，格式与响应相同"),
    ON_CONNECT,
    REPLY,
    one(
        "match",
        "FIELD",
        "A field that responses echo, such as 'at 0, 2 bytes' [default: responses come in order]",
        "响应原样带回的请求字段，用于匹配",
    ),
    one(
        "match-answer",
        "FIELD",
        "Where that field is in the response, if not at the same place",
        "该字段在响应中的位置（若不同）",
    ),
    one("expect-bytes", "TEXT", "Fail a response unless it contains TEXT", "响应不含该文本则计为失败"),
    one("expect-regex", "REGEX", "Fail a response unless REGEX matches", "响应不匹配该正则则计为失败"),
    one(
        "expect-field",
        "FIELD",
        "Fail a response unless a field has one of these values: 'at 0, 1 byte, = 2|5..9'",
        "响应字段不符则计为失败",
    ),
    one("pipeline", "N", "Requests in flight on each connection [default: 1]", "每个连接上的在途请求数（默认 1）"),
    switch("no-keepalive", "Open a new connection for every request", "每个请求使用新连接"),
    many("before", "TEXT", "Send TEXT once before the run, not counted", "压测前发送一次，不计入结果"),
    many("after", "TEXT", "Send TEXT once after the run", "压测后发送一次"),
];

/// Returns the templates of the requests, at least one: texts first, then hex, base64 and files.
///
/// # Errors
/// Fails with the first invalid option.
pub fn templates(config: &ProtocolConfig) -> Result<Vec<Template>, UsageError> {
    let mut all = Vec::new();
    for text in config.values("send") {
        all.push(Template::parse_scoped(text, "--send", Notation::Escaped, SCOPE)?);
    }
    for text in config.values("send-hex") {
        all.push(Template::parse_scoped(text, "--send-hex", Notation::Hex, SCOPE)?);
    }
    for text in config.values("send-base64") {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim());
        let wrong = |error| {
            UsageError::new(
                "--send-base64",
                complaint!(
                    "is not base64 ({error}); write it with its padding",
                    "不是 base64（{error}）；请连同填充字符一起写"
                ),
            )
        };
        all.push(Template::fixed(bytes.map_err(wrong)?));
    }
    for path in config.values("send-file") {
        all.push(from_file(path, config.switch("template"))?);
    }
    if config.switch("template") && config.values("send-file").is_empty() {
        return Err(UsageError::new(
            "--template",
            complaint!(
                "is for --send-file, and --send has slots anyway; leave it out",
                "用于 --send-file，而 --send 本来就支持占位符；请去掉"
            ),
        ));
    }
    if all.is_empty() {
        return Err(UsageError::new(
            "--send",
            complaint!(
                "is missing; write what to send, such as --send 'PING\\r\\n'",
                "缺少；请写要发送的内容，例如 --send 'PING\\r\\n'"
            ),
        ));
    }
    Ok(all)
}

fn from_file(path: &str, slots: bool) -> Result<Template, UsageError> {
    let wrong = |trouble: Complaint| UsageError::new("--send-file", trouble);
    let bytes = file::read_bounded("--send-file", path, file::TEXT_BOUND).map_err(wrong)?;
    if !slots {
        return Ok(Template::fixed(bytes));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        wrong(complaint!("{path} is not UTF-8, as --template needs", "{path} 不是 UTF-8，而 --template 需要 UTF-8"))
    })?;
    Template::parse_scoped(&text, path, Notation::Plain, SCOPE)
}

/// Reads the settings shared by all exchanges.
///
/// # Errors
/// Fails with the first invalid option.
pub fn rules(config: &ProtocolConfig, datagrams: bool) -> Result<RawRules, UsageError> {
    let (end, one_way) = end(config, datagrams)?;
    let pipeline = config.value("pipeline").map_or(Ok(1), pipeline)?;
    let matched = matched(config)?;
    let one_shot = config.switch("no-keepalive") || matches!(end, AnswerEnd::Close);
    let clash = |place: &str, trouble: Complaint| Err(UsageError::new(place, trouble));
    if pipeline > 1 && one_shot {
        return clash(
            "--pipeline",
            complaint!(
                "needs keep-alive connections; leave out --until-close and --no-keepalive",
                "需要保持连接；请去掉 --until-close 和 --no-keepalive"
            ),
        );
    }
    if pipeline > 1 && datagrams && matched.is_none() && !one_way {
        return clash(
            "--pipeline",
            complaint!(
                "needs --match on UDP, where responses come in any order; use --match 'at 0, 2 bytes'",
                "在 UDP 上需要 --match，因为响应的顺序不定；请用 --match 'at 0, 2 bytes'"
            ),
        );
    }
    if matched.is_some() && (one_way || matches!(end, AnswerEnd::Close)) {
        return clash(
            "--match",
            complaint!(
                "is for connections with several responses, and here they have one at most; leave it out",
                "用于有多个响应的连接，而这里最多只有一个；请去掉"
            ),
        );
    }
    if config.switch("greeting") && (datagrams || matches!(end, AnswerEnd::Never | AnswerEnd::Close)) {
        return clash(
            "--greeting",
            complaint!(
                "needs tcp:// or tls:// and an --until option that marks its end; leave it out",
                "需要 tcp:// 或 tls://，以及标明其结束的 --until 选项；请去掉"
            ),
        );
    }
    let checks = checks(config)?;
    if one_way && !checks.none() {
        return clash(
            "--no-answer",
            complaint!(
                "leaves nothing to check; leave out --expect-bytes, --expect-regex and --expect-field",
                "没有可检查的内容；请去掉 --expect-bytes、--expect-regex 和 --expect-field"
            ),
        );
    }
    let beside = side_messages(config, datagrams, &end)?;
    Ok(RawRules { end, matched, checks, pipeline, one_shot, one_way, side_messages: beside, datagrams })
}

/// Reads the rules for side messages.
fn side_messages(
    config: &ProtocolConfig,
    datagrams: bool,
    end: &AnswerEnd,
) -> Result<SideMessages<Template>, UsageError> {
    let beside =
        SideMessages::read(config, |text, place, scope| Template::parse_scoped(text, place, Notation::Escaped, scope))?;
    let place = if beside.has_opening() { "--on-connect" } else { "--reply" };
    if datagrams && (beside.has_opening() || beside.has_replies()) {
        return Err(UsageError::new(
            place,
            complaint!(
                "is for connections, and UDP has none; leave it out, or use tcp://",
                "用于连接，而 UDP 没有连接；请去掉，或改用 tcp://"
            ),
        ));
    }
    if (beside.awaits_message() || beside.has_replies()) && matches!(end, AnswerEnd::Never | AnswerEnd::Close) {
        let place = if beside.awaits_message() { "--on-connect" } else { "--reply" };
        let trouble = complaint!(
            "reads messages, and nothing marks where one ends; use --until, --until-bytes, \
            --until-length or --until-regex",
            "要读取消息，却没有标明消息在哪里结束；请用 --until、--until-bytes、--until-length 或 --until-regex"
        );
        return Err(UsageError::new(place, trouble));
    }
    if !config.switch("greeting") {
        return Ok(beside);
    }
    beside.with_peer_greeting().map_err(|trouble| UsageError::new("--greeting", trouble))
}

/// Returns how a message ends, and whether requests go unanswered.
fn end(config: &ProtocolConfig, datagrams: bool) -> Result<(AnswerEnd, bool), UsageError> {
    let one_way = config.switch("no-answer");
    let reads = [ON_CONNECT.name, REPLY.name, "greeting"].iter().any(|name| config.options.contains_key(*name));
    // Other messages may still be read if requests are not answered.
    let alone = one_way && !reads;
    let given: Vec<&str> = UNTILS
        .into_iter()
        .chain(alone.then_some("no-answer"))
        .filter(|name| config.options.contains_key(*name))
        .collect();
    if one_way && (alone || given.is_empty()) && given.len() < 2 {
        return Ok((AnswerEnd::Never, true));
    }
    until(config, &given, datagrams).map(|end| (end, one_way))
}

fn until(config: &ProtocolConfig, given: &[&str], datagrams: bool) -> Result<AnswerEnd, UsageError> {
    if let [first, second, ..] = given {
        return Err(UsageError::new(
            format!("--{second}"),
            complaint!("cannot be combined with --{first}; use one of them", "不能与 --{first} 同用；请只用其中一个"),
        ));
    }
    let value = |name| config.value(name).unwrap_or_default();
    match given.first().copied() {
        Some(name) if datagrams => {
            let trouble = complaint!(
                "is for streams, and on UDP a datagram is a response; leave it out",
                "用于字节流，而 UDP 上一个数据报就是一个响应；请去掉"
            );
            Err(UsageError::new(format!("--{name}"), trouble))
        }
        None if datagrams => Ok(AnswerEnd::Datagram),
        None => Err(UsageError::new(
            "--until",
            complaint!(
                "is missing; write where a response ends: --until '\\r\\n', --until-bytes 8, --until-length 'at 0, 4 \
                bytes', --until-regex, --until-close, or --no-answer",
                "缺少；请写明响应在哪里结束：--until '\\r\\n'、--until-bytes 8、--until-length 'at 0, 4 bytes'、--until-regex、--until-close 或 --no-answer"
            ),
        )),
        Some("until") => text("until", config).map(|text| AnswerEnd::Delimiter(Box::new(text))),
        Some("until-bytes") => {
            let count = value("until-bytes").parse().ok().filter(|count| *count > 0);
            let wrong = || {
                UsageError::new(
                    "--until-bytes",
                    complaint!(
                        "\"{}\" is not a size; use, for example, 8",
                        "“{}”不是大小；请写，例如 8",
                        value("until-bytes")
                    ),
                )
            };
            count.map(AnswerEnd::Bytes).ok_or_else(wrong)
        }
        Some("until-length") => until_length(value("until-length")).map(AnswerEnd::Length),
        Some("until-regex") => until_regex(value("until-regex")).map(|regex| AnswerEnd::Regex(Box::new(regex))),
        Some(_) => Ok(AnswerEnd::Close),
    }
}

fn text(name: &str, config: &ProtocolConfig) -> Result<Finder<'static>, UsageError> {
    let place = format!("--{name}");
    let bytes = Notation::Escaped.decode(config.value(name).unwrap_or_default());
    let bytes = bytes.map_err(|trouble| UsageError::new(&place, trouble))?;
    if bytes.is_empty() || bytes.len() > TEXT_BOUND {
        let trouble = complaint!(
            "has {} bytes; use 1 to {TEXT_BOUND}, such as '\\r\\n'",
            "有 {} 字节；请用 1 到 {TEXT_BOUND} 字节，例如 '\\r\\n'",
            bytes.len()
        );
        return Err(UsageError::new(place, trouble));
    }
    Ok(Finder::new(&bytes).into_owned())
}

fn until_length(text: &str) -> Result<LengthField, UsageError> {
    let (field, extras) = field("until-length", text, "at 2, 2 bytes, big, +4")?;
    if !extras.values.is_empty() {
        return Err(UsageError::new(
            "--until-length",
            complaint!(
                "has values, but a length can be anything; leave out the =",
                "带有值，但长度可以是任意的；请去掉 ="
            ),
        ));
    }
    Ok(LengthField { field, add: extras.add })
}

fn until_regex(text: &str) -> Result<Regex, UsageError> {
    let place = "--until-regex";
    let regex = Regex::new(text).map_err(|trouble| UsageError::new(place, trouble))?;
    if Regex::looks_ahead(text) {
        let trouble = complaint!(
            "looks at what follows the end of a response ($ or \\b), where there is nothing; write the bytes it \
                ends with",
            "查看响应之后的内容（$ 或 \\b），而那里没有内容；请写响应结尾的字节"
        );
        return Err(UsageError::new(place, trouble));
    }
    if regex.matches_empty() {
        return Err(UsageError::new(
            place,
            complaint!(
                "matches the empty text; write an expression that matches at least one byte",
                "会匹配空文本；请写至少匹配一个字节的表达式"
            ),
        ));
    }
    Ok(regex)
}

fn field(name: &str, text: &str, right: &str) -> Result<(RawField, FieldExtras), UsageError> {
    RawField::parse(text).map_err(|trouble| {
        let zh = trouble.zh();
        UsageError::new(
            format!("--{name}"),
            complaint!("\"{text}\": {trouble}; use, for example, '{right}'", "“{text}”：{zh}；请写，例如 '{right}'"),
        )
    })
}

fn matched(config: &ProtocolConfig) -> Result<Option<(RawField, RawField)>, UsageError> {
    let one = |name: &str| {
        let Some(text) = config.value(name) else { return Ok(None) };
        let (field, extras) = field(name, text, "at 0, 2 bytes")?;
        if extras != FieldExtras::default() {
            return Err(UsageError::new(
                format!("--{name}"),
                complaint!(
                    "cannot have + or =; use, for example, 'at 0, 2 bytes'",
                    "不能带 + 或 =；请写，例如 'at 0, 2 bytes'"
                ),
            ));
        }
        Ok(Some(field))
    };
    match (one("match")?, one("match-answer")?) {
        (Some(request), answer) => Ok(Some((request, answer.unwrap_or(request)))),
        (None, None) => Ok(None),
        (None, Some(_)) => {
            let trouble = complaint!(
                "is where responses echo a field of the request; add --match for its position in the request",
                "是响应中回显请求字段的位置；请加上 --match，写明它在请求中的位置"
            );
            Err(UsageError::new("--match-answer", trouble))
        }
    }
}

fn checks(config: &ProtocolConfig) -> Result<RawChecks, UsageError> {
    let bytes = config.value("expect-bytes").map(|_| text("expect-bytes", config)).transpose()?;
    let regex = config.value("expect-regex").map(Regex::new).transpose();
    let regex = regex.map_err(|trouble| UsageError::new("--expect-regex", trouble))?.map(Box::new);
    let mut expected = None;
    if let Some(text) = config.value("expect-field") {
        let right = "at 0, 1 byte, = 2|5..9";
        let (field, extras) = field("expect-field", text, right)?;
        if extras.values.is_empty() || extras.add.is_some() {
            let trouble = complaint!(
                "\"{text}\" has no expected values; use, for example, '{right}'",
                "“{text}”没有预期的值；请写，例如 '{right}'"
            );
            return Err(UsageError::new("--expect-field", trouble));
        }
        expected = Some((field, extras.values));
    }
    Ok(RawChecks { bytes, regex, field: expected })
}

fn pipeline(text: &str) -> Result<usize, UsageError> {
    text.parse().ok().filter(|n| (1..=DEEPEST).contains(n)).ok_or_else(|| {
        UsageError::new(
            "--pipeline",
            complaint!(
                "\"{text}\" is not a number from 1 to {DEEPEST}; use, for example, 16",
                "“{text}”不是 1 到 {DEEPEST} 的数；请写，例如 16"
            ),
        )
    })
}
