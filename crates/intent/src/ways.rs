//! Where requests go and over what: URLs, redirections, source addresses, TLS.

use std::sync::Arc;

use plan::address::{self, ConnectTo};
use plan::{Tls, WeightedUrl, mask};
use wire::{Complaint, Protocol};

use super::given::Given;
use super::matched::Matched;
use super::{COMMANDS, urls};

/// `--source`, each part checked.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn sources(flags: &Matched<'_>) -> Result<Vec<String>, Complaint> {
    let texts: Vec<&str> = flags.texts("source").iter().flat_map(|text| text.split(',')).map(str::trim).collect();
    for text in &texts {
        address::sources(text).map_err(|trouble| Complaint::new("--source", trouble))?;
    }
    Ok(texts.into_iter().map(String::from).collect())
}

/// `--connect-to`, each rule checked.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn connect_to(flags: &Matched<'_>) -> Result<Vec<String>, Complaint> {
    let rules = flags.texts("connect-to");
    for rule in &rules {
        ConnectTo::parse(rule).map_err(|trouble| Complaint::new("--connect-to", trouble))?;
    }
    Ok(rules.into_iter().map(String::from).collect())
}

/// `--unix-socket`, alone.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn unix_socket(flags: &Matched<'_>) -> Result<Option<String>, Complaint> {
    let Some(path) = flags.text("unix-socket") else { return Ok(None) };
    for other in ["connect-to", "source"] {
        if flags.given(other) {
            let trouble = "is for TCP and does not go with --unix-socket; leave one of them out";
            return Err(Complaint::new(format!("--{other}"), trouble));
        }
    }
    // sun_path holds 108 bytes with the zero at its end.
    match path.len() {
        0 => Err(Complaint::new("--unix-socket", "is empty; write the path of a socket, such as /run/app.sock")),
        1..108 => Ok(Some(path.to_string())),
        long => Err(Complaint::new("--unix-socket", format!("has {long} bytes; write a path of at most 107 bytes"))),
    }
}

/// How TLS is spoken; the files can be read.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn tls(flags: &Matched<'_>) -> Result<Tls, Complaint> {
    for (one, other) in [("cert", "key"), ("key", "cert")] {
        if flags.given(one) && !flags.given(other) {
            return Err(Complaint::new(format!("--{one}"), format!("needs --{other} FILE; add it")));
        }
    }
    if flags.switch("insecure") && flags.given("cacert") {
        return Err(Complaint::new(
            "--cacert",
            "has no effect with -k, which accepts any certificate; leave one of them out",
        ));
    }
    for name in ["cacert", "cert", "key"] {
        if let Some(path) = flags.text(name) {
            protocols::file::readable(path).map_err(|error| unreadable(&format!("--{name}"), path, &error))?;
        }
    }
    let text = |name| flags.text(name).map(String::from);
    Ok(Tls {
        insecure: flags.switch("insecure"),
        cacert: text("cacert"),
        cert: text("cert"),
        key: text("key"),
        resume: !flags.switch("no-resume"),
        version: version(flags)?,
    })
}

/// `--tlsv1.3` and `--tls-max`: the one version that is left, where they leave one.
fn version(flags: &Matched<'_>) -> Result<Option<String>, Complaint> {
    let wrong = |trouble: String| Err(Complaint::new("--tls-max", trouble));
    match (flags.switch("tlsv1.3"), flags.text("tls-max")) {
        (true, Some("1.2")) => wrong("1.2 and --tlsv1.3 contradict each other; leave one of them out".into()),
        (true, Some("1.3") | None) => Ok(Some("1.3".into())),
        (false, Some("1.2")) => Ok(Some("1.2".into())),
        (false, Some("1.3" | "default") | None) => Ok(None),
        (_, Some(other)) => wrong(format!("`{other}` is not supported; write 1.2 or 1.3")),
    }
}

/// What requests are to be called in the figures.
///
/// # Errors
/// What is wrong with it.
pub fn request_name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("is empty; write a name for the request, such as checkout".into()),
        wire::OTHER => Err(format!(
            "`{}` is brunt's own name for those beyond the first {}; write another",
            wire::OTHER,
            wire::NAMES
        )),
        name => Ok(name.to_owned()),
    }
}

/// `--name`, for the one URL there is.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn named(flags: &Matched<'_>, mut urls: Vec<WeightedUrl>) -> Result<Vec<WeightedUrl>, Complaint> {
    let Some(name) = flags.text("name") else { return Ok(urls) };
    let wrong = |trouble: String| Complaint::new("--name", trouble);
    let name = request_name(name).map_err(wrong)?;
    match &mut urls[..] {
        [url] => url.name = Some(name),
        all => {
            let trouble = format!(
                "is for a single URL, and there are {}; write `name:` at each in a plan, or `# name: {name}` above \
                    each curl command",
                all.len()
            );
            return Err(wrong(trouble));
        }
    }
    Ok(urls)
}

