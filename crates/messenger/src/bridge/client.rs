//! brunt's end of the bridge.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::message::Message;
use super::{BEAT, PROTOCOL};
use crate::{FrameId, Held, Keep, Messenger, OnPresence, Presence, Respond, Undelivered};

/// Time by which the link answers later than the engine at the latest.
const MARGIN: Duration = Duration::from_secs(5);

/// A messenger in another process, at the other end of a stream.
pub struct LinkedMessenger(Arc<Client>);

/// What a call made, as seen by whoever it concerns.
enum Holder {
    Watch(Arc<OnPresence>),
    Answer(Arc<Respond>),
    Receive(Arc<Keep>),
}

struct Client {
    writer: Mutex<UnixStream>,
    next: AtomicU32,
    /// Calls that wait for their result.
    waiting: Mutex<HashMap<u32, Sender<Message>>>,
    holders: Mutex<HashMap<u32, Holder>>,
    is_alive: AtomicBool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Tells the link to drop what a call made.
struct Releaser {
    client: Arc<Client>,
    number: u32,
}

impl Drop for Releaser {
    fn drop(&mut self) {
        lock(&self.client.holders).remove(&self.number);
        // A link that is gone holds nothing.
        let _ = self.client.send(self.number, &Message::Release);
    }
}

impl LinkedMessenger {
    /// Starts speaking on a connected stream.
    ///
    /// # Errors
    /// The other end is no link of brunt, or of another version.
    pub fn connect(stream: UnixStream) -> io::Result<LinkedMessenger> {
        let mut writer = stream.try_clone()?;
        PROTOCOL.write_hello(&mut writer)?;
        let mut reader = BufReader::new(stream);
        PROTOCOL.read_hello(&mut reader)?;
        let client = Arc::new(Client {
            writer: Mutex::new(writer),
            next: AtomicU32::new(1),
            waiting: Mutex::default(),
            holders: Mutex::default(),
            is_alive: AtomicBool::new(true),
        });
        let (reading, beating) = (Arc::clone(&client), Arc::downgrade(&client));
        std::thread::Builder::new().name("link".into()).spawn(move || reading.read(reader))?;
        std::thread::Builder::new().name("beat".into()).spawn(move || {
            while let Some(client) = beating.upgrade().filter(|client| client.is_alive()) {
                let _ = client.send(0, &Message::Beat);
                drop(client);
                std::thread::sleep(BEAT);
            }
        })?;
        Ok(LinkedMessenger(client))
    }

    /// Returns `false` once the link is gone.
    pub fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    fn hold(&self, message: &Message, holder: Option<Holder>) -> Result<Held, Undelivered> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        // It may be told of something before the call returns.
        holder.into_iter().for_each(|holder| drop(lock(&self.0.holders).insert(number, holder)));
        let releaser = Releaser { client: Arc::clone(&self.0), number };
        self.0.call(number, message, ANSWERED)?;
        Ok(Box::new(releaser))
    }
}

/// Time within which the link does what takes no time.
const ANSWERED: Duration = Duration::from_secs(30);

impl Drop for LinkedMessenger {
    fn drop(&mut self) {
        self.0.is_alive.store(false, Ordering::Relaxed);
        let _ = lock(&self.0.writer).shutdown(std::net::Shutdown::Both);
    }
}

impl Client {
    fn is_alive(&self) -> bool {
        self.is_alive.load(Ordering::Relaxed)
    }

    fn send(&self, number: u32, message: &Message) -> io::Result<()> {
        message.write(&mut *lock(&self.writer), number)
    }

    fn call(&self, number: u32, message: &Message, within: Duration) -> Result<Vec<u8>, Undelivered> {
        let gone = || Undelivered("the link to the fleet has ended".into());
        let (told, answer) = channel();
        lock(&self.waiting).insert(number, told);
        let outcome = match self.send(number, message) {
            Err(_) => Err(gone()),
            Ok(()) if !self.is_alive() => Err(gone()),
            Ok(()) => match answer.recv_timeout(within) {
                Ok(Message::Done) => Ok(Vec::new()),
                Ok(Message::Result(answer)) => Ok(answer),
                Ok(Message::Failed(why)) => Err(Undelivered(why)),
                Ok(_) => Err(Undelivered("the link answers something else".into())),
                Err(_) if !self.is_alive() => Err(gone()),
                Err(_) => Err(Undelivered("the link to the fleet does not answer".into())),
            },
        };
        lock(&self.waiting).remove(&number);
        outcome
    }

    fn read(self: &Arc<Self>, mut from: BufReader<UnixStream>) {
        while let Ok(Some((number, message))) = Message::read(&mut from) {
            match message {
                Message::Done | Message::Failed(_) | Message::Result(_) => {
                    // A call whose time was over waits no more.
                    lock(&self.waiting).remove(&number).into_iter().for_each(|told| drop(told.send(message.clone())));
                }
                Message::Presence { presence, is_there } => {
                    let told = match lock(&self.holders).get(&number) {
                        Some(Holder::Watch(told)) => Some(Arc::clone(told)),
                        _ => None,
                    };
                    told.into_iter().for_each(|told| told(&presence, is_there));
                }
                Message::Question { held, question } => {
                    let respond = match lock(&self.holders).get(&held) {
                        Some(Holder::Answer(respond)) => Some(Arc::clone(respond)),
                        _ => None,
                    };
                    let client = Arc::clone(self);
                    let respond = move || {
                        let answer = respond.map(|respond| respond(&question)).unwrap_or_default();
                        let _ = client.send(number, &Message::Reply(answer));
                    };
                    drop(std::thread::Builder::new().name("answer".into()).spawn(respond));
                }
                Message::Frame { held, id, frame } => {
                    let keep = match lock(&self.holders).get(&held) {
                        Some(Holder::Receive(keep)) => Some(Arc::clone(keep)),
                        _ => None,
                    };
                    // On this thread: frames stay in their order.
                    let kept = keep.is_some_and(|keep| keep(&id, &frame));
                    let _ = self.send(number, &Message::Kept(kept));
                }
                _ => break,
            }
        }
        self.is_alive.store(false, Ordering::Relaxed);
        // Their senders are dropped, which wakes the callers.
        lock(&self.waiting).clear();
    }
}

impl Messenger for LinkedMessenger {
    fn appear(&self, presence: &Presence) -> Result<Held, Undelivered> {
        self.hold(&Message::Appear(presence.clone()), None)
    }

    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered> {
        self.hold(&Message::Watch, Some(Holder::Watch(Arc::new(on_presence))))
    }

    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered> {
        self.hold(&Message::Answer(address.to_owned()), Some(Holder::Answer(Arc::new(respond))))
    }

    fn ask(&self, address: &str, question: &[u8], within: Duration) -> Result<Vec<u8>, Undelivered> {
        let within_ms = within.as_millis() as u64;
        let ask = Message::Ask { address: address.to_owned(), within_ms, question: question.to_vec() };
        self.0.call(self.0.next.fetch_add(1, Ordering::Relaxed), &ask, within + MARGIN)
    }

    fn deliver(&self, id: &FrameId, frame: &[u8], within: Duration) -> Result<(), Undelivered> {
        let within_ms = within.as_millis() as u64;
        let deliver = Message::Deliver { id: id.clone(), within_ms, frame: frame.to_vec() };
        self.0.call(self.0.next.fetch_add(1, Ordering::Relaxed), &deliver, within + MARGIN).map(drop)
    }

    fn receive(&self, run: &str, keep: Keep) -> Result<Held, Undelivered> {
        self.hold(&Message::Receive(run.to_owned()), Some(Holder::Receive(Arc::new(keep))))
    }
}
