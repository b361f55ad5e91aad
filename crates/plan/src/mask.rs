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
    text.split_inclusive('\n')
        .map(|line| {
            let content = line.trim_end_matches(['\r', '\n']);
            let end = &line[content.len()..];
            format!("{}{end}", request_line(content).unwrap_or_else(|| header(content)))
        })
        .collect()
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
        _ if SECRET_OPTIONS.contains(&name) && !value.is_empty() => MASK.to_string(),
        _ => value.to_string(),
    }
}

/// A plan as it may be shown.
pub fn plan(plan: &Plan) -> Plan {
    let mut shown = plan.clone();
    for target in &mut shown.urls {
        target.url = url(&target.url);
    }
    for (name, values) in &mut shown.options {
        for value in values {
            *value = option(name, value);
        }
    }
    if let Some(key) = &mut shown.tls.key {
        *key = MASK.to_string();
    }
    shown
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
