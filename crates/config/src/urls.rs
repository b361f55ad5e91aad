//! URLs from the command line and from a file, with their schemes and weights.
//!
//! A missing scheme means http. The rest of a URL is validated by its protocol.

use brunt_contract::UsageError;
use brunt_plan::{WeightedUrl, mask};
use brunt_protocols::template::slot_length;

use super::suggestions::nearest;

/// Names of commands in this or later versions, which are unlikely to be host names.
const LATER: [&str; 9] = ["sweep", "find", "ladder", "compare", "capacity", "agent", "ui", "import", "probe"];

/// Returns a URL as typed, with its scheme.
///
/// # Errors
/// The URL is invalid; the error describes why.
pub fn with_scheme(text: &str, schemes: &[&str]) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty; use a URL such as http://localhost:8080/".into());
    }
    let is_scheme = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let Some((scheme, rest)) = text.split_once("://").filter(|(word, _)| is_scheme(word)) else {
        if let Some((scheme, rest)) = text.split_once(":/").filter(|(word, _)| schemes.contains(word)) {
            let (shown, rest) = (mask::url(text), mask::url(rest));
            return Err(format!("`{shown}` is missing a slash; use {scheme}://{rest}"));
        }
        if text.starts_with('/') {
            let shown = mask::url(text);
            return Err(format!("`{shown}` is a path; use a URL such as http://localhost:8080{shown}"));
        }
        if let Some(trouble) = no_url(text, schemes) {
            return Err(trouble);
        }
        let host = if text.starts_with(':') { "localhost" } else { "" };
        return Ok(format!("http://{host}{text}"));
    };
    let scheme = scheme.to_ascii_lowercase();
    if !schemes.contains(&scheme.as_str()) {
        let known: Vec<String> = schemes.iter().map(|s| format!("{s}://")).collect();
        return Err(format!("`{scheme}://` is not supported; use one of {}", known.join(", ")));
    }
    if rest.is_empty() || rest.starts_with('/') {
        let shown = mask::url(text);
        return Err(format!("`{shown}` has no host; use a URL such as {scheme}://localhost:8080/"));
    }
    Ok(format!("{scheme}://{rest}"))
}

/// File extensions that are not top-level domains; script extensions suggest other tools.
const FILES: [&str; 12] =
    [".js", ".lua", ".jmx", ".har", ".json", ".jsonl", ".toml", ".txt", ".csv", ".html", ".xml", ".zst"];

/// Returns an error for a word without `://` that can hardly be a host.
fn no_url(text: &str, schemes: &[&str]) -> Option<String> {
    let shown = mask::url(text);
    if let Some((scheme, rest)) =
        text.split_once("//").filter(|(word, _)| schemes.contains(&&*word.to_ascii_lowercase()))
    {
        return Some(format!("`{shown}` has no colon; use {scheme}://{}", mask::url(rest)));
    }
    if ["./", "../", "~/"].iter().any(|start| text.starts_with(start)) || text == "." {
        return Some(format!(
            "`{shown}` is a file or folder; use a plan file (its name ends in .yaml, .yml or .json) or a URL such as http://localhost:8080/"
        ));
    }
    let is_file = |ending: &&&str| text.to_ascii_lowercase().ends_with(**ending) && !text.contains(['/', ':']);
    let ending = FILES.iter().find(is_file)?;
    let scripts = if matches!(*ending, ".js" | ".lua" | ".jmx") { "brunt runs no scripts; " } else { "" };
    Some(format!(
        "`{shown}` looks like a file; {scripts}write a plan file (.yaml), --urls FILE or --curl-file FILE; for a \
            host of that name, use http://{shown}"
    ))
}

/// Commands parsed before all others.
const WORDS: [&str; 4] = ["explain", "help", "completions", "man"];

