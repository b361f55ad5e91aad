//! Destinations and transport of requests: URLs, redirections, source addresses, TLS.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_plan::{Tls, WeightedUrl, mask};

use super::draft::DraftUrl;
use super::origin::ValueOrigin;
use super::setting::SettingSpec;
use super::settings::*;
use super::urls;
use super::values::SettingValues;

/// Reads `--unix-socket`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn unix_socket(values: &SettingValues) -> Result<Option<String>, UsageError> {
    let Some(path) = values.text(&UNIX_SOCKET) else { return Ok(None) };
    let trouble = complaint!(
        "is for TCP and cannot be combined with --unix-socket; leave one of them out",
        "用于 TCP，不能与 --unix-socket 同用；请去掉其中一个"
    );
    values.refuse(&[CONNECT_TO.spec, SOURCE.spec], trouble)?;
    // sun_path holds 108 bytes including the terminating zero.
    let trouble = match path.len() {
        0 => complaint!(
            "is empty; write the path of a socket, such as /run/app.sock",
            "为空；请写套接字的路径，例如 /run/app.sock"
        ),
        1..108 => return Ok(Some(path.to_owned())),
        long => complaint!("has {long} bytes; write a path of at most 107 bytes", "有 {long} 字节；路径最长 107 字节"),
    };
    Err(values.wrong(&UNIX_SOCKET, trouble))
}

/// Reads the TLS settings and checks that their files can be read.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn tls(values: &SettingValues) -> Result<Tls, UsageError> {
    if values.has(&KEY) && !values.has(&CERT) {
        return Err(values.wrong(&KEY, complaint!("needs --cert FILE; add it", "需要 --cert FILE；请补上")));
    }
    if values.has(&INSECURE) && values.has(&CACERT) {
        let trouble = complaint!(
            "has no effect with -k, which accepts any certificate; leave one of them out",
            "与 -k 同用时不起作用，后者接受任何证书；请去掉其中一个"
        );
        return Err(values.wrong(&CACERT, trouble));
    }
    let file = |setting| {
        let Some(path) = values.text(setting) else { return Ok(None) };
        let readable = brunt_protocols::file::check_readable(path);
        readable.map(|()| Some(path.to_owned())).map_err(|error| {
            values.wrong(
                setting,
                complaint!(
                    "{path} cannot be read ({error}); write the path of a readable file",
                    "无法读取 {path}（{error}）；请写可读文件的路径"
                ),
            )
        })
    };
    Ok(Tls {
        insecure: values.has(&INSECURE),
        cacert: file(&CACERT)?,
        cert: file(&CERT)?,
        // One file may hold both.
        key: file(if values.has(&KEY) { &KEY } else { &CERT })?,
        resume: !values.has(&NO_RESUME),
        version: version(values)?,
    })
}

/// Reads `--tlsv1.3` and `--tls-max`; returns the TLS version if they permit only one.
fn version(values: &SettingValues) -> Result<Option<String>, UsageError> {
    let trouble = match (values.has(&TLS_1_3), values.text(&TLS_MAX)) {
        (true, Some("1.2")) => complaint!(
            "1.2 and --tlsv1.3 contradict each other; leave one of them out",
            "1.2 与 --tlsv1.3 矛盾；请去掉其中一个"
        ),
        (true, Some("1.3") | None) => return Ok(Some("1.3".into())),
        (false, Some("1.2")) => return Ok(Some("1.2".into())),
        (false, Some("1.3" | "default") | None) => return Ok(None),
        (_, Some(other)) => {
            complaint!("`{other}` is not supported; use 1.2 or 1.3", "不支持 `{other}`；请用 1.2 或 1.3")
        }
    };
    Err(values.wrong(&TLS_MAX, trouble))
}

/// Applies `--name` to the only URL.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn apply_request_name(values: &SettingValues, urls: &mut [WeightedUrl]) -> Result<(), UsageError> {
    let Some(name) = values.get(&NAME)? else { return Ok(()) };
    match urls {
        [url] => url.name = Some(name),
        all => {
            let trouble = complaint!(
                "is for a single URL, and there are {}; write `name:` at each in a plan, or `# name: {name}` above \
                    each curl command",
                "只适用于单个 URL，而这里有 {} 个；请在计划中为每个 URL 写 `name:`，或在每条 curl 命令上方写 `# name: {name}`",
                all.len()
            );
            return Err(values.wrong(&NAME, trouble));
        }
    }
    Ok(())
}

/// Settings whose value cannot be a URL.
const EATERS: [SettingSpec; 14] = [
    RATE.spec,
    USERS.spec,
    REQUESTS.spec,
    DURATION.spec,
    TIMEOUT.spec,
    WORKERS.spec,
    THINK.spec,
    WARMUP.spec,
    DRAIN.spec,
    SEED.spec,
    CONNECT_TIMEOUT.spec,
    DNS_REFRESH.spec,
    RUN_TIMEOUT.spec,
    MAX_CONNECTIONS.spec,
];

