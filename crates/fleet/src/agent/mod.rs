//! A machine that lends itself to runs.

mod share;
mod spool;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use brunt_engine::ProcessLink;
use brunt_measure::Clock;
use brunt_messenger::{Held, Messenger, Presence, Undelivered};
use brunt_plan::OwnerTerms;

use crate::protocol::{
    AgentAnswer, AgentDescription, AgentQuestion, AgentState, ShareOffer, from_bytes, is_run_name, to_bytes,
};
use share::ActiveShare;
use spool::ShareSpool;

/// Starts a process that measures, on these terms.
type StartProcess = Box<dyn Fn(&OwnerTerms) -> std::io::Result<ProcessLink> + Send + Sync>;

/// Told something in English and Chinese.
type SayToOwner = Box<dyn Fn(&str, &str) + Send + Sync>;

/// What an agent needs to know of its machine.
pub struct AgentSettings {
    /// Its description, except for what it does now; takes as long as it takes to measure what others use.
    pub describe: Box<dyn Fn() -> AgentDescription + Send + Sync>,
    /// What its owner allows.
    pub terms: OwnerTerms,
    /// Directory for what was not handed in yet.
    pub spool: PathBuf,
    /// Starts a measuring process, whose standard input and output are the link.
    pub start_process: StartProcess,
    /// Told what a person at the machine may want to know.
    pub say: SayToOwner,
}

/// Time for which a share may end by itself once its owner takes the machine back, and then for which what it measured is
/// handed in; what is left stays on disk.
const TAKEN_BACK: Duration = Duration::from_secs(3);

/// A machine that is lent until this is dropped.
pub struct LentMachine {
    shared: Arc<Lending>,
    _answers: Held,
    _appearance: Held,
}

/// What the threads of an agent share.
pub(crate) struct Lending {
    messenger: Arc<dyn Messenger>,
    settings: AgentSettings,
    name: String,
    active: Mutex<Option<Arc<ActiveShare>>>,
    /// Set once the owner takes the machine back.
    is_taken_back: AtomicBool,
}

impl LentMachine {
    /// Lends the machine through a messenger, under the name of its description. What an earlier agent of this machine did
    /// not hand in is handed in now.
    ///
    /// # Errors
    /// The messenger is out of reach.
    pub fn lend(messenger: Arc<dyn Messenger>, settings: AgentSettings) -> Result<LentMachine, Undelivered> {
        let name = (settings.describe)().name;
        let shared = Arc::new(Lending {
            messenger,
            settings,
            name,
            active: Mutex::default(),
            is_taken_back: AtomicBool::default(),
        });
        for spool in ShareSpool::left_over(&shared.settings.spool) {
            share::hand_in(&shared, Arc::new(spool), None);
        }
        let asked = Arc::downgrade(&shared);
        let respond = move |question: &[u8]| match (asked.upgrade(), from_bytes(question)) {
            (Some(lending), Some(question)) => to_bytes(&lending.answer(question)),
            _ => to_bytes(&refusal("it does not understand the question", "无法理解该请求")),
        };
        let answers = shared.messenger.answer(&format!("agent/{}", shared.name), Box::new(respond))?;
        let appearance = shared.messenger.appear(&Presence::draw(&shared.name))?;
        Ok(LentMachine { shared, _answers: answers, _appearance: appearance })
    }

    /// Takes the machine back: no share is taken any more, the load of one that runs stops, and the coordinator gets what
    /// was measured and the reason, as far as that takes no more than some seconds.
    pub fn take_back(self) {
        self.shared.is_taken_back.store(true, Ordering::Relaxed);
        let active = self.shared.active().clone();
        if let Some(active) = active {
            active.take_back(&self.shared, TAKEN_BACK);
        }
    }
}

impl Drop for LentMachine {
    fn drop(&mut self) {
        if let Some(active) = self.shared.active().take() {
            active.stop();
        }
    }
}

fn refusal(en: impl Into<String>, zh: impl Into<String>) -> AgentAnswer {
    AgentAnswer::No { en: en.into(), zh: zh.into() }
}

