//! The link's end of the bridge: it does what one client asks, until the client is gone.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::message::Message;
use super::presence::PresenceQueue;
use super::{ANSWERS, BEAT, FROZEN, PROTOCOL};
use crate::{Held, Messenger, Presence, Undelivered};

/// What the threads of a connection share.
struct Connection {
    messenger: Arc<dyn Messenger>,
    writer: Mutex<UnixStream>,
    /// What the client holds, by the number of its call.
    held: Mutex<HashMap<u32, Held>>,
    /// What it has appeared as; `None` while it is frozen.
    appeared: Mutex<HashMap<u32, (Presence, Option<Held>)>>,
    /// Number of the next question or frame that is passed on.
    next: AtomicU32,
    passed_on: Mutex<HashMap<u32, Sender<Message>>>,
    last_heard: Mutex<Instant>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Ends the thread of a watch when dropped.
struct ClosingQueue(Arc<PresenceQueue>);

impl Drop for ClosingQueue {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Serves a client on a connected stream until it is gone.
///
/// # Errors
/// The client is not brunt, or of another version.
pub fn serve(stream: UnixStream, messenger: Arc<dyn Messenger>) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    PROTOCOL.write_hello(&mut writer)?;
    let mut reader = BufReader::new(stream);
    PROTOCOL.read_hello(&mut reader)?;
    let connection = Arc::new(Connection {
        messenger,
        writer: Mutex::new(writer),
        held: Mutex::default(),
        appeared: Mutex::default(),
        next: AtomicU32::new(1),
        passed_on: Mutex::default(),
        last_heard: Mutex::new(Instant::now()),
    });
    let watched = Arc::downgrade(&connection);
    std::thread::Builder::new().name("frozen".into()).spawn(move || watch(&watched))?;
    while let Ok(Some((number, message))) = Message::read(&mut reader) {
        *lock(&connection.last_heard) = Instant::now();
        connection.follow(number, message);
    }
    // What is held refers to the connection: it ends only if that is dropped first.
    let (held, appeared) =
        (std::mem::take(&mut *lock(&connection.held)), std::mem::take(&mut *lock(&connection.appeared)));
    drop((held, appeared));
    lock(&connection.passed_on).clear();
    Ok(())
}

/// Takes back what a frozen client appeared as, and announces it again once the client is heard.
fn watch(connection: &Weak<Connection>) {
    while let Some(connection) = connection.upgrade() {
        let is_frozen = lock(&connection.last_heard).elapsed() > FROZEN;
        for (presence, held) in lock(&connection.appeared).values_mut() {
            if is_frozen {
                *held = None;
            } else if held.is_none() {
                *held = connection.messenger.appear(presence).ok();
            }
        }
        drop(connection);
        std::thread::sleep(BEAT / 2);
    }
}

impl Connection {
    fn send(&self, number: u32, message: &Message) {
        // The thread that reads the client detects its end.
        let _ = message.write(&mut *lock(&self.writer), number);
    }

    fn follow(self: &Arc<Self>, number: u32, message: Message) {
        match message {
            Message::Appear(presence) => {
                let appeared = self.messenger.appear(&presence).map(|held| {
                    lock(&self.appeared).insert(number, (presence, Some(held)));
                });
                self.report(number, appeared);
            }
            Message::Watch => self.hold(number, self.watch(number)),
            Message::Answer(address) => {
                let to = Arc::downgrade(self);
                let respond = move |question: &[u8]| {
                    let passed = Message::Question { held: number, question: question.to_vec() };
                    match to.upgrade().and_then(|to| to.pass_on(&passed, ANSWERS)) {
                        Some(Message::Reply(answer)) => answer,
                        _ => Vec::new(),
                    }
                };
                self.hold(number, self.messenger.answer(&address, Box::new(respond)));
            }
            Message::Receive(run) => {
                let to = Arc::downgrade(self);
                let keep = move |id: &crate::FrameId, frame: &[u8]| {
                    let passed = Message::Frame { held: number, id: id.clone(), frame: frame.to_vec() };
                    matches!(to.upgrade().and_then(|to| to.pass_on(&passed, ANSWERS)), Some(Message::Kept(true)))
                };
                self.hold(number, self.messenger.receive(&run, Box::new(keep)));
            }
            Message::Ask { address, within_ms, question } => self.apart(number, move |messenger| {
                messenger.ask(&address, &question, Duration::from_millis(within_ms)).map(Message::Result)
            }),
            Message::Deliver { id, within_ms, frame } => self.apart(number, move |messenger| {
                messenger.deliver(&id, &frame, Duration::from_millis(within_ms)).map(|()| Message::Done)
            }),
            Message::Release => {
                // Outside the locks: what is dropped may wait for a callback that needs them.
                let held = lock(&self.held).remove(&number);
                let appeared = lock(&self.appeared).remove(&number);
                drop((held, appeared));
            }
            Message::Reply(_) | Message::Kept(_) => {
                lock(&self.passed_on).remove(&number).into_iter().for_each(|told| drop(told.send(message.clone())));
            }
            _ => {}
        }
    }

    /// Watches for a client, which is told on a thread of its own: it may stand still, and its engine must not.
    fn watch(self: &Arc<Self>, number: u32) -> Result<Held, Undelivered> {
        let (queue, to) = (Arc::<PresenceQueue>::default(), Arc::downgrade(self));
        let closing = ClosingQueue(Arc::clone(&queue));
        let events = Arc::clone(&queue);
        let tell = move || {
            while let Some((presence, is_there)) = events.next() {
                let Some(to) = to.upgrade() else { return };
                to.send(number, &Message::Presence { presence, is_there });
            }
        };
        let started = std::thread::Builder::new().name("presence".into()).spawn(tell);
        started.map_err(|why| Undelivered(why.to_string()))?;
        let watch = self.messenger.watch(Box::new(move |presence, is_there| queue.push(presence, is_there)))?;
        Ok(Box::new((watch, closing)))
    }

    fn hold(&self, number: u32, made: Result<Held, Undelivered>) {
        let made = made.map(|held| drop(lock(&self.held).insert(number, held)));
        self.report(number, made);
    }

    fn report(&self, number: u32, made: Result<(), Undelivered>) {
        self.send(number, &made.map_or_else(|why| Message::Failed(why.0), |()| Message::Done));
    }

    /// Does what may take long on a thread of its own.
    fn apart(
        self: &Arc<Self>,
        number: u32,
        work: impl FnOnce(&dyn Messenger) -> Result<Message, Undelivered> + Send + 'static,
    ) {
        let connection = Arc::clone(self);
        let work = move || {
            let result = work(&*connection.messenger).unwrap_or_else(|why| Message::Failed(why.0));
            connection.send(number, &result);
        };
        if std::thread::Builder::new().name("call".into()).spawn(work).is_err() {
            self.send(number, &Message::Failed("the link cannot start a thread".into()));
        }
    }

    /// Passes something on to the client, and waits for what it says to it.
    fn pass_on(&self, message: &Message, within: Duration) -> Option<Message> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (told, answer) = channel();
        lock(&self.passed_on).insert(number, told);
        self.send(number, message);
        let answer = answer.recv_timeout(within).ok();
        lock(&self.passed_on).remove(&number);
        answer
    }
}
