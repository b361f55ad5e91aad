//! Shorthand options: `--json`, `--bearer`, `--cookie`, `-L` and `--data @FILE` are expanded to header lines, a body
//! and a number of redirects, so that protocols, plans and records have only one form of each.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionSpec, UsageError};

use brunt_protocols::template::slot_length;

use super::secret_files;
use super::urls::looks_like_one;
use super::values::{SettingValue, SettingValues};

/// Number of redirects for `-L`.
const FOLLOWED: &str = "10";

/// Maximum size in bytes of a file that `--data @FILE` joins into one line; larger bodies need `--data-file`.
const BODY: u64 = 1 << 20;

/// Expands all shorthands.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn expand(mut options: SettingValues, specs: &[OptionSpec]) -> Result<SettingValues, UsageError> {
    json(&mut options)?;
    bearer(&mut options)?;
    cookies(&mut options)?;
    // For other protocols, a text that begins with `@` is an ordinary message.
    if specs.iter().any(|spec| spec.name == "data-raw") {
        data_files(&mut options)?;
    }
    if let Some(location) = options.take("location").pop()
        && !options.contains("redirects")
    {
        options.push("redirects", FOLLOWED, location.origin);
    }
    Ok(options)
}

/// Expands `--json BODY` to the body and the two header lines that curl adds, unless these are set.
fn json(options: &mut SettingValues) -> Result<(), UsageError> {
    let bodies = options.take("json");
    let Some(first) = bodies.first() else { return Ok(()) };
    if let Some(other) = ["data", "data-raw", "data-file", "form", "form-string"].iter().find(|o| options.contains(o)) {
        let trouble = complaint!(
            "sets the whole body, and so does --{other}; leave one of them out",
            "会设置整个正文，--{other} 也设置了它；请去掉其中一个"
        );
        return Err(first.wrong("--json", trouble));
    }
    let is_none =
        |body: &str| !body.starts_with(['@', '{', '[', '"']) && (body.contains("://") || looks_like_one(body));
    if let Some(body) = bodies.iter().find(|body| is_none(&body.text)) {
        let trouble = complaint!(
            "takes the JSON to send, not `{}`; for a report as JSON write --format json",
            "后面应为要发送的 JSON，而不是 `{}`；要输出 JSON 报告请用 --format json",
            body.text
        );
        return Err(body.wrong("--json", trouble));
    }
    let origin = first.origin.clone();
    if let Some(first) =
        bodies.first().filter(|_| lost_its_quotes(&bodies.iter().map(|body| &*body.text).collect::<String>()))
    {
        let trouble = complaint!(
            "is no JSON without its quotes, which the shell removes; put the whole in single quotes: \
            --json '{{\"a\": 1}}'",
            "不是 JSON：引号被 shell 去掉了；请用单引号括住整个内容：--json '{{\"a\": 1}}'"
        );
        return Err(first.wrong("--json", trouble));
    }
    match &bodies[..] {
        [file] if file.text.starts_with('@') => options.push("data-file", &file.text[1..], origin.clone()),
        _ => options.push("data-raw", bodies.iter().map(|body| &*body.text).collect::<String>(), origin.clone()),
    }
    for (name, line) in [("content-type", "Content-Type: application/json"), ("accept", "Accept: application/json")] {
        if !has_header(options, name) {
            options.push("header", line, origin.clone());
        }
    }
    Ok(())
}

/// Returns `true` for an object or a list that is no JSON and has no quotes. Slots stand for values.
fn lost_its_quotes(body: &str) -> bool {
    if !body.trim_start().starts_with(['{', '[']) || body.contains('"') {
        return false;
    }
    let (mut filled, mut at) = (String::new(), 0);
    while let Some(c) = body[at..].chars().next() {
        let slot = if c == '{' { slot_length(&body[at..]) } else { None };
        filled.push(if slot.is_some() { '0' } else { c });
        at += slot.unwrap_or(c.len_utf8());
    }
    serde_json::from_str::<serde_json::Value>(&filled).is_err()
}

/// Returns `true` if a header line has this name.
fn has_header(options: &SettingValues, name: &str) -> bool {
    let is_named = |line: &str| line.split([':', ';']).next().is_some_and(|own| own.trim().eq_ignore_ascii_case(name));
    options.named("header").any(|said| is_named(&said.text))
}

