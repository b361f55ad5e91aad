//! Translation of a command to URLs, each with its own options.

use brunt_cause::{Complaint, complaint};
use std::fs;

use brunt_contract::UsageError;
use brunt_protocols::file;

use super::command::CurlOptions;
use super::cookies;
use super::data::{self, CurlData};
use super::date;
use super::headers::{self, HeaderLines};
use super::target::{CurlTarget, globbed};
use crate::draft::{CurlNote, DraftUrl};
use crate::origin::ValueOrigin;
use crate::values::SettingValues;

/// Body size above which curl first sends `Expect: 100-continue` (`EXPECT_100_THRESHOLD`).
const EXPECTS_FROM: u64 = 1024 * 1024;

/// Note for requests for which curl may send `Expect: 100-continue`, unlike brunt.
fn at_once() -> Complaint {
    complaint!(
        "a body above 1 MiB: over HTTP/1.1 curl sends Expect: 100-continue and waits; brunt sends it \
    at once",
        "正文超过 1 MiB：在 HTTP/1.1 上 curl 会发送 Expect: 100-continue 并等待；brunt 立即发送"
    )
}

/// Note for a body of unknown length.
fn in_chunks() -> Complaint {
    complaint!(
        "-T -: curl sends standard input in chunks; brunt reads it before the run and sends its length",
        "-T -：curl 分块发送标准输入；brunt 在压测前读取，并发送其长度"
    )
}

/// The requests of one part of a command.
#[derive(Debug, Default)]
pub struct CurlRequests {
    /// The URLs, each with its options.
    pub urls: Vec<DraftUrl>,
    /// Differences from curl.
    pub notes: Vec<CurlNote>,
}

/// Translates one part of a command.
///
/// # Errors
/// An option cannot be honoured; the error states the consequence.
pub fn requests(asked: &CurlOptions, place: &str, origin: &ValueOrigin) -> Result<CurlRequests, UsageError> {
    let wrong = |trouble: Complaint| Err(UsageError::new(place, trouble));
    if asked.urls.is_empty() {
        return wrong(complaint!("has no URL; write one after the options", "没有 URL；请写在选项之后"));
    }
    let data = data::of(asked, place)?;
    let forms = forms(asked);
    let uploads: Vec<&str> = asked.all("upload-file").collect();
    let (get, head) = (asked.has("get"), asked.has("head"));
    let bodies = [data.is_some() && !get, !forms.is_empty(), !uploads.is_empty(), head && !get];
    if bodies.iter().filter(|given| **given).count() > 1 {
        return wrong(complaint!(
            "has more than one of -d, -F, -T and -I, but a request has only one method and one body; keep one of them",
            "同时有 -d、-F、-T 和 -I 中的多个，而一个请求只有一种方法和一个正文；请只保留一个"
        ));
    }
    let mut all = CurlRequests::default();
    for (index, written) in asked.urls.iter().enumerate() {
        let urls = if asked.has("globoff") { vec![written.clone()] } else { globbed(written, place)? };
        for url in urls {
            let mut target = CurlTarget::parse(&url, asked.has("path-as-is"), place)?;
            let upload = uploads.get(index).copied();
            let mut options = RequestOptions { values: SettingValues::default(), origin };
            let mut notes: Vec<CurlNote> = Vec::new();
            queries(asked, &mut target, data.as_ref().filter(|_| get), place)?;
            let method = body(&mut options, (&data, &forms, upload), &mut target, (get, head), place)?;
            if upload.is_some_and(|path| matches!(path, "-" | ".")) {
                notes.push(in_chunks().into());
            }
            let mut lines = lines(asked, &target, (&options, &mut notes), place)?;
            if expects_continue(asked, upload, &options, &lines) {
                match uses_http1(asked, &target) {
                    true => options.say("expect-continue", ""),
                    false => notes.push(at_once().into()),
                }
            }
            let method = asked.value("request").unwrap_or(method).to_owned();
            let has_body = ["data-raw", "data-file", "form"].iter().any(|name| options.values.contains(name));
            if !has_body && ["POST", "PUT", "PATCH"].contains(&method.as_str()) {
                lines.suppress("Content-Length");
            }
            let line = asked.value("request-target").map(str::to_owned).or_else(|| target.differing_line());
            add_trailing_lines(asked, &mut lines, &options, upload.is_some());
            if let Some(user) = user(asked, &target, &lines, place)? {
                options.say("user", user);
            }
            lines.all().into_iter().for_each(|line| options.say("header", line));
            if method != if has_body { "POST" } else { "GET" } {
                options.say("method", method);
            }
            line.into_iter().for_each(|line| options.say("request-target", line));
            all.urls.push(DraftUrl { own: options.values, ..DraftUrl::plain(target.url(), origin.clone()) });
            notes.into_iter().for_each(|note| {
                if !all.notes.contains(&note) {
                    all.notes.push(note);
                }
            });
        }
    }
    Ok(all)
}

