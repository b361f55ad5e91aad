//! `brunt target`: the built-in server, until a signal ends it.

use std::io::Write;

use brunt_contract::{PeerAddress, UsageError};
use brunt_report::{Exit, Lang};
use brunt_test_server::TargetServer;

use crate::run::CommandResult;
use crate::{messages, screen, signals};
use brunt_config::TargetSettings;

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// Returns an error if the address cannot be listened on.
pub fn serve(serving: TargetSettings) -> CommandResult {
    if serving.with_parent && !follow_parent() {
        return Ok(Exit::Ok.code());
    }
    let signals = signals::EndSignals::register().map_err(|error| UsageError::new("signals", error.to_string()))?;
    let tls = serving.config.tls.is_some();
    let target = TargetServer::start(serving.config).map_err(|error| UsageError::new("target", error.to_string()))?;
    let scheme = if tls { "https" } else { "http" };
    let address = match target.place() {
        PeerAddress::Tcp(address) | PeerAddress::Udp(address) => format!("{scheme}://{address}/"),
        PeerAddress::Unix(path) => format!("unix:{}", path.display()),
    };
    let line = Lang::from_env().fill(messages::LISTENING, &[("address", &address)]);
    // The parent process may not read the output, which is no reason to stop serving.
    let _ = writeln!(std::io::stdout(), "{line}");
    signals.wait();
    match target.stop() {
        Ok(_) => Ok(Exit::Ok.code()),
        Err(error) => {
            screen::print_error(&format!("brunt: --log-arrivals: not written completely ({error})"));
            Ok(Exit::Bug.code())
        }
    }
}

/// Asks the kernel to end this process together with its parent; returns `false` if the parent has ended already.
fn follow_parent() -> bool {
    let term = rustix::process::Signal::TERM;
    let asked = rustix::process::set_parent_process_death_signal(Some(term)).is_ok();
    // The kernel does not report a parent that died before the call; orphans are adopted by process 1 or a subreaper.
    asked
        && std::env::var(PARENT).ok().and_then(|id| id.parse().ok())
            == rustix::process::getppid().map(|p| p.as_raw_nonzero().get())
}

/// The environment variable that contains the id of the process that started the target.
pub const PARENT: &str = "BRUNT_TARGET_PARENT";