/// Expands `--bearer TOKEN` or `--bearer @FILE`.
fn bearer(options: &mut SettingValues) -> Result<(), UsageError> {
    let Some(token) = options.take("bearer").pop() else { return Ok(()) };
    let authorized = has_header(options, "authorization");
    if authorized || options.contains("user") {
        let other = if authorized { "-H Authorization" } else { "--user" };
        let trouble = complaint!(
            "sets the Authorization header, and so does {other}; leave one of them out",
            "会设置 Authorization 请求头，{other} 也设置了它；请去掉其中一个"
        );
        return Err(token.wrong("--bearer", trouble));
    }
    let origin = token.origin.clone();
    let token: String = opened("--bearer", token)?.into_iter().map(|said| said.text).collect();
    let words = token.strip_prefix("Bearer ").unwrap_or(&token);
    options.push("header", format!("Authorization: Bearer {words}"), origin);
    Ok(())
}

/// Expands repeated `--cookie NAME=VALUE`, or `@FILE` with one cookie per line, to a single header line together with
/// the cookies of header lines: a request has only one (RFC 6265 5.4), and servers would join several by commas.
fn cookies(options: &mut SettingValues) -> Result<(), UsageError> {
    let values = options.take("cookie");
    let is_line = |said: &SettingValue| {
        let value = said.text.split_once(':').filter(|(name, _)| name.trim().eq_ignore_ascii_case("cookie"));
        said.name == "header" && value.is_some_and(|(_, value)| !value.trim().is_empty())
    };
    let lines = options.iter().filter(|said| is_line(said)).count();
    if values.is_empty() && lines < 2 {
        return Ok(());
    }
    let mut all = Vec::new();
    let mut origin = values.first().map(|said| said.origin.clone());
    for line in options.take_if(is_line) {
        let value = line.text.split_once(':').map_or("", |(_, value)| value);
        all.push(value.trim().trim_end_matches(';').to_owned());
        origin = Some(line.origin);
    }
    let Some(origin) = origin else { return Ok(()) };
    for value in values {
        for cookie in opened("--cookie", value)? {
            if !cookie.text.contains('=') {
                let trouble = complaint!(
                    "has no `=`; write NAME=VALUE, or @FILE with one per line",
                    "没有 `=`；请写 NAME=VALUE，或 @FILE（每行一个）"
                );
                return Err(cookie.wrong("--cookie", trouble));
            }
            all.push(cookie.text.trim().trim_end_matches(';').to_owned());
        }
    }
    options.push("header", format!("Cookie: {}", all.join("; ")), origin);
    Ok(())
}

/// Returns a secret as written, or the lines of the file that it names.
fn opened(flag: &str, value: SettingValue) -> Result<Vec<SettingValue>, UsageError> {
    match value.text.strip_prefix('@') {
        Some(path) => secret_files::lines_of(&value, flag, path),
        None if value.text.trim().is_empty() => {
            Err(value.wrong(flag, complaint!("is empty; write the value, or @FILE", "为空；请写值，或 @FILE")))
        }
        None => Ok(vec![value]),
    }
}

/// Expands `--data @FILE` to the text of the file without line breaks, as in curl.
fn data_files(options: &mut SettingValues) -> Result<(), UsageError> {
    if !options.named("data").any(|said| said.text.starts_with('@')) {
        return Ok(());
    }
    let raw = options.take("data-raw");
    for said in options.take("data") {
        let text = match said.text.strip_prefix('@') {
            Some(path) => joined(path).map_err(|trouble| said.wrong("--data", trouble))?,
            None => said.text,
        };
        options.push("data-raw", text, said.origin);
    }
    options.extend(raw);
    Ok(())
}

fn joined(path: &str) -> Result<String, Complaint> {
    let bytes = brunt_protocols::file::read_bounded("--data", path, BODY).map_err(|trouble| format!("@{trouble}"))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        complaint!(
            "@{path} is not text (UTF-8); send its bytes with --data-file {path}",
            "@{path} 不是文本（UTF-8）；请用 --data-file {path} 发送其字节"
        )
    })?;
    Ok(text.replace(['\r', '\n', '\0'], ""))
}

#[cfg(test)]
mod tests {
    use brunt_plan::PlanOptions;

    use super::super::origin::ValueOrigin;
    use super::*;

