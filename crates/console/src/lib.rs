//! The console: brunt in the browser, and the HTTP API under it.
//!
//! A server on threads of its own, on loopback unless it was asked otherwise; a library of runs; runs started from it, each a process
//! of brunt with its own core and descriptors, which outlives the console. It sees records and nothing else of a run, and knows neither engine
//! nor protocols: what a plan is and whether it can be run is asked of brunt itself.

mod access;
mod api;
pub mod driving;
mod feed;
mod figures;
mod gate;
mod library;
mod listen;
mod pages;
mod plans;
mod problem;
mod program;
mod runs;
#[cfg(test)]
mod testing;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use access::{Access, Role};
use feed::Feeds;
use gate::Names;
use library::Library;
use plans::Reader;
use program::Program;
use runs::Runs;

pub use driving::Order;
pub use plans::Plans;
pub use tokio_rustls::rustls::ServerConfig;

/// How the console is to be.
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Names it is reached by beside its addresses.
    pub names: Vec<String>,
    /// What people type beside their link.
    pub password: Option<String>,
    /// How connections are sealed; None: not at all.
    pub tls: Option<Arc<ServerConfig>>,
    /// The folder of the library.
    pub library: PathBuf,
    /// Where the command line keeps its last runs.
    pub kept: Option<PathBuf>,
    /// brunt itself.
    pub program: PathBuf,
    /// Reads plans in this process.
    pub plans: Arc<dyn Plans>,
}

/// So many may read whole records at once.
const READERS: usize = 2;
/// So many files are on their way at once to those who have the same token.
const DOWNLOADS: usize = 16;

/// What every handler has.
#[derive(Clone)]
struct App(Arc<Inner>);

struct Inner {
    access: Access,
    names: Names,
    library: Arc<Library>,
    runs: Arc<Runs>,
    feeds: Arc<Feeds>,
    program: Program,
    plans: Reader,
    readers: Arc<Semaphore>,
    /// Of those who look, and of those who steer.
    downloads: [Arc<Semaphore>; 2],
}

impl std::ops::Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// Waits until this one may read a whole record; held for as long as it reads, also where nobody waits for it any more.
    async fn reader(&self) -> Result<OwnedSemaphorePermit, problem::Problem> {
        Arc::clone(&self.readers).acquire_owned().await.map_err(problem::Problem::machine)
    }
}

/// A console that serves, until it is dropped.
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
    /// Which setting it is, and what is wrong with it.
    pub fn start(settings: Settings) -> Result<Console, (&'static str, String)> {
        let Settings { listen, mut names, password, tls, library, kept, program, plans } = settings;
        let library = Arc::new(Library::open(&library, kept).map_err(|why| ("--library", why))?);
        let cannot = |error: std::io::Error| ("--listen", format!("{listen} cannot be listened on ({error})"));
        let listener = std::net::TcpListener::bind(listen).map_err(cannot)?;
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
        let program = Program(program);
        let runs = Arc::new(Runs::new(program.clone(), Arc::clone(&library)));
        runs.tidy_up();
        let app = App(Arc::new(Inner {
            access: Access::new(password, address.port()).map_err(|why| ("--listen", why))?,
            names: Names::new(address, tls.is_some(), names),
            library,
            runs,
            feeds: Arc::default(),
            program,
            plans: Reader::new(plans),
            readers: Arc::new(Semaphore::new(READERS)),
            downloads: [(); 2].map(|()| Arc::new(Semaphore::new(DOWNLOADS))),
        }));
        let scheme = if tls.is_some() { "https" } else { "http" };
        runtime.spawn(listen::serve(listener, tls, api::router(app.clone())));
        Ok(Console { app, address, scheme, runtime: Some(runtime) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link with which people may steer, or only look.
    pub fn link(&self, may_steer: bool) -> String {
        let role = if may_steer { Role::Steer } else { Role::Look };
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => format!("{}:{}", hostname(), self.address.port()),
            _ => self.address.to_string(),
        };
        format!("{}://{host}/?token={}", self.scheme, self.app.access.token(role))
    }
}

/// What this machine is called, for a link.
fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

impl Drop for Console {
    fn drop(&mut self) {
        self.app.runs.stop_all();
        if let Some(runtime) = self.runtime.take() {
            // Those who watch are cut off: they would wait for ever.
            runtime.shutdown_background();
        }
    }
}
