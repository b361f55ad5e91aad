//! A machine that lends itself to runs.

mod share;
mod spool;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use brunt_engine::ProcessLink;
use brunt_measure::Clock;
use brunt_messenger::{Held, Messenger, Undelivered};
use brunt_plan::OwnerTerms;

use crate::protocol::{AgentAnswer, AgentDescription, AgentQuestion, AgentState, ShareOffer, from_bytes, to_bytes};
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

/// A machine that is lent until this is dropped.
pub struct LentMachine {
    _shared: Arc<Lending>,
    _answers: Held,
    _appearance: Held,
}

/// What the threads of an agent share.
pub(crate) struct Lending {
    messenger: Arc<dyn Messenger>,
    settings: AgentSettings,
    name: String,
    active: Mutex<Option<Arc<ActiveShare>>>,
}

impl LentMachine {
    /// Lends the machine through a messenger, under the name of its description. What an earlier agent of this machine did
    /// not hand in is handed in now.
    ///
    /// # Errors
    /// The messenger is out of reach.
    pub fn lend(messenger: Arc<dyn Messenger>, settings: AgentSettings) -> Result<LentMachine, Undelivered> {
        let name = (settings.describe)().name;
        let shared = Arc::new(Lending { messenger, settings, name, active: Mutex::default() });
        for spool in ShareSpool::left_over(&shared.settings.spool) {
            share::hand_in(&shared, Arc::new(spool), None);
        }
        let asked = Arc::downgrade(&shared);
        let respond = move |question: &[u8]| match (asked.upgrade(), from_bytes(question)) {
            (Some(lending), Some(question)) => to_bytes(&lending.answer(question)),
            _ => to_bytes(&refusal("it does not understand the question", "无法理解该请求")),
        };
        let answers = shared.messenger.answer(&format!("agent/{}", shared.name), Box::new(respond))?;
        let appearance = shared.messenger.appear(&shared.name)?;
        Ok(LentMachine { _shared: shared, _answers: answers, _appearance: appearance })
    }
}

impl Drop for LentMachine {
    fn drop(&mut self) {
        if let Some(active) = self._shared.active().take() {
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
                Some(active) if active.run() == run => {
                    active.follow(number, order, &self.settings.terms);
                    AgentAnswer::Yes
                }
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
        let mut active = self.active();
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
    use std::time::Duration;

    use brunt_messenger::LocalMessenger;

    use super::*;

    #[test]
    fn a_coordinator_of_another_version_is_refused_with_both_versions_and_without_a_process() {
        let hub = LocalMessenger::default();
        let spool = tempfile::tempdir().unwrap();
        let settings = AgentSettings {
            describe: Box::new(|| AgentDescription { name: "a".into(), ..AgentDescription::default() }),
            terms: OwnerTerms::default(),
            spool: spool.path().to_owned(),
            start_process: Box::new(|_| panic!("a process was started")),
            say: Box::new(|_, _| ()),
        };
        let _lent = LentMachine::lend(Arc::new(hub.participant()), settings).unwrap();
        let coordinator = hub.participant();
        let ask = |question: &[u8]| {
            let answer = coordinator.ask("agent/a", question, Duration::from_secs(10)).unwrap();
            from_bytes::<AgentAnswer>(&answer).unwrap()
        };
        let brunt = "0.0.9\u{1b}[2J".to_owned();
        let offer = ShareOffer { run: "r".into(), brunt, from: 0, to: 1, of: 1, bytes: 10, orphan_timeout_ns: 1 };
        let AgentAnswer::No { en, zh } = ask(&to_bytes(&AgentQuestion::Take(offer))) else { panic!("it takes it") };
        for said in [&en, &zh] {
            assert!(said.contains("0.0.9") && said.contains(env!("CARGO_PKG_VERSION")), "{said}");
            assert!(!said.contains('\u{1b}'), "{said:?}");
        }
        // What a later version may ask is no reason to fall over.
        let AgentAnswer::No { en, .. } = ask(br#"{"dance":{}}"#) else { panic!("it dances") };
        assert!(en.contains("understand"), "{en}");
    }
}
