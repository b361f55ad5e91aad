//! The settings of `brunt ui`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_net::tls::RustlsServer;
use brunt_report::Lang;

use super::setting::{SettingSpec, TypedSetting, many, message, one, settings, switch, text};
use super::values::SettingValues;
use super::{command_line, help, probe_settings, settings};

/// Default address; port 0 stands for that of last time, or a free one.
const LISTEN: &str = "127.0.0.1:0";

/// Environment variable that contains the password.
const PASSWORD: &str = "BRUNT_UI_PASSWORD";

/// Minimum length of the password, the only protection against others on the network who could send load.
const SHORTEST: usize = 8;

/// The settings of the console.
pub struct UiSettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Host names under which the console is reachable, in addition to its addresses.
    pub names: Vec<String>,
    /// Password required in addition to the link.
    pub password: Option<String>,
    /// TLS configuration; `None` for plain HTTP.
    pub tls: Option<RustlsServer>,
    /// Directory of the library; `None` for the default one.
    pub library: Option<PathBuf>,
    /// The fleet: a directory, or the URL of a NATS server; `None` for the usual directory.
    pub fleet: Option<String>,
    /// Set to make new links, so that earlier ones no longer work.
    pub new_links: bool,
    /// Set to open a browser.
    pub open: bool,
    /// Language; `None` for that of the locale.
    pub language: Option<Lang>,
}

impl std::fmt::Debug for UiSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password must not appear in debug output.
        f.debug_struct("Ui").field("listen", &self.listen).field("library", &self.library).finish_non_exhaustive()
    }
}

settings! { SETTINGS {
    LISTEN_AT: SocketAddr = one(
        "listen", "ADDRESS", address,
        "Where to listen; beyond this machine a password and a certificate are needed [default: 127.0.0.1 and the port of last time]", "监听地址；供其他机器访问时需要密码和证书 [默认：127.0.0.1 和上次的端口]",
    );
    NO_OPEN: () = switch("no-open", "Print the link without opening a browser", "只显示链接，不打开浏览器");
    NEW_LINKS: () = switch("new-links", "Make new links; earlier ones and open sessions no longer work", "生成新链接；之前的链接和已打开的会话失效");
    LIBRARY: String = one("library", "DIR", text, "Keep runs in DIR [default: $XDG_STATE_HOME/brunt/library]", "把压测保存在 DIR [默认：$XDG_STATE_HOME/brunt/library]");
    FLEET: String = one("fleet", "DIR|nats://HOST", text, "The fleet whose agents it shows and uses [default: $XDG_CONFIG_HOME/brunt/fleet]", "所显示和使用的施压机的机群 [默认：$XDG_CONFIG_HOME/brunt/fleet]");
    PASSWORD_FILE: String =
        one("password-file", "FILE", text, "The password is the first line of FILE [default: $BRUNT_UI_PASSWORD]", "密码为 FILE 的第一行 [默认：$BRUNT_UI_PASSWORD]");
    CERT: String = probe_settings::CERT;
    KEY: String = probe_settings::KEY;
    NAME: String =
        many("name", "HOST", text, "Another host name the console is reached by, besides this machine's; repeatable", "除本机名称外，访问控制台所用的另一个主机名；可重复");
    LANG: Lang = settings::LANG;
} }

/// Returns the command line of `brunt ui`.
pub fn command(lang: Lang) -> clap::Command {
    command_line::bare("brunt ui", lang)
        .about(lang.of(message(
            "The console in the browser: browse, start, watch, control and compare runs.",
            "浏览器中的控制台：查看、启动、监视、控制和比较压测。",
        )))
        .after_help(lang.of(help::UI))
        .args(command_line::args(SETTINGS, lang))
}

