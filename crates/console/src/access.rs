//! Access control: two tokens, one to control and one to view, an optional password, and the sessions of browsers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use serde::{Deserialize, Serialize};

use crate::kept_links::KeptLinks;

/// The permissions of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May watch runs and read reports.
    View,
    /// May also start, control, stop, edit and delete runs.
    Control,
}

impl Role {
    /// Returns the name used in the API.
    pub fn name(self) -> &'static str {
        match self {
            Role::View => "look",
            Role::Control => "steer",
        }
    }
}

/// The kind of credentials of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// A cookie, which browsers send automatically.
    Cookie,
    /// A header, which browsers never send on their own.
    Header,
}

/// The reason why a login is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginRefusal {
    /// The token is wrong.
    Token,
    /// The password is missing or wrong.
    Password,
    /// Too many attempts.
    TooManyAttempts,
}

/// Maximum number of sessions; a new one replaces the oldest.
const MOST_SESSIONS: usize = 1000;
/// Maximum number of failed attempts per minute.
const TRIES: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// Tokens, password and sessions.
pub struct Access {
    links: Mutex<KeptLinks>,
    steer: String,
    look: String,
    password: Option<String>,
    cookie: String,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    roles: HashMap<String, Role>,
    order: VecDeque<String>,
    /// Failed attempts with their time: wrong passwords by the role of the token, and wrong tokens.
    failures: VecDeque<(Option<Role>, Instant)>,
}

impl Access {
    /// Creates new tokens that nothing keeps.
    ///
    /// # Errors
    /// Returns an error if the system provides no random bits.
    #[cfg(test)]
    pub fn new(password: Option<String>, port: u16) -> Result<Access, String> {
        Ok(Access::of(KeptLinks::new()?, password, port))
    }

    /// Continues with these tokens and sessions. Browsers share cookies between ports, so the name of the cookie
    /// contains the port.
    pub fn of(mut links: KeptLinks, password: Option<String>, port: u16) -> Access {
        let (steer, look) = (links.steer.clone(), links.look.clone());
        let kept = std::mem::take(&mut links.sessions);
        let roles: HashMap<String, Role> = kept.into_iter().filter(|_| password.is_none()).collect();
        let sessions = Sessions { order: roles.keys().cloned().collect(), roles, ..Sessions::default() };
        let (links, sessions) = (Mutex::new(links), Mutex::new(sessions));
        Access { links, steer, look, password, cookie: format!("brunt-{port}"), sessions }
    }

    /// Keeps the sessions for the next start, unless a password is required.
    fn keep(&self, roles: &HashMap<String, Role>) {
        if self.requires_password() {
            return;
        }
        let mut links = self.links.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        links.sessions = roles.iter().map(|(id, role)| (id.clone(), *role)).collect();
        // A session that cannot be kept ends with the console.
        let _ = links.save();
    }

    /// Returns the token of a role.
    pub fn token(&self, role: Role) -> &str {
        match role {
            Role::Control => &self.steer,
            Role::View => &self.look,
        }
    }

    /// Returns `true` if a password is required.
    pub fn requires_password(&self) -> bool {
        self.password.is_some()
    }

    /// Returns the name of the cookie.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Begins a session; returns the value of its cookie and its role.
    ///
    /// # Errors
    /// Returns the reason for the refusal.
    pub fn begin(&self, token: &str, password: Option<&str>) -> Result<(String, Role), LoginRefusal> {
        let role = self.check_credentials(token, password)?;
        self.session_of(role)
    }

    /// Begins a session with a link alone, without counting failures.
    ///
    /// # Errors
    /// Returns the reason for the refusal.
    pub fn begin_uncounted(&self, token: &str) -> Result<(String, Role), LoginRefusal> {
        let role = self.role_of(token).ok_or(LoginRefusal::Token)?;
        if self.requires_password() { Err(LoginRefusal::Password) } else { self.session_of(role) }
    }

    fn session_of(&self, role: Role) -> Result<(String, Role), LoginRefusal> {
        let id = random().map_err(|_| LoginRefusal::TooManyAttempts)?;
        let mut sessions = self.sessions();
        while sessions.order.len() >= MOST_SESSIONS {
            let oldest = sessions.order.pop_front().unwrap_or_default();
            sessions.roles.remove(&oldest);
        }
        sessions.order.push_back(id.clone());
        sessions.roles.insert(id.clone(), role);
        self.keep(&sessions.roles);
        Ok((id, role))
    }

