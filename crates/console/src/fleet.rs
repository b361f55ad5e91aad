//! The fleet as `brunt fleet --json --watch` tells of it: the process runs only while somebody looks, since its connection
//! costs the coordinator's port.

mod shown;
#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::watch;

use crate::program::BruntProgram;

pub use shown::{FleetLine, shown};

/// Time for which the fleet is still watched after the last look.
const LINGER: Duration = Duration::from_secs(10);
/// Time after which a process that ended is started again.
const AGAIN: Duration = Duration::from_secs(3);
/// Time for which a look waits for the first answer.
const FIRST: Duration = Duration::from_secs(8);
/// Interval at which the process is looked after.
const LOOK: Duration = Duration::from_millis(100);

/// Where a fleet is.
pub struct FleetPlace {
    /// A directory, or the URL of a NATS server; `None` for the usual directory.
    pub asked: Option<String>,
    /// Returns `true` if it was made; its agents need not be there.
    pub exists: Box<dyn Fn() -> bool + Send + Sync>,
}

impl std::fmt::Debug for FleetPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A URL can have a password.
        f.debug_struct("FleetPlace").finish_non_exhaustive()
    }
}

/// A sentence in both languages.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct TranslatedSentence {
    /// In English.
    pub en: String,
    /// In Chinese.
    pub zh: String,
}

impl TranslatedSentence {
    /// Returns the sentence in a language.
    pub fn of(&self, lang: &str) -> &str {
        if lang == "zh" { &self.zh } else { &self.en }
    }
}

/// What is known of the fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FleetView {
    /// Nothing yet.
    #[default]
    Awaited,
    /// Who is there: the last line of the process.
    Seen(Arc<FleetLine>),
    /// There is none, or it is out of reach.
    Unseen(TranslatedSentence),
}

/// When somebody looked last, and whether a process tells of the fleet.
struct WatchStanding {
    looked: Instant,
    watches: bool,
    /// Time before which no process is started again.
    rests_until: Instant,
    stopped: bool,
}

impl WatchStanding {
    fn is_needed(&self) -> bool {
        !self.stopped && self.looked.elapsed() <= LINGER
    }
}

/// A view of the fleet that is kept up to date while somebody looks.
pub struct FleetWatch {
    program: BruntProgram,
    place: FleetPlace,
    standing: Mutex<WatchStanding>,
    view: watch::Sender<FleetView>,
}

impl FleetWatch {
    /// Creates a view that nobody looks at yet.
    pub fn new(program: BruntProgram, place: FleetPlace) -> FleetWatch {
        let now = Instant::now();
        let standing = WatchStanding { looked: now, watches: false, rests_until: now, stopped: false };
        FleetWatch { program, place, standing: Mutex::new(standing), view: watch::Sender::default() }
    }

    fn standing(&self) -> MutexGuard<'_, WatchStanding> {
        self.standing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns `true` if there is a fleet; its agents need not be there.
    pub fn exists(&self) -> bool {
        (self.place.exists)()
    }