/// Reads the settings of `brunt ui`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(values: &SettingValues) -> Result<UiSettings, UsageError> {
    let listen = match values.get(&LISTEN_AT)? {
        Some(listen) => listen,
        None => address(LISTEN).map_err(|trouble| values.wrong(&LISTEN_AT, trouble))?,
    };
    let (password, tls) = (password(values)?, probe_settings::tls(values)?);
    if !listen.ip().to_canonical().is_loopback() && (password.is_none() || tls.is_none()) {
        let missing = match (&password, &tls) {
            (None, None) => "--password-file FILE, --cert FILE and --key FILE",
            (None, _) => "--password-file FILE",
            _ => "--cert FILE and --key FILE",
        };
        let trouble = complaint!(
            "{listen} can be reached from other machines, and anyone could send load from here: add {missing}, or \
                listen on 127.0.0.1 and use an SSH tunnel",
            "其他机器可访问 {listen}，任何人都能从这里发起压测：请加 {missing}，或监听 127.0.0.1 并使用 SSH 隧道"
        );
        return Err(values.wrong(&LISTEN_AT, trouble));
    }
    Ok(UiSettings {
        listen,
        names: values.each(&NAME)?,
        password,
        tls,
        library: values.text(&LIBRARY).map(PathBuf::from),
        fleet: values.text(&FLEET).map(str::to_owned),
        new_links: values.has(&NEW_LINKS),
        open: !values.has(&NO_OPEN),
        language: values.get(&LANG)?,
    })
}

fn address(text: &str) -> Result<SocketAddr, Complaint> {
    let port = text.parse::<u16>().map(|port| format!("127.0.0.1:{port}"));
    let whole = match port {
        Ok(local) => local,
        Err(_) if text.starts_with(':') => format!("0.0.0.0{text}"),
        Err(_) => text.to_owned(),
    };
    let found = whole.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| {
        complaint!(
            "`{text}` is not an address to listen on; use one such as 127.0.0.1:8089 or 8089",
            "`{text}` 不是可监听的地址；请写，例如 127.0.0.1:8089 或 8089"
        )
    })
}

fn password(values: &SettingValues) -> Result<Option<String>, UsageError> {
    let (option, password) = match values.text(&PASSWORD_FILE) {
        Some(file) => {
            let wrong = |trouble: Complaint| values.wrong(&PASSWORD_FILE, trouble);
            let text = brunt_protocols::file::read_bounded("--password-file", file, 1 << 16).map_err(&wrong)?;
            let text = String::from_utf8(text)
                .map_err(|_| wrong(complaint!("{file} is not text (UTF-8)", "{file} 不是文本（UTF-8）")))?;
            ("--password-file", Some(text.lines().next().unwrap_or_default().trim().to_owned()))
        }
        None => (PASSWORD, std::env::var(PASSWORD).ok()),
    };
    match password {
        Some(password) if password.chars().count() < SHORTEST => Err(UsageError::new(
            option,
            complaint!(
                "is shorter than {SHORTEST} characters; choose one that is hard to guess",
                "少于 {SHORTEST} 个字符；请选用难以猜到的密码"
            ),
        )),
        password => Ok(password),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Result<UiSettings, String> {
        let words = std::iter::once("").chain(words.split_whitespace());
        let matches = command(Lang::En).try_get_matches_from(words).map_err(|error| error.to_string())?;
        read(&command_line::values(&matches, SETTINGS.iter().map(|spec| spec.name)))
            .map_err(|complaint| complaint.to_string())
    }

    #[test]
    fn beyond_loopback_a_password_and_tls_are_asked_for() {
        for listen in ["0.0.0.0:8089", ":8089", "[::]:8089", "10.0.0.7:1"] {
            let said = asked(&format!("--listen {listen}")).unwrap_err();
            assert!(
                said.starts_with("--listen: ") && said.contains("add --password-file FILE, --cert FILE and --key FILE"),
                "{said}"
            );
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "open sesame\nnot this\n").unwrap();
        let said = asked(&format!("--listen :1 --password-file {}", file.path().display())).unwrap_err();
        assert!(said.contains("add --cert FILE and --key FILE"), "{said}");
        let local = asked(&format!("--listen 8089 --password-file {}", file.path().display())).unwrap();
        assert_eq!(
            (local.listen.to_string(), local.password.as_deref()),
            ("127.0.0.1:8089".into(), Some("open sesame"))
        );
        assert!(!format!("{local:?}").contains("sesame"));
    }

    #[test]
    fn mistakes_name_their_option() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "short\n").unwrap();
        let said = asked(&format!("--password-file {}", file.path().display())).unwrap_err();
        assert_eq!(said, "--password-file: is shorter than 8 characters; choose one that is hard to guess");
        assert!(
            asked("--listen nowhere").unwrap_err().starts_with("--listen: `nowhere` is not an address to listen on")
        );
        assert!(asked("--cert c.pem").unwrap_err().starts_with("--cert: needs its private key"));
        assert!(asked("--lang de").unwrap_err().starts_with("--lang: "));
        assert!(asked("").unwrap().open && !asked("--no-open").unwrap().open);
    }
}
