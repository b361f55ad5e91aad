//! Tests that secrets stay wherever they are planted: fifty of them, in every place of a plan and of responses, are in
//! no output of the program, in no form; and a saved plan is the same plan again once its blanks are filled.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use brunt_tests::console::ConsoleProcess;
use brunt_tests::target::free_port;
use brunt_tests::{ScriptedPeer, prepare, skip};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Returns a secret unlike any other text, with characters that URLs, forms and JSON escape.
fn secret(nth: usize) -> String {
    format!("s{nth:02}-Kx/9+z'\"&{nth:02}q")
}

/// Like [`secret`], for places that allow only letters and digits.
fn plain(nth: usize) -> String {
    format!("s{nth:02}Kx9zQ{nth:02}q")
}

/// Returns the texts that would reveal a secret.
fn forms(secret: &str) -> Vec<String> {
    let percent: String = secret
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect();
    let json = serde_json::to_string(secret).expect("a text");
    let hex = secret.bytes().map(|b| format!("{b:02x}")).collect();
    let coded = (0..3).map(|offset| {
        let coded = STANDARD.encode([&b"ab"[..offset.min(2)], secret.as_bytes()].concat());
        coded[4..coded.len() - 4].to_owned()
    });
    [secret.to_owned(), percent, json.trim_matches('"').to_owned(), hex].into_iter().chain(coded).collect()
}

/// Everything that the program printed and wrote.
struct ProgramOutputs {
    folder: TempDir,
    variables: Vec<(String, String)>,
    all: BTreeMap<String, String>,
}

impl ProgramOutputs {
    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn run(&mut self, line: &[&str]) -> String {
        let mut prepared = prepare(line).env("XDG_STATE_HOME", self.path("state"));
        for (name, value) in &self.variables {
            prepared = prepared.env(name, value);
        }
        let ended = prepared.run();
        assert!(!ended.err.contains("panicked"), "{line:?}\n{}", ended.err);
        self.all.insert(format!("the screen of {line:?}"), format!("{}{}", ended.out, ended.err));
        ended.out
    }

    /// Runs everything that shows a run of this line.
    fn of(&mut self, line: &[&str]) {
        let load: &[&str] = if line.iter().any(|word| word.ends_with(".yaml")) { &[] } else { &["-c", "1", "-n", "4"] };
        let load = [load, &["-t", "2s"], line].concat();
        let (record, html, report) = (self.path("run.zst"), self.path("run.html"), self.path("run.json"));
        self.run(&[&["--record", &record], &load[..]].concat());
        self.run(&[&["--quiet", "-o", &html], &load[..]].concat());
        self.run(&[&["--quiet", "--lang", "zh", "-o", &report], &load[..]].concat());
        self.run(&[&["--debug"], line].concat());
        for format in ["text", "json", "csv", "markdown", "junit", "html"] {
            let shown = self.run(&["report", &record, "--format", format]);
            if format == "json" {
                let _: Value = serde_json::from_str(&shown).unwrap_or_else(|why| panic!("{why}: {shown}"));
            }
        }
        self.run(&["report", "-v", &record]);
        self.run(&["report", &record, &record]);
        self.run(&[&["plan"], line].concat());
        self.run(&[&["plan", "--check"], line].concat());
        self.run(&[&["--nosuch"], line].concat());
        self.exported(&load);
        let written = [html, report].map(|path| (std::fs::read_to_string(&path).unwrap_or_default(), path));
        let _: Value = serde_json::from_str(&written[1].0).unwrap_or_else(|why| panic!("{why}: {}", written[1].0));
        self.all.extend(written.map(|(text, path)| (path, text)));
        match Command::new("zstdcat").arg(&record).output() {
            Ok(unpacked) => {
                let text = String::from_utf8(unpacked.stdout).expect("text");
                for line in text.lines() {
                    let _: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
                }
                self.all.insert(record, text);
            }
            Err(_) => skip("zstd is not installed"),
        }
    }

