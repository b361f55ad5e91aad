//! The options of gRPC, and their values, which are checked before anything is sent.

use std::ops::RangeInclusive;
use std::sync::Arc;

use brunt_cause::complaint;
use brunt_contract::{OptionSpec, ProtocolConfig, UsageError, many, one, switch};
use brunt_measure::Nanos;

use super::metadata;
use super::status::GrpcStatusSet;
use crate::auth_options;
use crate::placeholders::{NO_SLOTS, Placeholders};
use brunt_values::capture::CAPTURE;
use brunt_values::capture::{self, Capture};
use brunt_values::count_range;
use brunt_values::file;
use brunt_values::template::{SlotScope, Template};
use brunt_values::verify::header::ExpectedHeader;
use brunt_values::verify::json::JsonRule;
use brunt_values::verify::parse_headers;

/// The options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &[
    many(
        "proto",
        "FILE",
        "Read services from this .proto file, repeatable (default: server reflection)",
        "从该 .proto 文件读取服务定义，可重复；不给出时通过服务器反射获取",
    ),
    many(
        "import-path",
        "DIR",
        "Directory to search for imports of --proto files, repeatable",
        "查找 --proto 文件所导入文件的目录，可重复",
    ),
    many(
        "data",
        "JSON",
        "A message as JSON, repeatable: the messages of a stream, or calls to choose from",
        "JSON 格式的消息，可重复：流中的各条消息，或供选择的多个调用",
    ),
    one("data-file", "FILE", "Read messages from FILE: one JSON object per line", "从文件读取消息，每行一个 JSON 对象"),
    many(
        "header",
        "NAME: VALUE",
        "Send metadata; the value of a name ending in -bin is Base64; @FILE reads metadata from FILE",
        "发送元数据；名称以 -bin 结尾时其值为 Base64；@FILE 从文件读取",
    )
    .short('H'),
    auth_options::BEARER,
    NO_SLOTS,
    one(
        "deadline",
        "TIME",
        "Tell the server how long a call may take (grpc-timeout): 500ms, 2s",
        "告知服务器调用的最长时间（grpc-timeout）：500ms、2s",
    ),
    switch(
        "lockstep",
        "In a bidirectional stream, wait for a reply before sending the next message",
        "在双向流中，收到上一条消息的应答后才发送下一条",
    ),
    one(
        "stream",
        "NAME",
        "In a step of a flow: the stream it belongs to, opened by its first step and kept open across steps",
        "流程步骤使用的流：由其第一个步骤打开，并在各步骤之间保持",
    ),
    switch(
        "one-way",
        "In a step on a stream: send the message without waiting for one",
        "流上的步骤：只发送消息，不等待应答",
    ),
    one(
        "await",
        "WHAT",
        "In a step of a flow, the message to wait for: any, json $.type == 1, regex PATTERN or text TEXT",
        "流程步骤所等待的消息：any、json $.type == 1、regex 表达式、text 文本",
    ),
    switch(
        "finish",
        "In a step on a stream: half-close it, and read everything to the end, where its status is",
        "流上的步骤：半关闭该流，接收至其结束并检查状态",
    ),
    switch("compress", "Compress messages with gzip (grpc-encoding)", "以 gzip 压缩发送的消息（grpc-encoding）"),
    one("streams", "N", "Users sharing a connection (default 1)", "共享一个连接的用户数（默认 1）"),
    one(
        "expect-status",
        "LIST",
        "Statuses that count as success: OK,NOT_FOUND (default OK)",
        "视为成功的状态：OK,NOT_FOUND（默认 OK）",
    ),
    many(
        "expect-json",
        "RULE",
        "Fail a call with status OK unless each response message, as JSON, matches the rule: '$.reply.id == 7'",
        "状态为 OK 但响应消息（JSON 形式）不符合规则的调用计为失败：'$.reply.id == 7'",
    ),
    one(
        "expect-messages",
        "N",
        "Fail a call with status OK unless its response has this many messages: 3, 1..5, 1..",
        "状态为 OK 但响应消息数不符的调用计为失败：3、1..5、1..",
    ),
    many(
        "expect-header",
        "NAME: VALUE",
        "Fail a call unless its initial metadata has this; * in VALUE is any text, NAME alone any value",
        "初始元数据缺少该项的调用计为失败；VALUE 中 * 代表任意文本，只写 NAME 表示任意值",
    ),
    many(
        "expect-trailer",
        "NAME: VALUE",
        "Fail a call unless its trailing metadata has this; * in VALUE is any text, NAME alone any value",
        "尾部元数据缺少该项的调用计为失败；VALUE 中 * 代表任意文本，只写 NAME 表示任意值",
    ),
];