/// The options collected for a request.
struct RequestOptions<'a> {
    values: SettingValues,
    origin: &'a ValueOrigin,
}

impl RequestOptions<'_> {
    fn say(&mut self, name: &'static str, text: impl Into<String>) {
        self.values.push(name, text, self.origin.clone());
    }

    fn first<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.values.named(name).next().map(|said| said.text.as_str())
    }
}

/// Returns the values of `-F` and `--form-string` in a common notation, in the order given.
fn forms(asked: &CurlOptions) -> Vec<String> {
    let quoted = |text: &str| match text.split_once('=') {
        Some((name, value)) if value.contains(';') || value.starts_with(['@', '<', '"']) => {
            format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
        }
        _ => text.to_owned(),
    };
    let form = |(name, value): &(&str, String)| match *name {
        "form" => Some(value.clone()),
        "form-string" => Some(quoted(value)),
        _ => None,
    };
    asked.values.iter().filter_map(form).collect()
}

/// Adds `--url-query` to the query, and the data if `-G` is set.
fn queries(
    asked: &CurlOptions,
    target: &mut CurlTarget,
    data: Option<&CurlData>,
    place: &str,
) -> Result<(), UsageError> {
    match data {
        Some(CurlData::Text(text)) => target.add_query(text),
        Some(CurlData::File(path)) => {
            let text = file::text("-G", path).map_err(|said| {
                let (said, zh) = (said.to_string(), said.zh());
                UsageError::new(place, complaint!("{said}, or send it without -G", "{zh}，或不用 -G 发送"))
            })?;
            target.add_query(&text);
        }
        None => {}
    }
    for query in asked.all("url-query") {
        let query = match query.strip_prefix('+') {
            Some(as_is) => as_is.to_owned(),
            None => data::urlencoded(query, place)?,
        };
        target.add_query(&query);
    }
    Ok(())
}

/// Adds the body to the options and returns the method that it implies.
fn body(
    options: &mut RequestOptions<'_>,
    (data, forms, upload): (&Option<CurlData>, &[String], Option<&str>),
    target: &mut CurlTarget,
    (get, head): (bool, bool),
    place: &str,
) -> Result<&'static str, UsageError> {
    if let Some(path) = upload {
        let path = if path == "." { "-" } else { path };
        data::readable("upload-file", path, place)?;
        if target.path.ends_with('/') {
            let name = path.rsplit('/').next().unwrap_or(path);
            target.path.push_str(&data::urlencoded(name, place)?.replace('+', "%20"));
        }
        options.say("data-file", path);
        return Ok("PUT");
    }
    if !forms.is_empty() {
        forms.iter().for_each(|form| options.say("form", form));
        return Ok("POST");
    }
    match data {
        Some(_) if get => {}
        Some(CurlData::Text(text)) => {
            options.say("data-raw", text);
            return Ok("POST");
        }
        Some(CurlData::File(path)) => {
            let short = file::read_bounded("--data-file", path, EXPECTS_FROM).ok();
            match short.and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(text) => options.say("data-raw", text),
                None => options.say("data-file", path),
            }
            return Ok("POST");
        }
        None => {}
    }
    Ok(if head { "HEAD" } else { "GET" })
}

