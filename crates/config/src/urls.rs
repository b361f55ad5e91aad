//! URLs from the command line and from a file, with their schemes and weights.
//!
//! A missing scheme means http. The rest of a URL is validated by its protocol.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_plan::{WeightedUrl, mask};
use brunt_protocols::template::slot_length;
use brunt_report::text::Text;

use super::command_line::TEXT_COMMANDS;
use super::setting::message;
use super::suggestions::nearest;

/// Words that are rather commands than hosts, though brunt has no such command, and what does the same.
const NO_COMMANDS: [(&str, Text); 5] = [
    ("diff", COMPARE),
    ("replay", message("`brunt report FILE` shows a past run again", "`brunt report FILE` 可再次显示以往的压测")),
    ("ramp", RAMP),
    (
        "import",
        message(
            "--curl-file FILE sends what the curl commands in FILE would send",
            "--curl-file FILE 可发送 FILE 中各条 curl 命令所发的请求",
        ),
    ),
    ("agent", message("runs on several machines are not supported", "不支持多台机器共同压测")),
];
const COMPARE: Text = message(
    "`brunt compare A B` compares two targets, or two records of past runs",
    "`brunt compare A B` 可比较两个目标，或以往压测的两份记录",
);
const RAMP: Text = message(
    "a ramp, such as --stage 1m:100/s..5000/s, shows from which load on requests queue",
    "阶梯加压（例如 --stage 1m:100/s..5000/s）可看出从多大的负载起请求开始排队",
);

/// Returns a URL as typed, with its scheme.
///
/// # Errors
/// The URL is invalid; the error describes why.
pub fn with_scheme(text: &str, schemes: &[&str]) -> Result<String, Complaint> {
    let text = text.trim();
    if text.is_empty() {
        return Err(complaint!(
            "is empty; use a URL such as http://localhost:8080/",
            "为空；请写 URL，例如 http://localhost:8080/"
        ));
    }
    let is_scheme = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let Some((scheme, rest)) = text.split_once("://").filter(|(word, _)| is_scheme(word)) else {
        if let Some((scheme, rest)) = text.split_once(":/").filter(|(word, _)| schemes.contains(word)) {
            let (shown, rest) = (mask::url(text), mask::url(rest));
            return Err(complaint!(
                "`{shown}` is missing a slash; use {scheme}://{rest}",
                "`{shown}` 少了一个斜杠；请写 {scheme}://{rest}"
            ));
        }
        if let Some((word, rest)) = text.split_once(":/").filter(|(word, _)| !word.is_empty() && is_scheme(word)) {
            let (shown, rest) = (mask::url(text), mask::url(rest.trim_start_matches('/')));
            let meant = nearest(word, schemes.iter().copied()).unwrap_or("http");
            return Err(complaint!(
                "`{shown}` has no port after the colon; use a port, or a scheme such as {meant}://{rest}",
                "`{shown}` 的冒号后没有端口；请写端口，或写协议，例如 {meant}://{rest}"
            ));
        }
        if is_compressed_file(text) {
            let shown = mask::url(text);
            return Err(complaint!(
                "`{shown}` is a compressed file, such as the record of a run; use `brunt report {shown}` to show a \
                record, or the plan file that it was made with",
                "`{shown}` 是压缩文件，例如一次压测的记录；要查看记录请用 `brunt report {shown}`，要压测请用当时的计划文件"
            ));
        }
        if text.starts_with('/') {
            let shown = mask::url(text);
            return Err(complaint!(
                "`{shown}` is a path; use a URL such as http://localhost:8080{shown}",
                "`{shown}` 是路径；请写 URL，例如 http://localhost:8080{shown}"
            ));
        }
        if let Some(trouble) = no_url(text, schemes).or_else(|| no_host(text)).or_else(|| short_address(text)) {
            return Err(trouble);
        }
        let host = if text.starts_with(':') { "localhost" } else { "" };
        return Ok(format!("http://{host}{text}"));
    };
    let scheme = scheme.to_ascii_lowercase();
    if !schemes.contains(&scheme.as_str()) {
        let known: Vec<String> = schemes.iter().map(|s| format!("{s}://")).collect();
        return Err(complaint!(
            "`{scheme}://` is not supported; use one of {}",
            "不支持 `{scheme}://`；可用：{}",
            known.join(", ")
        ));
    }
    if rest.is_empty() || rest.starts_with('/') {
        let shown = mask::url(text);
        return Err(complaint!(
            "`{shown}` has no host; use a URL such as {scheme}://localhost:8080/",
            "`{shown}` 没有主机；请写 URL，例如 {scheme}://localhost:8080/"
        ));
    }
    if let Some(trouble) = short_address(rest) {
        return Err(trouble);
    }
    Ok(format!("{scheme}://{rest}"))
}

