//! `-x`, `--proxy-user`, `--noproxy`, and the environment variables as their defaults.
//!
//! They work as in curl, with two exceptions for the sake of measurements: a proxy from the environment is never used
//! for connections to this machine, and `-x` applies even if `no_proxy` contains the host.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Origin, Proxy, ProxyException, UsageError};
use brunt_plan::{ProxySettings, WeightedUrl};

use super::secret_files;
use super::settings::{NOPROXY, PROXY, PROXY_USER, UNIX_SOCKET};
use super::values::SettingValues;

/// Names of this machine.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";
/// The protocols whose clients usually read proxies from the environment.
const OF_THE_WEB: [&str; 3] = ["http", "websocket", "grpc"];

/// Returns the proxies of a plan for `protocol` and these URLs; `variable` reads the environment.
///
/// # Errors
/// A setting is invalid; the error names the option or the variable.
pub fn read(
    values: &SettingValues,
    protocol: &str,
    urls: &[WeightedUrl],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ProxySettings, UsageError> {
    let except = values.text(&NOPROXY);
    if values.text(&PROXY).is_some_and(|proxy| !proxy.is_empty()) && values.has(&UNIX_SOCKET) {
        return Err(values.wrong(
            &PROXY,
            complaint!(
                "cannot be combined with --unix-socket, which needs no proxy; leave one of them out",
                "不能与 --unix-socket 同用，后者不需要代理；请去掉其中一个"
            ),
        ));
    }
    match values.text(&PROXY) {
        Some("") => Ok(ProxySettings::default()),
        Some(text) => {
            let proxy = with_user(text, values.text(&PROXY_USER)).map_err(|trouble| values.wrong(&PROXY, trouble))?;
            let except = except.unwrap_or_default().to_owned();
            if ProxyException::parse_list(&except).contains(&ProxyException::AllHosts) {
                return Ok(ProxySettings::default());
            }
            Ok(ProxySettings { clear: Some(proxy.clone()), tls: Some(proxy), except, variables: Vec::new() })
        }
        None => match values.named(PROXY_USER.spec.name).next() {
            Some(user) => Err(user.wrong(
                "--proxy-user",
                complaint!("needs a proxy; add -x http://HOST:PORT", "需要代理；请加 -x http://HOST:PORT"),
            )),
            None if !OF_THE_WEB.contains(&protocol) || values.has(&UNIX_SOCKET) => Ok(ProxySettings::default()),
            None => from_environment(except, urls, variable),
        },
    }
}

/// Returns the proxy from the environment for a collector at this URL.
///
/// # Errors
/// A variable is invalid.
pub fn collector_proxy(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Proxy>, UsageError> {
    let ProxySettings { clear, tls, .. } = from_environment(None, &[WeightedUrl::plain(url)], variable)?;
    let used = if origin_of(url).tls { tls } else { clear };
    used.map(|proxy| Proxy::parse(&proxy)).transpose().map_err(|trouble| UsageError::new("--otlp", trouble))
}

/// Returns the URL of a proxy with the name and password of `--proxy-user`.
fn with_user(text: &str, user: Option<&str>) -> Result<String, Complaint> {
    let mut proxy = Proxy::parse(text)?;
    let sealed = user.and_then(|user| user.strip_prefix('@').filter(|_| !user.contains(':')));
    let read = sealed.map(|path| secret_files::lines("--proxy-user", path).map(|lines| lines.concat()));
    let user = read.transpose().map_err(|complaint| complaint.to_string())?.or(user.map(str::to_owned));
    if let Some(user) = user {
        let (name, password) = user.split_once(':').unwrap_or((&user, ""));
        proxy.user = Some((name.to_owned(), password.to_owned()));
    }
    Ok(to_url(&proxy))
}

/// Formats a proxy as a URL, with name and password.
fn to_url(proxy: &Proxy) -> String {
    let url = proxy.to_string();
    let Some((name, password)) = &proxy.user else { return url };
    let encoded = |text: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        text.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    };
    let (scheme, place) = url.split_once("://").unwrap_or_default();
    format!("{scheme}://{}:{}@{place}", encoded(name), encoded(password))
}

/// Reads the variables `http_proxy` (lower case only: in a CGI program `HTTP_PROXY` is a header of the client),
/// `https_proxy`, `all_proxy`, `no_proxy`.
fn from_environment(
    except: Option<&str>,
    urls: &[WeightedUrl],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ProxySettings, UsageError> {
    let first = |names: &[&'static str]| {
        names.iter().find_map(|name| Some((*name, variable(name).filter(|value| !value.is_empty())?)))
    };
    let clear = first(&["http_proxy", "all_proxy", "ALL_PROXY"]);
    let tls = first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]);
    if clear.is_none() && tls.is_none() {
        return Ok(ProxySettings::default());
    }
    let except = except.map(str::to_owned).or_else(|| first(&["no_proxy", "NO_PROXY"]).map(|(_, list)| list));
    let except = [except.unwrap_or_default().as_str(), LOOPBACK].join(",").trim_start_matches(',').to_owned();
    let (mut clear_used, mut tls_used) = (clear.is_some(), tls.is_some());
    let all = ProxyException::parse_list(&except);
    let reached = |url: &&WeightedUrl| !all.iter().any(|except| except.matches(&origin_of(&url.url).host));
    let mut schemes = urls.iter().filter(reached).map(|url| origin_of(&url.url).tls);
    // Proxies that no URL needs are silently left out.
    match schemes.next() {
        None => (clear_used, tls_used) = (false, false),
        Some(first) if schemes.all(|tls| tls == first) => {
            // Redirects may lead to the other scheme, so its proxy is kept as well.
            let used = if first { tls_used } else { clear_used };
            (clear_used, tls_used) = (clear_used && used, tls_used && used);
        }
        Some(_) => {}
    }
    let mut proxies = ProxySettings { except, ..ProxySettings::default() };
    for (said, used, to) in [(clear, clear_used, &mut proxies.clear), (tls, tls_used, &mut proxies.tls)] {
        let Some((name, text)) = said.filter(|_| used) else { continue };
        let proxy = Proxy::parse(&text).map_err(|trouble| {
            let said = Complaint::new(
                format!("(in the environment) {trouble}; --noproxy '*' uses no proxy"),
                format!("（环境变量）{}；--noproxy '*' 可不使用代理", trouble.zh()),
            );
            UsageError::new(name, said)
        })?;
        *to = Some(to_url(&proxy));
        if !proxies.variables.iter().any(|known| known == name) {
            proxies.variables.push(name.to_owned());
        }
    }
    Ok(if proxies.is_none() { ProxySettings::default() } else { proxies })
}

