//! The options of WebSocket, and their values, which are checked before anything is sent.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionSpec, ProtocolConfig, UsageError, many, one, switch};

use super::json_path::JsonPath;
use crate::auth_options;
use crate::http1::codec::is_token;
use crate::http1::options::{credentials, header_with};
use crate::http1::request::HeaderOverride;
use crate::placeholders::{NO_SLOTS, Placeholders};
use brunt_values::side_messages::{ON_CONNECT, REPLY};

/// The options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &[
    many(
        "header",
        "NAME: VALUE",
        "Send a header with the upgrade request; @FILE reads headers from FILE",
        "升级请求附带的请求头；@FILE 从文件读取",
    )
    .short('H'),
    auth_options::BEARER,
    auth_options::COOKIE,
    auth_options::USER,
    many(
        "subprotocol",
        "NAME",
        "Offer a subprotocol; the server must choose one of those offered",
        "请求使用子协议；服务器必须从中选择一个",
    ),
    NO_SLOTS,
    many(
        "data",
        "TEXT",
        "Send TEXT; with several, one is chosen at random for each message",
        "发送文本消息；多条时随机选择",
    ),
    one("data-file", "FILE", "Send the lines of FILE, one message per line", "文件每行为一条消息"),
    many("data-hex", "HEX", "Send these bytes as a binary message", "以二进制消息发送十六进制内容"),
    many("data-base64", "BASE64", "Send these bytes as a binary message", "以二进制消息发送 base64 内容"),
    switch("binary", "Send --data and --data-file as binary messages", "以二进制消息发送 --data 与 --data-file"),
    switch(
        "escapes",
        "Interpret \\r \\n \\0 and \\xNN in --data, --data-file, --on-connect, --reply and --expect-body",
        "--data、--data-file、--on-connect、--reply、--expect-body 中支持 \\r \\n \\0 \\xNN 转义",
    ),
    ON_CONNECT,
    REPLY,
    one(
        "match-field",
        "FIELD",
        "Match responses to messages by an equal JSON field: seq, data.id (default: by order)",
        "按 JSON 字段匹配响应与消息：seq、data.id（默认按顺序）",
    ),
    switch("one-way", "No responses: a message is complete once it is written", "单向发送：写出即完成"),
    switch("push", "The server also pushes messages: count them separately", "服务器会主动推送消息：单独计数"),
    one("expect-body", "TEXT", "Fail a response unless it contains TEXT", "响应不含该文本则计为失败"),
    one(
        "await",
        "WHAT",
        "In a step of a flow, the message to wait for: any, json $.type == 1, regex PATTERN or text TEXT",
        "流程步骤所等待的消息：any、json $.type == 1、regex 表达式、text 文本",
    ),
    switch("compress", "Offer compression (permessage-deflate)", "协商压缩（permessage-deflate）"),
];

/// The checked option values.
#[derive(Debug)]
pub struct WebSocketOptions {
    /// Header lines of the upgrade.
    pub headers: Vec<HeaderOverride>,
    /// `name:password` in base64.
    pub user: Option<String>,
    /// Subprotocols to offer.
    pub subprotocols: Vec<String>,
    /// The field by which answers are matched.
    pub field: Option<JsonPath>,
    /// Set if messages are not answered.
    pub one_way: bool,
    /// Set if unsolicited messages are allowed.
    pub push: bool,
    /// Set if permessage-deflate is offered.
    pub compress: bool,
}

impl WebSocketOptions {
    /// Reads the options of a run.
    ///
    /// # Errors
    /// Fails with the first invalid option.
    pub fn read(config: &ProtocolConfig) -> Result<WebSocketOptions, UsageError> {
        WebSocketOptions::read_with(config, &mut Placeholders::new(config))
    }

