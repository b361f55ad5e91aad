//! Secrets out of everything that is shown or kept: credentials in headers, user info and keys in URLs.
//!
//! Masking errs on the side of hiding: a line of a body that looks like a secret header is hidden too. What is inside a
//! body otherwise is not known to be secret and stays.

use crate::Plan;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Options whose whole value is a secret.
const SECRET_OPTIONS: [&str; 6] = ["user", "key", "password", "token", "auth", "bearer"];

/// Query parameters whose value is a secret.
const SECRET_PARAMETERS: [&str; 14] = [
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "auth",
    "client_secret",
    "key",
    "passwd",
    "password",
    "refresh_token",
    "secret",
    "sig",
    "signature",
    "token",
];

/// True where the value of a header of this name is a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let exact = ["authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2", "authentication"];
    let parts = ["api-key", "apikey", "token", "secret", "password", "passwd", "credential", "signature", "session"];
    exact.contains(&name.as_str())
        || parts.iter().any(|part| name.contains(part))
        || name.ends_with("-key") && !name.starts_with("sec-websocket")
        || name.ends_with("-auth")
}

/// A header line as given or sent, `Name: value`, with a secret value hidden.
pub fn header(line: &str) -> String {
    let Some((name, value)) = line.split_once(':') else { return line.to_string() };
    let is_name = !name.is_empty() && name.trim_end().bytes().all(|b| b.is_ascii_graphic());
    if !is_name || value.trim().is_empty() {
        return line.to_string();
    }
    if is_secret_header(name) {
        let gap = &value[..value.len() - value.trim_start().len()];
        return format!("{name}:{gap}{MASK}");
    }
    if ["location", "referer", "content-location"].contains(&name.to_ascii_lowercase().as_str()) {
        return format!("{name}:{}", url(value));
    }
    line.to_string()
}

/// A URL (its scheme may be missing) without its user info and without the values of secret query parameters.
pub fn url(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let authority_end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
    let authority = &text[start..authority_end];
    // A password with one of these marks as it is: what seems to be the port is none.
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port).trim_end_matches(']');
    if !authority.contains('@')
        && !port.bytes().all(|b| b.is_ascii_hexdigit())
        && let Some(at) = text[authority_end..].rfind('@')
    {
        let at = authority_end + at;
        return format!("{}{MASK}{}", &text[..start], query(&text[at..]));
    }
    let shown = match authority.rfind('@') {
        Some(at) => format!("{MASK}{}", &authority[at..]),
        None => authority.to_string(),
    };
    format!("{}{shown}{}", &text[..start], query(&text[authority_end..]))
}

fn query(path: &str) -> String {
    let Some((before, rest)) = path.split_once('?') else { return path.to_string() };
    let (parameters, fragment) = match rest.split_once('#') {
        Some((parameters, fragment)) => (parameters, Some(fragment)),
        None => (rest, None),
    };
    let shown: Vec<String> = parameters
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret_parameter(name) => format!("{name}={MASK}"),
            _ => parameter.to_string(),
        })
        .collect();
    let fragment = fragment.map(|f| format!("#{f}")).unwrap_or_default();
    format!("{before}?{}{fragment}", shown.join("&"))
}

fn is_secret_parameter(name: &str) -> bool {
    SECRET_PARAMETERS.contains(&name.to_ascii_lowercase().as_str())
}

/// What was sent or received, as text: secret headers and the secrets in request lines are hidden.
pub fn exchange(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut before, mut proves) = ("", false);
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\r', '\n']);
        // Redis: the word AUTH, and the words of the same command behind it.
        let is_length = content.strip_prefix('$').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        proves &= !content.starts_with('*');
        if proves && !is_length {
            shown.push_str(MASK);
        } else {
            shown.push_str(&request_line(content).unwrap_or_else(|| header(content)));
        }
        shown.push_str(&line[content.len()..]);
        proves |= before == "$4" && content.eq_ignore_ascii_case("auth");
        before = content;
    }
    shown
}

fn request_line(line: &str) -> Option<String> {
    let (before, version) = line.rsplit_once(' ')?;
    let (method, target) = before.split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
    if !is_method || !version.starts_with("HTTP/") {
        return None;
    }
    let target = if target.starts_with('/') { query(target) } else { url(target) };
    Some(format!("{method} {target} {version}"))
}