/// File extensions that are not top-level domains; script extensions suggest other tools.
const FILES: [&str; 12] =
    [".js", ".lua", ".jmx", ".har", ".json", ".jsonl", ".toml", ".txt", ".csv", ".html", ".xml", ".zst"];

/// Returns `true` for a file in the format of records (RFC 8878 3.1.1).
fn is_compressed_file(word: &str) -> bool {
    use std::io::Read as _;
    let mut magic = [0; 4];
    let read = |mut file: std::fs::File| file.read_exact(&mut magic);
    std::path::Path::new(word).is_file()
        && std::fs::File::open(word).and_then(read).is_ok()
        && magic == 0xfd2f_b528_u32.to_le_bytes()
}

/// Returns an error for a word without `://` that can hardly be a host.
fn no_url(text: &str, schemes: &[&str]) -> Option<Complaint> {
    let shown = mask::url(text);
    if let Some((scheme, rest)) =
        text.split_once("//").filter(|(word, _)| schemes.contains(&&*word.to_ascii_lowercase()))
    {
        return Some(complaint!(
            "`{shown}` has no colon; use {scheme}://{}",
            "`{shown}` 缺少冒号；请写 {scheme}://{}",
            mask::url(rest)
        ));
    }
    if ["./", "../", "~/"].iter().any(|start| text.starts_with(start)) || text == "." {
        return Some(complaint!(
            "`{shown}` is a file or folder; use a plan file (its name ends in .yaml, .yml or .json) or a URL such as http://localhost:8080/",
            "`{shown}` 是文件或目录；请用计划文件（名称以 .yaml、.yml 或 .json 结尾），或 URL，例如 http://localhost:8080/"
        ));
    }
    let is_file = |ending: &&&str| text.to_ascii_lowercase().ends_with(**ending) && !text.contains(['/', ':']);
    let ending = FILES.iter().find(is_file)?;
    let (scripts_en, scripts_zh) = match *ending {
        ".js" | ".lua" | ".jmx" => ("brunt runs no scripts; ", "brunt 不运行脚本；"),
        _ => ("", ""),
    };
    Some(Complaint::new(
        format!(
            "`{shown}` looks like a file; {scripts_en}write a plan file (.yaml), --urls FILE or --curl-file FILE; for a \
                host of that name, use http://{shown}"
        ),
        format!(
            "`{shown}` 像是文件；{scripts_zh}请用计划文件（.yaml）、--urls FILE 或 --curl-file FILE；若确为主机名，请写 http://{shown}"
        ),
    ))
}

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
        complaint!("is a command and must come first; use `brunt help`", "是命令，必须写在最前面；请用 `brunt help`")
    } else if commands.contains(&word) || TEXT_COMMANDS.contains(&word) {
        complaint!(
            "is a command and must come first; use `brunt {word} ...`",
            "是命令，必须写在最前面；请用 `brunt {word} ...`"
        )
    } else if let Some((_, instead)) = NO_COMMANDS.iter().find(|(name, _)| *name == word) {
        let (en, zh) = (instead.en, instead.zh);
        Complaint::new(
            format!("is not a command: {en}; for a host of that name, use http://{word}"),
            format!("不是命令：{zh}；若确为主机名，请写 http://{word}"),
        )
    } else {
        let meant = nearest(word, commands.iter().copied().chain(TEXT_COMMANDS));
        let (right, zh) = match meant {
            Some(meant) => (format!("brunt {meant}"), format!("brunt {meant}")),
            None => (format!("one of {}", commands.join(", ")), format!("{} 之一", commands.join("、"))),
        };
        complaint!(
            "is neither a command nor a URL; use {right}, or http://{word} for a host of that name",
            "既不是命令也不是 URL；请用 {zh}，若确为主机名请写 http://{word}"
        )
    };
    Err(UsageError::new(word, trouble))
}

