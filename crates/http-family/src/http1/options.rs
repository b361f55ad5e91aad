//! HTTP options and their checked settings.

use std::sync::Arc;

use base64::Engine as _;
use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionSpec, ProtocolConfig, ProxyRules, UsageError, many, one, switch};
use brunt_measure::Nanos;
use memchr::memmem::Finder;
use url::Url;

use super::body_options::{self, content};
use super::captures;
use super::codec::is_token;
use super::evaluation;
use super::expect_continue;
use super::multipart;
use super::redirect::RedirectTrail;
use super::request::{HeaderOverride, HttpRules, Recipe, RequestBody, ResponseChecks};
use super::status::StatusSet;
use crate::placeholders::{NO_SLOTS, Placeholders};
use crate::resources::{self, PageRule};
use crate::{auth_options, cache, cookies};
use brunt_values::budget::MemoryBudget;
use brunt_values::capture::{CAPTURE, Capture};
use brunt_values::template::SlotGuard;
use brunt_values::verify::CheckTexts;
use brunt_values::verify::{self, Expectations};

/// The error for a header line without a colon. It does not quote the line, which may be a bare token and thus secret.
pub fn no_colon() -> Complaint {
    complaint!(
        "a line has no colon between name and value; use -H 'NAME: VALUE', as in -H 'Accept: text/html'",
        "有一行的名称与值之间没有冒号；请用 -H 'NAME: VALUE'，例如 -H 'Accept: text/html'"
    )
}
const TARGET: &str = "--request-target";

/// The options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &[
    many(
        "header",
        "NAME: VALUE",
        "Send a header; `Name;` sends it empty, `Name:` drops a default one; @FILE reads headers from FILE, @- from \
            stdin",
        "发送请求头；`Name;` 发送空值，`Name:` 去掉默认请求头；@FILE 从文件读取，@- 从标准输入读取",
    )
    .short('H'),
    one(
        "method",
        "METHOD",
        "Request method (default GET, or POST with a body)",
        "请求方法（默认 GET，有正文时为 POST）",
    )
    .short('X'),
    many(
        "data",
        "TEXT",
        "POST TEXT as a form body; several are joined with &; @FILE reads a file, without its line breaks",
        "以 POST 发送表单正文；多个以 & 连接；@文件 读取文件并去掉换行",
    ),
    many("data-raw", "TEXT", "Like --data, but @ has no special meaning", "同 --data，但不解释开头的 @"),
    one("data-file", "FILE", "POST the bytes of FILE as they are", "以 POST 原样发送文件内容"),
    many(
        "json",
        "JSON",
        "POST JSON (or @FILE) as application/json",
        "以 POST 发送 JSON（或 @文件），类型为 application/json",
    ),
    many(
        "form",
        "NAME=VALUE",
        "POST a multipart form field; NAME=@FILE;type=MIME;filename=NAME sends a file, NAME=<FILE its text",
        "以 POST 发送 multipart 表单字段；NAME=@文件;type=类型;filename=名称 发送文件，NAME=<文件 发送其内容",
    ),
    many("form-string", "NAME=VALUE", "Like --form, but VALUE is always plain text", "同 --form，但不解释值的内容"),
    one(
        "request-target",
        "TARGET",
        "Use TARGET as is instead of the URL's path and query",
        "以该目标原样代替 URL 的路径与查询",
    ),
    auth_options::USER,
    NO_SLOTS,
    auth_options::BEARER,
    auth_options::COOKIE,
    switch(
        "cookie-jar",
        "Each user stores cookies set by responses and sends them back, like a browser",
        "每个用户保存响应设置的 Cookie，并像浏览器一样回送",
    ),
    switch("no-keepalive", "Open a new connection for every request", "每个请求使用新连接"),
    one(
        "redirects",
        "N",
        "Follow up to N redirects of a request, which ends with the last response (default 0)",
        "每个请求最多跟随 N 次重定向，以最后一个响应为结果（默认 0）",
    ),
    switch("location", "Follow up to 10 redirects: --redirects 10", "跟随最多 10 次重定向").short('L'),
    one(
        "expect-status",
        "LIST",
        "Status codes that count as success: 200,2xx,200-299 (default 200-399)",
        "视为成功的状态码：200,2xx,200-299（默认 200-399）",
    ),
    one("expect-body", "TEXT", "Fail a response unless its body contains TEXT", "响应正文不含该文本则计为失败"),
    verify::OPTIONS[0],
    verify::OPTIONS[1],
    verify::OPTIONS[2],
    expect_continue::OPTIONS[0],
    expect_continue::OPTIONS[1],
    resources::OPTIONS[0],
    resources::OPTIONS[1],
    resources::OPTIONS[2],
    cache::OPTION,
];

