//! `INFO all` of Redis (and Valkey, KeyDB), over one connection: `name:value` lines, some with several values each.

use std::io::{self, ErrorKind};

use super::conversation::{Conversation, Place};
use super::{is_name, number, unescaped};
use probe::Sink;

/// What is a word and worth keeping.
const LABELS: [&str; 4] = ["redis_version", "role", "redis_mode", "maxmemory_policy"];

/// Where it is, and the connection to it.
#[derive(Debug)]
pub struct Redis {
    pub(super) place: Place,
    /// User and password, encoded as a command.
    login: Vec<u8>,
    talk: Option<Conversation>,
}

impl Redis {
    /// Reads `HOST`, `HOST:PORT` or `redis://[USER][:PASSWORD]@HOST:PORT`; `rediss://` is asked over TLS.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Redis, String> {
        let secured = text.strip_prefix("rediss://");
        let rest = secured.or_else(|| text.strip_prefix("redis://")).unwrap_or(text);
        if rest.contains("://") {
            return Err("its URL must start with redis:// or rediss://; write redis=HOST:PORT".to_owned());
        }
        let rest = rest.split('/').next().unwrap_or_default();
        let (who, place_of) = rest.rsplit_once('@').map_or((None, rest), |(who, place)| (Some(who), place));
        let place = Place::parse(place_of, 6379)?.over_tls(secured.is_some());
        Ok(Redis { place, login: who.map(login).unwrap_or_default(), talk: None })
    }

    /// `host:port`.
    pub fn authority(&self) -> String {
        self.place.authority()
    }

    /// The text of INFO as it is now. A connection that broke is made anew the next time.
    pub fn ask(&mut self) -> io::Result<String> {
        let fresh = self.talk.is_none();
        let mut talk = match self.talk.take() {
            Some(talk) => talk,
            None if self.place.is_over_tls() => self.place.open().and_then(|talk| self.place.seal(talk))?,
            None => self.place.open()?,
        };
        let mut question = if fresh { self.login.clone() } else { Vec::new() };
        question.extend(command(&[b"INFO", b"all"]));
        talk.say(&question)?;
        let mut heard = Vec::new();
        let login = usize::from(fresh && !self.login.is_empty());
        let text = loop {
            if !talk.more(&mut heard)? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(text) = answer(&heard, login)? {
                break text;
            }
        };
        self.talk = Some(talk);
        Ok(text)
    }
}

/// AUTH with what stands in front of the `@`: `user:password`, `:password`, `password`.
fn login(who: &str) -> Vec<u8> {
    let (user, password) = who.split_once(':').unwrap_or(("", who));
    let (user, password) = (unescaped(user), unescaped(password));
    if user.is_empty() { command(&[b"AUTH", &password]) } else { command(&[b"AUTH", &user, &password]) }
}

/// RESP: an array of bulk strings.
fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// The bulk string behind so many simple answers; None: not whole yet.
fn answer(heard: &[u8], before: usize) -> io::Result<Option<String>> {
    let mut rest = heard;
    for n in 0..=before {
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let (line, behind) = (&rest[..end], &rest[end + 2..]);
        let wrong = || {
            let said = String::from_utf8_lossy(line.strip_prefix(b"-").unwrap_or(line));
            let said: String = said.chars().take(200).collect();
            io::Error::new(ErrorKind::InvalidData, format!("it responded: {}", said.escape_debug()))
        };
        match line.first() {
            Some(b'+') if n < before => rest = behind,
            Some(b'$') if n == before => {
                let length = std::str::from_utf8(&line[1..]).ok().and_then(|text| text.parse::<usize>().ok());
                let length = length.ok_or_else(wrong)?;
                let text = behind.get(..length).map(|text| String::from_utf8_lossy(text).into_owned());
                return Ok(text);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(None)
}

/// Puts every number under `redis.` and its name as Redis spells it; those of a command under `redis.cmdstat_get.calls`. False
/// where there is none.
pub fn parse(text: &str, sink: &mut Sink) -> bool {
    let before = sink.count();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, value)) = line.split_once(':').filter(|(name, _)| is_name(name)) else { continue };
        if LABELS.contains(&name) {
            sink.label(&["redis", name], value);
        } else if let Some(number) = number(value) {
            sink.put_number(&["redis", name], number);
        } else {
            for (part, value) in value.split(',').filter_map(|part| part.split_once('=')) {
                if let Some(number) = number(value).filter(|_| is_name(part)) {
                    sink.put_number(&["redis", name, part], number);
                }
            }
        }
    }
    sink.count() > before
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;
    use record::Number;

    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nos:Linux x86\r\n\r\n# CPU\r\nused_cpu_user:1.500000\r\n\
        used_cpu_sys_main_thread:0.25\r\n# Commandstats\r\ncmdstat_get:calls=3,usec=9,usec_per_call=3.00,rejected_calls=0\r\n\
        cmdstat_config|get:calls=1,usec=2\r\ndb0:keys=7,expires=0,avg_ttl=0\r\nmem_fragmentation_ratio:-nan\r\n";

    #[test]
    fn numbers_and_the_parts_of_commands() {
        let mut sink = Sink::default();
        assert!(parse(INFO, &mut sink));
        let told = sink.take(Nanos::ZERO);
        assert_eq!(told.values[&*"redis.used_cpu_user".to_owned()], Number::Real(1.5));
        assert_eq!(told.get("redis.cmdstat_get.calls"), Some(3));
        assert_eq!(told.get("redis.cmdstat_config|get.usec"), Some(2));
        assert_eq!((told.get("redis.db0.keys"), told.label("redis.redis_version")), (Some(7), Some("7.0.15")));
        assert!(!told.values.contains_key("redis.mem_fragmentation_ratio") && !told.values.contains_key("redis.os"));
        assert!(!parse("", &mut Sink::default()));
    }

    #[test]
    fn an_answer_in_pieces_and_an_error() {
        let whole = b"+OK\r\n$5\r\nmax:1\r\n";
        for cut in 0..whole.len() - 2 {
            assert!(answer(&whole[..cut], 1).unwrap().is_none(), "{cut}");
        }
        assert_eq!(answer(whole, 1).unwrap().as_deref(), Some("max:1"));
        for (heard, before) in [(&b"-NOAUTH Authentication required.\r\n"[..], 0), (b"-WRONGPASS no\x1b\r\n$1\r\na", 1)]
        {
            let said = answer(heard, before).unwrap_err().to_string();
            assert!(said.starts_with("it responded: ") && !said.contains('\x1b'), "{said}");
        }
        for hostile in [&b"$99999999999999999999\r\n"[..], b"$-1\r\n", b"*0\r\n", b"\r\n"] {
            assert!(answer(hostile, 0).is_err());
        }
    }

    #[test]
    fn passwords_with_escapes() {
        assert_eq!(unescaped("a%40b%zz%4"), b"a@b%zz%4");
        assert_eq!(login("me:p"), b"*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$1\r\np\r\n");
    }
}