    /// Checks token and password and counts failures. A token has 128 bits: the right one is accepted after any number
    /// of wrong ones, so that nobody can lock others out. A password has fewer, and is checked only with a valid token:
    /// the attempts are limited per token.
    fn check_credentials(&self, token: &str, password: Option<&str>) -> Result<Role, LoginRefusal> {
        let Some(role) = self.role_of(token) else { return Err(self.record_failure(None, LoginRefusal::Token)) };
        let Some(right) = &self.password else { return Ok(role) };
        let Some(password) = password else { return Err(LoginRefusal::Password) };
        if self.recent_failures(Some(role)) >= TRIES {
            return Err(LoginRefusal::TooManyAttempts);
        }
        if constant_time_eq(password, right) {
            Ok(role)
        } else {
            Err(self.record_failure(Some(role), LoginRefusal::Password))
        }
    }

    fn role_of(&self, token: &str) -> Option<Role> {
        [Role::Control, Role::View].into_iter().find(|role| constant_time_eq(token, self.token(*role)))
    }

    /// Records a failed attempt, with a wrong token or with a valid token and a wrong password; returns the reason for
    /// the refusal.
    fn record_failure(&self, of: Option<Role>, why: LoginRefusal) -> LoginRefusal {
        if self.recent_failures(of) >= TRIES {
            return LoginRefusal::TooManyAttempts;
        }
        self.sessions().failures.push_back((of, Instant::now()));
        why
    }

    /// Returns the number of failed attempts in the last minute.
    fn recent_failures(&self, of: Option<Role>) -> usize {
        let (mut sessions, now) = (self.sessions(), Instant::now());
        while sessions.failures.front().is_some_and(|(_, at)| now.duration_since(*at) > MINUTE) {
            sessions.failures.pop_front();
        }
        sessions.failures.iter().filter(|(by, _)| *by == of).count()
    }