/// Returns the URLs of the command line and of `--urls`, with their schemes; empty if there are none.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn command_line_urls(
    values: &SettingValues,
    protocols: &[Arc<dyn Protocol>],
    commands: Option<&[&str]>,
) -> Result<Vec<WeightedUrl>, UsageError> {
    let schemes: Vec<&str> = protocols.iter().flat_map(|p| p.schemes()).copied().collect();
    let read = |place: &str, text: &str| {
        let url = urls::with_scheme(text, &schemes).map_err(|trouble| UsageError::new(place, trouble));
        url.map(WeightedUrl::plain)
    };
    let mut urls = Vec::new();
    for text in positional_urls(values) {
        commands.map_or(Ok(()), |commands| urls::refuse_command_words(text, commands))?;
        urls.push(read("URL", text)?);
    }
    for text in values.texts(&URL) {
        urls::refuse_credentials(text)?;
        urls.push(read("-u", text)?);
    }
    if let Some(path) = values.text(&URLS) {
        let text = brunt_protocols::file::text("--urls", path).map_err(|wrong| values.wrong(&URLS, wrong.problem))?;
        let mut listed = urls::from_file(path, &text, &schemes, |trouble| values.wrong(&URLS, trouble))?;
        // URLs of the command line come first, without copying the list from the file.
        listed.splice(..0, urls);
        urls = listed;
    }
    if !urls.is_empty() && (values.has(&CURL) || values.has(&CURL_FILE)) {
        let trouble = complaint!(
            "cannot be combined with a curl command, which has its own URL; leave one of them out",
            "不能与 curl 命令同用，后者自带 URL；请去掉其中一个"
        );
        return Err(UsageError::new("URL", trouble));
    }
    Ok(urls)
}

/// Returns the positional URLs.
fn positional_urls(values: &SettingValues) -> impl Iterator<Item = &str> {
    values.texts(&TARGET).into_iter().filter(|text| !urls::is_plan(text))
}

/// Returns `true` if the command line has URLs.
pub fn has_urls(values: &SettingValues) -> bool {
    positional_urls(values).next().is_some() || values.has(&URL) || values.has(&URLS)
}

/// Returns the error for a missing URL.
pub fn no_url(values: &SettingValues) -> Complaint {
    let taken = EATERS.iter().flat_map(|spec| values.named(spec.name).map(|said| (spec.display_name(), &said.text)));
    match taken.into_iter().find(|(_, text)| urls::looks_like_one(text)) {
        Some((name, text)) => {
            let text = mask::url(text);
            complaint!("missing URL: `{text}` was taken as the value of {name}; use {name} VALUE {text}", "缺少 URL：`{text}` 被当作 {name} 的值；请写 {name} VALUE {text}")
        }
        None if let Some(plan) = values.texts(&TARGET).into_iter().find(|text| urls::is_plan(text)) => complaint!(
            "{plan} has no URL: write `urls: [http://localhost:8080/]`, or steps under `flow:`",
            "{plan} 中没有 URL：请写 `urls: [http://localhost:8080/]`，或在 `flow:` 下写步骤"
        ),
        None => complaint!("missing URL: give the address to send requests to, such as `brunt http://localhost:8080/`, or try `brunt demo`", "缺少 URL：请给出压测地址，例如 `brunt http://localhost:8080/`，或试试 `brunt demo`")
            .to_owned(),
    }
}

/// Rejects options of single URLs that the protocol would ignore.
///
/// # Errors
/// A URL has such options; the error names the first one.
pub fn refuse_own_options(
    urls: &[WeightedUrl],
    written: &[DraftUrl],
    protocol: &dyn Protocol,
) -> Result<(), UsageError> {
    match urls.iter().enumerate().find(|(_, url)| !url.options.is_empty()) {
        Some((at, url)) if protocol.options_of_one_url().is_empty() => {
            let trouble = complaint!(
                "`{}` has options of its own, which {} does not support; put them next to the URLs",
                "`{}` 带有自己的选项，而 {} 不支持；请写在各 URL 旁",
                mask::url(&url.url),
                protocol.name()
            );
            Err(wrong(written, at, trouble))
        }
        _ => Ok(()),
    }
}

/// Creates an error about a URL, with its origin in `written`, if any.
fn wrong(written: &[DraftUrl], at: usize, trouble: Complaint) -> UsageError {
    written.get(at).map_or(&ValueOrigin::CommandLine, |url| &url.origin).wrong("URL", trouble)
}

/// Returns the index of the protocol of all URLs; for a flow with several protocols, the index of the protocol that
/// combines them.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn protocol_of(
    urls: &[WeightedUrl],
    written: &[DraftUrl],
    flow: bool,
    protocols: &[Arc<dyn Protocol>],
) -> Result<usize, UsageError> {
    let speaker = |url: &str| {
        let scheme = url.split("://").next().unwrap_or_default();
        protocols.iter().position(|p| p.schemes().contains(&scheme))
    };
    let first = speaker(&urls[0].url).ok_or_else(|| {
        wrong(
            written,
            0,
            complaint!("`{}` is not supported by this build", "此版本不支持 `{}`", mask::url(&urls[0].url)),
        )
    })?;
    let other = urls.iter().find(|other| speaker(&other.url) != Some(first));
    let several = protocols.iter().position(|p| p.name() == brunt_protocols::composite::NAME);
    if let Some(several) = several.filter(|_| flow && (other.is_some() || protocols[first].name() != "http")) {
        return Ok(several);
    }
    match other {
        None => Ok(first),
        Some(other) => Err(wrong(
            written,
            0,
            complaint!(
                "`{}` and `{}` use different protocols; use URLs of a single protocol in a run",
                "`{}` 与 `{}` 的协议不同；一次压测只能用同一协议的 URL",
                mask::url(&urls[0].url),
                mask::url(&other.url)
            ),
        )),
    }
}