/// Returns the origin of a web URL, for the choice of a proxy.
fn origin_of(url: &str) -> Origin {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let host = match place.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        Some((host, _)) => host,
        None => place.split(':').next().unwrap_or_default(),
    };
    Origin::tcp(host, 0, matches!(scheme, "https" | "wss" | "grpcs"))
}

#[cfg(test)]
mod tests {
    use super::super::command_line;
    use super::*;

    fn said(line: &str, protocol: &str, url: &str, environment: &[(&str, &str)]) -> Result<ProxySettings, String> {
        let words = line.split_whitespace().map(|word| if word == "''" { "" } else { word });
        let matches = command_line::run_command(&[], brunt_report::Lang::En)
            .try_get_matches_from(std::iter::once("").chain(words))
            .unwrap();
        let variable =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let urls: Vec<WeightedUrl> = url.split(' ').map(WeightedUrl::plain).collect();
        read(&command_line::values(&matches, command_line::names(&[])), protocol, &urls, variable)
            .map_err(|complaint| complaint.to_string())
    }

    fn both(url: &str, except: &str) -> ProxySettings {
        ProxySettings { clear: Some(url.into()), tls: Some(url.into()), except: except.into(), variables: Vec::new() }
    }

    #[test]
    fn what_is_asked_for_is_used_whatever_the_environment_says() {
        let environment = [("http_proxy", "http://other"), ("no_proxy", "*")];
        for (line, wanted) in [
            ("-x proxy:3128", both("http://proxy:3128", "")),
            ("-x socks5://proxy", both("socks5://proxy:1080", "")),
            ("-x proxy -U ann:p@w", both("http://ann:p%40w@proxy:1080", "")),
            ("-x http://a:b@proxy", both("http://a:b@proxy:1080", "")),
            ("-x proxy --noproxy inside,10.0.0.0/8", both("http://proxy:1080", "inside,10.0.0.0/8")),
            ("-x proxy --noproxy *", ProxySettings::default()),
            ("-x ''", ProxySettings::default()),
        ] {
            assert_eq!(said(line, "redis", "redis://127.0.0.1", &environment), Ok(wanted), "{line}");
        }
        for (line, wanted) in [
            ("-x socks4://p", "-x: socks4:// is an old version of SOCKS; use socks5:// or socks5h://"),
            ("-U a:b", "--proxy-user: needs a proxy; add -x http://HOST:PORT"),
            (
                "-x p --unix-socket s",
                "-x: cannot be combined with --unix-socket, which needs no proxy; leave one of them out",
            ),
        ] {
            assert_eq!(said(line, "http", "http://h", &environment), Err(wanted.to_owned()), "{line}");
        }
    }

