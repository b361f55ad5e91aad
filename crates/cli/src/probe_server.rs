//! `brunt probe`: serves the counters of this host to runs on other machines, until a signal ends it.

use std::io::{self, Write};
use std::net::TcpListener;

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_counters::remote::{ByteStream, HostDescription, ProbeRemark, ProbeServer, ProbeServerOptions, TlsWrapper};
use brunt_counters::{CounterSource, HostReader};
use brunt_report::{Exit, Lang};

use crate::run::CommandResult;
use crate::{messages, screen, signals};
use brunt_config::ProbeSettings;

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// Returns an error if the address cannot be listened on or a service does not exist.
pub fn probe(probing: ProbeSettings, host: &brunt_record::GeneratorHost) -> CommandResult {
    let signals = signals::EndSignals::register().map_err(|error| UsageError::new("signals", error.to_string()))?;
    let ProbeSettings { listen, token, tls, follow } = probing;
    let missing = |why| {
        UsageError::new(
            if matches!(follow, brunt_counters::remote::ServiceSelector::Port(_)) { "--port" } else { "--pid" },
            why,
        )
    };
    follow.service(&HostReader::new(CounterSource::here()), None).map_err(missing)?;
    let seal: TlsWrapper = match tls {
        None => Box::new(|socket| Ok(Box::new(socket) as Box<dyn ByteStream>)),
        Some(tls) => Box::new(move |socket| {
            tls.over(socket).map(|clear| Box::new(clear) as Box<dyn ByteStream>).map_err(io::Error::other)
        }),
    };
    let facts = HostDescription {
        host: host.name.clone(),
        kernel: host.kernel.clone(),
        cores: host.cores,
        ..HostDescription::default()
    };
    let refused = |error: io::Error| {
        UsageError::new("--listen", complaint!("cannot listen on {listen}: {error}", "无法监听 {listen}：{error}"))
    };
    let listener = TcpListener::bind(listen).map_err(refused)?;
    let lang = Lang::from_env();
    let remark = Box::new(move |ProbeRemark::ClosedSilent(n)| {
        screen::print_error(&lang.fill(messages::PROBE_CLOSED_SILENT, &[("n", &n.to_string())]));
    });
    let serving =
        ProbeServer::start(listener, ProbeServerOptions { token, service: follow, host: facts, tls: seal, remark })
            .map_err(refused)?;
    let line = lang.fill(messages::LISTENING, &[("address", &serving.address().to_string())]);
    // The parent process may not read the output, which is no reason to stop serving.
    let _ = writeln!(io::stdout(), "{line}");
    signals.wait();
    drop(serving);
    Ok(Exit::Ok.code())
}
