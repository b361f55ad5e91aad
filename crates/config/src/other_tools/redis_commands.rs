//! The commands of redis-benchmark.

use brunt_cause::{Complaint, complaint};

/// What redis-benchmark sends.
#[derive(Debug, Default)]
pub struct RedisCommands {
    /// Words of a command.
    pub command: Vec<String>,
    /// Names of its tests, separated by commas.
    pub tests: String,
    /// Size of data, in bytes.
    pub size: Option<u32>,
    /// Number of keys; without it there is one.
    pub keys: Option<u64>,
}

/// The tests of redis-benchmark; `KEY` is the number of a key, and `DATA` the data.
const TESTS: &[(&str, &str)] = &[
    ("ping", "PING"),
    ("ping_inline", "PING"),
    ("ping_mbulk", "PING"),
    ("set", "SET key:KEY DATA"),
    ("get", "GET key:KEY"),
    ("incr", "INCR counter:KEY"),
    ("lpush", "LPUSH mylist DATA"),
    ("rpush", "RPUSH mylist DATA"),
    ("lpop", "LPOP mylist"),
    ("rpop", "RPOP mylist"),
    ("sadd", "SADD myset element:KEY"),
    ("spop", "SPOP myset"),
    ("hset", "HSET myhash element:KEY DATA"),
    ("zadd", "ZADD myzset 0 element:KEY"),
    ("zpopmin", "ZPOPMIN myzset"),
    ("lrange_100", "LRANGE mylist 0 99"),
];

impl RedisCommands {
    /// Returns the options of brunt for these commands; what they leave out is added to the notes.
    pub fn options(&self, notes: &mut Vec<Complaint>) -> Vec<String> {
        let key = self.keys.filter(|keys| *keys > 1).map_or("1".into(), |keys| format!("{{random 0..{}}}", keys - 1));
        let data = format!("{{random {}}}", self.size.unwrap_or(3));
        if !self.command.is_empty() {
            let line = self.command.join(" ").replace("__rand_int__", &key).replace("__data__", &data);
            return vec!["--command".into(), line];
        }
        let names: Vec<String> = self.tests.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
        if names.iter().filter(|name| !name.is_empty()).count() > 1 {
            notes.push(complaint!(
                "-t: brunt mixes these commands in one run, and runs them one after another if each has a run of its own",
                "-t：brunt 在一次压测中混合这些命令；若要逐个执行，请分别压测"
            ));
        }
        let mut options = Vec::new();
        for name in names.iter().filter(|name| !name.is_empty()) {
            match TESTS.iter().find(|(known, _)| known == name) {
                Some((_, line)) => {
                    options.extend(["--command".into(), line.replace("KEY", &key).replace("DATA", &data)]);
                }
                None => notes.push(complaint!("{name}: write it as --command LINE", "{name}：请写成 --command LINE")),
            }
        }
        options
    }
}
