//! Parsing of the URLs of databases given to `--watch`: user, address, and database name.

use brunt_cause::{Complaint, complaint};
use brunt_contract::Protocol;

use crate::client::{ServerProtocol, WatchClient};
use crate::service_address::ServiceAddress;
use crate::{escape, unescape};

/// A kind of database.
pub struct DatabaseKind {
    pub server_protocol: ServerProtocol,
    pub protocol: &'static dyn Protocol,
    /// Accepted schemes in front of `://`.
    pub schemes: &'static [&'static str],
    /// Default port.
    pub port: u16,
    /// Set if the statistics are those of a single database, whose name defaults to that of the user.
    pub needs_database: bool,
    /// Example of an accepted form, in English and in Chinese.
    pub example: [&'static str; 2],
}

impl DatabaseKind {
    /// Parses `SCHEME://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?ssl]` into a client of these statements; the
    /// scheme may be left out.
    ///
    /// # Errors
    ///
    /// Returns a message that says what is wrong with the text.
    pub fn client(&self, text: &str, statements: &[&str]) -> Result<WatchClient, Complaint> {
        let wrong = |trouble: Complaint| {
            let (zh, [right, right_zh]) = (trouble.zh(), self.example);
            complaint!("{trouble}; {right}", "{zh}；{right_zh}")
        };
        let scheme = self.schemes[0];
        let rest = match text.split_once("://") {
            Some((before, rest)) if self.schemes.contains(&before) => rest,
            Some(_) => {
                return Err(wrong(complaint!("its URL must start with {scheme}://", "其 URL 必须以 {scheme}:// 开头")));
            }
            None => text,
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let tls = asks_for_tls(query).map_err(wrong)?;
        let (rest, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = rest.rsplit_once('@').ok_or_else(|| wrong(complaint!("it has no user", "缺少用户名")))?;
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let [user, password, database] = [user, password, database].map(unescape);
        if user.is_empty() {
            return Err(wrong(complaint!("it has no user", "缺少用户名")));
        }
        // In the protocol, each of them ends with a zero byte.
        if [&user, &password, &database].iter().any(|text| text.contains(&0)) {
            return Err(wrong(complaint!(
                "it has a zero byte (%00) in a name or the password",
                "名称或密码中有零字节（%00）"
            )));
        }
        let place = ServiceAddress::parse(place, self.port)?.over_tls(tls);
        let before = format!("{scheme}://{}:{}@", escape(&user), escape(&password));
        let mut options = vec![("sql", statements.iter().map(|text| (*text).to_owned()).collect())];
        options.extend(tls.then(|| ("ssl", vec![String::new()])));
        if !self.needs_database {
            return WatchClient::new(self.server_protocol, self.protocol, place, (&before, ""), options);
        }
        let database = if database.is_empty() { user } else { database };
        let behind = format!("/{}", escape(&database));
        let mut client = WatchClient::new(self.server_protocol, self.protocol, place, (&before, &behind), options)?;
        client.name = format!("{}/{}", client.name, brunt_measure::sanitize::line(&String::from_utf8_lossy(&database)));
        Ok(client)
    }
}

/// Returns `true` if the query of a database URL asks for TLS, by `ssl` or in the syntax of the databases' own
/// clients.
fn asks_for_tls(query: &str) -> Result<bool, Complaint> {
    let mut tls = false;
    for word in query.split('&').filter(|word| !word.is_empty()) {
        let (name, value) = word.split_once('=').unwrap_or((word, "require"));
        let value = value.to_ascii_lowercase().replace('_', "-");
        tls = match (name, &*value) {
            ("ssl" | "sslmode" | "ssl-mode" | "tls", "require" | "required" | "true") => true,
            ("sslmode" | "ssl-mode", "verify-ca" | "verify-full" | "verify-identity") => true,
            ("ssl" | "sslmode" | "ssl-mode" | "tls", "disable" | "disabled" | "false") => false,
            _ => return Err(complaint!("`?{word}` is not supported", "不支持 `?{word}`")),
        };
    }
    Ok(tls)
}
