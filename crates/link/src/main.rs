//! `brunt-link`: started by brunt, never by a person. It holds the connection to the other machines of a fleet, and does
//! what brunt asks on a socket ([`brunt_messenger::bridge`]). It measures nothing and knows nothing of runs.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brunt_cause::{Complaint, complaint};
use brunt_i18n::Lang;
use brunt_link::{
    AgentIdentity, FleetContact, JoinedFleet, LocalServer, NatsMessenger, STANDSTILL, renewed, watch_standstill,
};
use brunt_messenger::{Messenger, ReplaceableMessenger, bridge};

const USAGE: &str = "brunt-link is started by brunt, for agents and for runs on them. It must lie beside brunt.

  brunt-link coordinator --dir DIR --listen ADDRESS:PORT --linger SECONDS
  brunt-link coordinator --nats URL --dir DIR --linger SECONDS
  brunt-link agent --join HOST:PORT    (identity in $BRUNT_LINK_IDENTITY, client on standard input)
  brunt-link agent --nats URL

  --standstill SECONDS    end after so long a standstill (15; not with NATS, which is reached again)";

/// Variable with an agent's identity, as JSON: other users cannot read it, unlike a command line.
const IDENTITY: &str = "BRUNT_LINK_IDENTITY";
/// Variable with the URL of a NATS server, which may hold a password.
const NATS_URL: &str = "BRUNT_LINK_NATS";
/// Variable with the language of an agent's owner.
const LANGUAGE: &str = "BRUNT_LINK_LANGUAGE";
/// Exit code of a link that stood still.
const STOOD_STILL: i32 = 3;
/// Pause before a server that was not reached is tried again.
const AGAIN: Duration = Duration::from_millis(1000);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).cloned()
    };
    let outcome = match words.first().map(String::as_str) {
        Some("coordinator") => coordinator(&option),
        Some("agent") => agent(&option),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("brunt-link: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Serves the brunts of the coordinator's machine until none is left.
fn coordinator(option: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
    let directory = PathBuf::from(option("--dir").ok_or(USAGE)?);
    let linger = option("--linger").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs_f64);
    let linger = linger.ok_or(USAGE)?;
    let text = |why: std::io::Error| why.to_string();
    let server = LocalServer::listen(&directory.join("link.sock")).map_err(text)?;
    let messenger: Arc<dyn Messenger> = match std::env::var(NATS_URL) {
        Ok(url) => Arc::new(NatsMessenger::connect(&url).map_err(|why| why.0)?),
        Err(_) => {
            let listen = option("--listen").ok_or(USAGE)?;
            end_after_standstill(option, Lang::from_env())?;
            renewed::coordinator(&directory, &listen).map_err(|why| why.0)?
        }
    };
    let ended = ended_by_signal()?;
    // Whoever started this waits for the line.
    println!("ready");
    server.serve(|| Arc::clone(&messenger), linger, || ended.load(Ordering::Relaxed) || !exists(&directory));
    Ok(())
}

/// Ends this process once it has stood still: its brunt starts another at once.
fn end_after_standstill(option: &dyn Fn(&str) -> Option<String>, lang: Lang) -> Result<(), String> {
    let bound = option("--standstill").map(|seconds| seconds.parse().map_err(|_| USAGE)).transpose()?;
    let bound = bound.map_or(STANDSTILL, Duration::from_secs_f64);
    let end = move |stood_still: Duration| {
        let seconds = stood_still.as_secs();
        let why = complaint!(
            "the link stood still for {seconds} s; another takes its place",
            "连接进程停顿了 {seconds} 秒；将由新的进程接替"
        );
        // Whoever started a coordinator's link may be gone, and with it the other end of the stream.
        let _ = writeln!(std::io::stderr(), "{}", if lang == Lang::Zh { why.zh() } else { &why });
        std::process::exit(STOOD_STILL);
    };
    watch_standstill(bound, end).map_err(|why| why.to_string())
}

fn exists(directory: &Path) -> bool {
    directory.is_dir()
}

/// Serves the one brunt that started this, which is at the other end of standard input.
fn agent(option: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
    let client: OwnedFd = std::io::stdin().as_fd().try_clone_to_owned().map_err(|why| why.to_string())?;
    let client = UnixStream::from(client);
    let ended = ended_by_signal()?;
    let lang = std::env::var(LANGUAGE).ok().and_then(|lang| lang.parse().ok()).unwrap_or_else(Lang::from_env);
    let messenger: Arc<dyn Messenger> = match std::env::var(NATS_URL) {
        Ok(url) => joined_nats(url, lang),
        Err(_) => {
            let coordinator = option("--join").ok_or(USAGE)?;
            end_after_standstill(option, lang)?;
            let identity = std::env::var(IDENTITY).map_err(|_| USAGE)?;
            let identity: serde_json::Value = serde_json::from_str(&identity).map_err(|why| why.to_string())?;
            let part = |name: &str| identity[name].as_str().unwrap_or_default().to_owned();
            let identity = AgentIdentity { ca: part("ca"), cert: part("cert"), key: part("key"), name: part("name") };
            let at = coordinator.clone();
            let joined = JoinedFleet::join(&coordinator, identity, move |contact| say(&shown(&contact, &at), lang));
            joined.map_err(|why| why.0)?.messenger()
        }
    };
    let end = move || {
        while !ended.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
        }
        std::process::exit(0);
    };
    drop(std::thread::Builder::new().spawn(end));
    bridge::serve(client, messenger).map_err(|why| why.to_string())
}

/// Returns a messenger that connects with a NATS server in the background, however long that takes.
fn joined_nats(url: String, lang: Lang) -> Arc<dyn Messenger> {
    let messenger = Arc::new(ReplaceableMessenger::default());
    let joining = Arc::clone(&messenger);
    let join = move || {
        let mut is_said = false;
        while let Err(why) = joining.replace(|| Ok(Arc::new(NatsMessenger::connect(&url)?) as Arc<dyn Messenger>)) {
            let why: brunt_messenger::Undelivered = why;
            if !std::mem::replace(&mut is_said, true) {
                let unreached = complaint!(
                    "the NATS server is not reached ({why}); it goes on trying",
                    "无法连接 NATS 服务器（{why}）；将继续尝试"
                );
                say(&unreached, lang);
            }
            std::thread::sleep(AGAIN);
        }
        say(&complaint!("connected to the NATS server", "已连接到 NATS 服务器"), lang);
    };
    drop(std::thread::Builder::new().name("join".into()).spawn(join));
    messenger
}

/// Returns what an agent's owner is told.
fn shown(contact: &FleetContact, coordinator: &str) -> Complaint {
    match contact {
        FleetContact::Connected => complaint!("connected to {coordinator}", "已连接到 {coordinator}"),
        FleetContact::Unreached(why) => {
            let (en, zh) = (why.complaint.to_string(), why.complaint.zh());
            complaint!("not connected: {en}; it goes on trying", "未连接：{zh}；将继续尝试")
        }
    }
}

fn say(what: &Complaint, lang: Lang) {
    eprintln!("{}", if lang == Lang::Zh { what.zh() } else { what });
}

/// Returns a flag that is set once the process shall end.
fn ended_by_signal() -> Result<Arc<AtomicBool>, String> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ended)).map_err(|why| why.to_string())?;
    }
    // Ctrl-C reaches all processes of a terminal; brunt decides what ends.
    let ignored = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, ignored).map_err(|why| why.to_string())?;
    Ok(ended)
}
