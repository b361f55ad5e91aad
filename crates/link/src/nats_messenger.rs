//! NATS JetStream, for fleets that have a server already, or no UDP: presence is a key with a short life, questions are
//! requests, and figures go through a durable stream for each run, which drops what comes twice.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{self, consumer, kv, stream};
use brunt_messenger::{FrameId, Held, Keep, Messenger, OnPresence, Respond, Undelivered};
use futures_util::StreamExt;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Bucket of those who are there.
const HERE: &str = "brunt-here";
/// Life of an entry in it, and interval of its renewals.
const LIFE: &str = "3s";
const RENEWED: Duration = Duration::from_millis(500);
/// Pause before something is tried again.
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

impl NatsMessenger {
    /// Connects to a server (`nats://user:password@host:4222`); a connection that breaks later is made again.
    ///
    /// # Errors
    /// The server cannot be reached, or is too old.
    pub fn connect(url: &str) -> Result<NatsMessenger, Undelivered> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
        let options = async_nats::ConnectOptions::new().ping_interval(Duration::from_secs(2));
        let client = runtime.block_on(options.connect(url)).map_err(failed)?;
        let messenger = NatsMessenger { client, runtime: Arc::new(runtime) };
        messenger
            .bucket()
            .map_err(|why| Undelivered(format!("the NATS server needs JetStream and version 2.11 or later ({why})")))?;
        Ok(messenger)
    }

    fn jetstream(&self) -> jetstream::Context {
        let _inside = self.runtime.enter();
        jetstream::new(self.client.clone())
    }

    fn bucket(&self) -> Result<kv::Store, Undelivered> {
        let config = kv::Config {
            bucket: HERE.into(),
            storage: stream::StorageType::Memory,
            limit_markers: Some(Duration::from_secs(10)),
            ..kv::Config::default()
        };
        self.runtime.block_on(self.jetstream().create_or_update_key_value(config)).map_err(failed)
    }

    fn task(&self, work: impl Future<Output = ()> + Send + 'static) -> Held {
        Box::new(NatsTask(self.runtime.spawn(work)))
    }
}

fn frames(run: &str) -> String {
    format!("brunt-frames-{run}")
}

fn ask_subject(address: &str) -> String {
    format!("brunt.ask.{}", address.replace('/', "."))
}

/// Goes when an appearance ends: the key is deleted, and does not have to outlive its time.
struct Appearance {
    _renewing: NatsTask,
    key: String,
    context: jetstream::Context,
    runtime: Arc<Runtime>,
}

impl Drop for Appearance {
    fn drop(&mut self) {
        let (context, key) = (self.context.clone(), self.key.clone());
        self.runtime.spawn(async move {
            let mut headers = async_nats::HeaderMap::new();
            headers.insert("KV-Operation", "DEL");
            let _ = context.publish_with_headers(key, headers, "".into()).await;
        });
    }
}

impl Messenger for NatsMessenger {
    fn appear(&self, name: &str) -> Result<Held, Undelivered> {
        let (context, key) = (self.jetstream(), format!("$KV.{HERE}.{name}"));
        let (renewed, at) = (context.clone(), key.clone());
        let renewing = self.runtime.spawn(async move {
            let mut beat = tokio::time::interval(RENEWED);
            loop {
                beat.tick().await;
                let mut headers = async_nats::HeaderMap::new();
                headers.insert("Nats-TTL", LIFE);
                if let Ok(acknowledged) = renewed.publish_with_headers(at.clone(), headers, "here".into()).await {
                    let _ = acknowledged.await;
                }
            }
        });
        let runtime = Arc::clone(&self.runtime);
        Ok(Box::new(Appearance { _renewing: NatsTask(renewing), key, context, runtime }))
    }

    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered> {
        let bucket = self.bucket()?;
        let mut there = BTreeSet::new();
        Ok(self.task(async move {
            loop {
                if let Ok(mut changes) = bucket.watch_with_history(">").await {
                    while let Some(Ok(entry)) = changes.next().await {
                        let is_there = entry.operation == kv::Operation::Put;
                        let changed = if is_there { there.insert(entry.key.clone()) } else { there.remove(&entry.key) };
                        if changed {
                            on_presence(&entry.key, is_there);
                        }
                    }
                }
                tokio::time::sleep(AGAIN).await;
            }
        }))
    }

    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered> {
        let (client, respond) = (self.client.clone(), Arc::new(respond));
        let mut questions = self.runtime.block_on(client.subscribe(ask_subject(address))).map_err(failed)?;
        // A server that does not know the subscription yet would say that nobody is there.
        self.runtime.block_on(client.flush()).map_err(failed)?;
        Ok(self.task(async move {
            while let Some(question) = questions.next().await {
                let (client, respond) = (client.clone(), Arc::clone(&respond));
                tokio::spawn(async move {
                    let Some(to) = question.reply else { return };
                    let answer = tokio::task::spawn_blocking(move || respond(&question.payload)).await;
                    if let Ok(answer) = answer {
                        let _ = client.publish(to, answer.into()).await;
                    }
                });
            }
        }))
    }

