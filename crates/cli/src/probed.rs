//! `brunt probe`: serves the counters of this host to runs on other machines, until a signal ends it.

use std::io::{self, Write};
use std::net::TcpListener;

use probe::remote::{Clear, Facts, Granting, Seal, Serving};
use probe::{Host, Source};
use report::{Exit, Lang};
use wire::Complaint;

use crate::run::Outcome;
use crate::{messages, signals};
use intent::Probing;

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// The user's mistake: an address that cannot be listened on, a service that does not exist.
pub fn probe(probing: Probing, host: &record::Host) -> Outcome {
    let signals = signals::Awaited::register().map_err(|error| Complaint::new("signals", error.to_string()))?;
    let Probing { listen, token, tls, follow } = probing;
    let missing =
        |why| Complaint::new(if matches!(follow, probe::remote::Follow::Port(_)) { "--port" } else { "--pid" }, why);
    follow.service(&Host::new(Source::here()), None).map_err(missing)?;
    let seal: Seal = match tls {
        None => Box::new(|socket| Ok(Box::new(socket) as Box<dyn Clear>)),
        Some(tls) => Box::new(move |socket| {
            tls.over(socket).map(|clear| Box::new(clear) as Box<dyn Clear>).map_err(io::Error::other)
        }),
    };
    let facts = Facts { host: host.name.clone(), kernel: host.kernel.clone(), cores: host.cores, ..Facts::default() };
    let refused = |error: io::Error| Complaint::new("--listen", format!("{listen} cannot be listened on: {error}"));
    let listener = TcpListener::bind(listen).map_err(refused)?;
    let serving = Serving::start(listener, Granting { token, follow, facts, seal }).map_err(refused)?;
    let line = Lang::from_env().fill(messages::LISTENING, &[("address", &serving.address().to_string())]);
    // The parent process may not read the output: that is no reason to stop serving.
    let _ = writeln!(io::stdout(), "{line}");
    signals.wait();
    drop(serving);
    Ok(Exit::Ok.code())
}