/// Rejects the value of `-u` if it is rather the name and password that curl's option of that name takes.
///
/// # Errors
/// The value is hardly a URL. It may be a secret, so it is not repeated.
pub fn refuse_credentials(text: &str) -> Result<(), UsageError> {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let is_login = match text.split_once(':') {
        _ if text.contains("://") || text.contains(['/', '@', '[']) => false,
        Some((name, password)) => !name.is_empty() && !is_port(password),
        None => !text.is_empty() && text != "localhost" && !text.contains('.') && text.parse::<u32>().is_err(),
    };
    match is_login {
        true => {
            let trouble = complaint!(
                "takes another URL, and this is hardly one; to log in, as -u of curl does, use --user \
                NAME:PASSWORD; for a host of that name, write http:// in front of it",
                "后面应为另一个 URL，而这不像 URL；要像 curl 的 -u 那样登录，请用 --user NAME:PASSWORD；若确为主机名，请在前面加 http://"
            );
            Err(UsageError::new("-u", trouble))
        }
        false => Ok(()),
    }
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
    wrong: impl Fn(Complaint) -> UsageError,
) -> Result<Vec<WeightedUrl>, UsageError> {
    let mut urls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{path} line {}", number + 1);
        let mut words = words(line).into_iter().take_while(|word| !word.starts_with('#'));
        let Some(first) = words.next() else { continue };
        let weight = words.next().map_or(Ok(1.0), |word| weight(&place, word))?;
        if let Some(extra) = words.next() {
            let trouble = complaint!(
                "`{extra}` is an extra word; use a URL, optionally followed by its weight",
                "`{extra}` 是多余的词；请写 URL，后面可跟权重"
            );
            return Err(UsageError::new(place, trouble));
        }
        let url = with_scheme(first, schemes).map_err(|trouble| UsageError::new(place, trouble))?;
        urls.push(WeightedUrl { weight, ..WeightedUrl::plain(url) });
    }
    if urls.is_empty() {
        return Err(wrong(complaint!("{path} has no URLs; write one per line", "{path} 中没有 URL；请每行写一个")));
    }
    Ok(urls)
}

/// Returns the complaint about a host that is a number, or an IPv4 address without four numbers: URLs take `10.0.0` for
/// 10.0.0.0, and `18082` for 0.0.70.162, which is hardly what was meant.
fn short_address(rest: &str) -> Option<Complaint> {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let last = host.trim_end_matches('.').rsplit('.').next()?;
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let is_number = match hex {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()),
    };
    if !is_number || host.contains('{') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return None;
    }
    Some(match host.parse::<u16>() {
        Ok(port) => complaint!(
            "`{port}` is not a host; for a port of this machine, use localhost:{port}",
            "`{port}` 不是主机；若指本机端口，请写 localhost:{port}"
        ),
        Err(_) => complaint!(
            "`{host}` is not an IPv4 address; use four numbers, as in 127.0.0.1",
            "`{host}` 不是 IPv4 地址；请写四个数，例如 127.0.0.1"
        ),
    })
}

