//! Secrets in URLs: user info, fragment and query.

use super::names::is_secret;
use super::positions::SecretSpans;

impl<'a> SecretSpans<'a> {
    /// Searches for URLs anywhere in the text.
    pub fn urls(&mut self, text: &'a str) {
        let mut from = 0;
        while let Some(at) = text[from..].find("://").map(|at| from + at) {
            let scheme = text[..at].bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b));
            let start = at - scheme.count();
            let ends = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
            let end = text[at..].find(ends).map_or(text.len(), |n| at + n);
            if start < at {
                self.url(&text[start..end]);
            }
            from = end.max(at + 3);
        }
    }

    /// Searches a URL, whose scheme may be missing, or a request target.
    pub fn url(&mut self, text: &'a str) {
        let start = text.find("://").map_or(0, |at| at + 3);
        let authority_end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
        let authority = &text[start..authority_end];
        // A password may contain one of these characters unescaped, in which case the text after the colon is not a
        // port.
        let port = authority.rsplit_once(':').map_or("", |(_, port)| port).trim_end_matches(']');
        let odd = (!authority.contains('@') && !port.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| text[authority_end..].rfind('@').map(|at| authority_end + at))
            .flatten();
        match odd.or(authority.rfind('@').map(|at| start + at)) {
            Some(at) => {
                self.user_info(&text[start..at]);
                self.path(&text[at..]);
            }
            None => self.path(&text[authority_end..]),
        }
    }

    /// Masks the user info of a URL.
    fn user_info(&mut self, text: &'a str) {
        // These are placeholders from brunt's own error messages.
        if matches!(text, ":password" | "name:password" | "user:password") {
            return;
        }
        self.cover(text);
        match text.split_once(':') {
            Some((_, password)) if !password.is_empty() => [text, password].into_iter().for_each(|t| self.know(t)),
            // This is a token and not a user name, which would not be secret elsewhere.
            _ if text.trim_end_matches(':').len() >= 16 => self.know(text.trim_end_matches(':')),
            _ => {}
        }
    }

    /// Searches path, query and fragment.
    fn path(&mut self, text: &'a str) {
        let (path, fragment) = text.split_once('#').unwrap_or((text, ""));
        self.cover(fragment);
        if let Some((_, query)) = path.split_once('?') {
            for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
                if is_secret(name, value) {
                    self.hide(value);
                }
            }
        }
    }
}