/// Collects the header lines: curl's own, then the user's.
fn lines(
    asked: &CurlOptions,
    target: &CurlTarget,
    (options, notes): (&RequestOptions<'_>, &mut Vec<CurlNote>),
    place: &str,
) -> Result<HeaderLines, UsageError> {
    let mut lines = HeaderLines::from_user(asked, notes, place)?;
    target.differing_host().into_iter().for_each(|host| lines.host(&host));
    if options.values.contains("form") {
        check_form_content_type(&lines, place)?;
    }
    let length = length(options);
    if let Some(token) = asked.value("oauth2-bearer") {
        lines.add_default("Authorization", &format!("Bearer {token}"));
    }
    let from = resumed(asked, place)?;
    match (from.as_deref().or_else(|| asked.value("range")), length) {
        (Some(range), None) => lines.add_default("Range", &format!("bytes={range}")),
        (Some(range), Some(length)) => lines.add_default("Content-Range", &format!("bytes {range}/{length}")),
        (None, _) => {}
    }
    headers::agent(&mut lines, asked);
    match asked.value("json") {
        Some(_) => lines.suppress("Accept"),
        None => lines.add_default("Accept", "*/*"),
    }
    if asked.has("compressed") {
        lines.add_default("Accept-Encoding", "deflate, gzip, br, zstd");
    }
    if let Some(referer) = asked.value("referer") {
        let referer = referer.strip_suffix(";auto").unwrap_or(referer);
        if !referer.is_empty() {
            lines.add_default("Referer", referer);
        }
    }
    cookie(asked, target, &mut lines, notes);
    time_condition(asked, &mut lines, notes);
    if let Some(path) = asked.value("etag-compare") {
        let text = file::text("--etag-compare", path).unwrap_or_default();
        let tag = text.lines().next().map(str::trim).filter(|tag| !tag.is_empty()).unwrap_or("\"\"");
        lines.add_last("If-None-Match", tag);
    }
    Ok(lines)
}

/// Returns the range of `-C OFFSET`.
fn resumed(asked: &CurlOptions, place: &str) -> Result<Option<String>, UsageError> {
    let Some(offset) = asked.value("continue-at") else { return Ok(None) };
    match offset.parse::<u64>() {
        Ok(0) => Ok(None),
        Ok(offset) => Ok(Some(format!("{offset}-"))),
        Err(_) => {
            let trouble = complaint!(
                "-C {offset} continues curl's own output file; write the offset, such as -C 1000",
                "-C {offset} 是接着 curl 自己的输出文件下载；请写偏移量，例如 -C 1000"
            );
            Err(UsageError::new(place, trouble))
        }
    }
}

/// Adds the header of `-z DATE`, or `-z FILE` for the date of a file.
fn time_condition(asked: &CurlOptions, lines: &mut HeaderLines, notes: &mut Vec<CurlNote>) {
    let Some(written) = asked.value("time-cond") else { return };
    let (name, text) = match written.split_at_checked(1) {
        Some(("-", text)) => ("If-Unmodified-Since", text),
        Some(("=", text)) => ("Last-Modified", text),
        Some(("+", text)) => ("If-Modified-Since", text),
        _ => ("If-Modified-Since", written),
    };
    let of_file = || {
        let changed = fs::metadata(text).and_then(|data| data.modified()).ok()?;
        changed.duration_since(std::time::UNIX_EPOCH).ok().map(|time| time.as_secs())
    };
    match date::seconds(text).or_else(of_file) {
        Some(seconds) => lines.add_default(name, &date::of_http(seconds)),
        None => {
            notes.push(
                complaint!(
                    "-z {written}: is neither a date nor a file, so no header is sent, as with curl",
                    "-z {written}：既不是日期也不是文件，因此不发送头部，与 curl 相同"
                )
                .into(),
            );
        }
    }
}

/// Returns the length of the body, if known.
fn length(options: &RequestOptions<'_>) -> Option<u64> {
    match (options.first("data-raw"), options.first("data-file")) {
        (Some(text), _) => Some(text.len() as u64),
        (None, Some(path)) => fs::metadata(path).ok().map(|file| file.len()),
        (None, None) => None,
    }
}

/// Returns `true` if curl would send `Expect: 100-continue`.
fn expects_continue(
    asked: &CurlOptions,
    upload: Option<&str>,
    options: &RequestOptions<'_>,
    lines: &HeaderLines,
) -> bool {
    let length = length(options);
    let long = length.is_some_and(|length| length > EXPECTS_FROM) || upload.is_some_and(|_| length.is_none());
    // With `--http2`, curl sends an Upgrade header instead.
    let upgrades = asked.switches.contains(&"http2");
    long && !upgrades && !lines.has_user_line("Expect") && !asked.has("http1.0")
}

/// Returns `true` if curl uses HTTP/1.1 without negotiation.
fn uses_http1(asked: &CurlOptions, target: &CurlTarget) -> bool {
    asked.has("http1.1") || (target.scheme == "http" && !asked.has("http2-prior-knowledge"))
}

/// Rejects content types for which curl encodes form parts differently.
fn check_form_content_type(lines: &HeaderLines, place: &str) -> Result<(), UsageError> {
    let is_form =
        |kind: &str| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("multipart/form-data");
    if lines.value("Content-Type").is_none_or(is_form) {
        return Ok(());
    }
    let trouble = complaint!(
        "-H 'Content-Type: …' with -F makes curl send the parts as attachments, and brunt sends a form; \
        leave it out",
        "-H 'Content-Type: …' 与 -F 同用时 curl 会把各部分作为附件发送，而 brunt 发送表单；请去掉"
    );
    Err(UsageError::new(place, trouble))
}

/// Adds the lines that curl sends after the user's.
fn add_trailing_lines(asked: &CurlOptions, lines: &mut HeaderLines, options: &RequestOptions<'_>, upload: bool) {
    if asked.value("json").is_some() {
        lines.add_last("Content-Type", "application/json");
        lines.add_last("Accept", "application/json");
    }
    if options.values.contains("data-file") && !upload {
        lines.add_last("Content-Type", "application/x-www-form-urlencoded");
    }
}

fn cookie(asked: &CurlOptions, target: &CurlTarget, lines: &mut HeaderLines, notes: &mut Vec<CurlNote>) {
    let mut jar = Vec::new();
    let mut texts = Vec::new();
    for value in asked.all("cookie") {
        if value.contains('=') {
            texts.push(value);
        } else if let Ok(text) = file::text("-b", value) {
            jar.extend(cookies::of_file(&text, target.host(), &target.path, target.scheme == "https"));
            let text = complaint!(
                "-b {value}: cookies that responses set are not kept without --cookie-jar",
                "-b {value}：没有 --cookie-jar 时不保留响应设置的 Cookie"
            );
            notes.push(CurlNote { text, without_cookies: true });
        } else if !value.is_empty() {
            notes.push(
                complaint!(
                    "-b {value}: there is no such file, so no cookie is sent, as with curl",
                    "-b {value}：没有这个文件，因此不发送 Cookie，与 curl 相同"
                )
                .into(),
            );
        }
    }
    jar.extend((!texts.is_empty()).then(|| texts.join(";")));
    if !jar.is_empty() {
        lines.add_default("Cookie", &jar.join("; "));
    }
}

/// Returns the `user:password` of `-u` or of the URL.
fn user(
    asked: &CurlOptions,
    target: &CurlTarget,
    lines: &HeaderLines,
    place: &str,
) -> Result<Option<String>, UsageError> {
    if lines.has_user_line("Authorization") || asked.value("oauth2-bearer").is_some() {
        return Ok(None);
    }
    match (asked.value("user"), &target.user) {
        (Some(user), _) if !user.contains(':') => {
            let trouble = complaint!(
                "-u {user} has no password, and curl would ask for it; use -u '{user}:PASSWORD', or -u '{user}:'",
                "-u {user} 没有密码，curl 会询问；请用 -u '{user}:PASSWORD' 或 -u '{user}:'"
            );
            Err(UsageError::new(place, trouble))
        }
        (Some(user), _) => Ok(Some(user.to_owned())),
        (None, Some(user)) => {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            Ok(Some(format!("{}:{}", decoded(name), decoded(password))))
        }
        (None, None) => Ok(None),
    }
}

/// Decodes percent-encoding.
fn decoded(text: &str) -> String {
    let pairs: Vec<(std::borrow::Cow<'_, str>, _)> =
        url::form_urlencoded::parse(text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D").as_bytes())
            .into_owned()
            .map(|(name, value)| (name.into(), value))
            .collect();
    pairs.first().map(|(name, _)| name.to_string()).unwrap_or_default()
}