    /// Returns the options with which a process finds the fleet.
    pub fn options(&self) -> impl Iterator<Item = String> + '_ {
        self.place.asked.iter().flat_map(|fleet| ["--fleet".to_owned(), fleet.clone()])
    }

    /// Returns where the fleet is, if it is not the usual place; without a password.
    pub fn place(&self) -> Option<String> {
        let asked = self.place.asked.as_deref()?;
        let host = asked.split_once("://").map(|(scheme, rest)| (scheme, rest.rsplit('@').next().unwrap_or(rest)));
        Some(host.map_or_else(|| asked.to_owned(), |(scheme, host)| format!("{scheme}://{host}")))
    }

    /// Returns what is known now; the first look waits a moment for it.
    pub async fn look(self: &Arc<FleetWatch>) -> FleetView {
        let mut view = self.view.subscribe();
        if !self.keep_watching() {
            return view.borrow().clone();
        }
        let known = tokio::time::timeout(FIRST, view.wait_for(|view| !matches!(view, FleetView::Awaited))).await;
        known.ok().and_then(Result::ok).map(|view| view.clone()).unwrap_or_default()
    }

    /// Returns `true` if a process tells of the fleet.
    fn keep_watching(self: &Arc<FleetWatch>) -> bool {
        let mut standing = self.standing();
        let now = Instant::now();
        standing.looked = now;
        if standing.watches || standing.stopped || now < standing.rests_until {
            return standing.watches;
        }
        let watch = Arc::clone(self);
        let thread = std::thread::Builder::new().name("fleet".into()).spawn(move || watch.follow());
        standing.watches = thread.is_ok();
        standing.watches
    }

    /// Starts the process and passes on what it says, until it ends or nobody looks any more.
    fn follow(&self) {
        loop {
            let ended = match self.command().spawn() {
                Ok(child) => self.attend(child),
                Err(error) => Some(format!("brunt cannot be started ({error})")),
            };
            let mut standing = self.standing();
            let was_looked_at = ended.is_none() && standing.is_needed();
            match ended {
                // The next look must not see what was true long ago.
                None => drop(self.view.send_replace(FleetView::Awaited)),
                Some(why) => {
                    self.complain(why);
                    standing.rests_until = Instant::now() + AGAIN;
                }
            }
            if !was_looked_at {
                standing.watches = false;
                return;
            }
        }
    }

    /// Says why the process ended, unless it did so itself.
    fn complain(&self, why: String) {
        self.view.send_if_modified(|view| {
            let is_told = matches!(view, FleetView::Unseen(_));
            if !is_told {
                *view = FleetView::Unseen(TranslatedSentence { en: why.clone(), zh: why });
            }
            !is_told
        });
    }

    fn command(&self) -> Command {
        let mut command = self.program.command();
        // Whoever comes later is in a later line.
        command.args(["fleet", "--json", "--watch", "--wait", "500ms"]).args(self.options());
        command.stderr(Stdio::piped());
        command
    }

    /// Waits for the end of the process; returns what it said last if it ended by itself.
    fn attend(&self, mut child: Child) -> Option<String> {
        std::thread::scope(|scope| {
            let (out, err) = (child.stdout.take(), child.stderr.take());
            scope.spawn(|| out.into_iter().for_each(|out| self.read(BufReader::new(out))));
            let said = scope.spawn(|| {
                const SAID: u64 = 4096;
                let mut said = String::new();
                let _ = err.map(|err| err.take(SAID).read_to_string(&mut said));
                said
            });
            let is_unlooked = loop {
                if !matches!(child.try_wait(), Ok(None)) {
                    break false;
                }
                if !self.standing().is_needed() {
                    break true;
                }
                std::thread::sleep(LOOK);
            };
            let _ = child.kill().and_then(|()| child.wait());
            let said = said.join().unwrap_or_default();
            let last = said.lines().last().unwrap_or("brunt fleet ended").trim_start_matches("brunt: ").to_owned();
            (!is_unlooked).then_some(last)
        })
    }

    /// Passes on the lines of the process.
    fn read(&self, lines: impl BufRead) {
        #[derive(Deserialize)]
        struct Refusal {
            trouble: TranslatedSentence,
        }
        for line in lines.lines().map_while(Result::ok) {
            let view = match serde_json::from_str(&line) {
                Ok(Refusal { trouble }) => FleetView::Unseen(trouble),
                Err(_) => match serde_json::from_str(&line) {
                    Ok(told) => FleetView::Seen(Arc::new(told)),
                    Err(_) => continue,
                },
            };
            self.view.send_replace(view);
        }
    }

    /// Ends the process, and waits briefly until it has ended.
    pub fn stop(&self) {
        self.standing().stopped = true;
        let until = Instant::now() + Duration::from_secs(2);
        while self.standing().watches && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
