//! `brunt-link`, the process that holds the connection to a fleet: found beside this program, started when needed, and
//! started again if it ends.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_fleet::{AgentToken, FleetDirectory};
use brunt_messenger::{LinkedMessenger, Messenger, ReplaceableMessenger};
use brunt_report::Lang;

use super::state;

/// Name of the program.
const PROGRAM: &str = "brunt-link";
/// Variable with its path, where it does not lie beside brunt.
const PROGRAM_VARIABLE: &str = "BRUNT_LINK";
/// Variables with what others must not see on a command line (see `brunt-link`).
const IDENTITY: &str = "BRUNT_LINK_IDENTITY";
const NATS_URL: &str = "BRUNT_LINK_NATS";
/// Variable with the language in which the link of an agent says what becomes of it.
const LANGUAGE: &str = "BRUNT_LINK_LANGUAGE";
/// Name of the socket in the directory of a fleet.
const SOCKET: &str = "link.sock";
/// Time for which a link waits for the next brunt.
const LINGER: &str = "10";
/// Address at which coordinators listen unless the fleet says otherwise.
const LISTEN: &str = "0.0.0.0:7447";
/// Interval of looks at a link.
const LOOK: Duration = Duration::from_millis(200);

fn program() -> PathBuf {
    if let Some(path) = std::env::var_os(PROGRAM_VARIABLE) {
        return path.into();
    }
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(PROGRAM))
}

fn not_started(error: &io::Error) -> Complaint {
    if error.kind() == io::ErrorKind::NotFound {
        return complaint!(
            "the program brunt-link is missing: it must lie beside brunt (`cargo build --release -p brunt-link` builds it)",
            "缺少程序 brunt-link：它应与 brunt 放在一起（用 `cargo build --release -p brunt-link` 构建）"
        );
    }
    complaint!("brunt-link did not start: {error}", "brunt-link 没有启动：{error}")
}

/// Returns the usual directory of a fleet.
pub fn usual_directory() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")));
    config.map(|config| config.join("brunt/fleet"))
}

/// Returns `true` for the URL of a NATS server.
pub fn is_nats(fleet: &str) -> bool {
    fleet.starts_with("nats://") || fleet.starts_with("tls://")
}

/// Returns the directory of a fleet.
///
/// # Errors
/// There is no home directory.
pub fn directory(fleet: Option<&str>) -> Result<PathBuf, UsageError> {
    fleet.map(PathBuf::from).or_else(usual_directory).ok_or_else(|| {
        let trouble = complaint!("there is no home directory; name one", "没有主目录；请指定一个目录");
        UsageError::new("--fleet", trouble)
    })
}

/// Connects this process with a fleet, through the link of this machine.
///
/// # Errors
/// There is no such fleet, or the link does not start.
pub fn coordinator(fleet: Option<&str>) -> Result<Arc<dyn Messenger>, UsageError> {
    let wrong = |trouble: Complaint| UsageError::new("--fleet", trouble);
    let start: Box<dyn Fn() -> Result<LinkedMessenger, Complaint> + Send> = match fleet {
        Some(url) if is_nats(url) => {
            let mut hasher = DefaultHasher::new();
            url.hash(&mut hasher);
            let directory = state()?.join(format!("links/{:016x}", hasher.finish()));
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)
                .map_err(|error| wrong(error.to_string().into()))?;
            let url = url.to_owned();
            Box::new(move || shared_link(&directory, &["--nats"], &[(NATS_URL, &url)]))
        }
        fleet => {
            let directory = FleetDirectory::open(&directory(fleet)?).map_err(wrong)?;
            let listen = directory.listen().unwrap_or_else(|| LISTEN.to_owned());
            Box::new(move || shared_link(directory.path(), &["--listen", &listen], &[]))
        }
    };
    let first = Arc::new(start().map_err(wrong)?);
    Ok(kept_alive(first, move || start().map(Arc::new).ok()))
}

