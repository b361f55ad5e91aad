//! Who is there, by beats: nothing has to be kept on the server, so that one that is started again changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{Client, Subscriber};
use brunt_messenger::{OnPresence, Presence};
use futures_util::StreamExt;
use tokio::runtime::Runtime;

use super::NatsTask;

/// Interval of the beats, and silence after which someone is gone.
const BEAT: Duration = Duration::from_millis(500);
const SILENCE: Duration = Duration::from_secs(3);
/// Interval of looks at who is silent.
const LOOK: Duration = Duration::from_millis(100);
/// Subject on which those who are there are called to beat at once.
pub(super) const CALL: &str = "brunt.who";
/// Bodies of a beat, and of the last one.
const HERE: &str = "here";
const GONE: &str = "gone";

/// Returns the subject of the beats of a presence.
pub(super) fn subject(presence: &str) -> String {
    format!("brunt.here.{presence}")
}

/// Beats until it is dropped, and then says that it goes.
pub(super) struct Appearance {
    _beating: NatsTask,
    client: Client,
    subject: String,
    runtime: Arc<Runtime>,
}

impl Appearance {
    pub fn begin(presence: &Presence, client: Client, mut calls: Subscriber, runtime: &Arc<Runtime>) -> Appearance {
        let subject = subject(&presence.key('.'));
        let (beating, to) = (client.clone(), subject.clone());
        let beating = runtime.spawn(async move {
            let mut beat = tokio::time::interval(BEAT);
            loop {
                tokio::select! {
                    _ = beat.tick() => {}
                    call = calls.next() => if call.is_none() { return },
                }
                // Those that wait for a connection would only say later that someone was there.
                if beating.connection_state() == async_nats::connection::State::Connected {
                    let _ = beating.publish(to.clone(), HERE.into()).await;
                }
            }
        });
        Appearance { _beating: NatsTask(beating), client, subject, runtime: Arc::clone(runtime) }
    }
}

impl Drop for Appearance {
    fn drop(&mut self) {
        let (client, subject) = (self.client.clone(), self.subject.clone());
        self.runtime.spawn(async move { client.publish(subject, GONE.into()).await });
    }
}

/// Tells who comes and goes.
pub(super) async fn watch(client: Client, mut beats: Subscriber, on_presence: OnPresence) {
    let mut heard = BTreeMap::<Presence, Instant>::new();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let _ = client.publish(CALL, "".into()).await;
    loop {
        tokio::select! {
            // What was heard counts before who is silent: this process may have stood still itself.
            biased;
            beat = beats.next() => {
                let Some(beat) = beat else { return };
                let Some(presence) = Presence::of_key(&beat.subject, '.') else { continue };
                let is_there = *beat.payload == *HERE.as_bytes();
                let was_there = match is_there {
                    true => heard.insert(presence.clone(), Instant::now()),
                    false => heard.remove(&presence),
                };
                if was_there.is_some() != is_there {
                    on_presence(&presence, is_there);
                }
            }
            _ = look.tick() => {
                heard.retain(|presence, last| {
                    let is_there = last.elapsed() <= SILENCE;
                    if !is_there {
                        on_presence(presence, false);
                    }
                    is_there
                });
            }
        }
    }
}
