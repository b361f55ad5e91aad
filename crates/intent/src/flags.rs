//! The flags of `brunt run`, as clap sees them.
//!
//! All values are taken as text and read by our own functions, so that a mistake is answered by our own sentence. The
//! flags of a protocol come from its [`wire::OptionSpec`]s: one description is flag, plan key and help.

use clap::{Arg, ArgAction, Command};

use super::exporting;
use super::help;
use super::spoken::{self, Spoken};
use super::watching;

/// Headings of the help, in order.
const LOAD: &str = "Load";
const CONNECTION: &str = "Connection";
const TLS: &str = "TLS";
const OUTPUT: &str = "Output";
const GENERATOR: &str = "Generator";
const COUNTERS: &str = "Counters";

/// The command line of `brunt run`; also what `brunt --help` shows.
pub fn run_command(spoken: &[Spoken]) -> Command {
    bare("brunt")
        .override_usage(
            "brunt [run] [OPTIONS] URL... | PLAN.yaml\n       brunt demo | plan | calibrate | report | target [OPTIONS]",
        )
        .about("Load-test a server, and learn whether the results can be trusted.")
        .before_help(help::COMMANDS)
        .after_long_help(help::EXAMPLES)
        .arg(Arg::new("target").value_name("URL").num_args(0..).help(
            "Where to send requests (http:// if no scheme is given; several URLs share the load), or a plan file",
        ))
        .args(load())
        .args(spoken::flags(spoken))
        .args(connection())
        .args(tls())
        .args(output())
        .args(generator())
        .args(counters())
}

/// The command line of `brunt plan`: all of `brunt run`, and what to do with it instead.
pub fn plan_command(spoken: &[Spoken]) -> Command {
    run_command(spoken)
        .name("brunt plan")
        .override_usage("brunt plan [--show | --check | --schema | --example NAME] [OPTIONS] [PLAN.yaml | URL...]")
        .about("Show the plan that a file and options add up to, or check it; nothing is sent.")
        .before_help("")
        .after_help("Example: brunt plan -c 50 -d 30s http://localhost:8080/ > plan.yaml")
        .after_long_help("Example: brunt plan -c 50 -d 30s http://localhost:8080/ > plan.yaml")
        .arg(switch("show", None, "Print the plan as YAML (the default)"))
        .arg(switch("check", None, "Check whether it can be run"))
        .arg(switch("schema", None, "Print the JSON Schema of plan files, for editors"))
        .arg(one(
            "example",
            None,
            "NAME",
            "Print a commented plan to start from: smoke, load, users, stress, spike, soak, breakpoint, flow or \
                scenarios",
        ))
}

/// The command line of `brunt doctor`: that of the run it is asked about.
pub fn doctor_command(spoken: &[Spoken]) -> Command {
    let example = "Example: brunt doctor -r 2000/s -d 1m --no-keepalive http://10.0.0.7:8080/";
    run_command(spoken)
        .name("brunt doctor")
        .override_usage("brunt doctor [OPTIONS] [PLAN.yaml | URL...]")
        .about("Check what this machine can do and which limits a run would hit; no load is sent.")
        .before_help("")
        .after_help(example)
        .after_long_help(example)
}

/// A command without clap's own texts for what we answer ourselves.
pub fn bare(name: &'static str) -> Command {
    Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .arg(
            Arg::new("help")
                .short('h')
                .long("help")
                .action(ArgAction::Help)
                .help("Show help (--help: all of it; brunt help TOPIC)"),
        )
        .max_term_width(110)
}

/// A flag that takes one value.
pub fn one(name: &'static str, short: Option<char>, value: &'static str, help: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).value_name(value).num_args(1).allow_negative_numbers(true).help(help);
    match short {
        Some(short) => arg.short(short),
        None => arg,
    }
}

/// A flag that takes one value each time it is given.
pub fn many(name: &'static str, short: Option<char>, value: &'static str, help: &'static str) -> Arg {
    one(name, short, value, help).action(ArgAction::Append)
}

