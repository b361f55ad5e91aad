//! The pages, and the login of a browser: a link with a token is exchanged for a cookie, so that the token appears in
//! no history and no log afterwards. Links from other sites lead here with that cookie; requests of other sites that
//! change something are refused (`gate.rs`).

use std::sync::LazyLock;

use axum::Extension;
use axum::extract::{Form, Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;

use crate::access::{LoginRefusal, Role};
use crate::{App, gate};

/// A static file: path, media type and content.
type StaticFile = (&'static str, &'static str, fn() -> &'static [u8]);

/// Files besides the page: the style sheet of the login page, and what is loaded when something is to be started, a plan is
/// edited, or an experiment is looked at.
const FILES: [StaticFile; 4] = [
    ("door.css", "text/css; charset=utf-8", || include_bytes!("door.css")),
    ("editor.js", "text/javascript; charset=utf-8", || brunt_assets::EDITOR.as_bytes()),
    ("forms.js", "text/javascript; charset=utf-8", || brunt_assets::FORMS.as_bytes()),
    ("experiment.js", "text/javascript; charset=utf-8", || brunt_assets::EXPERIMENT_DRAWING.as_bytes()),
];

/// The page, which loads no other file than these scripts, and its content security policy: that of
/// its `meta` element, plus a ban on framing.
struct ConsolePage {
    html: String,
    policy: String,
}

static PAGE: LazyLock<ConsolePage> = LazyLock::new(|| {
    let mut html = Vec::new();
    // A page without placeholders is caught by a test.
    let _ = brunt_assets::fill(&brunt_assets::CONSOLE, "en", "brunt", &mut html, |_| Ok(()));
    let html = String::from_utf8_lossy(&html).into_owned();
    let own =
        html.split_once("http-equiv=\"Content-Security-Policy\" content=\"").and_then(|(_, rest)| rest.split_once('"'));
    let policy = format!("{}; frame-ancestors 'none'", own.map_or("default-src 'none'", |(policy, _)| policy));
    ConsolePage { html, policy }
});

fn page() -> Response {
    let mut response = Html(PAGE.html.as_str()).into_response();
    if let Ok(policy) = HeaderValue::from_str(&PAGE.policy) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// The query with a link's token.
#[derive(Deserialize, Default)]
pub struct LinkQuery {
    token: Option<String>,
}

/// The login form.
#[derive(Deserialize)]
pub struct LoginForm {
    #[serde(default)]
    token: String,
    password: Option<String>,
    #[serde(default)]
    place: String,
}

/// A request for a page: its link, its sender, and where it leads.
type PageRequest = (Query<LinkQuery>, Extension<Option<Role>>, Uri, HeaderMap);

/// `GET /`.
pub async fn index(State(app): State<App>, (link, role, uri, headers): PageRequest) -> Response {
    enter(&app, link.0, role.0, &uri, &headers)
}

/// Returns the page; a link with a token lets its sender in first.
fn enter(app: &App, link: LinkQuery, role: Option<Role>, uri: &Uri, headers: &HeaderMap) -> Response {
    match link.token {
        Some(token) => {
            let place = Place { path: without_token(uri), token: &token };
            log_in(app, &place, None, gate::is_cross_site(headers))
        }
        None if role.is_some() => page(),
        None => {
            let place = Place { path: without_token(uri), token: "" };
            login_page(app, StatusCode::UNAUTHORIZED, &place, None)
        }
    }
}

/// Where a login leads, and the token it was tried with.
struct Place<'a> {
    path: String,
    token: &'a str,
}

/// Returns the path and the query of a link without its token. It never leads to another site.
fn without_token(uri: &Uri) -> String {
    let rest =
        uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty() && !part.starts_with("token="));
    let rest = rest.collect::<Vec<_>>().join("&");
    let path = format!("/{}", uri.path().trim_start_matches(['/', '\\']));
    if rest.is_empty() { path } else { format!("{path}?{rest}") }
}

/// `POST /login`.
pub async fn login(State(app): State<App>, Form(typed): Form<LoginForm>) -> Response {
    let path = typed.place.parse::<Uri>().map_or_else(|_| "/".into(), |uri| without_token(&uri));
    log_in(&app, &Place { path, token: typed.token.trim() }, typed.password.as_deref(), false)
}

/// `POST /logout`.
pub async fn logout(State(app): State<App>) -> Response {
    let gone = format!("{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax", app.access.cookie());
    to_pages("/", &gone)
}

fn to_pages(place: &str, cookie: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let place = HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, place);
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Logs a browser in. `foreign` is set if a page of another site caused the attempt; its failures are not counted.
fn log_in(app: &App, place: &Place<'_>, password: Option<&str>, foreign: bool) -> Response {
    let token = place.token;
    let begun = if foreign { app.access.begin_uncounted(token) } else { app.access.begin(token, password) };
    match begun {
        Ok((id, _)) => {
            let secure = if app.names.uses_tls() { "; Secure" } else { "" };
            let cookie = format!("{}={id}; Path=/; HttpOnly; SameSite=Lax{secure}", app.access.cookie());
            to_pages(&place.path, &cookie)
        }
        Err(LoginRefusal::Password) => {
            let tried = password.map(|_| LoginRefusal::Password);
            login_page(app, StatusCode::UNAUTHORIZED, place, tried)
        }
        Err(why) => {
            let status = if why == LoginRefusal::TooManyAttempts {
                StatusCode::TOO_MANY_REQUESTS
            } else {
                StatusCode::UNAUTHORIZED
            };
            login_page(app, status, &Place { path: place.path.clone(), token: "" }, Some(why))
        }
    }
}

/// Returns the login page.
fn login_page(app: &App, status: StatusCode, place: &Place<'_>, why: Option<LoginRefusal>) -> Response {
    let said = match why {
        None => "",
        Some(LoginRefusal::Token) => "This token is no longer valid. 此令牌已失效。",
        Some(LoginRefusal::Password) => "Wrong password. 密码错误。",
        Some(LoginRefusal::TooManyAttempts) => "Too many wrong attempts; wait a minute. 错误次数过多，请等一分钟。",
    };
    // A token has only letters and digits; anything else is not echoed.
    let token: String = place.token.chars().filter(char::is_ascii_alphanumeric).collect();
    let password = match app.access.requires_password() {
        true => {
            "<label>Password 密码 <input type=password name=password autocomplete=current-password required></label>"
        }
        false => "",
    };
    let path = place.path.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let page = DOOR
        .replace("@@SAID@@", said)
        .replace("@@PLACE@@", &path)
        .replace("@@TOKEN@@", &token)
        .replace("@@PASSWORD@@", password);
    (status, Html(page)).into_response()
}

const DOOR: &str = include_str!("door.html");

/// `GET /…`: a path within the page, or a file.
pub async fn asset(
    State(app): State<App>,
    Path(path): Path<String>,
    (link, role, uri, headers): PageRequest,
) -> Response {
    if let Some((_, kind, bytes)) = FILES.iter().find(|(name, ..)| *name == path) {
        return ([(CONTENT_TYPE, *kind), (CACHE_CONTROL, "no-cache")], bytes()).into_response();
    }
    match path.contains('.') {
        true => (StatusCode::NOT_FOUND, "there is no such page").into_response(),
        false => enter(&app, link.0, role.0, &uri, &headers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_its_policy_is_its_own() {
        assert!(PAGE.html.contains("<title>brunt</title>") && !PAGE.html.contains("@@"));
        assert!(PAGE.policy.starts_with("default-src 'none'; script-src 'sha256-"), "{}", PAGE.policy);
        assert!(PAGE.policy.contains("connect-src 'self'") && PAGE.policy.ends_with("frame-ancestors 'none'"));
        for loading in [" src=\"", "<link", "@import", "url(http"] {
            assert!(!PAGE.html.contains(loading), "{loading}");
        }
    }

    #[test]
    fn a_link_leads_where_it_says_without_its_token_and_never_elsewhere() {
        for (link, place) in [
            ("/?token=abc", "/"),
            ("/runs/1-a?token=abc", "/runs/1-a"),
            ("/compare?runs=a,b&token=abc&lang=zh", "/compare?runs=a,b&lang=zh"),
            ("//evil.example/?token=abc", "/evil.example/"),
            ("/", "/"),
        ] {
            assert_eq!(without_token(&link.parse().unwrap()), place, "{link}");
        }
    }

    #[test]
    fn what_is_loaded_later_stands_beside_the_page_and_its_policy_allows_it() {
        let (_, kind, editor) = FILES.iter().find(|(name, ..)| *name == "editor.js").expect("the editor");
        assert_eq!((*kind, editor()), ("text/javascript; charset=utf-8", brunt_assets::EDITOR.as_bytes()));
        assert!(
            brunt_assets::EDITOR.contains("cm-content") && !PAGE.html.contains("cm-content"),
            "in one of them alone"
        );
        let forms = FILES.iter().find(|(name, ..)| *name == "forms.js").expect("the forms").2;
        assert_eq!(forms(), brunt_assets::FORMS.as_bytes());
        let drawing = FILES.iter().find(|(name, ..)| *name == "experiment.js").expect("the drawing of experiments").2;
        assert_eq!(drawing(), brunt_assets::EXPERIMENT_DRAWING.as_bytes());
        let scripts = PAGE.policy.split("; ").find(|part| part.starts_with("script-src ")).expect("scripts");
        assert_eq!(scripts.matches("'sha256-").count(), 4, "{scripts}");
        assert!(!scripts.contains("self") && !scripts.contains("unsafe"), "{scripts}");
        assert!(PAGE.html.len() < 400_000, "{} bytes", PAGE.html.len());
        assert!(brunt_assets::EDITOR.len() < 500_000, "{} bytes", brunt_assets::EDITOR.len());
    }
}