/// The value of a protocol's option as it may be shown.
pub fn option(name: &str, value: &str) -> String {
    match name {
        "header" => header(value),
        "request-target" if value.starts_with('/') => query(value),
        "request-target" => url(value),
        "command" | "before" | "after" => commands(value),
        _ if SECRET_OPTIONS.contains(&name) && !value.is_empty() => MASK.to_string(),
        _ => value.to_string(),
    }
}

/// Commands of Redis: nothing is shown behind an AUTH, alone or in a HELLO.
fn commands(text: &str) -> String {
    let mut from = 0;
    for command in text.split_inclusive(';') {
        let mut words = command.split_whitespace().skip_while(|word| word.ends_with('x') && word.len() < 8);
        let first = words.next().unwrap_or_default();
        let proves = first.eq_ignore_ascii_case("auth")
            || first.eq_ignore_ascii_case("hello") && words.any(|word| word.eq_ignore_ascii_case("auth"));
        if proves && let Some(at) = command.to_ascii_lowercase().find("auth") {
            return format!("{} {MASK}", &text[..from + at + 4]);
        }
        from += command.len();
    }
    text.to_string()
}

/// A sentence about a plan without the secrets of it that it quotes. `shown` is the plan as it may be shown.
pub fn sentence(text: &str, plan: &Plan, shown: &Plan) -> String {
    let urls = plan.urls.iter().zip(&shown.urls);
    let own =
        urls.clone().flat_map(|(raw, shown)| raw.options.values().flatten().zip(shown.options.values().flatten()));
    let all = plan.options.values().flatten().zip(shown.options.values().flatten());
    let pairs = urls.map(|(raw, shown)| (&raw.url, &shown.url)).chain(own).chain(all);
    unquoted(text, pairs)
}

fn unquoted<'a>(text: &str, pairs: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    pairs.filter(|(raw, shown)| raw != shown).fold(text.to_string(), |text, (raw, shown)| {
        // Only what is quoted is one: a short secret may be a part of any word.
        ['"', '`', '\''].iter().fold(text, |text, q| text.replace(&format!("{q}{raw}{q}"), &format!("{q}{shown}{q}")))
    })
}

/// A plan as it may be shown.
pub fn plan(plan: &Plan) -> Plan {
    let mut shown = plan.clone();
    for target in &mut shown.urls {
        target.url = url(&target.url);
        options(&mut target.options);
    }
    options(&mut shown.options);
    if let Some(key) = &mut shown.tls.key {
        *key = MASK.to_string();
    }
    shown
}

fn options(options: &mut crate::Options) {
    for (name, values) in options {
        for value in values {
            *value = option(name, value);
        }
    }
}

/// A command line as it may be shown: every argument that is, or ends with, one of the `secrets` (as written, as shown).
pub fn command(arguments: &[String], secrets: &[(String, String)]) -> Vec<String> {
    arguments.iter().map(|argument| masked_argument(argument, secrets)).collect()
}

