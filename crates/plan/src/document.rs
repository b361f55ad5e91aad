//! Output of a plan as a readable YAML document, which `brunt PLAN.yaml` runs.
//!
//! Times and rates have units, whereas the record has nanoseconds. The keys are the names of the flags, so that there
//! is a single vocabulary; docs/decisions/0010-plan-file.md gives the reasons.

mod flow;
mod scenarios;

use std::fmt::Write as _;

use brunt_measure::Nanos;

use crate::flow::CHECK_NAMES;
use crate::{Arrivals, Load, NetKind, Plan, PlanOptions, Stage};

/// Formats a duration in the largest unit of which it is a multiple: `90s`, `250ms`. [`crate::quantity::duration`]
/// parses the result to the same duration.
pub fn time(span: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let (size, unit) = units.into_iter().find(|(size, _)| span.0.is_multiple_of(*size)).unwrap_or((1, "ns"));
    format!("{}{unit}", span.0 / size)
}

/// Formats a stage in the syntax of `--stage`.
pub fn stage(stage: &Stage, open: bool) -> String {
    let per = if open { "/s" } else { "" };
    match stage.from == stage.to {
        true => format!("{}:{}{per}", time(stage.lasts), stage.from),
        false => format!("{}:{}{per}..{}{per}", time(stage.lasts), stage.from, stage.to),
    }
}

/// Formats a plan as YAML.
pub fn yaml(plan: &Plan) -> String {
    let mut page = YamlPage::default();
    page.one("protocol", &plan.protocol);
    match &plan.flow {
        _ if !plan.scenarios.is_empty() => scenarios::write_scenarios(&mut page, plan),
        None => urls(&mut page, plan),
        Some(flow) => {
            if flow.clear_cookies {
                page.one("clear-cookies", "true");
            }
            flow::write_flow(&mut page, plan, flow);
        }
    }
    if plan.scenarios.is_empty() {
        load(&mut page, plan);
    } else {
        page.one("slack", &time(plan.slack));
    }
    page.maybe(if plan.flow.is_some() { "iterations" } else { "requests" }, plan.requests);
    for (name, span) in [("warmup", plan.warmup), ("drain", plan.drain), ("timeout", plan.timeout)] {
        page.one(name, &time(span));
    }
    page.one("connect-timeout", &time(plan.connect_timeout));
    page.maybe("dns-refresh", plan.dns_refresh.map(time));
    page.maybe("connect-rate", plan.connect_rate.map(|rate| format!("{rate}/s")));
    page.maybe("hold", plan.hold.map(time));
    page.maybe("reference", plan.reference.map(|rate| format!("{rate}/s")));
    page.maybe("trace", plan.trace);
    page.maybe("ping", plan.heartbeat.map(time));
    page.one("workers", &plan.workers.to_string());
    if plan.pin {
        page.one("pin", "true");
    }
    if plan.precise {
        page.one("precise", "true");
    }
    let net = match plan.net {
        NetKind::Auto => None,
        NetKind::Epoll => Some("epoll"),
        NetKind::Uring => Some("uring"),
    };
    page.maybe("net", net);
    page.list("source", &plan.sources);
    page.list("connect-to", &plan.connect_to);
    page.maybe("unix-socket", plan.unix_socket.as_deref().map(quoted));
    // Proxies from environment variables are not part of a plan, because another machine may have a different
    // environment.
    if plan.proxies.variables.is_empty() {
        page.maybe("proxy", plan.proxies.clear.as_deref().map(quoted));
        page.maybe("noproxy", Some(&plan.proxies.except).filter(|list| !list.is_empty()).map(|list| quoted(list)));
    }
    tls(&mut page, plan);
    page.list("objectives", &plan.objectives);
    page.one("seed", &plan.seed.to_string());
    page.options(&plan.options);
    page.text
}

fn urls(page: &mut YamlPage, plan: &Plan) {
    page.head("urls");
    for url in &plan.urls {
        if url.weight == 1.0 && url.options.is_empty() && url.name.is_none() {
            page.line(&format!("  - {}", quoted(&url.url)));
            continue;
        }
        page.line(&format!("  - url: {}", quoted(&url.url)));
        page.indent = 4;
        page.maybe("name", url.name.as_deref().map(quoted));
        if url.weight != 1.0 {
            page.one("weight", &url.weight.to_string());
        }
        page.options(&url.options);
        page.indent = 0;
    }
}

fn load(page: &mut YamlPage, plan: &Plan) {
    levels(page, &plan.load, plan.duration);
    match &plan.load {
        Load::Open { .. } => {
            page.one("max-connections", &plan.max_connections.to_string());
            page.one("slack", &time(plan.slack));
        }
        Load::Closed { think, together, .. } => {
            page.maybe("think", think.map(|(low, high)| format!("{}..{}", time(low), time(high))));
            if *together {
                page.one("together", "true");
            }
        }
    }
}

