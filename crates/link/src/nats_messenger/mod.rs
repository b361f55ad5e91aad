//! NATS JetStream, for fleets that have a server already, or no UDP: presence is a beat, questions are requests, and figures go
//! through a durable stream, which drops what comes twice.
//!
//! Nothing waits for ever: a server that is silent is an error after a while, and what is held goes on trying.

mod frames;
mod presence;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream;
use brunt_messenger::{FrameId, Held, Keep, Messenger, OnPresence, Presence, Respond, Undelivered};
use futures_util::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::QUESTIONS_AT_ONCE;

/// Time within which a server does what takes no time.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause before something is tried again, and the longest before the next attempt to connect.
const AGAIN: Duration = Duration::from_millis(200);

/// A connection to a NATS server.
pub struct NatsMessenger {
    client: async_nats::Client,
    runtime: Arc<Runtime>,
}

/// A task that ends when this is dropped.
struct NatsTask(JoinHandle<()>);

impl Drop for NatsTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn failed(why: impl std::fmt::Display) -> Undelivered {
    Undelivered(why.to_string())
}

/// Waits for what a server does, but not for ever.
async fn patiently<T, E: std::fmt::Display>(work: impl Future<Output = Result<T, E>>) -> Result<T, Undelivered> {
    let silent = |_| Undelivered("the NATS server does not answer".into());
    tokio::time::timeout(PATIENCE, work).await.map_err(silent)?.map_err(failed)
}

impl NatsMessenger {
    /// Connects to a server (`nats://user:password@host:4222`); a connection that breaks later is made again.
    ///
    /// # Errors
    /// The server cannot be reached, or has no JetStream.
    pub fn connect(url: &str) -> Result<NatsMessenger, Undelivered> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
        let options = async_nats::ConnectOptions::new()
            .ping_interval(Duration::from_secs(1))
            .connection_timeout(PATIENCE / 2)
            .reconnect_delay_callback(|attempts| if attempts > 1 { AGAIN } else { Duration::ZERO });
        let client = runtime.block_on(patiently(options.connect(url)))?;
        let messenger = NatsMessenger { client, runtime: Arc::new(runtime) };
        let account = messenger.jetstream();
        messenger
            .runtime
            .block_on(patiently(account.query_account()))
            .map_err(|why| Undelivered(format!("the NATS server needs JetStream ({why})")))?;
        Ok(messenger)
    }

    fn jetstream(&self) -> jetstream::Context {
        let _inside = self.runtime.enter();
        jetstream::new(self.client.clone())
    }

    /// Subscribes, and returns once that is on its way: a server that does not know it yet says that nobody is there.
    fn subscribe(&self, subject: String) -> Result<async_nats::Subscriber, Undelivered> {
        self.runtime.block_on(async {
            let subscribed = patiently(self.client.subscribe(subject)).await?;
            patiently(self.client.flush()).await?;
            Ok(subscribed)
        })
    }
}

fn ask_subject(address: &str) -> String {
    format!("brunt.ask.{}", address.replace('/', "."))
}

impl Messenger for NatsMessenger {
    fn appear(&self, presence: &Presence) -> Result<Held, Undelivered> {
        let calls = self.subscribe(presence::CALL.to_owned())?;
        Ok(Box::new(presence::Appearance::begin(presence, self.client.clone(), calls, &self.runtime)))
    }

    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered> {
        let beats = self.subscribe(presence::subject("*.*"))?;
        let watch = presence::watch(self.client.clone(), beats, on_presence);
        Ok(Box::new(NatsTask(self.runtime.spawn(watch))))
    }

    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered> {
        let (client, respond) = (self.client.clone(), Arc::new(respond));
        let mut questions = self.subscribe(ask_subject(address))?;
        let free = Arc::new(Semaphore::new(QUESTIONS_AT_ONCE));
        Ok(Box::new(NatsTask(self.runtime.spawn(async move {
            while let Some(question) = questions.next().await {
                // Beyond the bound it is asked again by whoever asked.
                let (Some(to), Ok(under_way)) = (question.reply, Arc::clone(&free).try_acquire_owned()) else {
                    continue;
                };
                let (client, respond) = (client.clone(), Arc::clone(&respond));
                tokio::spawn(async move {
                    let answer = tokio::task::spawn_blocking(move || respond(&question.payload)).await;
                    if let Ok(answer) = answer {
                        let _ = client.publish(to, answer.into()).await;
                    }
                    drop(under_way);
                });
            }
        }))))
    }

    fn ask(&self, address: &str, question: &[u8], within: Duration) -> Result<Vec<u8>, Undelivered> {
        let request = self.client.request(ask_subject(address), question.to_vec().into());
        let answer = self.runtime.block_on(async { tokio::time::timeout(within, request).await });
        Ok(answer.map_err(|_| Undelivered("no answer in time".into()))?.map_err(failed)?.payload.to_vec())
    }

    fn deliver(&self, id: &FrameId, frame: &[u8], within: Duration) -> Result<(), Undelivered> {
        let publish = frames::publish(self.jetstream(), id, frame);
        let published = self.runtime.block_on(async { tokio::time::timeout(within, publish).await });
        published.map_err(|_| Undelivered("not acknowledged in time".into()))?
    }

    fn receive(&self, run: &str, keep: Keep) -> Result<Held, Undelivered> {
        Ok(Box::new(frames::Reception::begin(run, self.jetstream(), keep, &self.runtime)?))
    }
}
