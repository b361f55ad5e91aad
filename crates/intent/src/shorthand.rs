//! Options that stand for others: `--json`, `--bearer`, `--cookie`, `-L` and `--data @FILE` are spelled out as header lines, a
//! body and a number of redirects, so that protocols, plans and records know one form of each.

use plan::{Options, WeightedUrl};
use wire::{Complaint, OptionSpec};

use super::sealed;
use super::urls::looks_like_one;

/// So many redirects `-L` follows.
const FOLLOWED: &str = "10";

/// The largest file that `--data @FILE` joins into one line; larger bodies are `--data-file`'s.
const BODY: u64 = 1 << 20;

/// The options with every shorthand spelled out.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn spelled_out(mut options: Options, specs: &[OptionSpec]) -> Result<Options, Complaint> {
    json(&mut options)?;
    bearer(&mut options)?;
    cookies(&mut options)?;
    // To other protocols a text that begins so is a message like any other.
    if specs.iter().any(|spec| spec.name == "data-raw") {
        data_files(&mut options)?;
    }
    if options.remove("location").is_some() && !options.contains_key("redirects") {
        options.insert("redirects".into(), vec![FOLLOWED.into()]);
    }
    Ok(options)
}

/// A URL with the shorthands of its own options spelled out.
///
/// # Errors
/// As [`spelled_out`].
pub fn spelled_out_url(url: WeightedUrl, specs: &[OptionSpec]) -> Result<WeightedUrl, Complaint> {
    Ok(WeightedUrl { options: spelled_out(url.options, specs)?, ..url })
}

/// `--json BODY`: the body, and the two header lines that curl sends with it, unless others are asked for.
fn json(options: &mut Options) -> Result<(), Complaint> {
    let Some(bodies) = options.remove("json") else { return Ok(()) };
    let wrong = |trouble: String| Err(Complaint::new("--json", trouble));
    if let Some(other) =
        ["data", "data-raw", "data-file", "form", "form-string"].iter().find(|o| options.contains_key(**o))
    {
        return wrong(format!("sets the whole body, and so does --{other}; leave one of them out"));
    }
    let is_none =
        |body: &&String| !body.starts_with(['@', '{', '[', '"']) && (body.contains("://") || looks_like_one(body));
    if let Some(url) = bodies.iter().find(is_none) {
        return wrong(format!("takes the JSON to send, not `{url}`; for a report as JSON write --format json"));
    }
    match &bodies[..] {
        [file] if file.starts_with('@') => options.insert("data-file".into(), vec![file[1..].to_owned()]),
        _ => options.insert("data-raw".into(), vec![bodies.concat()]),
    };
    for (name, line) in [("content-type", "Content-Type: application/json"), ("accept", "Accept: application/json")] {
        let headers = options.entry("header".into()).or_default();
        if !headers.iter().any(|header| is_named(header, name)) {
            headers.push(line.into());
        }
    }
    Ok(())
}

/// True for a header line of this name.
fn is_named(header: &str, name: &str) -> bool {
    header.split([':', ';']).next().is_some_and(|own| own.trim().eq_ignore_ascii_case(name))
}

/// `--bearer TOKEN`, or `@FILE`.
fn bearer(options: &mut Options) -> Result<(), Complaint> {
    let Some(token) = options.remove("bearer").and_then(|mut tokens| tokens.pop()) else { return Ok(()) };
    let authorized = options.get("header").is_some_and(|lines| lines.iter().any(|h| is_named(h, "authorization")));
    if authorized || options.contains_key("user") {
        let other = if authorized { "-H Authorization" } else { "--user" };
        return Err(Complaint::new(
            "--bearer",
            format!("sets the Authorization header, and so does {other}; leave one of them out"),
        ));
    }
    let token = opened("--bearer", token)?.concat();
    let words = token.strip_prefix("Bearer ").unwrap_or(&token);
    options.entry("header".into()).or_default().push(format!("Authorization: Bearer {words}"));
    Ok(())
}

/// `--cookie NAME=VALUE`, repeated, or `@FILE` with one a line: one header line, as browsers send it.
fn cookies(options: &mut Options) -> Result<(), Complaint> {
    let Some(values) = options.remove("cookie") else { return Ok(()) };
    let mut all = Vec::new();
    for value in values {
        for cookie in opened("--cookie", value)? {
            if !cookie.contains('=') {
                return Err(Complaint::new("--cookie", "has no `=`; write NAME=VALUE, or @FILE with one per line"));
            }
            all.push(cookie.trim().trim_end_matches(';').to_owned());
        }
    }
    options.entry("header".into()).or_default().push(format!("Cookie: {}", all.join("; ")));
    Ok(())
}

/// A secret as it was written, or the lines of the file that holds it.
fn opened(flag: &str, value: String) -> Result<Vec<String>, Complaint> {
    match value.strip_prefix('@') {
        Some(path) => sealed::lines(flag, path),
        None if value.trim().is_empty() => Err(Complaint::new(flag, "is empty; write the value, or @FILE")),
        None => Ok(vec![value]),
    }
}

/// `--data @FILE`: the text of the file without its line breaks, as curl has it.
fn data_files(options: &mut Options) -> Result<(), Complaint> {
    let Some(values) = options.get_mut("data").filter(|values| values.iter().any(|value| value.starts_with('@')))
    else {
        return Ok(());
    };
    let mut texts = Vec::new();
    for value in values.iter() {
        match value.strip_prefix('@') {
            Some(path) => texts.push(joined(path)?),
            None => texts.push(value.clone()),
        }
    }
    options.remove("data");
    let raw = options.entry("data-raw".into()).or_default();
    raw.splice(..0, texts);
    Ok(())
}

fn joined(path: &str) -> Result<String, Complaint> {
    let wrong = |trouble: String| Complaint::new("--data", trouble);
    let bytes = protocols::file::bounded(path, BODY).map_err(|trouble| wrong(format!("@{trouble}")))?;
    let text = String::from_utf8(bytes);
    let text =
        text.map_err(|_| wrong(format!("@{path} is not text (UTF-8); send its bytes with --data-file {path}")))?;
    Ok(text.replace(['\r', '\n', '\0'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(given: &[(&str, &str)]) -> Result<Options, String> {
        let mut options = Options::new();
        for (name, value) in given {
            options.entry((*name).to_string()).or_default().push((*value).to_string());
        }
        spelled_out(options, wire::Protocol::options(&protocols::http::Http)).map_err(|complaint| complaint.to_string())
    }

    fn options(all: &[(&str, &[&str])]) -> Options {
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
            (&[("json", "@b.json")], options(&[("data-file", &["b.json"]), ("header", &json)])),
            (&[("bearer", "tok")], options(&[("header", &["Authorization: Bearer tok"])])),
            (&[("bearer", "Bearer tok")], options(&[("header", &["Authorization: Bearer tok"])])),
            (&[("cookie", "a=1"), ("cookie", "b=2; c=3;")], options(&[("header", &["Cookie: a=1; b=2; c=3"])])),
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
            (&[("bearer", " ")], "--bearer: is empty; write the value, or @FILE"),
            (&[("cookie", "jar.txt")], "--cookie: has no `=`; write NAME=VALUE, or @FILE with one per line"),
        ] {
            assert_eq!(spelled(given), Err(said.to_string()), "{given:?}");
        }
        let missing = spelled(&[("data", "@/nowhere/x")]).unwrap_err();
        assert!(missing.starts_with("--data: @/nowhere/x cannot be read"), "{missing}");
    }
}