/// Options that may be given for one URL of a run: those that shape its calls.
pub const OF_ONE_URL: &[&str] = &[
    "header",
    "bearer",
    "data",
    "data-file",
    "deadline",
    "stream",
    "one-way",
    "await",
    "finish",
    "lockstep",
    "compress",
    "expect-status",
    "expect-json",
    "expect-messages",
    "expect-header",
    "expect-trailer",
    CAPTURE,
];

/// Parts of a response that captures may refer to: its message as JSON (a list if there are several), initial and
/// trailing metadata.
const KNOWN: &[&str] = &["json", "regex", "between", "header", "trailer", "status", "body"];

/// The checked option values.
#[derive(Debug)]
pub struct GrpcOptions {
    /// `.proto` files.
    pub protos: Vec<String>,
    /// Directories of their imports.
    pub imports: Vec<String>,
    /// Texts of messages, and the places they come from.
    pub texts: Vec<(String, String)>,
    /// Names and values of metadata.
    pub metadata: Vec<(String, String)>,
    /// Value of `grpc-timeout`, if a deadline is set.
    pub deadline: Option<String>,
    /// Set if a stream sends one message at a time.
    pub lockstep: bool,
    /// Set if messages are sent compressed.
    pub compress: bool,
    /// Maximum number of exchanges that share a connection.
    pub streams: u32,
    /// The statuses that count as success.
    pub success: GrpcStatusSet,
    /// Set if `success` was given explicitly.
    pub says_status: bool,
    /// The rules for the messages of responses.
    pub expected: Arc<[JsonRule]>,
    /// The templates of the rules that have slots; `expected` then has them with a sample of their values.
    pub rule_templates: Arc<[Option<Template>]>,
    /// The expected number of messages.
    pub messages: Option<RangeInclusive<u64>>,
    /// The expected fields of the initial and of the trailing metadata.
    pub metadata_expected: Arc<[Vec<ExpectedHeader>; 2]>,
    /// The values captured from responses.
    pub captures: Arc<[(u16, Capture)]>,
}

