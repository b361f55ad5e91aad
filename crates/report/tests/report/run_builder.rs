//! A builder of synthetic records.

use std::collections::BTreeMap;

use brunt_measure::Nanos;
use brunt_plan::{Arrivals, Change, Load, NetKind, Plan, Stage, Tls, WeightedUrl};
use brunt_record::{
    AgentHead, ByteCounts, ConnectionFigures, End, Failure, FailureExample, FirstResponse, GeneratorHost, LoadChange,
    Notice, RunEnd, RunEvent, RunPart, RunStarted, SCHEMA, Second,
};
use brunt_report::{Lang, SecondsSource, Style, Summary};

const S: i64 = 1_000_000_000;

/// A synthetic run.
#[derive(Clone)]
pub struct RunBuilder {
    pub plan: Plan,
    pub probe: Option<FirstResponse>,
    pub events: Vec<RunEvent>,
    pub reason: Option<&'static str>,
    pub window: Nanos,
    pub elapsed: Nanos,
    pub silent: Option<bool>,
    pub names: Vec<String>,
    pub checks: Vec<String>,
    pub agents: Vec<AgentHead>,
}

/// Creates a closed run with `users` users for `seconds` seconds.
pub fn closed(users: u32, seconds: u64) -> RunBuilder {
    let stages = vec![Stage { lasts: Nanos::from_secs(seconds), from: f64::from(users), to: f64::from(users) }];
    run(Load::Closed { stages, think: None, together: false }, seconds)
}

/// Creates an open run at a rate for `seconds` seconds.
pub fn open(rate: f64, seconds: u64) -> RunBuilder {
    let stages = vec![Stage { lasts: Nanos::from_secs(seconds), from: rate, to: rate }];
    run(Load::Open { stages, arrivals: Arrivals::Poisson }, seconds)
}

fn run(load: Load, seconds: u64) -> RunBuilder {
    let plan = Plan {
        protocol: "http".into(),
        urls: vec![WeightedUrl::plain("http://127.0.0.1:8080/")].into(),
        more_urls: 0,
        options: BTreeMap::new(),
        load,
        flow: None,
        scenarios: Vec::new(),
        common: None,
        requests: None,
        duration: Some(Nanos::from_secs(seconds)),
        warmup: Nanos::ZERO,
        drain: Nanos::from_secs(5),
        timeout: Nanos::from_secs(10),
        connect_timeout: Nanos::from_secs(5),
        dns_refresh: None,
        slack: Nanos::ZERO,
        connect_rate: None,
        hold: None,
        heartbeat: None,
        reference: None,
        trace: None,
        max_connections: 1000,
        workers: 2,
        pin: false,
        precise: false,
        net: NetKind::Auto,
        sources: Vec::new(),
        connect_to: Vec::new(),
        proxies: brunt_plan::ProxySettings::default(),
        unix_socket: None,
        tls: Tls::default(),
        objectives: Vec::new(),
        trust: Default::default(),
        seed: 1,
    };
    let probe = FirstResponse {
        url: "http://127.0.0.1:8080/".into(),
        through: None,
        address: "127.0.0.1:8080".into(),
        spoken: "HTTP/1.1".into(),
        status: "200".into(),
        payload: 612,
        took: Nanos::from_micros(840),
        requests: 1,
        failure: None,
        cause: None,
    };
    RunBuilder {
        plan,
        probe: Some(probe),
        events: Vec::new(),
        reason: Some("completed"),
        window: Nanos::from_secs(seconds),
        elapsed: Nanos::from_secs(seconds),
        silent: None,
        names: Vec::new(),
        checks: Vec::new(),
        agents: Vec::new(),
    }
}

impl RunBuilder {
    /// Adds a second.
    pub fn second(mut self, second: Second) -> RunBuilder {
        self.events.push(RunEvent::Second(Box::new(second)));
        self
    }
    /// Adds the kept example of a failure.
    pub fn example(mut self, kind: &str, phase: &str, errno: Option<&str>, sides: (&str, &str)) -> RunBuilder {
        self.events.push(RunEvent::Example(FailureExample {
            kind: kind.into(),
            phase: phase.into(),
            errno: errno.map(Into::into),
            detail: "status 503".into(),
            sent: sides.0.into(),
            received: sides.1.into(),
            reused: false,
            ..FailureExample::default()
        }));
        self
    }
    /// Adds a notice.
    pub fn notice(mut self, code: &str, facts: &[(&str, &str)]) -> RunBuilder {
        let facts = facts.iter().map(|(n, f)| (n.to_string(), f.to_string())).collect();
        self.events.push(RunEvent::Notice(Notice {
            code: code.into(),
            facts,
            causes: Default::default(),
            at_ns: None,
        }));
        self
    }
    /// Adds a change of the load `at_ms` milliseconds after the start of the window.
    pub fn changed(mut self, at_ms: i64, change: Change) -> RunBuilder {
        self.events.push(RunEvent::Changed(LoadChange { at_ns: at_ms * 1_000_000, change }));
        self
    }
    /// Sets what untrusted figures do to the exit code.
    pub fn trust(mut self, trust: brunt_plan::TrustPolicy) -> RunBuilder {
        self.plan.trust = trust;
        self
    }