/// Connects with the link that brunts of this machine share for a fleet, and starts it if there is none.
fn shared_link(directory: &Path, options: &[&str], variables: &[(&str, &str)]) -> Result<LinkedMessenger, Complaint> {
    let connect = || -> io::Result<LinkedMessenger> {
        // The name of a socket is bounded to a hundred bytes, but not through a descriptor of its directory.
        let opened = File::open(directory)?;
        let socket = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())).join(SOCKET);
        LinkedMessenger::connect(UnixStream::connect(socket)?)
    };
    if let Ok(messenger) = connect() {
        return Ok(messenger);
    }
    let mut command = Command::new(program());
    command.arg("coordinator").arg("--dir").arg(directory).args(["--linger", LINGER]).args(options);
    command.envs(variables.iter().copied());
    // It outlives this process, for the next one, and a Ctrl-C.
    command.process_group(0).current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_started(&error))?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        let _ = BufReader::new(out).read_line(&mut line);
    }
    if line.trim() != "ready" {
        // Another process may have started one at the same time.
        if let Ok(messenger) = connect() {
            return Ok(messenger);
        }
        return Err(failure(&mut child));
    }
    reap(child);
    connect().map_err(|error| not_started(&error))
}

/// Returns what a link said before it ended.
fn failure(child: &mut Child) -> Complaint {
    let mut said = String::new();
    if let Some(out) = child.stderr.take() {
        let _ = out.take(4096).read_to_string(&mut said);
    }
    let _ = child.wait();
    let said = brunt_measure::sanitize::text(said.trim().trim_start_matches("brunt-link: ")).into_owned();
    if said.contains("in use") {
        return complaint!(
            "the port of the fleet is taken: another coordinator runs here ({said})",
            "机群的端口已被占用：本机已有另一个协调端（{said}）"
        );
    }
    complaint!("brunt-link did not start: {said}", "brunt-link 没有启动：{said}")
}

/// Waits for a process that is not waited for elsewhere, so that it leaves no zombie.
fn reap(mut child: Child) {
    drop(std::thread::Builder::new().name("link".into()).spawn(move || child.wait()));
}

/// Returns a messenger that gets a new link whenever the old one has ended.
fn kept_alive(
    first: Arc<LinkedMessenger>,
    start: impl Fn() -> Option<Arc<LinkedMessenger>> + Send + 'static,
) -> Arc<dyn Messenger> {
    let messenger = Arc::new(ReplaceableMessenger::default());
    let mut current = first;
    let connected = Arc::clone(&current) as Arc<dyn Messenger>;
    let _ = messenger.replace(|| Ok::<_, ()>(connected));
    let watched = Arc::downgrade(&messenger);
    let watch = move || {
        while let Some(messenger) = watched.upgrade() {
            if !current.is_alive()
                && let Some(next) = start()
            {
                current = Arc::clone(&next);
                let _ = messenger.replace(|| Ok::<_, ()>(next as Arc<dyn Messenger>));
            }
            drop(messenger);
            std::thread::sleep(LOOK);
        }
    };
    drop(std::thread::Builder::new().name("link".into()).spawn(watch));
    messenger
}

/// What an agent joins.
pub enum Joined {
    /// A coordinator (`host:port`), with a token.
    Coordinator(String, AgentToken),
    /// A NATS server.
    Nats(String),
}

/// Starts the link of an agent, which tells its owner in this language what becomes of the connection.
///
/// # Errors
/// It does not start.
pub fn agent(joined: Joined, lang: Lang) -> Result<Arc<dyn Messenger>, Complaint> {
    let start = move || -> Result<LinkedMessenger, Complaint> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| not_started(&error))?;
        let mut command = Command::new(program());
        command.arg("agent").process_group(0).current_dir("/").stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        command.env(LANGUAGE, if lang == Lang::Zh { "zh" } else { "en" });
        match &joined {
            Joined::Coordinator(address, token) => {
                let AgentToken { ca, cert, key, name } = token;
                let identity = serde_json::json!({ "ca": ca, "cert": cert, "key": key, "name": name });
                command.args(["--join", address]).env(IDENTITY, identity.to_string());
            }
            Joined::Nats(url) => {
                command.arg("--nats").env(NATS_URL, url);
            }
        }
        let child = command.spawn().map_err(|error| not_started(&error))?;
        // The parent's copy of its end would keep the stream open.
        drop(command);
        reap(child);
        LinkedMessenger::connect(ours).map_err(|error| not_started(&error))
    };
    let first = Arc::new(start()?);
    Ok(kept_alive(first, move || start().map(Arc::new).ok()))
}
