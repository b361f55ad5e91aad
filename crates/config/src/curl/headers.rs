//! The header lines of a curl command, in curl's order: curl's own, then the user's (`Curl_http` in lib/http.c).

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_protocols::file;

use super::command::CurlOptions;
use super::data;
use crate::draft::CurlNote;

/// The default User-Agent of curl. Servers may respond differently to it, so it is part of a command's meaning.
pub const AGENT: &str = "curl/8.14.1";

/// The header lines collected for one request.
#[derive(Debug, Default)]
pub struct HeaderLines {
    own: Vec<String>,
    users: Vec<String>,
}

impl HeaderLines {
    /// Collects the user's lines (`-H`, including those in files); adds a note for each line that curl would ignore.
    ///
    /// # Errors
    /// A file cannot be read, or brunt cannot send a line.
    pub fn from_user(options: &CurlOptions, notes: &mut Vec<CurlNote>, place: &str) -> Result<HeaderLines, UsageError> {
        let mut users = Vec::new();
        for header in options.all("header") {
            match header.strip_prefix('@') {
                Some(path) => {
                    data::readable("header", path, place)?;
                    let text = file::text("-H", path)
                        .map_err(|said| UsageError::new(place, said.problem.map(|text| format!("-H @{text}"))))?;
                    users.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
                }
                None => users.push(header.to_owned()),
            }
        }
        users.retain(|line| {
            let empty = || line.split_once(';').is_some_and(|(_, rest)| rest.trim().is_empty());
            let sent = if line.contains(':') { !line.starts_with(':') } else { empty() };
            if !sent {
                notes.push(
                    complaint!(
                        "-H '{line}': is not a header; curl ignores it, and so does brunt",
                        "-H '{line}'：不是头部；curl 会忽略它，brunt 也一样"
                    )
                    .into(),
                );
            }
            sent
        });
        let mut lines = HeaderLines { own: Vec::new(), users };
        // The user's Host header takes the position of the default one.
        if let Some(at) = lines.users.iter().position(|line| name_of(line).eq_ignore_ascii_case("host")) {
            // curl writes the name as `Host`.
            let host = lines.users.remove(at);
            lines.own.push(format!("Host{}", &host["Host".len()..]));
        }
        Ok(lines)
    }

    /// Returns `true` if the user sets or removes this header.
    pub fn has_user_line(&self, name: &str) -> bool {
        self.users.iter().any(|line| name_of(line).eq_ignore_ascii_case(name))
    }

    /// Returns the user's value of a header.
    pub fn value(&self, name: &str) -> Option<&str> {
        let line = self.users.iter().find(|line| name_of(line).eq_ignore_ascii_case(name))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    /// Adds the Host line at the front, unless the user has set it.
    pub fn host(&mut self, host: &str) {
        if self.own.is_empty() {
            self.own.push(format!("Host: {host}"));
        }
    }

    /// Adds a default line of curl, unless the user sets or removes this header.
    pub fn add_default(&mut self, name: &str, value: &str) {
        if !self.has_user_line(name) {
            self.own.push(if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") });
        }
    }

    /// Suppresses a default line of brunt that curl does not send.
    pub fn suppress(&mut self, name: &str) {
        if !self.has_user_line(name) {
            self.own.push(format!("{name}:"));
        }
    }

    /// Adds a line after the user's, unless the user sets or removes this header.
    pub fn add_last(&mut self, name: &str, value: &str) {
        if !self.has_user_line(name) {
            self.users.push(format!("{name}: {value}"));
        }
    }

    /// Returns all lines in order.
    pub fn all(self) -> Vec<String> {
        [self.own, self.users].concat()
    }
}

/// Adds the User-Agent of `-A`, or the default; `-A ''` sends none.
pub fn agent(lines: &mut HeaderLines, options: &CurlOptions) {
    match options.value("user-agent") {
        Some("") => lines.suppress("User-Agent"),
        agent => lines.add_default("User-Agent", agent.unwrap_or(AGENT)),
    }
}

fn name_of(line: &str) -> &str {
    line.split([':', ';']).next().unwrap_or_default()
}
