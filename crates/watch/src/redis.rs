//! `INFO all` of Redis (and Valkey, KeyDB), over one connection: `name:value` lines, some with several values each.

use brunt_cause::{Complaint, complaint};
use brunt_counters::CounterSink;

use super::client::{ServerProtocol, WatchClient, server_error};
use super::service_address::ServiceAddress;
use super::{escape, is_name, number, unescape};

/// Non-numeric values that are kept.
const LABELS: [&str; 4] = ["redis_version", "role", "redis_mode", "maxmemory_policy"];

/// Redis gives the reason for a refusal in one line, which sessions keep verbatim.
const TONGUE: ServerProtocol = ServerProtocol {
    name: "Redis",
    refusal: |kept, _| Some(server_error((b"", kept.strip_prefix(b"-")?.trim_ascii_end()))),
};

/// Parses `HOST`, `HOST:PORT` or `redis://[USER][:PASSWORD]@HOST:PORT`; `rediss://` is queried over TLS.
///
/// # Errors
///
/// Returns a message that says what is wrong with the text.
pub fn client(text: &str) -> Result<WatchClient, Complaint> {
    let secured = text.strip_prefix("rediss://");
    let rest = secured.or_else(|| text.strip_prefix("redis://")).unwrap_or(text);
    if rest.contains("://") {
        return Err(complaint!(
            "its URL must start with redis:// or rediss://; write redis=HOST:PORT",
            "其 URL 必须以 redis:// 或 rediss:// 开头；请写 redis=HOST:PORT"
        ));
    }
    let rest = rest.split('/').next().unwrap_or_default();
    let (who, place_of) = rest.rsplit_once('@').map_or((None, rest), |(who, place)| (Some(who), place));
    let place = ServiceAddress::parse(place_of, 6379)?.over_tls(secured.is_some());
    let scheme = if secured.is_some() { "rediss" } else { "redis" };
    let before = format!("{scheme}://{}", who.map(login).unwrap_or_default());
    let options = vec![("command", vec!["INFO all".to_owned()])];
    WatchClient::new(TONGUE, &brunt_protocols::redis::RedisProtocol, place, (&before, ""), options)
}

/// Returns the part of a URL in front of the address, given `user:password`, `:password` or `password`.
fn login(who: &str) -> String {
    let (user, password) = who.split_once(':').unwrap_or(("", who));
    format!("{}:{}@", escape(&unescape(user)), escape(&unescape(password)))
}

/// Adds every number under `redis.` and its name as Redis spells it; those of a command under names such as
/// `redis.cmdstat_get.calls`. Returns `false` if there are none.
pub fn parse(text: &str, sink: &mut CounterSink) -> bool {
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
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use brunt_measure::Nanos;
    use brunt_record::CounterValue;

    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nos:Linux x86\r\n\r\n# CPU\r\nused_cpu_user:1.500000\r\n\
        used_cpu_sys_main_thread:0.25\r\n# Commandstats\r\ncmdstat_get:calls=3,usec=9,usec_per_call=3.00,rejected_calls=0\r\n\
        cmdstat_config|get:calls=1,usec=2\r\ndb0:keys=7,expires=0,avg_ttl=0\r\nmem_fragmentation_ratio:-nan\r\n";

    #[test]
    fn numbers_and_the_parts_of_commands() {
        let mut sink = CounterSink::default();
        assert!(parse(INFO, &mut sink));
        let told = sink.take(Nanos::ZERO);
        assert_eq!(told.values[&*"redis.used_cpu_user".to_owned()], CounterValue::Real(1.5));
        assert_eq!(told.get("redis.cmdstat_get.calls"), Some(3));
        assert_eq!(told.get("redis.cmdstat_config|get.usec"), Some(2));
        assert_eq!((told.get("redis.db0.keys"), told.label("redis.redis_version")), (Some(7), Some("7.0.15")));
        assert!(!told.values.contains_key("redis.mem_fragmentation_ratio") && !told.values.contains_key("redis.os"));
        assert!(!parse("", &mut CounterSink::default()));
    }

    /// Returns the result of querying a server that gives this answer and then closes the connection.
    fn asked(login: &str, answer: &'static [u8]) -> (Result<String, String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let option = format!("{login}{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut heard = [0; 4096];
            let length = peer.read(&mut heard).unwrap();
            for piece in answer.chunks(3) {
                let _ = peer.write_all(piece);
            }
            String::from_utf8_lossy(&heard[..length]).into_owned()
        });
        let told = client(&option).unwrap().text(0).map_err(|why| why.to_string());
        (told, server.join().unwrap())
    }

    #[test]
    fn an_answer_in_pieces_and_an_error() {
        assert_eq!(asked("", b"$5\r\nmax:1\r\n").0.unwrap(), "max:1");
        for (login, heard, words) in [
            ("", &b"-NOAUTH Authentication required.\r\n"[..], "NOAUTH Authentication required."),
            ("redis://p@", b"-WRONGPASS no\x1b\r\n$1\r\na", "WRONGPASS no\\x1b"),
        ] {
            assert_eq!(asked(login, heard).0.unwrap_err(), format!("it responded: {words}"));
        }
        for hostile in [&b"$99999999999999999999\r\n"[..], b"\r\n"] {
            let why = asked("", hostile).0.unwrap_err();
            assert!(why.starts_with("it does not speak the Redis protocol: "), "{why}");
        }
        for empty in [&b"$-1\r\n"[..], b"*0\r\n"] {
            assert!(!parse(&asked("", empty).0.unwrap(), &mut CounterSink::default()));
        }
    }

    #[test]
    fn passwords_with_escapes() {
        assert_eq!(unescape("a%40b%zz%4"), b"a@b%zz%4");
        assert_eq!(asked("redis://me:p%40@", b"").1, "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$2\r\np@\r\n");
        assert_eq!(asked("a%zz@", b"").1, "*2\r\n$4\r\nAUTH\r\n$4\r\na%zz\r\n");
    }
}