/// Rejects a single word that is more likely a command than a host.
///
/// # Errors
/// The word is probably a command; the error lists the commands, and the syntax for a host of that name.
pub fn refuse_command_words(word: &str, commands: &[&str]) -> Result<(), UsageError> {
    let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !is_word || word == "localhost" || word.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(());
    }
    let trouble = if word == "help" {
        "is a command and must come first; use `brunt help`".into()
    } else if commands.contains(&word) {
        format!("is a command and must come first; use `brunt {word} ...`")
    } else if LATER.contains(&word) {
        format!(
            "is not a command of this version ({}); for a host of that name, use http://{word}",
            commands.join(", ")
        )
    } else {
        let meant = nearest(word, commands.iter().copied().chain(WORDS));
        let right = meant.map_or_else(|| format!("one of {}", commands.join(", ")), |meant| format!("brunt {meant}"));
        format!("is neither a command nor a URL; use {right}, or http://{word} for a host of that name")
    };
    Err(UsageError::new(word, trouble))
}

/// Returns `true` for a word that names a plan file, or standard input, and not a URL.
pub fn is_plan(word: &str) -> bool {
    if word == brunt_protocols::standard_input::NAME {
        return true;
    }
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.to_ascii_lowercase().ends_with(ending));
    let exists = || std::path::Path::new(word).is_file();
    !word.contains("://")
        && (ends(&[".yaml", ".yml"]) && (!word.contains(':') || exists()) || ends(&[".json"]) && exists())
}

/// Returns `true` if a text is almost certainly a host or a URL: if it is the value of an option, the user probably
/// forgot the value.
pub fn looks_like_one(text: &str) -> bool {
    let host = text.split(['/', ':']).next().unwrap_or_default();
    let is_name = |host: &str| {
        host.rsplit_once('.').is_some_and(|(_, last)| last.len() > 1 && last.bytes().all(|b| b.is_ascii_alphabetic()))
    };
    text.contains("://") || host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok() || is_name(host)
}

/// Parses the URLs of a file: one per line, optionally followed by a weight; `#` begins a comment.
///
/// # Errors
/// A line is invalid; the error names file and line.
pub fn from_file(
    path: &str,
    text: &str,
    schemes: &[&str],
    wrong: impl Fn(String) -> UsageError,
) -> Result<Vec<WeightedUrl>, UsageError> {
    let mut urls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{path} line {}", number + 1);
        let mut words = words(line).into_iter().take_while(|word| !word.starts_with('#'));
        let Some(first) = words.next() else { continue };
        let weight = words.next().map_or(Ok(1.0), |word| weight(&place, word))?;
        if let Some(extra) = words.next() {
            let trouble = format!("`{extra}` is an extra word; use a URL, optionally followed by its weight");
            return Err(UsageError::new(place, trouble));
        }
        let url = with_scheme(first, schemes).map_err(|trouble| UsageError::new(place, trouble))?;
        urls.push(WeightedUrl { weight, ..WeightedUrl::plain(url) });
    }
    if urls.is_empty() {
        return Err(wrong(format!("{path} has no URLs; write one per line")));
    }
    Ok(urls)
}

/// Splits a line at spaces, except those within a placeholder (`{random 1..9}`).
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut from, mut inside) = (Vec::new(), 0, 0);
    for (at, c) in line.char_indices() {
        if c == '{' && at >= inside {
            inside = at + slot_length(&line[at..]).unwrap_or_default();
        }
        if c.is_whitespace() && at >= inside {
            words.push(&line[from..at]);
            from = at + c.len_utf8();
        }
    }
    words.push(&line[from..]);
    words.retain(|word| !word.is_empty());
    words
}