    /// Sets the objectives.
    pub fn objectives(mut self, objectives: &[&str]) -> RunBuilder {
        self.plan.objectives = objectives.iter().map(|o| o.to_string()).collect();
        self
    }
    /// Sets the reason for the end; `None` cuts off the record.
    pub fn ended(mut self, reason: Option<&'static str>) -> RunBuilder {
        self.reason = reason;
        self
    }
    /// Returns all events.
    pub fn events(&self) -> Vec<RunEvent> {
        let mut events = vec![RunEvent::Started(Box::new(RunStarted {
            schema: SCHEMA.into(),
            brunt: "0.1.0".into(),
            unix_ms: 1_790_000_000_000,
            command: vec!["brunt".into(), "127.0.0.1:8080".into()],
            plan: self.plan.clone(),
            hosts: vec![GeneratorHost {
                name: "h".into(),
                kernel: "Linux 6.18".into(),
                cores: 2.0,
                descriptors: 1024,
                memory: 1 << 30,
                calibration: None,
            }],
            net: "epoll".into(),
            workers: self.plan.workers,
            silent: self.silent,
            names: self.names.clone(),
            around: Vec::new(),
            agents: self.agents.clone(),
            checks: self.checks.clone(),
        }))];
        events.extend(self.probe.clone().map(RunEvent::FirstResponse));
        events.extend(self.events.iter().cloned());
        if let Some(reason) = self.reason {
            let ended = RunEnd {
                reason: End::of(reason).expect("a word of an end"),
                window: self.window,
                elapsed: self.elapsed,
            };
            events.push(RunEvent::Ended(ended));
        }
        events
    }
    /// Returns the seconds of the run.
    pub fn seconds(&self) -> Vec<Second> {
        let second = |e: &RunEvent| if let RunEvent::Second(s) = e { Some((**s).clone()) } else { None };
        self.events.iter().filter_map(second).collect()
    }
    /// Sums up and judges the run.
    pub fn summary(&self) -> Summary {
        Summary::from_events(self.events())
    }
    /// Returns the report in a format.
    pub fn written(&self, format: &str, lang: Lang) -> String {
        let mut out = Vec::new();
        let style = Style { lang, ..Style::default() };
        brunt_report::format(format).unwrap().write(&self.summary(), self, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }
    /// Returns the report as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.written("json", Lang::En)).unwrap()
    }
}

/// Creates the `n`-th second of the window, without requests.
pub fn second(n: i64) -> Second {
    Second { from_ns: n * S, to_ns: (n + 1) * S, ..Second::default() }
}

/// Methods that fill a second with synthetic requests.
pub trait FillSecond: Sized {
    /// Adds `n` successes of this duration, in flight according to Little's law.
    fn answered(self, n: u64, took: Nanos) -> Self;
    /// Adds `n` requests that failed quickly.
    fn failing(self, n: u64, kind: &str, phase: &str, errno: Option<&str>) -> Self;
    /// Adds `n` requests that timed out after this duration.
    fn timed_out(self, n: u64, after: Nanos) -> Self;
    /// Adds `n` unfinished requests, abandoned after this duration.
    fn unfinished(self, n: u64, after: Nanos) -> Self;
    /// Moves the second to another part of the run.
    fn within(self, part: RunPart) -> Self;
}

impl FillSecond for Second {
    fn answered(mut self, n: u64, took: Nanos) -> Second {
        self.due += n;
        self.sent += n;
        self.finished += n;
        *self.status.entry("200".into()).or_default() += n;
        self.latency.response.record_n(took, n);
        self.latency.service.record_n(took, n);
        self.latency.wait_conn.record_n(Nanos(took.0 / 10), n);
        self.latency.gen_late.record_n(Nanos(2_000), n);
        self.latency.first_byte.record_n(Nanos(took.0 * 8 / 10), n);
        self.latency.transfer.record_n(Nanos(took.0 / 20), n);
        self.in_flight_ns += u128::from(took.0) * u128::from(n);
        self.service_ns += i128::from(took.0) * i128::from(n);
        let bytes = ByteCounts { sent: 80 * n, received: 850 * n, payload: 612 * n };
        self.bytes = ByteCounts {
            sent: self.bytes.sent + bytes.sent,
            received: self.bytes.received + bytes.received,
            payload: self.bytes.payload + bytes.payload,
        };
        self.connections = ConnectionFigures { reused: self.connections.reused + n, open: 10, ..self.connections };
        self
    }

    fn failing(mut self, n: u64, kind: &str, phase: &str, errno: Option<&str>) -> Second {
        self.due += n;
        self.sent += n;
        self.failed += n;
        self.latency.failed.record_n(Nanos::from_micros(50), n);
        let errno = errno.map(Into::into);
        self.failures.push(Failure { kind: kind.into(), phase: phase.into(), errno, count: n });
        if kind == "wrong_status" {
            *self.status.entry("503".into()).or_default() += n;
        }
        self
    }

    fn timed_out(mut self, n: u64, after: Nanos) -> Second {
        self = self.failing(n, "timeout", "first_byte", None);
        self.latency.response_at_least.record_n(after, n);
        self.latency.service_at_least.record_n(after, n);
        self
    }

    fn unfinished(mut self, n: u64, after: Nanos) -> Second {
        self.due += n;
        self.sent += n;
        self.censored += n;
        self.latency.response_at_least.record_n(after, n);
        self.latency.service_at_least.record_n(after, n);
        self
    }

    fn within(mut self, part: RunPart) -> Second {
        self.part = part;
        self
    }
}

/// Returns `n` milliseconds.
pub fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// The events of a run built in memory.
impl SecondsSource for RunBuilder {
    fn pass(&self) -> std::io::Result<brunt_report::SecondsPass<'_>> {
        Ok(Box::new(self.seconds().into_iter().map(Ok)))
    }

    fn events(&self) -> std::io::Result<brunt_report::EventsPass<'_>> {
        Ok(Box::new(self.events().into_iter().map(Ok)))
    }
}