    #[test]
    fn the_environment_is_asked_as_curl_asks_it() {
        let of = |url: &str, environment: &[(&str, &str)]| said("", "http", url, environment).unwrap();
        let http = [("http_proxy", "p:1")];
        let proxies = of("http://h/", &http);
        assert_eq!((proxies.clear.as_deref(), proxies.tls.as_deref()), (Some("http://p:1"), None));
        assert_eq!((&proxies.except[..], &proxies.variables[..]), (LOOPBACK, &["http_proxy".to_owned()][..]));
        assert_eq!(of("http://h/", &[("HTTP_PROXY", "p:1")]), ProxySettings::default(), "that is a header of CGI");
        assert_eq!(of("https://h/", &http), ProxySettings::default());
        assert_eq!(of("https://h/", &[("HTTPS_PROXY", "p:1")]).tls.as_deref(), Some("http://p:1"));
        let all = of("https://h/", &[("all_proxy", "socks5h://p"), ("http_proxy", "q")]);
        assert_eq!((all.clear.as_deref(), all.tls.as_deref()), (Some("http://q:1080"), Some("socks5h://p:1080")));
        let excepted = [("http_proxy", "p"), ("no_proxy", "h")];
        assert_eq!(of("http://h/", &excepted), ProxySettings::default());
        assert_eq!(said("--noproxy x", "http", "http://h/", &excepted).unwrap().except, format!("x,{LOOPBACK}"));
        assert_eq!(said("--noproxy *", "http", "http://g/", &excepted), Ok(ProxySettings::default()));
    }

    #[test]
    fn the_environment_is_for_other_machines_and_protocols_of_the_web() {
        let http = [("http_proxy", "p:1"), ("https_proxy", "p:1")];
        for url in [
            "http://localhost:8080/",
            "http://127.0.0.1/",
            "http://127.9.9.9",
            "ws://u:p@[::1]:80/x",
            "http://a.localhost/",
        ] {
            assert_eq!(said("", "http", url, &http), Ok(ProxySettings::default()), "{url}");
        }
        assert!(!said("", "http", "http://localhost/ http://other/", &http).unwrap().is_none());
        assert!(!said("", "websocket", "wss://h/", &http).unwrap().is_none());
        for (protocol, url) in [("redis", "redis://h"), ("raw", "tcp://h:1"), ("mysql", "mysql://h")] {
            assert_eq!(said("", protocol, url, &[("all_proxy", "p")]), Ok(ProxySettings::default()), "{url}");
        }
        let wrong = said("", "http", "http://h/", &[("http_proxy", "https://p")]).unwrap_err();
        assert!(wrong.starts_with("http_proxy: (in the environment) https:// to the proxy itself"), "{wrong}");
    }
}