    fn ask(&self, address: &str, question: &[u8], within: Duration) -> Result<Vec<u8>, Undelivered> {
        let request = self.client.request(ask_subject(address), question.to_vec().into());
        let answer = self.runtime.block_on(async { tokio::time::timeout(within, request).await });
        Ok(answer.map_err(|_| Undelivered("no answer in time".into()))?.map_err(failed)?.payload.to_vec())
    }

    fn deliver(&self, id: &FrameId, frame: &[u8], within: Duration) -> Result<(), Undelivered> {
        let FrameId { run, agent, epoch, seq } = id;
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("{run}-{agent}-{epoch}-{seq}").as_str());
        headers.insert("Epoch", epoch.to_string().as_str());
        headers.insert("Seq", seq.to_string().as_str());
        let (context, to) = (self.jetstream(), format!("brunt.frame.{run}.{agent}"));
        let body = frame.to_vec().into();
        let publish = async {
            let acknowledged = context.publish_with_headers(to, headers, body).await.map_err(failed)?;
            acknowledged.await.map_err(failed)
        };
        let published = self.runtime.block_on(async { tokio::time::timeout(within, publish).await });
        published.map_err(|_| Undelivered("not acknowledged in time".into()))?.map(drop)
    }

    fn receive(&self, run: &str, keep: Keep) -> Result<Held, Undelivered> {
        let config = stream::Config {
            name: frames(run),
            subjects: vec![format!("brunt.frame.{run}.*")],
            retention: stream::RetentionPolicy::WorkQueue,
            duplicate_window: Duration::from_secs(120),
            // A run whose coordinator never comes back does not fill the server for ever.
            max_age: Duration::from_secs(24 * 3600),
            ..stream::Config::default()
        };
        let wanted = consumer::pull::Config {
            durable_name: Some("coordinator".into()),
            ack_wait: Duration::from_secs(5),
            // One after the other, so that the frames of an agent stay in their order.
            max_ack_pending: 1024,
            ..consumer::pull::Config::default()
        };
        let context = self.jetstream();
        let consumer: consumer::PullConsumer = self.runtime.block_on(async {
            let stream = context.get_or_create_stream(config).await.map_err(failed)?;
            stream.get_or_create_consumer("coordinator", wanted).await.map_err(failed)
        })?;
        let (run, keep) = (run.to_owned(), Arc::new(keep));
        Ok(self.task(async move {
            loop {
                if let Ok(mut messages) = consumer.messages().await {
                    while let Some(Ok(message)) = messages.next().await {
                        let header = |name: &str| message.headers.as_ref()?.get(name)?.as_str().parse::<u64>().ok();
                        let agent = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
                        let (Some(epoch), Some(seq)) = (header("Epoch"), header("Seq")) else { continue };
                        let id = FrameId { run: run.clone(), agent, epoch: epoch as u32, seq };
                        let (keep, payload) = (Arc::clone(&keep), message.payload.clone());
                        let kept = tokio::task::spawn_blocking(move || keep(&id, &payload)).await.unwrap_or(false);
                        if kept {
                            let _ = message.ack().await;
                        }
                    }
                }
                tokio::time::sleep(AGAIN).await;
            }
        }))
    }
}
