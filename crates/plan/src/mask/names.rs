//! Names of secret values: headers, metadata, query parameters, form fields and JSON keys.
//!
//! A name is matched by its words (`X-Amz-Signature`, `auth_token`, `clientSecret`), so that `keyword`, `monkey` and
//! `country_code` do not match.

/// Headers whose whole value is a secret, although no word of their names marks one.
const HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2", "authentication"];

/// Words that mark the name of a secret.
const WORDS: [&str; 32] = [
    "apikey",
    "assertion",
    "auth",
    "authorization",
    "authentication",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "csrf",
    "hmac",
    "jwt",
    "masterauth",
    "oauth",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pw",
    "pwd",
    "requirepass",
    "secret",
    "secrets",
    "sessid",
    "session",
    "sid",
    "sig",
    "signature",
    "xsrf",
];

/// Endings of compound words: `accesstoken`, `dbpassword`, `phpsessid`.
const ENDINGS: [&str; 12] = [
    "token",
    "tokens",
    "password",
    "passwd",
    "secret",
    "credential",
    "signature",
    "sessid",
    "sessionid",
    "apikey",
    "accesskey",
    "privatekey",
];

/// Words before `key` that make it harmless.
const HARMLESS_KEYS: [&str; 17] = [
    "public",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "idempotency",
    "socket",
    "websocket",
    "row",
    "routing",
    "index",
    "group",
    "order",
    "surrogate",
    "hash",
    "range",
];

/// Words that make a `code` a secret; with other words (`country_code`, `status_code`), it is harmless.
const CODES: [&str; 20] = [
    "access",
    "activation",
    "auth",
    "authorization",
    "backup",
    "challenge",
    "device",
    "invite",
    "login",
    "mfa",
    "oauth",
    "otp",
    "pin",
    "recovery",
    "reset",
    "security",
    "sms",
    "user",
    "verification",
    "verifier",
];

/// Last words of names for values that describe a secret but are not secret: `token_type`, `password_policy`.
const ABOUT: [&str; 18] = [
    "algorithm",
    "alg",
    "count",
    "enabled",
    "endpoint",
    "expires",
    "expiry",
    "format",
    "length",
    "limit",
    "method",
    "policy",
    "required",
    "timeout",
    "ttl",
    "type",
    "uri",
    "url",
];

/// Returns `true` if the value of a header or of metadata with this name is a secret.
pub fn is_secret_header(name: &str, value: &str) -> bool {
    let name = name.trim();
    HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known)) || is_secret(name, value)
}

/// Returns `true` if `value` after this name is a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else { return false };
    if words.len() > 1 && ABOUT.contains(&last.as_str()) {
        return false;
    }
    let number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    words.iter().enumerate().any(|(place, word)| match word.as_str() {
        // A number of tokens, such as `max_tokens`.
        word if word.ends_with("tokens") && number => false,
        "key" => place == 0 || !HARMLESS_KEYS.contains(&words[place - 1].as_str()),
        "code" => words.len() == 1 || words.iter().any(|word| CODES.contains(&word.as_str())),
        word => WORDS.contains(&word) || ENDINGS.iter().any(|ending| word.ends_with(ending)) || word == "sessionid",
    })
}

/// Returns `true` for the name of a value that describes a secret but is not secret, if it is in an object with others:
/// `type`, `expires`.
pub fn describes_secret(name: &str) -> bool {
    words(name).last().is_some_and(|last| ABOUT.contains(&last.as_str()))
}

/// Returns `true` for names that are just as often used for harmless values, so that the value must decide.
pub fn is_doubtful(name: &str) -> bool {
    matches!(&words(name)[..], [word] if word == "code")
}

/// Splits a name into words in lower case, without trailing digits.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let chars: Vec<char> = name.chars().collect();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let (before, after) = (at.checked_sub(1).map(|at| chars[at]), chars.get(at + 1));
        if c == '%' && chars.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(char::is_ascii_hexdigit)) {
            words.push(String::new());
            at += 3;
            continue;
        }
        let hump = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase)
            });
        if hump {
            words.push(String::new());
        }
        match words.last_mut() {
            Some(word) if c.is_ascii_alphanumeric() => word.push(c.to_ascii_lowercase()),
            _ => words.push(String::new()),
        }
        at += 1;
    }
    let bare = |word: String| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    words.into_iter().map(bare).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in "token key secret pass pwd sig session code auth credential password api_key apiKey X-Api-Key \
            X-Amz-Signature X-Amz-Credential X-Amz-Security-Token auth_token id_token client-secret private_key sessionid \
            clientSecret accessToken refreshToken CSRFToken csrftoken user[password] auth%5Ftoken dbPassword password2 \
            JSESSIONID PHPSESSID connect.sid Ocp-Apim-Subscription-Key code_verifier authorization_code requirepass \
            client_assertion jwt X-Auth aws_secret_access_key otp DB_PASS"
            .split_whitespace()
        {
            assert!(is_secret(name, "x1"), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_them() {
        for name in "keyword keyboard monkey zipcode zip_code country_code countryCode status_code error-code author \
            authority passenger compass bypass passage assessment design signal sigma secretary tokenizer token_type \
            public_key primary_key Idempotency-Key Sec-WebSocket-Key session_timeout password_policy encode codec \
            significant x key_format"
            .split_whitespace()
        {
            assert!(!is_secret(name, "x1"), "{name}");
        }
        assert!(!is_secret("max_tokens", "100") && is_secret("tokens", "a1b2"));
    }

    #[test]
    fn headers_by_name() {
        for name in ["Authorization", "PROXY-AUTHORIZATION", "Cookie", "set-cookie", "X-Auth-Token"] {
            assert!(is_secret_header(name, "x"), "{name}");
        }
        for name in ["Accept", "Host", "Content-Type", ":authority", "Sec-WebSocket-Key"] {
            assert!(!is_secret_header(name, "x"), "{name}");
        }
    }
}