    /// Like [`WebSocketOptions::read`], with slots replaced by placeholders in `marks`; in steps of a flow, the upgrade
    /// may have slots too.
    ///
    /// # Errors
    /// Fails like [`WebSocketOptions::read`].
    pub fn read_with(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<WebSocketOptions, UsageError> {
        let mut headers = Vec::new();
        for text in config.values("header") {
            let wish = header_with(text, marks)?;
            headers.push(checked(if config.is_composite_flow { wish } else { once(wish, marks)? })?);
        }
        let user = config.value("user").map(|text| credentials(text, marks)).transpose()?;
        let once =
            |user: String| if config.is_composite_flow { Ok(user) } else { constant_text(&user, "--user", marks) };
        let user = user.map(once).transpose()?;
        let one_way = config.switch("one-way");
        for name in ["match-field", "expect-body"] {
            if one_way && config.options.contains_key(name) {
                let trouble = complaint!(
                    "is for responses, and --one-way has none; leave one of them out",
                    "用于响应，而 --one-way 没有响应；请去掉其中一个"
                );
                return Err(UsageError::new(format!("--{name}"), trouble));
            }
        }
        Ok(WebSocketOptions {
            headers,
            user,
            subprotocols: subprotocols(config.values("subprotocol"))?,
            field: config.value("match-field").map(field).transpose()?,
            one_way,
            push: one_way || config.switch("push"),
            compress: config.switch("compress"),
        })
    }
}

/// Resolves the placeholders in a header line.
fn once(wish: HeaderOverride, marks: &mut Placeholders) -> Result<HeaderOverride, UsageError> {
    Ok(match wish {
        HeaderOverride::Set(name, value) => HeaderOverride::Set(name, constant_text(&value, "--header", marks)?),
        wish => wish,
    })
}

/// Resolves the placeholders in a handshake text. The text is sent once per connection, before any message, so its
/// values must be known before the run.
///
/// # Errors
/// Fails for a slot whose value changes.
pub fn constant_text(marked: &str, place: &str, marks: &mut Placeholders) -> Result<String, UsageError> {
    if !marks.occur_in(marked.as_bytes()) {
        return Ok(marked.to_owned());
    }
    let text = marks.fill_environment(marked)?;
    if marks.occur_in(text.as_bytes()) {
        let trouble = complaint!(
            "\"{}\" has a slot that differs for each message, and the handshake comes first; only {{env NAME}} \
                works here",
            "“{}”含有随消息变化的占位符，而握手在消息之前；这里只能用 {{env NAME}}",
            marks.restore(marked.trim())
        );
        return Err(UsageError::new(place, trouble));
    }
    Ok(text)
}

/// Rejects header lines that the upgrade sets itself.
fn checked(wish: HeaderOverride) -> Result<HeaderOverride, UsageError> {
    let name = wish.name().to_ascii_lowercase();
    let instead = match name.as_str() {
        "sec-websocket-protocol" => complaint!("use --subprotocol NAME instead", "请改用 --subprotocol NAME"),
        "sec-websocket-extensions" => {
            complaint!("use --compress instead, the only supported extension", "请改用 --compress，这是唯一支持的扩展")
        }
        "connection" | "upgrade" | "content-length" | "transfer-encoding" => complaint!("leave it out", "请去掉"),
        name if name.starts_with("sec-websocket-") => complaint!("leave it out", "请去掉"),
        _ => return Ok(wish),
    };
    let zh = instead.zh();
    Err(UsageError::new(
        "--header",
        complaint!("{} is set by brunt for the handshake; {instead}", "{} 由 brunt 在握手时设置；{zh}", wish.name()),
    ))
}

fn subprotocols(names: &[String]) -> Result<Vec<String>, UsageError> {
    let wrong = |trouble: Complaint| Err(UsageError::new("--subprotocol", trouble));
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() || !name.bytes().all(is_token) {
            return wrong(complaint!(
                "\"{name}\" is not the name of a subprotocol; write one word, for example chat",
                "“{name}”不是子协议的名称；请写一个词，例如 chat"
            ));
        }
        if names[..at].contains(name) {
            return wrong(complaint!("\"{name}\" is offered twice; give it once", "“{name}”重复出现；只写一次"));
        }
    }
    Ok(names.to_vec())
}

fn field(text: &str) -> Result<JsonPath, UsageError> {
    JsonPath::parse(text).ok_or_else(|| {
        UsageError::new(
            "--match-field",
            complaint!(
                "\"{text}\" is not a field; write a name such as seq, or data.id",
                "“{text}”不是字段；请写名称，例如 seq 或 data.id"
            ),
        )
    })
}
