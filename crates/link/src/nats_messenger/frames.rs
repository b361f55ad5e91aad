//! Frames of runs in one durable stream for all, with a consumer for each run that is being received.

use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{Context, consumer, stream};
use brunt_messenger::{FrameId, Keep, Undelivered};
use futures_util::StreamExt;
use tokio::runtime::Runtime;

use super::{AGAIN, NatsTask, failed, patiently};

/// The stream.
const STREAM: &str = "brunt-frames";
/// Time after which a frame that was not kept comes again.
const COMES_AGAIN: Duration = Duration::from_secs(5);
/// Life of frames that nobody receives, and of a consumer whose coordinator died: the server does not fill for ever.
const FRAMES_LIVE: Duration = Duration::from_secs(24 * 3600);
const CONSUMER_LIVES: Duration = Duration::from_secs(3600);
/// Time within which the server drops what comes twice.
const TWICE: Duration = Duration::from_secs(120);
/// Frames on their way to a coordinator, and the time after which it asks for more and has heard that the server is there.
const AT_ONCE: usize = 64;
const EXPIRES: Duration = Duration::from_secs(4);
const HEARTBEAT: Duration = Duration::from_millis(500);

fn subject(run: &str, agent: &str) -> String {
    format!("brunt.run.{run}.{agent}")
}

fn consumer_name(run: &str) -> String {
    format!("run-{run}")
}

/// Publishes a frame; returns once the stream has it.
pub(super) async fn publish(context: Context, id: &FrameId, frame: &[u8]) -> Result<(), Undelivered> {
    let FrameId { run, agent, epoch, seq } = id;
    let mut headers = HeaderMap::new();
    // A frame that is tried again may hold more than before: only equal ones are the same.
    headers.insert("Nats-Msg-Id", format!("{run}-{agent}-{epoch}-{seq}-{}", frame.len()).as_str());
    headers.insert("Epoch", epoch.to_string().as_str());
    headers.insert("Seq", seq.to_string().as_str());
    let body = frame.to_vec().into();
    let acknowledged = context.publish_with_headers(subject(run, agent), headers, body).await.map_err(failed)?;
    acknowledged.await.map(drop).map_err(failed)
}

/// Receives the frames of a run until it is dropped, which removes the run's consumer from the server.
pub(super) struct Reception {
    _receiving: NatsTask,
    context: Context,
    run: String,
    runtime: Arc<Runtime>,
}

impl Reception {
    /// Begins to receive.
    ///
    /// # Errors
    /// The server does not make the stream or the consumer.
    pub fn begin(run: &str, context: Context, keep: Keep, runtime: &Arc<Runtime>) -> Result<Reception, Undelivered> {
        let mut found = Some(runtime.block_on(patiently(consumer(&context, run)))?);
        let (again, name, keep) = (context.clone(), run.to_owned(), Arc::new(keep));
        let receiving = runtime.spawn(async move {
            loop {
                if let Some(consumer) = found {
                    // It ends when the server is gone, or has lost the consumer.
                    let _ = receive(&consumer, &name, &keep).await;
                }
                tokio::time::sleep(AGAIN).await;
                found = patiently(consumer(&again, &name)).await.ok();
            }
        });
        let (run, runtime) = (run.to_owned(), Arc::clone(runtime));
        Ok(Reception { _receiving: NatsTask(receiving), context, run, runtime })
    }
}

impl Drop for Reception {
    fn drop(&mut self) {
        let (context, name) = (self.context.clone(), consumer_name(&self.run));
        self.runtime.spawn(async move { patiently(context.delete_consumer_from_stream(name, STREAM)).await });
    }
}

/// Returns the consumer of a run; makes it, and the stream, if they are not there.
async fn consumer(context: &Context, run: &str) -> Result<consumer::PullConsumer, Undelivered> {
    let frames = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec![subject("*", "*")],
        retention: stream::RetentionPolicy::WorkQueue,
        duplicate_window: TWICE,
        max_age: FRAMES_LIVE,
        ..stream::Config::default()
    };
    let name = consumer_name(run);
    let wanted = consumer::pull::Config {
        durable_name: Some(name.clone()),
        filter_subject: subject(run, "*"),
        ack_wait: COMES_AGAIN,
        max_ack_pending: 1024,
        inactive_threshold: CONSUMER_LIVES,
        ..consumer::pull::Config::default()
    };
    let stream = context.get_or_create_stream(frames).await.map_err(failed)?;
    stream.get_or_create_consumer(&name, wanted).await.map_err(failed)
}

/// Receives frames one after the other, so that those of an agent stay in their order.
async fn receive(consumer: &consumer::PullConsumer, run: &str, keep: &Arc<Keep>) -> Result<(), Undelivered> {
    let pulled = consumer.stream().max_messages_per_batch(AT_ONCE).expires(EXPIRES).heartbeat(HEARTBEAT);
    let mut messages = patiently(pulled.messages()).await?;
    while let Some(message) = messages.next().await {
        let message = message.map_err(failed)?;
        let header = |name: &str| message.headers.as_ref()?.get(name)?.as_str().parse::<u64>().ok();
        let agent = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
        let (Some(epoch), Some(seq)) = (header("Epoch"), header("Seq")) else { continue };
        let Ok(epoch) = u32::try_from(epoch) else { continue };
        let id = FrameId { run: run.to_owned(), agent, epoch, seq };
        let (keep, payload) = (Arc::clone(keep), message.payload.clone());
        let kept = tokio::task::spawn_blocking(move || keep(&id, &payload)).await.unwrap_or(false);
        if kept {
            let _ = message.ack().await;
        }
    }
    Ok(())
}