    /// Collects the metrics and spans that a run exports.
    fn exported(&mut self, load: &[&str]) {
        let collector = ScriptedPeer::new(|mut connection| {
            while connection.request().is_some() && connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {}
        });
        let (port, otlp) = (free_port(), collector.url());
        let ports = port.to_string();
        let traced = load.iter().any(|word| word.starts_with("http") || word.ends_with(".yaml"));
        let trace: &[&str] = if traced { &["--trace", "100%"] } else { &[] };
        let line = [&["--prometheus", &ports, "--linger", "5s", "--otlp", &otlp], trace, load].concat();
        let mut prepared = prepare(&line).env("XDG_STATE_HOME", self.path("state"));
        for (name, value) in &self.variables {
            prepared = prepared.env(name, value);
        }
        let mut running = prepared.start();
        let mut scraped = String::new();
        while running.runs() {
            scraped += &scrape(port).unwrap_or_default();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let ended = running.end();
        assert!(!traced || scraped.contains("brunt_requests_total"), "{}{}", ended.out, ended.err);
        let pushed = collector.received().concat();
        self.all.insert("Prometheus".to_owned() + &line.join(" "), scraped);
        self.all.insert("OTLP".to_owned() + &line.join(" "), String::from_utf8_lossy(&pushed).into_owned());
        self.all.insert(format!("the screen of {line:?}"), ended.out + &ended.err);
    }

    /// Collects what those who may only look see of a run of this plan in the console.
    fn console(&mut self, plan: &str) {
        let home = self.folder.path().join("console");
        std::fs::create_dir_all(&home).expect("a folder");
        let console = ConsoleProcess::start(&home);
        // The console has an environment of its own.
        let plan = std::fs::read_to_string(plan).expect("a plan").replace("{env PLANTED_SECRET}", "none");
        let started = console.post("/api/v1/runs", &json!({ "plan": plan, "name": "planted" })).with(201).json();
        let id = started["id"].as_str().expect("an id");
        let run = format!("/api/v1/runs/{id}");
        let look = |path: &str| {
            String::from_utf8_lossy(&console.ask_as(&console.viewer_token, "GET", path, &Value::Null).body).into_owned()
        };
        brunt_tests::program::until("the run is over", || console.run(id)["state"] != "running");
        for path in ["", "/events", "/lines", "/report?format=json", "/report?format=html", "/plan"] {
            let path = format!("{run}{path}");
            self.all.insert(format!("the console's {path}"), look(&path));
        }
    }

    /// Checks that none of the secrets is in any output, in any form.
    #[track_caller]
    fn hide(&self, secrets: &[String]) {
        let mut found = Vec::new();
        for (place, text) in &self.all {
            for form in secrets.iter().flat_map(|secret| forms(secret)) {
                if let Some(at) = text.find(&form) {
                    let (from, to) = (
                        text.floor_char_boundary(at.saturating_sub(80)),
                        text.ceil_char_boundary(at + form.len() + 20),
                    );
                    found.push(format!("`{form}` in {place}: {}", &text[from..to]));
                }
            }
        }
        assert!(found.is_empty(), "{} leaks, such as\n{}", found.len(), found[..found.len().min(12)].join("\n\n"));
    }

    /// Checks that the saved plan is the same plan once its blanks are filled with what they stand for, and that it is
    /// refused without it.
    fn saved_plan_is_the_same(&mut self, line: &[&str]) {
        let (saved, kept) = (
            self.run(&[&["plan", "--seed", "7"], line].concat()),
            self.run(&[&["plan", "--seed", "7", "--keep-secrets"], line].concat()),
        );
        self.all.retain(|place, _| !place.contains("--keep-secrets"));
        let file = self.path("saved.yaml");
        std::fs::write(&file, &saved).expect("written");
        let body = saved.lines().filter(|line| !line.starts_with('#'));
        let blanks: BTreeMap<String, String> =
            body.zip(kept.lines()).flat_map(|(saved, kept)| blanks(&unquoted(saved), &unquoted(kept))).collect();
        let words = ["plan", "--keep-secrets", &file];
        if !blanks.is_empty() {
            let refused = prepare(words).run().with_code(64);
            assert!(blanks.keys().all(|name| refused.err.contains(name)), "{}", refused.err);
        }
        let filled = blanks.iter().fold(prepare(words), |line, (name, value)| line.env(name, value));
        let again = self.variables.iter().fold(filled, |line, (name, value)| line.env(name, value)).run().with_code(0);
        assert_eq!(again.out, kept);
    }
}

/// Returns the answer to a scrape of the metrics.
fn scrape(port: u16) -> Option<String> {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns a line of a plan without the quotes and escapes of its value.
fn unquoted(line: &str) -> String {
    let text = line.trim_start_matches([' ', '-']);
    let (key, value) = text.split_once(": ").filter(|(key, _)| !key.starts_with('"')).unwrap_or(("", text));
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
    format!("{key}: {value}")
}

/// Returns the texts that the blanks of a line stand for.
fn blanks(saved: &str, kept: &str) -> Vec<(String, String)> {
    let mut parts = saved.split("{env BRUNT_SECRET_");
    let first = parts.next().unwrap_or_default();
    let mut rest = kept.strip_prefix(first).unwrap_or_else(|| panic!("{saved}\n{kept}"));
    let mut found = Vec::new();
    for part in parts {
        let (number, behind) = part.split_once('}').expect("a blank");
        let end =
            if behind.is_empty() { rest.len() } else { rest.find(behind).unwrap_or_else(|| panic!("{saved}\n{kept}")) };
        found.push((format!("BRUNT_SECRET_{number}"), rest[..end].to_owned()));
        rest = &rest[end + behind.len()..];
    }
    found
}

/// Starts a server whose responses have secrets of their own, and that repeats what it was sent in several notations.
fn echoing() -> ScriptedPeer {
    ScriptedPeer::new(|mut connection| {
        while let Some(request) = connection.request() {
            let said = String::from_utf8_lossy(&request).into_owned();
            let (status, kind) = if said.contains("/fail") { ("403 No", "json") } else { ("200 OK", "json") };
            let body = json!({
                "name": "ann", "type": "user", "access_token": secret(1), "boot": {"secret": secret(2)},
                "tokens": [secret(3), secret(4)], "password": secret(5), "list": ["a", "b"],
                "echo": said, "coded": STANDARD.encode(&said), "more": format!("no such token: {}", secret(1)),
            });
            let page =
                format!("<form><input type=\"password\" name=\"pwd\"><input name='csrf' value='{}'></form>", plain(6));
            let body = if said.starts_with("GET /page") { page } else { body.to_string() };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/{kind}\r\nSet-Cookie: sid={}; Path=/\r\nX-Auth-Token: {}\r\nContent-Length: {}\r\n\r\n",
                plain(7),
                plain(8),
                body.len()
            );
            if !connection.send(format!("{head}{body}").as_bytes()) {
                return;
            }
        }
    })
}

/// Writes a flow with secrets in every place, and the files it names; returns its path.
fn planted_flow(folder: &Path, host: &str) -> String {
    let file = |name: &str, text: String| {
        let path = folder.join(name).display().to_string();
        std::fs::write(&path, text).expect("written");
        path
    };
    let quoted = |text: &str| serde_json::to_string(text).expect("a text");
    let users = file("users.csv", format!("name,password,plain\nann,{},{}\n", plain(20), plain(21)));
    let lines = file("users.jsonl", json!({ "token": secret(22), "id": "7" }).to_string());
    let body = file("body.json", json!({ "password": secret(23), "name": "ann" }).to_string());
    let headers = file("headers", format!("X-Api-Key: {}\nX-Plain: yes\n", secret(24)));
    let json_body = json!({ "user": "ann", "password": secret(27), "in": json!({ "token": secret(28) }).to_string() });
    let [user, key, fragment] = [26, 30, 31].map(plain);
    let text = format!(
        r#"
users: 1
iterations: 2
header: ["@{headers}", {bearer}, "X-Note: {{env PLANTED_SECRET}}", "X-Env: a"]
setup:
  - {{ url: "http://{host}/boot", capture: {{ boot: "json $.boot.secret" }} }}
flow:
  - url: "http://ann:{user}@{host}/login?api_key={key}&page=7#id_token={fragment}"
    json: {json_body}
    capture: {{ v: "json $.access_token", c: "cookie sid", h: "header X-Auth-Token", all: "json $.tokens[*] | all" }}
  - {{ url: "http://{host}/me", expect-json: {{ "is {named}": {compared} }}, on-failure: go-on }}
  - {{ url: "http://{host}/page", capture: {{ f: "css input[name=csrf] @value" }} }}
  - url: "http://{host}/fail?q={{v}}&c={{c}}&f={{f}}"
    header: ["X-Note: {{h}}", {cookie}, "X-Boot: {{boot}}"]
    data: "pwd={form}&v={{v | url}}&b={{v | base64}}&x={{v | hex}}"
    on-failure: go-on
  - {{ url: "http://{host}/fail/{{csv {users}.password}}?u={{csv {users}.name}}", data: "@{body}", on-failure: go-on }}
  - {{ url: "http://{host}/fail?q={{jsonl {lines}.token}}", header: "Authorization: Basic {{base64 ann:{{csv {users}.plain}}}}", data: "again {{csv {users}.plain}}", on-failure: go-on }}
  - {{ url: "http://{host}/fail", form: [{part}, "note=x"], expect-json: {filter}, on-failure: go-on }}
  - call: sub
    with: {{ password: {with}, arg: "x{{v}}", id: "7" }}
  - for-each: secret
    in: [{each}]
    steps:
      - {{ url: "http://{host}/fail/{{secret}}", on-failure: go-on }}
  - if: "h == '{condition}'"
    steps: [{{ url: "http://{host}/never" }}]
flows:
  sub:
    - {{ url: "http://{host}/fail?one={{password}}", data: "{{arg}} {{id}}", on-failure: go-on }}
"#,
        bearer = quoted(&format!("Authorization: Bearer {}", secret(25))),
        json_body = quoted(&json_body.to_string()),
        named = plain(32),
        compared = quoted(&format!("$.password == {}", plain(32))),
        cookie = quoted(&format!("Cookie: sid={}; lang=en", plain(33))),
        form = plain(34),
        part = quoted(&format!("token={}", plain(35))),
        filter = quoted(&format!("$.list[?@.token == '{}'].id", plain(36))),
        with = quoted(&secret(37)),
        each = [plain(38), plain(39)].map(|text| quoted(&format!("{text} x"))).join(", "),
        condition = plain(40),
    );
    file("planted.yaml", text)
}

#[test]
fn fifty_secrets_are_in_no_output() {
    let (peer, folder) = (echoing(), tempfile::tempdir().expect("a folder"));
    let variables = vec![("PLANTED_SECRET".to_owned(), secret(29)), ("no_proxy".to_owned(), "*".to_owned())];
    let mut outputs = ProgramOutputs { folder, variables, all: BTreeMap::new() };
    let plan = planted_flow(outputs.folder.path(), &peer.host());
    outputs.of(&[&plan]);
    outputs.saved_plan_is_the_same(&[&plan]);
    let through = format!("http://ann:{}@{}", plain(41), peer.host());
    let bearer = secret(42);
    let cookie = format!("session={}", plain(43));
    let check = format!("$.password == {}", plain(44));
    let url = peer.url();
    let line = ["-x", &through, "--bearer", &bearer, "--cookie", &cookie, "--expect-json", &check, &url];
    outputs.of(&line);
    let user = format!("ann:{}", secret(45));
    let line = ["--user", &user, "--data", "name=ann&type=b", "--expect-status", "204", &url];
    outputs.of(&line);
    outputs.saved_plan_is_the_same(&line);
    outputs.run(&["--probe", "127.0.0.1:1", "--probe-token", &plain(46), "-n", "1", &url]);
    outputs.run(&["--probe-token", &plain(46), "-c", "0", &url]);
    let redis = ScriptedPeer::new(|mut connection| {
        while let Some(bytes) = connection.bytes() {
            let said = String::from_utf8_lossy(&bytes).replace("\r\n", " ");
            if !connection.send(format!("-ERR what is {said}\r\n").as_bytes()) {
                return;
            }
        }
    });
    let command =
        format!("HELLO 3 AUTH app {}; CONFIG SET requirepass {}; SET token {}x", plain(47), plain(48), plain(48));
    let address = format!("redis://app:{}@{}", plain(49), redis.host());
    outputs.of(&["--command", &command, &address]);
    let send = format!("login password={}\\n", plain(50));
    let raw = format!("tcp://{}", redis.host());
    outputs.of(&["--send", &send, "--until", "\\n", &raw]);
    outputs.console(&plan);
    let all: Vec<String> = (1..=50).flat_map(|nth| [secret(nth), plain(nth)]).collect();
    outputs.hide(&all);
    let shown = |word: &str| outputs.all.values().any(|text| text.contains(word));
    for word in ["page=7", "lang=", "name=\"pwd\"", "\\\"name\\\":\\\"ann\\\"", "name=ann&type=b", "u=ann"] {
        assert!(shown(word), "{word} is nowhere");
    }
}