/// Options that may be set per URL: those that shape its request or check its response.
pub const URL_OPTIONS: &[&str] =
    &joined::<25>(&[REQUEST_OPTIONS, RESPONSE_OPTIONS, &["location", resources::FROM, resources::MAY_FAIL]]);

/// Per-URL options that concern the response; a URL with one of them gets its own checks.
pub const RESPONSE_OPTIONS: &[&str] =
    &joined::<9>(&[evaluation::CHECKS, &["redirects", resources::RESOURCES, CAPTURE, cache::CACHE]]);

/// Per-URL options that shape the request.
const REQUEST_OPTIONS: &[&str] = &[
    "header",
    "method",
    "data",
    "data-raw",
    "data-file",
    "json",
    "form",
    "form-string",
    "request-target",
    "user",
    "bearer",
    "cookie",
    "expect-continue",
];

/// Concatenates lists; `N` is their total length.
const fn joined<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let (mut all, mut at, mut list) = ([""; N], 0, 0);
    while list < lists.len() {
        let mut next = 0;
        while next < lists[list].len() {
            all[at] = lists[list][next];
            (at, next) = (at + 1, next + 1);
        }
        list += 1;
    }
    assert!(at == N, "as long as it says");
    all
}

/// Checked settings of HTTP.
#[derive(Debug)]
pub struct HttpSettings {
    headers: Vec<HeaderOverride>,
    target: Option<String>,
    method: String,
    content: Option<RequestBody>,
    user: Option<String>,
    keepalive: bool,
    /// Set for HTTP/1.0.
    http10: bool,
    /// Set if users keep cookies.
    jar: bool,
    /// Set if bodies wait for `100 Continue`; the next field limits the wait.
    expect_continue: bool,
    continue_wait: Nanos,
    redirects: u32,
    success: Option<StatusSet>,
    expect_body: Option<String>,
    /// Texts of the checks with placeholders, if one of them has slots.
    expect_filled: Option<CheckTexts>,
    expected: Option<Expectations>,
    captures: Vec<(u16, Capture)>,
    returns_body: bool,
    pages: Option<resources::ResourceSettings>,
    cache: Option<cache::CacheSettings>,
}

