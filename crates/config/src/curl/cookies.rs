//! `-b`: cookies given as text, and cookies from a file that match a URL.
//!
//! A file is in Netscape format or contains `Set-Cookie:` lines. Cookies set by later responses are not kept.

use std::time::{SystemTime, UNIX_EPOCH};

/// A cookie in a file.
#[derive(Debug)]
struct FileCookie<'a> {
    domain: &'a str,
    subdomains: bool,
    path: &'a str,
    secure: bool,
    expires: u64,
    name: &'a str,
    value: &'a str,
}

/// Returns the cookies of a file that curl would send to this host and path, as the value of `Cookie`.
pub fn of_file(text: &str, host: &str, path: &str, secure: bool) -> Vec<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut cookies: Vec<FileCookie<'_>> = text.lines().filter_map(cookie).collect();
    cookies.retain(|cookie| {
        let domain = cookie.domain.trim_start_matches('.');
        let is_host = domain.is_empty() || host.eq_ignore_ascii_case(domain);
        // Compared as bytes, because this may not be a character boundary in a non-ASCII host.
        let is_below = cookie.subdomains
            && host.len() > domain.len()
            && host.as_bytes()[host.len() - domain.len() - 1] == b'.'
            && host.as_bytes()[host.len() - domain.len()..].eq_ignore_ascii_case(domain.as_bytes());
        (is_host || is_below)
            && (secure || !cookie.secure)
            && (cookie.expires == 0 || cookie.expires > now)
            && in_path(path, cookie.path)
    });
    // The longest path first, then the longest domain, then the longest name: the order of curl.
    cookies.sort_by_key(|c| std::cmp::Reverse((c.path.len(), c.domain.len(), c.name.len())));
    cookies.iter().map(|c| format!("{}={}", c.name, c.value)).collect()
}

/// Returns `true` if the path matches that of a cookie (RFC 6265 5.1.4).
fn in_path(path: &str, of: &str) -> bool {
    let of = of.strip_suffix('/').unwrap_or(of);
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

fn cookie(line: &str) -> Option<FileCookie<'_>> {
    let set = line.get(..11).filter(|start| start.eq_ignore_ascii_case("set-cookie:"));
    if set.is_some() {
        return of_header(line[11..].trim());
    }
    let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
    if line.starts_with('#') {
        return None;
    }
    let fields: Vec<&str> = line.split('\t').collect();
    let [domain, subdomains, path, secure, expires, name, rest @ ..] = &fields[..] else { return None };
    Some(FileCookie {
        domain,
        subdomains: subdomains.eq_ignore_ascii_case("true"),
        path,
        secure: secure.eq_ignore_ascii_case("true"),
        expires: expires.parse().ok()?,
        name,
        value: rest.first().copied().unwrap_or_default().trim_end(),
    })
}

/// Parses `Set-Cookie: a=b; Path=/x; Secure`. A cookie without a domain matches every host, as in curl.
fn of_header(text: &str) -> Option<FileCookie<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    let mut cookie =
        FileCookie { domain: "", subdomains: true, path: "/", secure: false, expires: 0, name: name.trim(), value };
    for part in parts {
        match part.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("path") => cookie.path = value,
            Some((name, value)) if name.eq_ignore_ascii_case("domain") => cookie.domain = value,
            None if part.eq_ignore_ascii_case("secure") => cookie.secure = true,
            _ => {}
        }
    }
    Some(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_of_a_file() {
        let jar = "# Netscape HTTP Cookie File\n\n\
            .example.com\tTRUE\t/\tFALSE\t0\ta\t1\n\
            #HttpOnly_example.com\tFALSE\t/deep\tFALSE\t4102444800\tlonger\t2\n\
            example.com\tFALSE\t/\tTRUE\t0\ts\t3\n\
            example.com\tFALSE\t/\tFALSE\t1\told\t4\n\
            other.com\tTRUE\t/\tFALSE\t0\to\t5\n\
            broken line\n\
            Set-Cookie: h=6; path=/deep; secure\n";
        let table: [(&str, &str, bool, &[&str]); 6] = [
            ("\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}", "/", false, &[]),
            ("example.com", "/", false, &["a=1"]),
            ("www.example.com", "/", false, &["a=1"]),
            ("notexample.com", "/", false, &[]),
            ("EXAMPLE.com", "/deep/x", true, &["longer=2", "h=6", "a=1", "s=3"]),
            ("example.com", "/deeper", false, &["a=1"]),
        ];
        for (host, path, secure, expected) in table {
            assert_eq!(of_file(jar, host, path, secure), expected, "{host}{path}");
        }
    }
}
