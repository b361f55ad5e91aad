//! The socket at which all brunts of a machine share one link, so that a fleet needs one port.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_messenger::{Messenger, bridge};

/// Interval of looks at what ends the link.
const LOOK: Duration = Duration::from_millis(200);

/// A socket for brunts of this machine.
pub struct LocalServer {
    listener: UnixListener,
    path: PathBuf,
}

/// Clients of a link.
#[derive(Default)]
struct Clients {
    number: AtomicUsize,
    last: Mutex<Option<Instant>>,
}

impl LocalServer {
    /// Listens at a path, which only this user can reach. One that nobody listens at any more is taken over.
    ///
    /// # Errors
    /// Another link listens there, or the operating system refuses.
    pub fn listen(path: &Path) -> io::Result<LocalServer> {
        let directory = path.parent().unwrap_or(Path::new("."));
        // The name of a socket is bounded to a hundred bytes, but not through a descriptor of its directory.
        let opened = File::open(directory)?;
        let name = path.file_name().unwrap_or_default();
        let short = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())).join(name);
        if std::os::unix::net::UnixStream::connect(&short).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(&short)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(LocalServer { listener, path: path.to_owned() })
    }

    /// Serves clients until there was none for this time, or `is_over` says so.
    pub fn serve(
        self,
        messenger: impl Fn() -> Arc<dyn Messenger>,
        linger: Duration,
        mut is_over: impl FnMut() -> bool,
    ) {
        let clients = Arc::<Clients>::default();
        *clients.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Instant::now());
        if self.listener.set_nonblocking(true).is_err() {
            return;
        }
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let (clients, messenger) = (Arc::clone(&clients), messenger());
                    clients.number.fetch_add(1, Ordering::Relaxed);
                    let serve = move || {
                        let _ = stream.set_nonblocking(false).and_then(|()| bridge::serve(stream, messenger));
                        *clients.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Instant::now());
                        clients.number.fetch_sub(1, Ordering::Relaxed);
                    };
                    drop(std::thread::Builder::new().name("client".into()).spawn(serve));
                }
                Err(_) => std::thread::sleep(LOOK / 10),
            }
            let idle = clients.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).map(|last| last.elapsed());
            let is_alone = clients.number.load(Ordering::Relaxed) == 0;
            if is_over() || (is_alone && idle.is_some_and(|idle| idle > linger)) {
                let _ = fs::remove_file(&self.path);
                return;
            }
        }
    }
}
