//! Headers of the run that URLs with headers of their own get, too: each request has those that it does not set itself.

use brunt_cause::complaint;
use brunt_contract::UsageError;

use super::draft::DraftUrl;
use super::origin::ValueOrigin;
use super::values::{SettingValue, SettingValues, header_name};

/// The option of header lines.
const HEADER: &str = "header";
/// The option of a user name and password, which become an `Authorization` header.
const USER: &str = "user";

/// Adds the header lines of the run to those of each URL.
///
/// # Errors
/// A header of the command line would have no effect, because every URL sets it itself.
pub(super) fn add(urls: &mut [DraftUrl], common: &SettingValues) -> Result<(), UsageError> {
    let without_effect = |line: &&SettingValue| {
        line.origin == ValueOrigin::CommandLine && !urls.is_empty() && urls.iter().all(|url| !applies(line, url))
    };
    if let Some(line) = common.named(HEADER).find(without_effect) {
        let name = header_name(&line.text);
        let trouble = complaint!(
            "{name} is set by the URLs themselves (in the plan file or the curl command); change it there",
            "{name} 由各 URL 自己设置（在计划文件或 curl 命令中）；请在那里修改"
        );
        return Err(line.wrong("-H", trouble));
    }
    urls.iter_mut().for_each(|url| add_to(url, common));
    Ok(())
}

fn add_to(url: &mut DraftUrl, common: &SettingValues) {
    let added: Vec<SettingValue> = common.named(HEADER).filter(|line| applies(line, url)).cloned().collect();
    // A URL without own lines gets all lines of the run anyway.
    if url.own.contains(HEADER) || added.len() < common.named(HEADER).count() {
        url.own.extend(added);
        if !url.own.contains(HEADER) && !url.without.contains(&HEADER) {
            url.without.push(HEADER);
        }
    }
    let authorizes = |said: &SettingValue| is_authorization(&said.text) && said.text.contains(':');
    if common.contains(USER) && !url.own.contains(USER) && url.own.named(HEADER).any(authorizes) {
        url.without.push(USER);
    }
}

/// Returns `true` if a header line of the run applies to a URL.
fn applies(line: &SettingValue, url: &DraftUrl) -> bool {
    let sets_user = url.own.contains(USER) && is_authorization(&line.text);
    !url.without.contains(&HEADER) && !url.own.sets_header(&line.text) && !sets_user
}

fn is_authorization(line: &str) -> bool {
    header_name(line).eq_ignore_ascii_case("authorization")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_get_the_headers_of_the_run_that_they_do_not_set() {
        let values = |all: &[(&'static str, &str)]| {
            let mut values = SettingValues::default();
            all.iter().for_each(|(name, text)| values.push(name, *text, ValueOrigin::Curl("p.yaml".into())));
            values
        };
        let common = values(&[("header", "Authorization: Bearer t"), ("header", "X-Run: 1")]);
        let none: &[&str] = &[];
        for (own, wanted, without) in [
            (&[][..], none, none),
            (&[("header", "A: b")], &["A: b", "Authorization: Bearer t", "X-Run: 1"], none),
            (&[("header", "x-run: 2")], &["x-run: 2", "Authorization: Bearer t"], none),
            (&[("header", "X-Run:")], &["X-Run:", "Authorization: Bearer t"], none),
            (&[("user", "a:b")], &["X-Run: 1"], none),
        ] {
            let mut urls = [DraftUrl { own: values(own), ..DraftUrl::plain("http://h/", ValueOrigin::CommandLine) }];
            add(&mut urls, &common).expect("it applies");
            let lines: Vec<_> = urls[0].own.named("header").map(|said| &*said.text).collect();
            assert_eq!((&lines[..], &urls[0].without[..]), (wanted, without), "{own:?}");
        }
        let mut urls = [DraftUrl {
            own: values(&[("header", "authorization: x")]),
            ..DraftUrl::plain("http://h/", ValueOrigin::CommandLine)
        }];
        add(&mut urls, &values(&[("user", "a:b")])).expect("it applies");
        assert_eq!(urls[0].without, ["user"]);
        let mut line = SettingValues::default();
        line.push("header", "Authorization: y", ValueOrigin::CommandLine);
        let said = add(&mut urls, &line).expect_err("no effect").to_string();
        assert!(said.starts_with("-H: Authorization is set by the URLs themselves"), "{said}");
    }
}