/// Writes the level and duration of the load, and the spacing of arrivals.
fn levels(page: &mut YamlPage, load: &Load, duration: Option<Nanos>) {
    let open = load.is_open();
    match load.stages() {
        [stage] if stage.from == stage.to && (duration.is_none() || duration == Some(stage.lasts)) => {
            match open {
                true => page.one("rate", &format!("{}/s", stage.from)),
                false => page.one("users", &stage.from.to_string()),
            }
            page.maybe("duration", duration.map(time));
        }
        stages => page.list("stages", &stages.iter().map(|s| stage(s, open)).collect::<Vec<_>>()),
    }
    if let Load::Open { arrivals, .. } = load {
        let word = match arrivals {
            Arrivals::Poisson => "poisson",
            Arrivals::Constant => "constant",
            Arrivals::Burst => "burst",
        };
        page.one("arrivals", word);
    }
}

fn tls(page: &mut YamlPage, plan: &Plan) {
    let tls = &plan.tls;
    let files = [("cacert", &tls.cacert), ("cert", &tls.cert), ("key", &tls.key)];
    if !tls.insecure && tls.resume && tls.version.is_none() && files.iter().all(|(_, file)| file.is_none()) {
        return;
    }
    page.head("tls");
    page.indent = 2;
    if tls.insecure {
        page.one("insecure", "true");
    }
    for (name, file) in files {
        page.maybe(name, file.as_deref().map(quoted));
    }
    if !tls.resume {
        page.one("resume", "false");
    }
    page.maybe("version", tls.version.as_deref().map(quoted));
    page.indent = 0;
}

/// A YAML document being written.
#[derive(Default)]
struct YamlPage {
    text: String,
    indent: usize,
}

impl YamlPage {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", self.indent);
    }
    fn head(&mut self, name: &str) {
        self.line(&format!("{name}:"));
    }
    fn one(&mut self, name: &str, value: &str) {
        self.line(&format!("{name}: {value}"));
    }
    fn maybe<T: ToString>(&mut self, name: &str, value: Option<T>) {
        value.into_iter().for_each(|value| self.one(name, &value.to_string()));
    }
    fn list(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            self.head(name);
            values.iter().for_each(|value| self.line(&format!("  - {}", quoted(value))));
        }
    }
    fn options(&mut self, options: &PlanOptions) {
        for (name, values) in options.iter().filter(|(name, _)| *name != CHECK_NAMES) {
            let checks = check_names(options, name, values.len());
            if !checks.is_empty() {
                self.head(name);
                let lines = checks.into_iter().zip(values);
                lines.for_each(|(check, rule)| self.line(&format!("  {}: {}", quoted(check), quoted(rule))));
                continue;
            }
            match &values[..] {
                [value] if value.is_empty() => self.one(name, "true"),
                [value] => self.one(name, &quoted(value)),
                values => self.list(name, values),
            }
        }
    }
}

/// Returns the names of the `many` checks of an option; empty if they are unnamed.
fn check_names<'a>(options: &'a PlanOptions, name: &str, many: usize) -> Vec<&'a str> {
    let all = options.get(CHECK_NAMES).into_iter().flatten();
    let named = all.filter_map(|text| text.strip_prefix(name)?.strip_prefix(' ')?.split_once(' '));
    let named: Vec<&str> = named.map(|(_, check)| check).collect();
    if named.len() == many { named } else { Vec::new() }
}

/// Formats a text as a YAML scalar: plain if that is unambiguous, otherwise in double quotes as in JSON.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=?&%~@$<".contains(c) || c == ':';
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let safe =
        starts && text.chars().all(plain) && !text.ends_with(':') && !words.contains(&&text.to_ascii_lowercase()[..]);
    if safe {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if brunt_measure::sanitize::is_invisible(c) => {
                let _ = write!(quoted, "\\U{:08x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_again_without_loss() {
        for (nanos, text) in
            [(10_000_000_000, "10s"), (250_000_000, "250ms"), (1_500, "1500ns"), (0, "0s"), (90_000_000_000, "90s")]
        {
            assert_eq!(time(Nanos(nanos)), text);
            assert_eq!(crate::quantity::duration(text), Ok(Nanos(nanos)));
        }
    }

    #[test]
    fn scalars_read_as_themselves() {
        for text in [
            "a",
            "http://h/?a=b&c",
            "true",
            "1",
            "- x",
            "a: b",
            "a #b",
            "\"",
            "\\",
            "",
            "é\n\t\u{1}",
            "\u{202e}\u{e0041}\u{85}👩\u{200d}💻",
            "*x",
            "p99<50ms",
            "null",
            "a:",
        ] {
            let read = crate::yaml::parse(&format!("k: {}", quoted(text))).unwrap();
            let crate::yaml::YamlValue::Map(entries) = read.value else { panic!("a map") };
            assert_eq!(entries[0].2.value, crate::yaml::YamlValue::Text(text.into()), "{}", quoted(text));
        }
    }
}