impl GrpcOptions {
    /// Reads the options of a run, and the message files that they name.
    ///
    /// # Errors
    /// Fails with the first invalid option.
    pub fn read(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<GrpcOptions, UsageError> {
        let protos = config.values("proto").to_vec();
        if protos.is_empty() && !config.values("import-path").is_empty() {
            return Err(UsageError::new(
                "--import-path",
                complaint!("needs --proto; add --proto FILE", "需要 --proto；请加 --proto FILE"),
            ));
        }
        let (expected, rule_templates): (Vec<_>, Vec<_>) = rules(config)?.into_iter().unzip();
        Ok(GrpcOptions {
            protos,
            imports: config.values("import-path").to_vec(),
            texts: texts(config)?,
            metadata: config
                .values("header")
                .iter()
                .map(|text| metadata::read(text, marks))
                .collect::<Result<_, _>>()?,
            deadline: config.value("deadline").map(deadline).transpose()?,
            lockstep: config.switch("lockstep"),
            compress: config.switch("compress"),
            streams: config.value("streams").map_or(Ok(1), streams)?,
            success: config.value("expect-status").map_or(Ok(GrpcStatusSet::USUAL), statuses)?,
            says_status: config.value("expect-status").is_some(),
            expected: expected.into(),
            rule_templates: rule_templates.into(),
            messages: count_range::read_range(config, "expect-messages", ["messages", "消息数"])?,
            metadata_expected: Arc::new([
                parse_headers(config, "expect-header")?,
                parse_headers(config, "expect-trailer")?,
            ]),
            captures: capture::parse_captures(config, (["a gRPC response", "gRPC 响应"], KNOWN))?.into(),
        })
    }
}

/// Returns the rules, and the templates of those that have slots.
fn rules(config: &ProtocolConfig) -> Result<Vec<(JsonRule, Option<Template>)>, UsageError> {
    const PLACE: &str = "--expect-json";
    let scope = SlotScope { variables: &config.variables, ..SlotScope::default() };
    let rule = |text: &String| {
        let template = Template::parse_rule(text, PLACE, scope)?;
        let template = Some(template).filter(|template| template.fixed_bytes().is_none() && !config.switch("no-slots"));
        let sample = template.as_ref().map_or_else(|| text.clone(), |template| template.with_sample("1"));
        let rule = JsonRule::parse(&sample).map_err(|trouble| UsageError::new(PLACE, trouble))?;
        Ok((rule, template))
    };
    config.values("expect-json").iter().map(rule).collect()
}

fn texts(config: &ProtocolConfig) -> Result<Vec<(String, String)>, UsageError> {
    let mut texts = Vec::new();
    for text in config.values("data") {
        if let Some(file) = text.strip_prefix('@') {
            return Err(UsageError::new(
                "--data",
                complaint!(
                    "files are not read here; use --data-file {file}",
                    "这里不读取文件；请用 --data-file {file}"
                ),
            ));
        }
        texts.push(("--data".to_owned(), text.clone()));
    }
    if let Some(path) = config.value("data-file") {
        if !texts.is_empty() {
            let trouble = complaint!(
                "cannot be combined with --data; put all messages in the file, or none",
                "不能与 --data 同用；请把所有消息都放进文件，或都不放"
            );
            return Err(UsageError::new("--data-file", trouble));
        }
        let text = file::text("--data-file", path)?;
        texts.push((path.to_owned(), text));
    }
    Ok(texts)
}

fn streams(text: &str) -> Result<u32, UsageError> {
    text.parse().ok().filter(|n| (1..=100_000).contains(n)).ok_or_else(|| {
        UsageError::new(
            "--streams",
            complaint!(
                "\"{text}\" is not a number from 1 to 100000; use, for example, 10",
                "“{text}”不是 1 到 100000 的数；请写，例如 10"
            ),
        )
    })
}

fn statuses(text: &str) -> Result<GrpcStatusSet, UsageError> {
    GrpcStatusSet::parse(text).map_err(|part| {
        let trouble = complaint!(
            "\"{part}\" is not a gRPC status; write names separated by commas, such as OK,NOT_FOUND",
            "“{part}”不是 gRPC 状态；请写名称，以逗号分隔，例如 OK,NOT_FOUND"
        );
        UsageError::new("--expect-status", trouble)
    })
}

/// Formats the value of `grpc-timeout`: at most eight digits and a unit.
fn deadline(text: &str) -> Result<String, UsageError> {
    let time = duration(text).filter(|time| time.0 > 0).ok_or_else(|| {
        UsageError::new(
            "--deadline",
            complaint!(
                "\"{text}\" is not a time above zero with a unit; use, for example, \
            500ms",
                "“{text}”不是大于零且带单位的时间；请写，例如 500ms"
            ),
        )
    })?;
    const UNITS: [(u64, char); 5] =
        [(1, 'n'), (1_000, 'u'), (1_000_000, 'm'), (1_000_000_000, 'S'), (60_000_000_000, 'M')];
    // Uses the coarsest unit that is exact, else the finest that fits, rounded up so that the deadline is never
    // shorter.
    let fits = |(size, _): &&(u64, char)| time.0.div_ceil(*size) < 100_000_000;
    let exact = UNITS[..4].iter().rev().filter(fits).find(|(size, _)| time.0.is_multiple_of(*size));
    let (size, unit) = exact.or_else(|| UNITS.iter().find(fits)).unwrap_or(&UNITS[4]);
    Ok(format!("{}{unit}", time.0.div_ceil(*size).min(99_999_999)))
}

/// Parses a number with a unit.
fn duration(text: &str) -> Option<Nanos> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let size = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let nanos = number.parse::<f64>().ok()? * size;
    (nanos.is_finite() && nanos < 1e19).then_some(Nanos(nanos.round() as u64))
}