    fn spelled(given: &[(&'static str, &str)]) -> Result<PlanOptions, String> {
        let mut options = SettingValues::default();
        given.iter().for_each(|(name, value)| options.push(name, *value, ValueOrigin::CommandLine));
        let spelled = expand(options, brunt_contract::Protocol::description(&brunt_protocols::http::Http).options);
        spelled.map(|options| options.options()).map_err(|complaint| complaint.to_string())
    }

    fn options(all: &[(&str, &[&str])]) -> PlanOptions {
        all.iter().map(|(name, values)| ((*name).into(), values.iter().map(ToString::to_string).collect())).collect()
    }

    #[test]
    fn shorthands_stand_for_header_lines_and_bodies() {
        let json = ["Content-Type: application/json", "Accept: application/json"];
        for (given, wanted) in [
            (&[("json", "{\"a\":1}")][..], options(&[("data-raw", &["{\"a\":1}"]), ("header", &json)])),
            (
                &[("json", "[1,"), ("json", "2]"), ("header", "content-type: a/b")],
                options(&[("data-raw", &["[1,2]"]), ("header", &["content-type: a/b", json[1]])]),
            ),
            (&[("json", "[{counter}, 2]")], options(&[("data-raw", &["[{counter}, 2]"]), ("header", &json)])),
            (&[("json", "@b.json")], options(&[("data-file", &["b.json"]), ("header", &json)])),
            (&[("bearer", "tok")], options(&[("header", &["Authorization: Bearer tok"])])),
            (&[("bearer", "Bearer tok")], options(&[("header", &["Authorization: Bearer tok"])])),
            (&[("cookie", "a=1"), ("cookie", "b=2; c=3;")], options(&[("header", &["Cookie: a=1; b=2; c=3"])])),
            (&[("header", "cookie: a=1;"), ("cookie", "b=2")], options(&[("header", &["Cookie: a=1; b=2"])])),
            (&[("header", "Cookie: a=1"), ("header", "Cookie: b=2")], options(&[("header", &["Cookie: a=1; b=2"])])),
            (&[("header", "Cookie:"), ("cookie", "b=2")], options(&[("header", &["Cookie:", "Cookie: b=2"])])),
            (&[("header", "cookie: a=1")], options(&[("header", &["cookie: a=1"])])),
            (&[("location", "")], options(&[("redirects", &["10"])])),
            (&[("location", ""), ("redirects", "2")], options(&[("redirects", &["2"])])),
            (&[("data", "a=1")], options(&[("data", &["a=1"])])),
        ] {
            assert_eq!(spelled(given), Ok(wanted), "{given:?}");
        }
    }

    #[test]
    fn files_hold_bodies_and_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            format!("@{}", path.display())
        };
        let (body, token, jar) = (file("body", "a=1\r\n&b=2\n"), file("token", "s3cr3t\n"), file("jar", "a=1\nb=2\n"));
        assert_eq!(spelled(&[("data", &body), ("data", "c=3")]), Ok(options(&[("data-raw", &["a=1&b=2", "c=3"])])));
        assert_eq!(spelled(&[("bearer", &token)]), Ok(options(&[("header", &["Authorization: Bearer s3cr3t"])])));
        assert_eq!(spelled(&[("cookie", &jar)]), Ok(options(&[("header", &["Cookie: a=1; b=2"])])));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (given, said) in [
            (
                &[("json", "{}"), ("data", "a")][..],
                "--json: sets the whole body, and so does --data; leave one of them out",
            ),
            (
                &[("json", "http://h/")],
                "--json: takes the JSON to send, not `http://h/`; for a report as JSON write --format json",
            ),
            (
                &[("json", "localhost:80")],
                "--json: takes the JSON to send, not `localhost:80`; for a report as JSON write --format json",
            ),
            (
                &[("bearer", "t"), ("user", "a:b")],
                "--bearer: sets the Authorization header, and so does --user; leave one of them out",
            ),
            (
                &[("json", "{a:1}")],
                "--json: is no JSON without its quotes, which the shell removes; put the whole in single quotes: --json '{\"a\": 1}'",
            ),
            (&[("bearer", " ")], "--bearer: is empty; write the value, or @FILE"),
            (&[("cookie", "jar.txt")], "--cookie: has no `=`; write NAME=VALUE, or @FILE with one per line"),
        ] {
            assert_eq!(spelled(given), Err(said.to_string()), "{given:?}");
        }
        let missing = spelled(&[("data", "@/nowhere/x")]).unwrap_err();
        assert!(missing.starts_with("--data: @/nowhere/x cannot be read"), "{missing}");
    }
}