/// Returns the complaint about a host with a space, or with `=` as in a field of a form, whose value may be a secret.
fn no_host(text: &str) -> Option<Complaint> {
    let authority = &text[..text.find(['/', '?', '#']).unwrap_or(text.len())];
    if let [host, port, ..] = words(authority)[..] {
        return Some(match port.parse::<u16>() {
            Ok(port) => complaint!(
                "`{host} {port}` has a space; for port {port} use {host}:{port}",
                "`{host} {port}` 含有空格；若指端口 {port}，请写 {host}:{port}"
            ),
            Err(_) => complaint!(
                "has a space in its host; use one URL in each word, such as localhost:8080",
                "主机中含有空格；每个参数请写一个 URL，例如 localhost:8080"
            ),
        });
    }
    let (name, _) = authority.split_once('=').filter(|(name, _)| !name.contains(['{', '@']))?;
    Some(complaint!(
        "`{name}=…` is not a host; use --data or --form to send it, and put a value with spaces or & in quotes",
        "`{name}=…` 不是主机；要发送它，请用 --data 或 --form；含空格或 & 的值要加引号"
    ))
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
        _ => Err(UsageError::new(
            place,
            complaint!(
                "`{word}` is not a weight; use a number above zero, such as 3 or 0.5",
                "`{word}` 不是权重；请用大于零的数，例如 3 或 0.5"
            ),
        )),
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
            ("127.0.0.1:80/10.0.0", "http://127.0.0.1:80/10.0.0"),
            ("127.0.0.{random 1..9}/", "http://127.0.0.{random 1..9}/"),
            ("a.b/x y?c=d", "http://a.b/x y?c=d"),
            ("web3.example.1a/", "http://web3.example.1a/"),
            (":8080/x", "http://localhost:8080/x"),
        ];
        for (typed, url) in table {
            assert_eq!(with_scheme(typed, &SCHEMES).as_deref(), Ok(url), "{typed}");
        }
        let record = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(record.path(), b"\x28\xb5\x2f\xfd and so on").expect("written");
        let name = record.path().to_str().expect("UTF-8");
        let error = with_scheme(name, &SCHEMES).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains(&format!("use `brunt report {name}`"))), "{name}");
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
            ("htp:/bad", "URL: `htp:/bad` has no port after the colon; use a port, or a scheme such as http://bad"),
            ("ftp://a", "URL: `ftp://` is not supported; use one of http://, https://"),
            ("10.0.0", "URL: `10.0.0` is not an IPv4 address; use four numbers, as in 127.0.0.1"),
            ("http://0x7f000001:80/", "URL: `0x7f000001` is not an IPv4 address; use four numbers, as in 127.0.0.1"),
            ("redis://u:p@256.1.1.1", "URL: `redis://` is not supported; use one of http://, https://"),
            ("https://u:p@256.1.1.1/", "URL: `256.1.1.1` is not an IPv4 address; use four numbers, as in 127.0.0.1"),
            ("127.0.0.1 8080", "URL: `127.0.0.1 8080` has a space; for port 8080 use 127.0.0.1:8080"),
            ("a b/x y", "URL: has a space in its host; use one URL in each word, such as localhost:8080"),
            (
                "b=2",
                "URL: `b=…` is not a host; use --data or --form to send it, and put a value with spaces or & in quotes",
            ),
            ("18082", "URL: `18082` is not a host; for a port of this machine, use localhost:18082"),
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
    fn credentials_are_told_from_urls() {
        for url in ["a.b", "localhost:8080", "web:80", "localhost", ":8080", "u:pw@h", "h/x", "http://h", "[::1]:80"] {
            assert_eq!(refuse_credentials(url), Ok(()), "{url}");
        }
        for login in ["admin", "admin:pw", "admin:", "a.b:99999"] {
            let said = refuse_credentials(login).unwrap_err().to_string();
            assert!(said.starts_with("-u: takes another URL") && said.contains("--user NAME:PASSWORD"), "{said}");
            assert!(!said.contains(login), "{said}");
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
            said("ramp"),
            "ramp: is not a command: a ramp, such as --stage 1m:100/s..5000/s, shows from which load on requests queue; \
                for a host of that name, use http://ramp"
        );
        assert!(said("diff").contains("`brunt compare A B`"), "{}", said("diff"));
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
