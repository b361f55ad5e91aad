//! The console: brunt in the browser, and its HTTP API.
//!
//! It consists of a server on its own threads, on loopback by default, a library of runs, and the
//! runs started from it. Each of these is a brunt process with its own cores and descriptors, and
//! survives a crash of the console. The console reads only the records of runs and knows neither
//! the engine nor the protocols: plans are parsed and checked by brunt itself.

mod access;
mod api;
mod experiments;
mod feed;
mod figures;
mod fleet;
mod gate;
mod kept_links;
mod library;
mod listen;
mod pages;
mod plans;
mod problem;
mod program;
pub mod run_control;
mod runs;
#[cfg(test)]
mod testing;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use access::{Access, Role};
use experiments::{ActiveExperiments, ExperimentShelf};
use feed::Feeds;
use fleet::FleetWatch;
use gate::HostNames;
use kept_links::KeptLinks;
use library::Library;
use plans::PlanExecutor;
use program::BruntProgram;
use runs::ActiveRuns;

pub use fleet::FleetPlace;
pub use library::find_records;
pub use plans::{CheckedExperiment, PlanService};
pub use run_control::RunCommand;
pub use tokio_rustls::rustls::ServerConfig;

/// The settings of a console.
pub struct ConsoleSettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Host names in addition to its addresses.
    pub names: Vec<String>,
    /// Password required in addition to the link.
    pub password: Option<String>,
    /// TLS configuration; `None`: plain HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// Directory of the library.
    pub library: PathBuf,
    /// Set to make new links, so that earlier ones no longer work.
    pub renew_links: bool,
    /// Directory of the runs kept by the command line.
    pub kept: Option<PathBuf>,
    /// Path of the brunt binary.
    pub program: PathBuf,
    /// Where the fleet is.
    pub fleet: FleetPlace,
    /// The parser of plans in this process.
    pub plans: Arc<dyn PlanService>,
}

/// Maximum number of concurrent readers of whole records.
const READERS: usize = 2;
/// Maximum number of concurrent downloads per token.
const DOWNLOADS: usize = 16;

/// The state shared by all handlers.
#[derive(Clone)]
struct App(Arc<AppState>);

struct AppState {
    access: Access,
    names: HostNames,
    library: Arc<Library>,
    runs: Arc<ActiveRuns>,
    experiments: Arc<ActiveExperiments>,
    feeds: Arc<Feeds>,
    fleet: Arc<FleetWatch>,
    program: BruntProgram,
    plans: PlanExecutor,
    readers: Arc<Semaphore>,
    /// Download slots of the view token, and of the control token.
    downloads: [Arc<Semaphore>; 2],
}

impl std::ops::Deref for App {
    type Target = AppState;
    fn deref(&self) -> &AppState {
        &self.0
    }
}

impl App {
    /// Waits for permission to read a whole record; the permit is held while it is read, even if the client has gone.
    async fn reader(&self) -> Result<OwnedSemaphorePermit, problem::Problem> {
        Arc::clone(&self.readers).acquire_owned().await.map_err(problem::Problem::machine)
    }
}

/// A console that serves until it is dropped.
pub struct Console {
    app: App,
    address: SocketAddr,
    scheme: &'static str,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Console {
    /// Opens the library, listens and serves.
    ///
    /// # Errors
    /// Returns the name of the wrong setting, and a message.
    pub fn start(settings: ConsoleSettings) -> Result<Console, (&'static str, String)> {
        let ConsoleSettings { listen, mut names, password, tls, library, renew_links, kept, program, fleet, plans } =
            settings;
        let folder = library.clone();
        let shelf = ExperimentShelf::open(&folder, kept.clone());
        let library = Arc::new(Library::open(&library, kept).map_err(|why| ("--library", why))?);
        let shelf = shelf.map_err(|error| ("--library", format!("{}: {error}", folder.display())))?;
        let mut links = KeptLinks::open(&folder, renew_links).map_err(|why| ("--library", why))?;
        let cannot = |error: std::io::Error| ("--listen", format!("cannot listen on {listen} ({error})"));
        let listener = bound(listen, &mut links).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(16)
            .thread_name("console")
            .enable_io()
            .enable_time()
            .build()
            .map_err(cannot)?;
        if !address.ip().is_loopback() {
            names.push(hostname());
        }
        let program = BruntProgram(program);
        let fleet = Arc::new(FleetWatch::new(program.clone(), fleet));
        let runs = Arc::new(ActiveRuns::new(program.clone(), Arc::clone(&library), Arc::clone(&fleet)));
        runs.remove_stale_files();
        let plans = PlanExecutor::new(plans);
        let experiments = ActiveExperiments::new(program.clone(), plans.clone(), shelf, Arc::clone(&fleet));
        let experiments = Arc::new(experiments);
        let app = App(Arc::new(AppState {
            access: Access::of(links, password, address.port()),
            names: HostNames::new(address, tls.is_some(), names),
            library,
            runs,
            experiments,
            feeds: Arc::default(),
            fleet,
            program,
            plans,
            readers: Arc::new(Semaphore::new(READERS)),
            downloads: [(); 2].map(|()| Arc::new(Semaphore::new(DOWNLOADS))),
        }));
        let scheme = if tls.is_some() { "https" } else { "http" };
        runtime.spawn(listen::serve(listener, tls, api::router(app.clone())));
        Ok(Console { app, address, scheme, runtime: Some(runtime) })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the link that permits control, or the one that permits only viewing.
    pub fn link(&self, may_steer: bool) -> String {
        let role = if may_steer { Role::Control } else { Role::View };
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => format!("{}:{}", hostname(), self.address.port()),
            _ => self.address.to_string(),
        };
        format!("{}://{host}/?token={}", self.scheme, self.app.access.token(role))
    }
}

/// Listens; without a port, on that of the last time, so that links to it still lead here. If another console has it, a
/// free one is used once.
fn bound(listen: SocketAddr, links: &mut KeptLinks) -> std::io::Result<std::net::TcpListener> {
    if listen.port() != 0 {
        return std::net::TcpListener::bind(listen);
    }
    let known = links.port.and_then(|port| std::net::TcpListener::bind((listen.ip(), port)).ok());
    if let Some(listener) = known {
        return Ok(listener);
    }
    let listener = std::net::TcpListener::bind(listen)?;
    if links.port.is_none() {
        links.port = Some(listener.local_addr()?.port());
        links.save()?;
    }
    Ok(listener)
}

/// Returns the name of this machine, for a link.
fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

impl Drop for Console {
    fn drop(&mut self) {
        self.app.experiments.stop_all();
        self.app.runs.stop_all();
        self.app.fleet.stop();
        if let Some(runtime) = self.runtime.take() {
            // Watchers are disconnected, since they would wait forever.
            runtime.shutdown_background();
        }
    }
}