impl HttpSettings {
    /// Reads the options of a run and the files that they name.
    ///
    /// # Errors
    /// Returns the first error found.
    pub fn read(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<HttpSettings, UsageError> {
        let mut content = content(config, marks)?;
        let mut headers = Vec::new();
        for text in config.values("header") {
            headers.push(header_with(text, marks)?);
        }
        content.iter_mut().for_each(|content| add_boundary(content, &mut headers));
        body_options::apply_chunked(config, &headers, &mut content)?;
        check_framing(&headers, content.as_ref())?;
        let old = config.value("http") == Some("1.0");
        let kept = headers.iter().any(|wish| wish.has_token("connection", "keep-alive"));
        let mut texts = check_texts(config, marks)?;
        let filled = texts.all().any(|text| marks.occur_in(text.as_bytes()));
        // What the checks look at is known before the run; what they expect is not.
        let sample = |text: &str| marks.with_sample(text, "1");
        let expected = Expectations::parse(&texts.map(sample))?;
        let expect_filled = filled.then(|| texts.clone());
        let expect_body = texts.body.take().filter(|_| !filled);
        Ok(HttpSettings {
            headers,
            target: config
                .value("request-target")
                .map(|text| target(&marks.replace_url_slots(text, TARGET)?))
                .transpose()?,
            method: method(config.value("method"), content.is_some())?,
            content,
            user: config.value("user").map(|text| credentials(text, marks)).transpose()?,
            keepalive: !config.switch("no-keepalive") && (!old || kept),
            http10: old,
            jar: config.switch("cookie-jar"),
            expect_continue: config.switch("expect-continue"),
            continue_wait: expect_continue::wait(config)?,
            redirects: config.value("redirects").map_or(Ok(0), redirects)?,
            success: config.value("expect-status").map(StatusSet::from_option).transpose()?,
            expect_body,
            expect_filled,
            expected,
            captures: captures::requested(config)?,
            returns_body: config.returns_content,
            pages: resources::ResourceSettings::read(config)?,
            cache: cache::CacheSettings::read(config)?,
        })
    }

    /// Returns the recipe of a request to `url`.
    pub fn recipe(&self, url: Url) -> Recipe {
        Recipe {
            url,
            link: None,
            target: self.target.clone(),
            method: self.method.clone(),
            headers: self.headers.clone(),
            content: self.content.clone(),
            user: self.user.clone(),
            keepalive: self.keepalive,
            http10: self.http10,
            expect_continue: self.expect_continue,
            checks: 0,
            page: 0,
            expected: None,
            hops: 0,
            trail: RedirectTrail::default(),
            forwarded: None,
        }
    }

    /// Returns `true` if redirects are followed or responses cached, in which case the run needs the recipes.
    pub fn needs_recipes(&self) -> bool {
        self.redirects > 0 || self.cache.is_some()
    }

    /// Returns the settings for page resources; `None` if they are not fetched.
    pub fn pages(&self) -> Option<&resources::ResourceSettings> {
        self.pages.as_ref()
    }

    /// Returns the checks on resources of pages: status and redirects. The allowed hosts are set later.
    pub fn checks_of_resources(&self) -> ResponseChecks {
        ResponseChecks {
            status_only: self.redirects == 0 && !self.jar && self.cache.is_none(),
            status_only_unless_cookies: self.redirects == 0 && self.cache.is_none(),
            success: StatusSet::default_success(),
            names_statuses: false,
            redirects: self.redirects,
            expect_body: None,
            expected: None,
            captures: Vec::new(),
            returns_body: false,
            trailers: false,
            fetches_resources: false,
            allowed_redirects: None,
            cache: self.cache.clone(),
        }
    }

    /// Returns `true` for HTTP/1.0.
    pub fn is_http10(&self) -> bool {
        self.http10
    }

    /// Returns the texts of the checks with placeholders, if they are filled per request.
    pub fn expect_filled(&self) -> Option<&CheckTexts> {
        self.expect_filled.as_ref()
    }

    /// Returns the checks on responses.
    pub fn checks(self) -> ResponseChecks {
        let but_cookies = self.redirects == 0
            && self.expect_body.is_none()
            && self.expect_filled.is_none()
            && self.expected.is_none()
            && self.captures.is_empty()
            && !self.returns_body
            && self.pages.is_none()
            && self.cache.is_none();
        ResponseChecks {
            status_only: but_cookies && !self.jar,
            status_only_unless_cookies: but_cookies,
            names_statuses: self.success.is_some(),
            success: self.success.unwrap_or_else(StatusSet::default_success),
            redirects: self.redirects,
            expect_body: self.expect_body.map(|text| Finder::new(text.as_bytes()).into_owned()),
            trailers: captures::uses_trailers(self.expected.as_ref(), &self.captures),
            expected: self.expected,
            captures: self.captures,
            returns_body: self.returns_body,
            fetches_resources: self.pages.is_some(),
            allowed_redirects: None,
            cache: self.cache,
        }
    }

    /// Returns the rules for all exchanges; `others` are the checks of URLs with their own options.
    pub fn rules(
        self,
        others: Vec<ResponseChecks>,
        (recipes, pages): (Vec<Recipe>, Vec<PageRule>),
        proxies: Arc<ProxyRules>,
    ) -> HttpRules {
        let (jar, waits) = (self.jar.then(cookies::budget), self.continue_wait);
        let (mut default_checks, mut other_checks) = (self.checks(), others);
        let all = std::iter::once(&mut default_checks).chain(&mut other_checks);
        let caches = cache::share_budget(all.filter_map(|checks| checks.cache.as_mut()));
        HttpRules {
            default_checks,
            other_checks,
            budget: MemoryBudget::default(),
            recipes,
            pages,
            jar,
            caches,
            continue_wait: waits,
            proxies,
        }
    }
}

fn method(asked: Option<&str>, has_body: bool) -> Result<String, UsageError> {
    const KNOWN: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT"];
    let Some(method) = asked else { return Ok(if has_body { "POST" } else { "GET" }.to_owned()) };
    let wrong = |trouble: Complaint| Err(UsageError::new("--method", trouble));
    if method.is_empty() || !method.bytes().all(is_token) {
        return wrong(complaint!(
            "\"{method}\" is not a method; write one word, for example PUT",
            "“{method}”不是请求方法；请写一个词，例如 PUT"
        ));
    }
    if let Some(known) = KNOWN.iter().find(|k| k.eq_ignore_ascii_case(method) && **k != method) {
        return wrong(complaint!(
            "methods are case-sensitive: use {known} instead of {method}",
            "请求方法区分大小写：请用 {known}，而不是 {method}"
        ));
    }
    if method == "CONNECT" {
        return wrong(complaint!(
            "CONNECT opens a tunnel and has no response to measure; use another method",
            "CONNECT 用于建立隧道，没有可测量的响应；请用其他方法"
        ));
    }
    Ok(method.to_owned())
}

/// Checks a request target, which may contain any character that ends neither the target nor the line.
fn target(text: &str) -> Result<String, UsageError> {
    if !text.is_empty() && text.bytes().all(|b| b > b' ' && b != 0x7f) {
        return Ok(text.to_owned());
    }
    let trouble = complaint!(
        "\"{text}\" has spaces, which would break the request line; write it without spaces, for example /a?b",
        "“{text}”含有空格，会破坏请求行；请去掉空格，例如 /a?b"
    );
    Err(UsageError::new(TARGET, trouble))
}

/// Parses a header line whose value may have slots.
///
/// # Errors
/// Returns an error if it is not a header line.
pub fn header_with(text: &str, marks: &mut Placeholders) -> Result<HeaderOverride, UsageError> {
    let wish = header(&marks.replace_slots(text, "--header", SlotGuard::Line)?)?;
    if marks.occur_in(wish.name().as_bytes()) {
        let trouble = complaint!(
            "\"{text}\" has a slot in its name; write NAME: VALUE with slots in the value only",
            "“{text}”的名称中有占位符；请写 NAME: VALUE，占位符只能放在值中"
        );
        return Err(UsageError::new("--header", trouble));
    }
    Ok(wish)
}

/// Parses a header line. It is sent as written, so `X:y` stays without a space, as with curl.
///
/// # Errors
/// Returns an error if it is not a header line.
pub fn header(text: &str) -> Result<HeaderOverride, UsageError> {
    let wrong = |trouble: Complaint| {
        let zh = trouble.zh();
        UsageError::new(
            "--header",
            complaint!("\"{text}\" {trouble}; write NAME: VALUE", "“{text}”{zh}；请写 NAME: VALUE"),
        )
    };
    let (name, value) = match text.split_once(':') {
        Some(pair) => pair,
        None => {
            let name = text.trim_end().strip_suffix(';').ok_or_else(|| UsageError::new("--header", no_colon()))?;
            return named(name)
                .map(|name| HeaderOverride::Set(name, String::new()))
                .ok_or_else(|| wrong(complaint!("is not a name", "不是名称")));
        }
    };
    let name =
        named(name).ok_or_else(|| wrong(complaint!("has no valid name before the colon", "冒号之前没有有效的名称")))?;
    if value.bytes().any(|b| (b < 0x20 && b != b'\t') || b == 0x7f) {
        return Err(wrong(complaint!(
            "contains a line break or another control character",
            "含有换行符或其他控制字符"
        )));
    }
    Ok(if value.trim().is_empty() { HeaderOverride::Remove(name) } else { HeaderOverride::Set(name, value.to_owned()) })
}

/// Adds the boundary to a form media type given by the user (`Content-Type: multipart/form-data`), as curl does;
/// without it, the form could not be parsed.
fn add_boundary(content: &mut RequestBody, headers: &mut Vec<HeaderOverride>) {
    let Some(boundary) = content.kind.as_deref().and_then(|kind| kind.strip_prefix(multipart::KIND)) else { return };
    let given = |wish: &HeaderOverride| match wish {
        HeaderOverride::Set(name, value) if name.eq_ignore_ascii_case("content-type") => Some(value.trim().to_owned()),
        _ => None,
    };
    if let Some(kind) = headers.iter().find_map(given) {
        content.kind = Some(kind + boundary);
        headers.retain(|wish| given(wish).is_none());
    }
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty() && name.bytes().all(is_token)).then(|| name.to_owned())
}

