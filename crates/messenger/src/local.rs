//! A messenger within one process, for tests and the simulation of a fleet.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use crate::{FrameId, Held, Keep, Messenger, OnPresence, Presence, Respond, Undelivered};

/// A messenger whose coordinator and agents are threads of one process. Clones share one fleet, and each can be cut off.
#[derive(Clone, Default)]
pub struct LocalMessenger {
    hub: Arc<Mutex<LocalHub>>,
    /// Set while nothing passes to and from this clone.
    cut: Arc<Mutex<bool>>,
}

#[derive(Default)]
struct LocalHub {
    next: u64,
    present: BTreeMap<u64, Presence>,
    watchers: BTreeMap<u64, Arc<OnPresence>>,
    answers: BTreeMap<u64, (String, Arc<Respond>)>,
    keepers: BTreeMap<u64, (String, Arc<Keep>)>,
}

/// Removes an entry of the hub when dropped.
struct LocalEntry {
    hub: Weak<Mutex<LocalHub>>,
    key: u64,
}

impl Drop for LocalEntry {
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else { return };
        let gone = {
            let mut hub = lock(&hub);
            hub.watchers.remove(&self.key);
            hub.answers.remove(&self.key);
            hub.keepers.remove(&self.key);
            hub.present.remove(&self.key)
        };
        if let Some(presence) = gone {
            tell(&hub, &presence, false);
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn tell(hub: &Mutex<LocalHub>, presence: &Presence, is_there: bool) {
    let watchers: Vec<Arc<OnPresence>> = lock(hub).watchers.values().cloned().collect();
    watchers.iter().for_each(|told| told(presence, is_there));
}

impl LocalMessenger {
    /// Creates another participant of the same fleet, which can be cut off by itself.
    #[must_use]
    pub fn participant(&self) -> LocalMessenger {
        LocalMessenger { hub: Arc::clone(&self.hub), cut: Arc::default() }
    }

    /// Cuts this participant off (`true`), or lets it through again. Who has appeared stays announced.
    pub fn cut_off(&self, cut: bool) {
        *lock(&self.cut) = cut;
    }

    fn reach(&self) -> Result<(), Undelivered> {
        if *lock(&self.cut) { Err(Undelivered("no answer: the network is cut".into())) } else { Ok(()) }
    }

    fn enter(&self, add: impl FnOnce(&mut LocalHub, u64)) -> Result<LocalEntry, Undelivered> {
        self.reach()?;
        let mut hub = lock(&self.hub);
        hub.next += 1;
        let key = hub.next;
        add(&mut hub, key);
        Ok(LocalEntry { hub: Arc::downgrade(&self.hub), key })
    }
}

impl Messenger for LocalMessenger {
    fn appear(&self, presence: &Presence) -> Result<Held, Undelivered> {
        let entry = self.enter(|hub, key| drop(hub.present.insert(key, presence.clone())))?;
        tell(&self.hub, presence, true);
        Ok(Box::new(entry))
    }

    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered> {
        let told = Arc::new(on_presence);
        let entry = self.enter(|hub, key| drop(hub.watchers.insert(key, Arc::clone(&told))))?;
        let there: Vec<Presence> = lock(&self.hub).present.values().cloned().collect();
        there.iter().for_each(|presence| told(presence, true));
        Ok(Box::new(entry))
    }

    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered> {
        let (address, respond) = (address.to_owned(), Arc::new(respond));
        Ok(Box::new(self.enter(|hub, key| drop(hub.answers.insert(key, (address, respond))))?))
    }

    fn ask(&self, address: &str, question: &[u8], within: Duration) -> Result<Vec<u8>, Undelivered> {
        self.reach()?;
        let respond = lock(&self.hub).answers.values().find(|(at, _)| at == address).map(|(_, how)| Arc::clone(how));
        let respond = respond.ok_or_else(|| Undelivered(format!("nobody answers at {address}")))?;
        let (told, answer) = channel();
        let question = question.to_vec();
        std::thread::spawn(move || drop(told.send(respond(&question))));
        answer.recv_timeout(within).map_err(|_| Undelivered(format!("no answer from {address} in time")))
    }

    fn deliver(&self, id: &FrameId, frame: &[u8], _within: Duration) -> Result<(), Undelivered> {
        self.reach()?;
        let keep = lock(&self.hub).keepers.values().find(|(run, _)| *run == id.run).map(|(_, keep)| Arc::clone(keep));
        let kept = keep.is_some_and(|keep| keep(id, frame));
        if kept { Ok(()) } else { Err(Undelivered(format!("nobody keeps the frames of run {}", id.run))) }
    }

    fn receive(&self, run: &str, keep: Keep) -> Result<Held, Undelivered> {
        let (run, keep) = (run.to_owned(), Arc::new(keep));
        Ok(Box::new(self.enter(|hub, key| drop(hub.keepers.insert(key, (run, keep))))?))
    }
}