/// A flag that takes nothing.
pub fn switch(name: &'static str, short: Option<char>, help: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    match short {
        Some(short) => arg.short(short),
        None => arg,
    }
}

fn under(heading: &'static str, args: Vec<Arg>) -> Vec<Arg> {
    args.into_iter().map(|arg| arg.help_heading(heading)).collect()
}

/// How much, how long, in which stages.
pub fn load() -> Vec<Arg> {
    under(
        LOAD,
        vec![
            one("users", Some('c'), "N", "Concurrent users, each sending requests back to back [default: 10]"),
            one("requests", Some('n'), "N", "Stop after N requests"),
            one("iterations", None, "N", "Stop after N iterations of the plan's flow"),
            one("scenario", None, "NAME", "Run only this scenario of the plan"),
            switch(
                "clear-cookies",
                None,
                "Start each iteration of a flow without cookies: the user stays, the visitor is new",
            ),
            one("duration", Some('d'), "TIME", "Stop after TIME [default: 10s, without -n and --stage]"),
            one("rate", Some('r'), "RATE", "Send at this rate, however fast the server responds: 5000/s, 300/min"),
            one(
                "arrivals",
                None,
                "HOW",
                "With -r: poisson (independent visitors), constant or burst [default: poisson]",
            ),
            many(
                "stage",
                None,
                "TIME:LEVEL",
                "A stage of load, repeatable: 30s:1000/s, 2m:1000/s..5000/s; bare numbers are users",
            ),
            one("think", None, "A..B", "Think time of users between response and next request: 1s, 100ms..2s"),
            one("interval", None, "TIME", "Same as --think, for messages on a connection"),
            one("hold", None, "TIME", "Send each message once, then hold all connections open for TIME"),
            one(
                "ping",
                None,
                "TIME",
                "Send a heartbeat on every connection every TIME (WebSocket, HTTP/2, gRPC, Redis, MySQL, PostgreSQL)",
            ),
            one("connect-rate", None, "RATE", "Start users at this rate: 5000/s [default: as fast as they connect]"),
            switch("together", None, "Start all users at the same moment, once every connection is open"),
            one("warmup", None, "TIME", "Warm up for TIME, excluded from results [default: 0s]"),
            one(
                "drain",
                None,
                "TIME",
                "Wait up to TIME for requests in flight after the run [default: --timeout, at most 5s]",
            ),
            one("seed", None, "N", "Seed for all random choices, to repeat a run"),
        ],
    )
}

/// Where to, and over what.
pub fn connection() -> Vec<Arg> {
    under(
        CONNECTION,
        vec![
            many("url", Some('u'), "URL", "Another URL, repeatable"),
            one(
                "urls",
                None,
                "FILE",
                "Read URLs from FILE: one per line, optionally followed by its weight; # starts a comment",
            ),
            many(
                "curl",
                None,
                "COMMAND",
                "Send what this curl command would send: --curl 'curl -d a=b http://localhost/'",
            ),
            one("curl-file", None, "FILE", "Send what the curl commands in FILE would send, each with equal weight"),
            switch("as-flow", None, "Each user sends the curl commands in order, over and over, and keeps cookies"),
            one("timeout", Some('t'), "TIME", "Fail a request after TIME [default: 10s]"),
            one("connect-timeout", None, "TIME", "Fail a connection attempt after TIME [default: 5s]"),
            one("run-timeout", None, "TIME", "Stop the whole run after TIME, whatever it is doing"),
            one("slack", None, "TIME", "With -r: send requests up to TIME late, in batches [default: 0s]"),
            one(
                "max-connections",
                None,
                "N",
                "With -r: at most N connections, on one worker up to 20,000/s [default: 1000, or 3/4 of the \
                    descriptor limit]",
            ),
            one("unix-socket", None, "PATH", "Connect to this Unix socket"),
            many(
                "connect-to",
                None,
                "HOST:PORT:HOST:PORT",
                "Connect to another host and port, as in curl; the second host or port may be a range a-b",
            ),
            one(
                "proxy",
                Some('x'),
                "URL",
                "Use this proxy: http://, socks5:// or socks5h://[NAME:PASSWORD@]HOST:PORT [default: http_proxy, \
                    https_proxy, all_proxy, not for this machine]",
            ),
            one("proxy-user", Some('U'), "NAME:PASSWORD", "Credentials for the proxy; @FILE reads them from a file"),
            one(
                "noproxy",
                None,
                "LIST",
                "Hosts reached without a proxy: example.com,10.0.0.0/8, or * [default: no_proxy]",
            ),
            many("source", None, "IP", "Connect from these addresses in turn: a list and ranges a-b"),
        ],
    )
}