impl Lending {
    fn active(&self) -> MutexGuard<'_, Option<Arc<ActiveShare>>> {
        self.active.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn answer(self: &Arc<Self>, question: AgentQuestion) -> AgentAnswer {
        match question {
            AgentQuestion::Describe => {
                let running =
                    self.active().as_ref().filter(|active| !active.is_over()).map(|active| active.run().to_owned());
                let state = running.map_or(AgentState::Idle, AgentState::Runs);
                AgentAnswer::Description(Box::new(AgentDescription { state, ..(self.settings.describe)() }))
            }
            AgentQuestion::Clock => {
                let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                AgentAnswer::Clock { now_ns: Clock.now().0, unix_ns: unix.as_nanos() as u64 }
            }
            AgentQuestion::Take(offer) => self.take(offer),
            AgentQuestion::Order { run, number, order } => match self.active().as_ref() {
                Some(active) if active.run() == run => active.follow(number, order),
                _ => refusal(format!("it has no share of run {run}"), format!("它没有压测 {run} 的份额")),
            },
        }
    }

    fn take(self: &Arc<Self>, offer: ShareOffer) -> AgentAnswer {
        let own = env!("CARGO_PKG_VERSION");
        if offer.brunt != own {
            let theirs = brunt_measure::sanitize::text(&offer.brunt);
            return refusal(
                format!("it is brunt {own}, and the coordinator is brunt {theirs}; run the same version on both"),
                format!("它是 brunt {own}，而协调端是 brunt {theirs}；请在两边使用同一版本"),
            );
        }
        if !is_run_name(&offer.run) {
            return refusal("its run has a name that no run has", "其压测的名称不是任何压测会有的名称");
        }
        if offer.from >= offer.to || offer.to > offer.of {
            return refusal("its share is none of that run", "其份额不属于该压测");
        }
        let mut active = self.active();
        if self.is_taken_back.load(Ordering::Relaxed) {
            return refusal("its owner takes it back", "机主正在收回它");
        }
        if let Some(now) = active.as_ref().filter(|now| !now.is_over() || now.run() == offer.run) {
            if now.run() == offer.run {
                return AgentAnswer::Yes;
            }
            let run = now.run();
            return refusal(format!("it has a share of run {run} now"), format!("它正在承担压测 {run} 的份额"));
        }
        match share::take(self, offer) {
            Ok(taken) => {
                *active = Some(taken);
                AgentAnswer::Yes
            }
            Err(error) => refusal(
                format!("it cannot start a process for the share ({error})"),
                format!("它无法为该份额启动进程（{error}）"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use brunt_messenger::LocalMessenger;

    use super::*;
    use crate::frame::Item;

    fn settings(spool: &std::path::Path) -> AgentSettings {
        AgentSettings {
            describe: Box::new(|| AgentDescription { name: "a".into(), ..AgentDescription::default() }),
            terms: OwnerTerms::default(),
            spool: spool.to_owned(),
            start_process: Box::new(|_| panic!("a process was started")),
            say: Box::new(|_, _| ()),
        }
    }

    fn offer(run: &str, brunt: &str) -> ShareOffer {
        let (run, brunt) = (run.into(), brunt.into());
        ShareOffer { run, brunt, from: 0, to: 1, of: 1, bytes: 10, orphan_timeout_ns: 1 }
    }

    /// Asks an agent that is lent, which must refuse; returns what it says.
    fn refused(hub: &LocalMessenger, question: &[u8]) -> [String; 2] {
        let answer = hub.participant().ask("agent/a", question, Duration::from_secs(10)).unwrap();
        let AgentAnswer::No { en, zh } = from_bytes(&answer).unwrap() else { panic!("it does it") };
        [en, zh]
    }

    #[test]
    fn a_coordinator_of_another_version_is_refused_with_both_versions_and_without_a_process() {
        let (hub, spool) = (LocalMessenger::default(), tempfile::tempdir().unwrap());
        let _lent = LentMachine::lend(Arc::new(hub.participant()), settings(spool.path())).unwrap();
        for said in refused(&hub, &to_bytes(&AgentQuestion::Take(offer("a1", "0.0.9\u{1b}[2J")))) {
            assert!(said.contains("0.0.9") && said.contains(env!("CARGO_PKG_VERSION")), "{said}");
            assert!(!said.contains('\u{1b}'), "{said:?}");
        }
        // What a later version may ask is no reason to fall over.
        let [en, _] = refused(&hub, br#"{"dance":{}}"#);
        assert!(en.contains("understand"), "{en}");
    }

    #[test]
    fn a_run_whose_name_is_a_path_or_whose_share_is_none_is_refused_without_a_file() {
        let (hub, home) = (LocalMessenger::default(), tempfile::tempdir().unwrap());
        let spool = home.path().join("spool");
        let _lent = LentMachine::lend(Arc::new(hub.participant()), settings(&spool)).unwrap();
        let absolute = home.path().join("config").display().to_string();
        for run in [absolute.as_str(), "../config", "..", "", "a/b", "a.b", "r", &"a".repeat(41)] {
            let [en, _] = refused(&hub, &to_bytes(&AgentQuestion::Take(offer(run, env!("CARGO_PKG_VERSION")))));
            assert!(en.contains("name"), "{run}: {en}");
        }
        for (from, to, of) in [(1, 1, 2), (2, 1, 2), (0, 3, 2), (0, 0, 0)] {
            let offer = ShareOffer { from, to, of, ..offer("a1", env!("CARGO_PKG_VERSION")) };
            let [en, _] = refused(&hub, &to_bytes(&AgentQuestion::Take(offer)));
            assert!(en.contains("share"), "{from}..{to} of {of}: {en}");
        }
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }

    /// A lent machine that took a share of run `a1`, and everything that is handed in and said to its owner.
    struct TakenShare {
        spool: tempfile::TempDir,
        frames: Arc<Mutex<Vec<u8>>>,
        said: Arc<Mutex<Vec<String>>>,
        _receives: Held,
    }

    impl TakenShare {
        /// The measuring process says hello, and then does what this script says.
        fn of(script: &'static str) -> (TakenShare, LentMachine) {
            let (hub, spool) = (LocalMessenger::default(), tempfile::tempdir().unwrap());
            let (frames, said) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::<Mutex<Vec<String>>>::default());
            let heard = Arc::clone(&said);
            let start = move |_: &OwnerTerms| {
                let hello = format!("echo 'brunt-link 1 {}'; {script}", env!("CARGO_PKG_VERSION"));
                brunt_engine::child(std::process::Command::new("sh").args(["-c", &hello]))
            };
            let settings = AgentSettings {
                start_process: Box::new(start),
                say: Box::new(move |en, zh| {
                    assert!(!zh.is_empty());
                    heard.lock().unwrap().push(en.to_owned());
                }),
                ..settings(spool.path())
            };
            let lent = LentMachine::lend(Arc::new(hub.participant()), settings).unwrap();
            let (coordinator, kept) = (hub.participant(), Arc::clone(&frames));
            let keep = move |_: &brunt_messenger::FrameId, frame: &[u8]| {
                kept.lock().unwrap().extend(frame);
                true
            };
            let receives = coordinator.receive("a1", Box::new(keep)).unwrap();
            let offer = ShareOffer { bytes: 0, orphan_timeout_ns: u64::MAX, ..offer("a1", env!("CARGO_PKG_VERSION")) };
            let question = to_bytes(&AgentQuestion::Take(offer));
            let answer = coordinator.ask("agent/a", &question, Duration::from_secs(10)).unwrap();
            assert!(matches!(from_bytes(&answer), Some(AgentAnswer::Yes)), "{answer:?}");
            (TakenShare { spool, frames, said, _receives: receives }, lent)
        }

        fn items(&self) -> Vec<Item> {
            let frames = self.frames.lock().unwrap();
            let mut rest = &frames[..];
            std::iter::from_fn(|| Item::take(&mut rest)).collect()
        }
    }

    #[test]
    fn a_machine_that_is_taken_back_tells_its_owner_and_the_coordinator() {
        // It does not heed the order to stop, so that it is killed.
        let (share, lent) = TakenShare::of("exec cat > /dev/null");
        lent.take_back();

        let (items, said) = (share.items(), share.said.lock().unwrap());
        let [Item::Remark(why), Item::Ended(how)] = &items[..] else { panic!("{items:?}") };
        assert_eq!(
            (why.as_str(), how.as_str()),
            ("taken back by its owner", "taken back by its owner (killed by SIGKILL)")
        );
        let [takes, stopped, over] = &said[..] else { panic!("{said:?}") };
        for (said, part) in [(takes, "workers 1 to 1 of 1"), (stopped, "taken back"), (over, "is over")] {
            assert!(said.starts_with("run a1: ") && said.contains(part), "{said}");
        }
        assert_eq!(std::fs::read_dir(share.spool.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_process_that_works_without_a_report_gives_signs_and_one_that_waits_gives_none() {
        for (script, works) in [("while :; do :; done", true), ("exec cat > /dev/null", false)] {
            let (share, lent) = TakenShare::of(script);
            let until = std::time::Instant::now() + Duration::from_secs(if works { 30 } else { 3 });
            while !share.items().contains(&Item::Works) && std::time::Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(share.items().contains(&Item::Works), works, "{script}");
            lent.take_back();
        }
    }
}
