//! The header lines of a curl command, in curl's order: its own, then the user's (`Curl_http` in lib/http.c).

use protocols::file;
use wire::Complaint;

use super::command::Asked;
use super::data;
use crate::draft::Note;

/// What curl calls itself where nobody says otherwise. A server may answer by it, so a command means it.
pub const AGENT: &str = "curl/8.14.1";

/// The lines of one request as they are put together.
#[derive(Debug, Default)]
pub struct Lines {
    own: Vec<String>,
    users: Vec<String>,
}

impl Lines {
    /// The user's lines (`-H`, also from a file); those curl would leave out are told in `notes`.
    ///
    /// # Errors
    /// A file that cannot be read, or a line that brunt cannot send.
    pub fn of_user(asked: &Asked, notes: &mut Vec<Note>, place: &str) -> Result<Lines, Complaint> {
        let mut users = Vec::new();
        for header in asked.all("header") {
            match header.strip_prefix('@') {
                Some(path) => {
                    data::readable("header", path, place)?;
                    let text = file::text("-H", path)
                        .map_err(|said| Complaint::new(place, format!("-H @{}", said.trouble)))?;
                    users.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
                }
                None => users.push(header.to_owned()),
            }
        }
        users.retain(|line| {
            let empty = || line.split_once(';').is_some_and(|(_, rest)| rest.trim().is_empty());
            let sent = if line.contains(':') { !line.starts_with(':') } else { empty() };
            if !sent {
                notes.push(format!("-H '{line}': is not a header; curl ignores it, and so does brunt").into());
            }
            sent
        });
        let mut lines = Lines { own: Vec::new(), users };
        // A Host of the user's own stands where the default one would.
        if let Some(at) = lines.users.iter().position(|line| name_of(line).eq_ignore_ascii_case("host")) {
            // curl writes its name anew.
            let host = lines.users.remove(at);
            lines.own.push(format!("Host{}", &host["Host".len()..]));
        }
        Ok(lines)
    }

    /// Returns `true` if the user says something about this header.
    pub fn said(&self, name: &str) -> bool {
        self.users.iter().any(|line| name_of(line).eq_ignore_ascii_case(name))
    }

    /// What the user says a header is.
    pub fn value(&self, name: &str) -> Option<&str> {
        let line = self.users.iter().find(|line| name_of(line).eq_ignore_ascii_case(name))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    /// The first line, unless the user has given it.
    pub fn host(&mut self, host: &str) {
        if self.own.is_empty() {
            self.own.push(format!("Host: {host}"));
        }
    }

    /// A line of curl's own, unless the user says something about it.
    pub fn own(&mut self, name: &str, value: &str) {
        if !self.said(name) {
            self.own.push(if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") });
        }
    }

    /// Keeps brunt from sending a line of its own that curl does not send.
    pub fn without(&mut self, name: &str) {
        if !self.said(name) {
            self.own.push(format!("{name}:"));
        }
    }

    /// A line behind the user's, unless there is one of its name.
    pub fn last(&mut self, name: &str, value: &str) {
        if !self.said(name) {
            self.users.push(format!("{name}: {value}"));
        }
    }

    /// All of them, in order.
    pub fn all(self) -> Vec<String> {
        [self.own, self.users].concat()
    }
}

/// `-A`, or curl's own name; `-A ''` sends none.
pub fn agent(lines: &mut Lines, asked: &Asked) {
    match asked.value("user-agent") {
        Some("") => lines.without("User-Agent"),
        agent => lines.own("User-Agent", agent.unwrap_or(AGENT)),
    }
}

fn name_of(line: &str) -> &str {
    line.split([':', ';']).next().unwrap_or_default()
}