/// Rejects header lines that contradict the length of the body, because both ends would then wait for each other.
fn check_framing(headers: &[HeaderOverride], content: Option<&RequestBody>) -> Result<(), UsageError> {
    let length = content.map_or(0, |c| c.bytes.len());
    let varies = content.is_some_and(|content| content.length.is_some());
    let chunked = content.is_some_and(|content| content.chunked);
    for header in headers {
        let trouble = match header {
            HeaderOverride::Set(name, _) if name.eq_ignore_ascii_case("content-length") && chunked => {
                complaint!(
                    "Content-Length cannot be combined with Transfer-Encoding: chunked; leave one of them out",
                    "Content-Length 不能与 Transfer-Encoding: chunked 同用；请去掉其中一个"
                )
            }
            HeaderOverride::Set(name, value) if name.eq_ignore_ascii_case("content-length") => {
                let value = value.trim();
                if varies {
                    let trouble = complaint!(
                        "Content-Length cannot be set for a body with slots, which change its length; leave it out",
                        "正文含有占位符、长度会变，不能设置 Content-Length；请去掉"
                    );
                    return Err(UsageError::new("--header", trouble));
                }
                if value.parse() == Ok(length) {
                    continue;
                }
                complaint!(
                    "Content-Length: {value} does not match the body of {length} bytes; leave it out",
                    "Content-Length: {value} 与 {length} 字节的正文不符；请去掉"
                )
            }
            HeaderOverride::Remove(name) if name.eq_ignore_ascii_case("content-length") && length > 0 && !chunked => {
                complaint!(
                    "Content-Length cannot be left out of a request with a body",
                    "有正文的请求不能去掉 Content-Length"
                )
            }
            _ => continue,
        };
        return Err(UsageError::new("--header", trouble));
    }
    Ok(())
}