fn masked_argument(argument: &str, secrets: &[(String, String)]) -> String {
    for (raw, shown) in secrets.iter().filter(|(raw, shown)| raw != shown && !raw.is_empty()) {
        if argument == raw {
            return shown.clone();
        }
        if let Some(flag) = argument.strip_suffix(raw.as_str())
            && flag.starts_with('-')
        {
            return format!("{flag}{shown}");
        }
    }
    argument.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let table = [
            ("http://a.example/x?y=1", "http://a.example/x?y=1"),
            ("http://me:pw@a.example/x", "http://***@a.example/x"),
            ("me:pw@a.example", "***@a.example"),
            ("http://me:p@w@a.example:80", "http://***@a.example:80"),
            ("http://a/x@y", "http://a/x@y"),
            ("http://[::1]/x@y", "http://[::1]/x@y"),
            ("redis://:se/cr#et@h:1/0", "redis://***@h:1/0"),
            ("http://a?m=b@c", "http://a?m=b@c"),
            ("http://a/?token=abc&page=2#top", "http://a/?token=***&page=2#top"),
            ("http://a/?API_KEY=abc", "http://a/?API_KEY=***"),
            ("http://a/?key=", "http://a/?key="),
            ("/search?q=1&sig=9", "/search?q=1&sig=***"),
        ];
        for (raw, shown) in table {
            assert_eq!(url(raw), shown, "{raw}");
            assert_eq!(url(shown), shown, "masking twice changes nothing: {raw}");
        }
    }

    #[test]
    fn headers() {
        let table = [
            ("Authorization: Bearer abc", "Authorization: ***"),
            ("authorization:Basic abc", "authorization:***"),
            ("Cookie: a=b; c=d", "Cookie: ***"),
            ("Set-Cookie: sid=1", "Set-Cookie: ***"),
            ("Proxy-Authorization: x", "Proxy-Authorization: ***"),
            ("X-Api-Key: k", "X-Api-Key: ***"),
            ("X-Auth-Token: k", "X-Auth-Token: ***"),
            ("X-Amz-Security-Token: k", "X-Amz-Security-Token: ***"),
            ("Ocp-Apim-Subscription-Key: k", "Ocp-Apim-Subscription-Key: ***"),
            ("Sec-WebSocket-Key: k", "Sec-WebSocket-Key: k"),
            ("Accept: text/html", "Accept: text/html"),
            ("X-Empty-Token:", "X-Empty-Token:"),
            ("Location: http://u:p@h/", "Location: http://***@h/"),
            ("not a header", "not a header"),
        ];
        for (raw, shown) in table {
            assert_eq!(header(raw), shown, "{raw}");
        }
    }

    #[test]
    fn exchanges_of_more_than_one_hop() {
        let sent =
            "GET /a?token=1 HTTP/1.1\r\nHost: h\r\nCookie: x\r\n\r\nGET /b HTTP/1.1\r\nAuthorization: y\r\n\r\nbody: 1";
        let shown = "GET /a?token=*** HTTP/1.1\r\nHost: h\r\nCookie: ***\r\n\r\nGET /b HTTP/1.1\r\nAuthorization: ***\r\n\r\nbody: 1";
        assert_eq!(exchange(sent), shown);
        assert_eq!(exchange("HTTP/1.1 200 OK\r\nSet-Cookie: a\r\n"), "HTTP/1.1 200 OK\r\nSet-Cookie: ***\r\n");
        assert_eq!(exchange(""), "");
        let sent = "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$2\r\npw\r\n*2\r\n$3\r\nGET\r\n$4\r\nauth\r\n";
        assert!(exchange(sent).starts_with("*3\r\n$4\r\nAUTH\r\n$1\r\n***\r\n$2\r\n***\r\n*2\r\n$3\r\nGET\r\n"));
    }

    #[test]
    fn options_and_sentences() {
        let table = [
            ("command", "AUTH u pw; GET a", "AUTH ***"),
            ("command", "3x hello 3 auth u pw", "3x hello 3 auth ***"),
            ("before", "GET a; auth 'p;w'", "GET a; auth ***"),
            ("command", "SET auth 1; HELLO 3", "SET auth 1; HELLO 3"),
            ("request-target", "/a|b?token=x", "/a|b?token=***"),
            ("request-target", "http://u:p@h/", "http://***@h/"),
        ];
        for (name, raw, shown) in table {
            assert_eq!(option(name, raw), shown, "{raw}");
        }
        let (raw, shown) = ("redis://:pw@h/x".to_string(), url("redis://:pw@h/x"));
        let said = "\"redis://:pw@h/x\" cannot be used; write redis://:password@h";
        let said = unquoted(said, [(&raw, &shown)].into_iter());
        assert_eq!(said, "\"redis://***@h/x\" cannot be used; write redis://:password@h");
    }

    #[test]
    fn command_lines() {
        let secrets = [
            ("Authorization: t".to_string(), "Authorization: ***".to_string()),
            ("me:pw".to_string(), "***".to_string()),
            ("u:p@h/x".to_string(), "***@h/x".to_string()),
        ];
        let line = ["-H", "Authorization: t", "-HAuthorization: t", "--user=me:pw", "u:p@h/x", "-c", "10"];
        let shown = ["-H", "Authorization: ***", "-HAuthorization: ***", "--user=***", "***@h/x", "-c", "10"];
        assert_eq!(command(&line.map(String::from), &secrets), shown.map(String::from));
    }
}