fn weight(place: &str, word: &str) -> Result<f64, UsageError> {
    match word.parse::<f64>() {
        Ok(weight) if weight.is_finite() && weight > 0.0 => Ok(weight),
        _ => {
            Err(UsageError::new(place, format!("`{word}` is not a weight; use a number above zero, such as 3 or 0.5")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMES: [&str; 2] = ["http", "https"];

    #[test]
    fn schemes() {
        let table = [
            ("localhost:8080", "http://localhost:8080"),
            ("example.com/x?u=http://y", "http://example.com/x?u=http://y"),
            ("HTTPS://a/b", "https://a/b"),
            ("[::1]:80/x", "http://[::1]:80/x"),
            (":8080/x", "http://localhost:8080/x"),
        ];
        for (typed, url) in table {
            assert_eq!(with_scheme(typed, &SCHEMES).as_deref(), Ok(url), "{typed}");
        }
        let wrong = [
            ("", "URL: is empty; use a URL such as http://localhost:8080/"),
            ("/x", "URL: `/x` is a path; use a URL such as http://localhost:8080/x"),
            ("http//host", "URL: `http//host` has no colon; use http://host"),
            (
                "./myplan",
                "URL: `./myplan` is a file or folder; use a plan file (its name ends in .yaml, .yml or .json) or a URL such as http://localhost:8080/",
            ),
            (
                "script.js",
                "URL: `script.js` looks like a file; brunt runs no scripts; write a plan file (.yaml), --urls FILE \
                    or --curl-file FILE; for a host of that name, use http://script.js",
            ),
            ("http:/a/b", "URL: `http:/a/b` is missing a slash; use http://a/b"),
            ("ftp://a", "URL: `ftp://` is not supported; use one of http://, https://"),
            ("http:///x", "URL: `http:///x` has no host; use a URL such as http://localhost:8080/"),
        ];
        for (typed, said) in wrong {
            assert_eq!(format!("URL: {}", with_scheme(typed, &SCHEMES).unwrap_err()), said);
        }
    }

    #[test]
    fn urls_are_told_from_values() {
        for url in ["127.0.0.1:9003", "http://a/", "localhost", "example.com/x"] {
            assert!(looks_like_one(url), "{url}");
        }
        for value in ["5000/s", "0.5s", "1.5ms", "10", "100ms..2s", "1m30s"] {
            assert!(!looks_like_one(value), "{value}");
        }
    }

    #[test]
    fn words_that_are_no_hosts() {
        let commands = ["run", "demo"];
        for host in ["localhost", "127.0.0.1", "a.example", "web:80", "web/x", "[::1]", "2130706433"] {
            assert_eq!(refuse_command_words(host, &commands), Ok(()), "{host}");
        }
        let said = |word: &str| refuse_command_words(word, &commands).unwrap_err().to_string();
        assert_eq!(
            said("sweep"),
            "sweep: is not a command of this version (run, demo); for a host of that name, use http://sweep"
        );
        assert_eq!(
            said("demmo"),
            "demmo: is neither a command nor a URL; use brunt demo, or http://demmo for a host of that name"
        );
        assert!(said("explian").contains("use brunt explain, or"), "{}", said("explian"));
        assert!(said("webserver").contains("use one of run, demo, or"), "{}", said("webserver"));
        assert_eq!(said("demo"), "demo: is a command and must come first; use `brunt demo ...`");
    }

    #[test]
    fn files() {
        let none = |trouble| UsageError::new("--urls", trouble);
        let text = "# all pages\nlocalhost/a 3\n\n  https://b/x#part   # the rest\nlocalhost/c 0.5 # half\n";
        let urls = from_file("u.txt", text, &SCHEMES, none).unwrap();
        let slots = from_file("u.txt", "a/{random 1..9}?u={csv u.csv.a | url} 3 # x\n", &SCHEMES, none).unwrap();
        assert_eq!((&*slots[0].url, slots[0].weight), ("http://a/{random 1..9}?u={csv u.csv.a | url}", 3.0));
        let shown: Vec<String> = urls.iter().map(|u| format!("{} {}", u.url, u.weight)).collect();
        assert_eq!(shown, ["http://localhost/a 3", "https://b/x#part 1", "http://localhost/c 0.5"]);
        let wrong = [
            ("a\nb x", "u.txt line 2: `x` is not a weight; use a number above zero, such as 3 or 0.5"),
            ("a 0", "u.txt line 1: `0` is not a weight; use a number above zero, such as 3 or 0.5"),
            ("a 1 2", "u.txt line 1: `2` is an extra word; use a URL, optionally followed by its weight"),
            ("\n\nftp://a", "u.txt line 3: `ftp://` is not supported; use one of http://, https://"),
            ("# nothing", "--urls: u.txt has no URLs; write one per line"),
        ];
        for (text, said) in wrong {
            assert_eq!(from_file("u.txt", text, &SCHEMES, none).unwrap_err().to_string(), said);
        }
    }
}