    /// Returns the role and credentials of a request with these headers.
    ///
    /// # Errors
    /// Returns an error if the credentials are wrong.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Option<(Role, CredentialKind)>, LoginRefusal> {
        if let Some(value) = headers.get(AUTHORIZATION) {
            let value = value.to_str().unwrap_or_default();
            let token = value.strip_prefix("Bearer ").ok_or(LoginRefusal::Token)?;
            // A required password follows the token after a colon, which a token never contains.
            let (token, password) = token.split_once(':').map_or((token, None), |(token, word)| (token, Some(word)));
            return self.check_credentials(token, password).map(|role| Some((role, CredentialKind::Header)));
        }
        let named = |text: &str| {
            text.trim().split_once('=').filter(|(name, _)| *name == self.cookie).map(|(_, id)| id.to_owned())
        };
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let ids: Vec<String> = cookies.flat_map(|text| text.split(';').filter_map(named)).collect();
        let sessions = self.sessions();
        Ok(ids.iter().find_map(|id| sessions.roles.get(id)).map(|role| (*role, CredentialKind::Cookie)))
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Returns 128 random bits in hex.
pub fn random() -> Result<String, String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| format!("the system provides no random bits ({error})"))?;
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares two strings in constant time.
fn constant_time_eq(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    std::hint::black_box(differ) == 0 && a.len() == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn a_session_may_what_its_token_may() {
        let access = Access::new(None, 8080).unwrap();
        for role in [Role::Control, Role::View] {
            let (id, begun) = access.begin(access.token(role), None).unwrap();
            assert_eq!(begun, role);
            let cookie = headers("cookie", &format!("other=1; brunt-8080={id}"));
            assert_eq!(access.authenticate(&cookie), Ok(Some((role, CredentialKind::Cookie))));
            let header = headers("authorization", &format!("Bearer {}", access.token(role)));
            assert_eq!(access.authenticate(&header), Ok(Some((role, CredentialKind::Header))));
            assert_eq!(
                access.authenticate(&headers("cookie", &format!("brunt-8081={id}"))),
                Ok(None),
                "another console's"
            );
        }
        assert_eq!(access.authenticate(&HeaderMap::new()), Ok(None));
        assert_eq!(access.authenticate(&headers("cookie", "brunt-8080=")), Ok(None));
        assert_eq!(access.authenticate(&headers("authorization", "Basic YTpi")), Err(LoginRefusal::Token));
        assert_ne!(access.token(Role::Control), access.token(Role::View));
    }

    #[test]
    fn wrong_tokens_are_soon_not_even_looked_at_and_the_right_one_is() {
        let access = Access::new(None, 1).unwrap();
        (0..2 * TRIES).for_each(|_| assert_eq!(access.begin_uncounted("wrong"), Err(LoginRefusal::Token)));
        for _ in 0..TRIES {
            assert_eq!(access.begin("wrong", None), Err(LoginRefusal::Token));
        }
        assert_eq!(access.begin("wrong", None), Err(LoginRefusal::TooManyAttempts));
        let right = access.token(Role::Control).to_owned();
        assert!(access.begin(&right, None).is_ok() && access.begin_uncounted(&right).is_ok());
        let header = headers("authorization", &format!("Bearer {right}"));
        assert_eq!(access.authenticate(&header), Ok(Some((Role::Control, CredentialKind::Header))));
    }

    #[test]
    fn a_password_is_tried_so_often_only_by_those_of_one_token() {
        let access = Access::new(Some("open sesame".into()), 1).unwrap();
        let [steer, look] = [Role::Control, Role::View].map(|role| access.token(role).to_owned());
        (0..2 * TRIES).for_each(|_| assert!(access.begin("wrong", Some("open sesame")).is_err()));
        (0..TRIES).for_each(|_| assert_eq!(access.begin(&look, Some("x")), Err(LoginRefusal::Password)));
        assert_eq!(access.begin(&look, Some("open sesame")), Err(LoginRefusal::TooManyAttempts));
        assert!(access.begin(&steer, Some("open sesame")).is_ok());
        assert_eq!(access.begin_uncounted(&steer), Err(LoginRefusal::Password), "a link is not enough");
    }

    #[test]
    fn a_password_is_asked_for_beside_the_token() {
        let access = Access::new(Some("open sesame".into()), 1).unwrap();
        let token = access.token(Role::View).to_owned();
        // A link alone is not a failed attempt: it leads to the password prompt.
        (0..2 * TRIES).for_each(|_| assert_eq!(access.begin(&token, None), Err(LoginRefusal::Password)));
        assert_eq!(access.begin(&token, Some("open")), Err(LoginRefusal::Password));
        assert!(access.begin(&token, Some("open sesame")).is_ok());
        let bearer = |text: String| access.authenticate(&headers("authorization", &text));
        assert_eq!(bearer(format!("Bearer {token}")), Err(LoginRefusal::Password));
        assert_eq!(bearer(format!("Bearer {token}:open sesame")), Ok(Some((Role::View, CredentialKind::Header))));
    }

    #[test]
    fn sessions_outlast_the_console_unless_a_password_is_required() {
        let library = tempfile::tempdir().unwrap();
        let opened = |password: Option<&str>| {
            Access::of(KeptLinks::open(library.path(), false).unwrap(), password.map(String::from), 1)
        };
        let first = opened(None);
        let id = first.begin_uncounted(first.token(Role::View)).unwrap().0;
        let cookie = headers("cookie", &format!("brunt-1={id}"));
        assert_eq!(opened(None).authenticate(&cookie), Ok(Some((Role::View, CredentialKind::Cookie))));
        assert_eq!(opened(Some("word")).authenticate(&cookie), Ok(None));
    }

    #[test]
    fn sessions_make_room_for_each_other() {
        let access = Access::new(None, 1).unwrap();
        let token = access.token(Role::View).to_owned();
        let first = access.begin(&token, None).unwrap().0;
        (0..MOST_SESSIONS).for_each(|_| drop(access.begin(&token, None).unwrap()));
        assert_eq!(access.authenticate(&headers("cookie", &format!("brunt-1={first}"))), Ok(None));
        assert_eq!(access.sessions().roles.len(), MOST_SESSIONS);
    }
}
