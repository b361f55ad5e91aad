//! One machine short of local ports: a connection for each request, and ports that rest for a minute
//! (docs/measurement.md 3.8).

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::stated::{ConnectionReuse, StatedRun};
use super::{Examined, LintEvidence};
use crate::figures;
use crate::ports::{DEFAULT_PORTS, TIME_WAIT_S, seconds_to_exhaustion, short_connections_per_s};

/// What systems say when no local port is left (EADDRNOTAVAIL), in lower case.
const NO_PORT: [&str; 3] = ["cannot assign requested address", "can't assign requested address", "eaddrnotavail"];

const SAID: Text = text(
    "the machine that opened connections had no local port left, which is no fault of the service it connected to: {ports} \
        ports that rest {wait} s each allow {rate} new connections to one destination",
    "发起连接的机器没有可用的本地端口了，这不是被连接的服务的问题：{ports} 个端口各需 {wait} s 才能复用，到一个目的地址每秒只能新建 {rate} 个连接",
);
const FAILED: Text = text(
    "{failed} connections could not be made: at {rate}, each with a connection of its own, the {ports} ports of one \
        machine last {seconds} s ({sustained} is what it can keep up)",
    "{failed} 个连接未能建立：按 {rate}、每个请求一个连接，一台机器的 {ports} 个端口只够 {seconds} s（可持续的是 {sustained}）",
);
const NEAR: Text = text(
    "each request opened a connection: at {rate} one machine runs out of its {ports} ports after {seconds} s, unless the \
        server closes first",
    "每个请求新建一个连接：按 {rate}，一台机器的 {ports} 个端口在 {seconds} s 后用完，除非由服务端先关闭连接",
);

/// Looks for runs that used up the ports of one machine, and for messages that say so.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    // To listen on an address of another machine fails with the same message.
    let is_told = |text: &str| {
        let text = text.to_lowercase();
        NO_PORT.iter().any(|said| text.contains(said)) && !text.contains("bind")
    };
    let told = evidence.paste.lines.iter().find(|line| is_told(&line.text));
    if let Some(line) = told {
        let facts = [
            ("ports", numbers::count(DEFAULT_PORTS)),
            ("wait", figures::number(TIME_WAIT_S)),
            ("rate", figures::rate(short_connections_per_s(DEFAULT_PORTS))),
        ];
        let found = LintFinding::of_line(line.number, LintGrade::Wrong, SAID, facts);
        examined.add(Some(found.settled_by("brunt doctor -r 1000/s -d 1m --no-keepalive URL".into())));
    }
    for run in evidence.runs.iter().filter(|run| run.reuse == ConnectionReuse::Fresh && run.rate.is_some()) {
        let found = judge(run).filter(|found| told.is_none() || found.grade > LintGrade::Note);
        examined.add(found);
    }
}

fn judge(run: &StatedRun) -> Option<LintFinding> {
    let rate = run.rate?.value;
    let seconds = seconds_to_exhaustion(DEFAULT_PORTS, rate)?;
    let used = run.requests.map_or(0.0, |requests| requests as f64);
    if used < DEFAULT_PORTS as f64 {
        return None;
    }
    let [rate, ports, seconds] =
        [figures::rate(rate), numbers::count(DEFAULT_PORTS), figures::number((seconds * 10.0).round() / 10.0)];
    let facts = [("rate", rate.clone()), ("ports", ports), ("seconds", seconds)];
    let command = format!("brunt doctor -r {rate} -d 1m --no-keepalive URL").replace(',', "");
    let found = match run.unconnected {
        0 => LintFinding::of_run(run, LintGrade::Note, NEAR, facts),
        failed => {
            let sustained = figures::rate(short_connections_per_s(DEFAULT_PORTS));
            let [a, b, c] = facts;
            let facts = [a, b, c, ("failed", numbers::count(failed)), ("sustained", sustained)];
            LintFinding::of_run(run, LintGrade::Weak, FAILED, facts)
        }
    };
    Some(found.settled_by(command))
}
