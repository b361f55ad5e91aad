//! A messenger whose connection can be replaced: what is held is made again on the next one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use crate::{FrameId, Held, Keep, Messenger, OnPresence, Presence, Respond, Undelivered};

/// A messenger that hands everything to the current connection. While there is none, questions and frames fail, and what is
/// held waits for the next.
#[derive(Default)]
pub struct ReplaceableMessenger {
    current: Mutex<Option<Arc<dyn Messenger>>>,
    entries: Mutex<Vec<Weak<HeldEntry>>>,
}

/// What is held.
enum Wanted {
    Appear(Presence),
    /// With those that were said to be there.
    Watch(OnPresence, Mutex<BTreeSet<Presence>>),
    Answer(String, Respond),
    Receive(String, Keep),
}

struct HeldEntry {
    wanted: Arc<Wanted>,
    held: Mutex<Option<Held>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl ReplaceableMessenger {
    /// Replaces the connection. The old one is dropped before `open` makes the new one, so that both may use the same
    /// address.
    ///
    /// # Errors
    /// That of `open`: there is no connection then.
    pub fn replace<E>(&self, open: impl FnOnce() -> Result<Arc<dyn Messenger>, E>) -> Result<(), E> {
        let mut current = lock(&self.current);
        let mut entries = lock(&self.entries);
        entries.retain(|entry| entry.strong_count() > 0);
        let held: Vec<Arc<HeldEntry>> = entries.iter().filter_map(Weak::upgrade).collect();
        drop(entries);
        held.iter().for_each(|entry| drop(lock(&entry.held).take()));
        // Who is still there appears again on the next connection.
        held.iter().for_each(|entry| entry.wanted.forget());
        *current = None;
        let opened = open()?;
        for entry in held {
            *lock(&entry.held) = entry.wanted.hold_on(&*opened).ok();
        }
        *current = Some(opened);
        Ok(())
    }

    fn current(&self) -> Result<Arc<dyn Messenger>, Undelivered> {
        let current = lock(&self.current).clone();
        current.ok_or_else(|| Undelivered("the link to the fleet is being started".into()))
    }

    fn hold(&self, wanted: Wanted) -> Result<Held, Undelivered> {
        let entry = Arc::new(HeldEntry { wanted: Arc::new(wanted), held: Mutex::new(None) });
        let current = lock(&self.current);
        if let Some(current) = &*current {
            *lock(&entry.held) = Some(entry.wanted.hold_on(&**current)?);
        }
        lock(&self.entries).push(Arc::downgrade(&entry));
        Ok(Box::new(entry))
    }
}

impl Wanted {
    /// Says of all who were there that they are not.
    fn forget(&self) {
        if let Wanted::Watch(told, there) = self {
            std::mem::take(&mut *lock(there)).iter().for_each(|presence| told(presence, false));
        }
    }

    fn hold_on(self: &Arc<Self>, messenger: &dyn Messenger) -> Result<Held, Undelivered> {
        let wanted = Arc::clone(self);
        match &**self {
            Wanted::Appear(presence) => messenger.appear(presence),
            Wanted::Watch(..) => messenger.watch(Box::new(move |presence, is_there| {
                if let Wanted::Watch(told, there) = &*wanted {
                    match is_there {
                        true => lock(there).insert(presence.clone()),
                        false => lock(there).remove(presence),
                    };
                    told(presence, is_there);
                }
            })),
            Wanted::Answer(address, _) => {
                let respond = move |question: &[u8]| match &*wanted {
                    Wanted::Answer(_, respond) => respond(question),
                    _ => Vec::new(),
                };
                messenger.answer(address, Box::new(respond))
            }
            Wanted::Receive(run, _) => {
                let keep =
                    move |id: &FrameId, frame: &[u8]| matches!(&*wanted, Wanted::Receive(_, keep) if keep(id, frame));
                messenger.receive(run, Box::new(keep))
            }
        }
    }
}

impl Messenger for ReplaceableMessenger {
    fn appear(&self, presence: &Presence) -> Result<Held, Undelivered> {
        self.hold(Wanted::Appear(presence.clone()))
    }

    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered> {
        self.hold(Wanted::Watch(on_presence, Mutex::default()))
    }

    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered> {
        self.hold(Wanted::Answer(address.to_owned(), respond))
    }

    fn ask(&self, address: &str, question: &[u8], within: Duration) -> Result<Vec<u8>, Undelivered> {
        self.current()?.ask(address, question, within)
    }

    fn deliver(&self, id: &FrameId, frame: &[u8], within: Duration) -> Result<(), Undelivered> {
        self.current()?.deliver(id, frame, within)
    }

    fn receive(&self, run: &str, keep: Keep) -> Result<Held, Undelivered> {
        self.hold(Wanted::Receive(run.to_owned(), keep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalMessenger;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn what_is_held_is_made_again_on_the_next_connection_and_dropped_things_are_not() {
        let (first, second) = (LocalMessenger::default(), LocalMessenger::default());
        let messenger = ReplaceableMessenger::default();
        let kept = messenger.answer("agent/a", Box::new(|question| question.to_vec())).unwrap();
        let dropped = messenger.answer("agent/b", Box::new(|question| question.to_vec())).unwrap();
        assert!(messenger.ask("agent/a", b"x", SOON).is_err(), "there is no connection");
        let open = |hub: &LocalMessenger| {
            let participant: Arc<dyn Messenger> = Arc::new(hub.participant());
            messenger.replace(|| Ok::<_, ()>(participant)).unwrap();
        };
        open(&first);
        assert_eq!(messenger.ask("agent/a", b"x", SOON).unwrap(), b"x");
        drop(dropped);
        open(&second);
        assert_eq!(second.ask("agent/a", b"y", SOON).unwrap(), b"y");
        assert!(second.ask("agent/b", b"y", SOON).is_err() && first.ask("agent/a", b"y", SOON).is_err());
        assert!(messenger.replace(|| Err(())).is_err());
        assert!(second.ask("agent/a", b"y", SOON).is_err());
        open(&first);
        assert!(first.ask("agent/a", b"y", SOON).is_ok());
        drop(kept);
        assert!(first.ask("agent/a", b"y", SOON).is_err());
    }

    #[test]
    fn who_was_there_on_the_old_connection_only_is_gone_on_the_new_one() {
        let (first, second) = (LocalMessenger::default(), LocalMessenger::default());
        let messenger = ReplaceableMessenger::default();
        let told = Arc::<Mutex<Vec<(Presence, bool)>>>::default();
        let seen = Arc::clone(&told);
        let _watch = messenger.watch(Box::new(move |who, is| seen.lock().unwrap().push((who.clone(), is)))).unwrap();
        let [a, b] = ["a", "b"].map(Presence::draw);
        let _all = [first.appear(&a), first.appear(&b), second.appear(&b)];
        for hub in [&first, &second] {
            let participant: Arc<dyn Messenger> = Arc::new(hub.participant());
            messenger.replace(|| Ok::<_, ()>(participant)).unwrap();
        }
        let told = told.lock().unwrap().clone();
        let expected = [(&a, true), (&b, true), (&a, false), (&b, false), (&b, true)];
        assert_eq!(told, expected.map(|(who, is)| (who.clone(), is)));
    }
}