/// How TLS is spoken.
pub fn tls() -> Vec<Arg> {
    under(
        TLS,
        vec![
            switch("insecure", Some('k'), "Accept any certificate"),
            one("cacert", None, "FILE", "Trust the CA certificates in FILE (PEM) instead of the system's"),
            one("cert", None, "FILE", "Client certificate chain (PEM); needs --key"),
            one("key", None, "FILE", "Private key of --cert (PEM)"),
            switch("tlsv1.2", None, "Offer TLS 1.2 and above (the default)"),
            switch("tlsv1.3", None, "Offer TLS 1.3 only"),
            one("tls-max", None, "VERSION", "Offer nothing above this version: 1.2 or 1.3"),
            switch("no-resume", None, "No TLS session resumption: a full handshake for every connection"),
        ],
    )
}

/// What comes out.
pub fn output() -> Vec<Arg> {
    let mut args = vec![
        many(
            "objective",
            None,
            "RULE",
            "A requirement: 'p99<50ms', 'failed<0.1%', 'rate>=1000/s', 'failed<5% for 10s stop'; exit 10 if missed",
        ),
        one("name", None, "NAME", "Name of the request in the report; in a plan, `name:` next to its URL"),
        one("record", None, "FILE", "Write the events of the run to FILE as they happen"),
    ];
    args.extend(document());
    args.extend(exporting::described());
    args.extend([
        switch("quiet", None, "No console output except what --format prints; -o is still written"),
        switch("no-color", None, "No colours"),
        switch(
            "debug",
            None,
            "Send one request, or go through a flow once, show everything sent and received, and \
            exit",
        ),
        switch("keep-secrets", None, "Do not mask credentials in output and records"),
        switch("yes", None, "Do not ask before load-testing a public address"),
    ]);
    under(OUTPUT, args)
}

/// The flags of everything that renders a record.
pub fn document() -> Vec<Arg> {
    under(
        OUTPUT,
        vec![
            one(
                "format",
                None,
                "FORMAT",
                "text, json, csv, markdown (md) or junit [default: by the file name of -o, else text]",
            ),
            one("output", Some('o'), "FILE", "Write the report to FILE"),
            one("lang", None, "LANG", "en or zh [default: from the locale]"),
        ],
    )
}

/// The generator itself.
pub fn generator() -> Vec<Arg> {
    under(
        GENERATOR,
        vec![
            one(
                "workers",
                Some('w'),
                "N",
                "Worker threads [default: the cores available to brunt; with --max-connections 1]",
            ),
            switch("pin", None, "Pin each worker to a core"),
            switch(
                "precise",
                None,
                "Workers poll instead of sleeping: each takes a whole core and never wakes up \
                late",
            ),
            one("processes", None, "N", "Run the workers in N separate processes, reported as one run"),
            one("net", None, "NETWORK", "epoll or uring [default: epoll]"),
        ],
    )
}

/// What is counted and measured beside the run, to tell what limited it.
pub fn counters() -> Vec<Arg> {
    let reference = one(
        "reference",
        None,
        "RATE",
        "Send requests at this rate from a reference client alongside the load, timed and counted separately: 20/s",
    );
    under(COUNTERS, watching::described().into_iter().chain([reference]).collect())
}