/// Returns the texts of the checks, with the slots filled whose values are known before the run.
fn check_texts(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<CheckTexts, UsageError> {
    let mut all = |option: &str| -> Result<Vec<String>, UsageError> {
        let texts = config.values(option).iter().filter(|text| option != "expect-body" || !text.is_empty());
        texts.map(|text| check_text(text, &format!("--{option}"), marks)).collect()
    };
    Ok(CheckTexts {
        body: all("expect-body")?.pop(),
        headers: all("expect-header")?,
        json: all("expect-json")?,
        trailers: all("expect-trailer")?,
    })
}

fn check_text(text: &str, place: &str, marks: &mut Placeholders) -> Result<String, UsageError> {
    let text = match place {
        "--expect-json" => marks.replace_rule_slots(text, place)?,
        _ => marks.replace_slots(text, place, SlotGuard::None)?,
    };
    let text = if marks.occur_in(text.as_bytes()) { marks.fill_environment(&text)? } else { text.into_owned() };
    let random = |slot: &&str| ["{random", "{uuid"].iter().any(|name| slot.starts_with(name));
    if let Some(slot) = marks.slots_in(text.as_bytes()).find(random) {
        // As it was written.
        let slot = slot.replace(" | json}", "}");
        let trouble = complaint!(
            "{slot} differs here from the one in the request, so no response would have it; give it a name there, \
                {{id={slot}}}, and write {{id}} here",
            "{slot} 在这里的值与请求中的不同，响应不会含有它；请在请求中命名，写作 {{id={slot}}}，在这里写 {{id}}"
        );
        return Err(UsageError::new(place, trouble));
    }
    Ok(text)
}

/// Encodes `name:password` for basic authentication.
///
/// # Errors
/// Returns an error if the password is missing.
pub fn credentials(text: &str, marks: &mut Placeholders) -> Result<String, UsageError> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(UsageError::new(
            "--user",
            complaint!(
                "takes NAME:PASSWORD, not a bare number; for {text} users, use -c {text}, or `users: {text}` in a plan",
                "后面应为 NAME:PASSWORD，而不是数字；若要 {text} 个用户，请用 -c {text}，或在计划中写 `users: {text}`"
            ),
        ));
    }
    if !text.contains(':') {
        return Err(UsageError::new(
            "--user",
            complaint!("the password is missing; write NAME:PASSWORD", "缺少密码；请写 NAME:PASSWORD"),
        ));
    }
    let slots = marks.strict_notation(text, "--user")?;
    match slots {
        Some(strict) => marks.placeholder(&format!("{{base64 {strict}}}"), "--user", SlotGuard::Line),
        None => Ok(base64::engine::general_purpose::STANDARD.encode(text)),
    }
}

fn redirects(text: &str) -> Result<u32, UsageError> {
    text.parse().ok().filter(|n| *n <= 100).ok_or_else(|| {
        UsageError::new(
            "--redirects",
            complaint!(
                "\"{text}\" is not a number from 0 to 100; use, for example, 5",
                "“{text}”不是 0 到 100 的数；请写，例如 5"
            ),
        )
    })
}