/// A file that an option names cannot be read.
pub fn unreadable(place: &str, path: &str, error: &std::io::Error) -> Complaint {
    Complaint::new(place, format!("{path} cannot be read ({error}); write the path of a readable file"))
}

/// Options with a value that no URL can be, as people write them.
const EATERS: [(&str, &str); 13] = [
    ("rate", "-r"),
    ("users", "-c"),
    ("requests", "-n"),
    ("duration", "-d"),
    ("timeout", "-t"),
    ("workers", "-w"),
    ("think", "--think"),
    ("warmup", "--warmup"),
    ("drain", "--drain"),
    ("seed", "--seed"),
    ("connect-timeout", "--connect-timeout"),
    ("run-timeout", "--run-timeout"),
    ("max-connections", "--max-connections"),
];

/// The URLs of the line and of `--urls`, with their schemes.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn all_urls(
    flags: &Matched<'_>,
    given: &Given,
    protocols: &[Arc<dyn Protocol>],
    said_run: bool,
) -> Result<Vec<WeightedUrl>, Complaint> {
    let schemes: Vec<&str> = protocols.iter().flat_map(|p| p.schemes()).copied().collect();
    let mut urls = Vec::new();
    for text in flags.texts("target").into_iter().filter(|text| !urls::is_plan(text)) {
        if !said_run {
            urls::refuse_command_words(text, &COMMANDS)?;
        }
        urls.push(WeightedUrl::plain(urls::with_scheme("URL", text, &schemes)?));
    }
    for text in flags.texts("url") {
        urls.push(WeightedUrl::plain(urls::with_scheme("-u", text, &schemes)?));
    }
    if let Some(path) = flags.text("urls") {
        let text = protocols::file::text("--urls", path)?;
        let mut listed = urls::from_file(path, &text, &schemes)?;
        // Those of the line first; the long list is not copied.
        listed.splice(..0, urls);
        urls = listed;
    }
    if !urls.is_empty() && (flags.given("curl") || flags.given("curl-file")) {
        return Err(Complaint::new(
            "URL",
            "does not go with a curl command, which has its own URL; leave one of them \
            out",
        ));
    }
    if urls.is_empty() {
        urls.extend(given.urls.iter().cloned());
    }
    if urls.is_empty() {
        let taken = EATERS.iter().filter_map(|(id, name)| flags.text(id).map(|text| (name, text)));
        if let Some((name, text)) = taken.into_iter().find(|(_, text)| urls::looks_like_one(text)) {
            let text = mask::url(text);
            let trouble = format!("is missing: `{text}` was taken as the value of {name}; write {name} VALUE {text}");
            return Err(Complaint::new("URL", trouble));
        }
        let trouble =
            "is missing; write where to send requests, such as `brunt http://localhost:8080/`, or try `brunt demo`";
        return Err(Complaint::new("URL", trouble));
    }
    Ok(urls)
}

/// Refuses options of single URLs where they would be without effect: the protocol does not look at them.
///
/// # Errors
/// The first URL that has some.
pub fn refuse_own_options(urls: &[WeightedUrl], protocol: &dyn Protocol) -> Result<(), Complaint> {
    match urls.iter().find(|url| !url.options.is_empty()) {
        Some(url) if protocol.options_of_one_url().is_empty() => {
            let trouble = format!(
                "`{}` has options of its own, which {} does not support; write them next to the URLs",
                mask::url(&url.url),
                protocol.name()
            );
            Err(Complaint::new("URL", trouble))
        }
        _ => Ok(()),
    }
}

/// Index of the protocol that speaks all of them; of steps of a flow, the one that speaks several.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn protocol_of(urls: &[WeightedUrl], flow: bool, protocols: &[Arc<dyn Protocol>]) -> Result<usize, Complaint> {
    let speaker = |url: &str| {
        let scheme = url.split("://").next().unwrap_or_default();
        protocols.iter().position(|p| p.schemes().contains(&scheme))
    };
    let first = speaker(&urls[0].url).ok_or_else(|| {
        Complaint::new("URL", format!("`{}` is not supported by this build", mask::url(&urls[0].url)))
    })?;
    let other = urls.iter().find(|other| speaker(&other.url) != Some(first));
    let several = protocols.iter().position(|p| p.name() == protocols::mixed::NAME);
    if let Some(several) = several.filter(|_| flow && (other.is_some() || protocols[first].name() != "http")) {
        return Ok(several);
    }
    match other {
        None => Ok(first),
        Some(other) => Err(Complaint::new(
            "URL",
            format!(
                "`{}` and `{}` are not the same protocol; use URLs of one protocol in a run",
                mask::url(&urls[0].url),
                mask::url(&other.url)
            ),
        )),
    }
}
