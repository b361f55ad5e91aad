//! What connects the conductor of a run with its agents: what they hand in goes to the disk before it is acknowledged.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};

use brunt_cause::Complaint;
use brunt_contract::UsageError;
use brunt_engine::ClockOffset;
use brunt_messenger::{FrameId, Held, Keep};
use brunt_record::AgentHead;

use super::Fleet;
use super::conduct::Incoming;
use super::directory::{AgentItems, RunDirectory};
use super::group::{OPTION, not_kept};
use super::orders::{FollowedChange, OrderLine};
use crate::frame::Item;

/// Items under way from the agents to the merger; beyond that, acknowledgements wait.
const UNDER_WAY: usize = 4096;

/// Why what agents hand in cannot be kept, by the index of the agent.
#[derive(Default)]
pub(super) struct Troubles(Mutex<BTreeMap<usize, String>>);

impl Troubles {
    fn all(&self) -> MutexGuard<'_, BTreeMap<usize, String>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns why what this agent hands in cannot be kept now, if so.
    pub fn of(&self, agent: usize) -> Option<String> {
        self.all().get(&agent).cloned()
    }
}

/// What connects the conductor of a run with its agents.
pub(super) struct Wires {
    pub incoming: Receiver<Incoming>,
    pub orders: Vec<OrderLine>,
    /// Changes of the load that agents follow.
    pub followed: Receiver<FollowedChange>,
    /// Items from before this process.
    pub known: Vec<Vec<Item>>,
    /// Why what agents hand in cannot be kept, by agent, until it can.
    pub troubles: Arc<Troubles>,
    _receiving: Held,
}

impl Wires {
    pub fn connect(fleet: &Fleet, directory: &RunDirectory, heads: &[AgentHead]) -> Result<Wires, UsageError> {
        let mut files: Vec<AgentItems> = Vec::new();
        for head in heads {
            files.push(directory.open_items(head).map_err(|why| not_kept(&directory.path, &why))?);
        }
        let known = files.iter_mut().map(|file| std::mem::take(&mut file.known)).collect();
        let names: Vec<String> = heads.iter().map(|head| head.name.clone()).collect();
        let files: Vec<Mutex<AgentItems>> = files.into_iter().map(Mutex::new).collect();
        let (told, incoming) = sync_channel(UNDER_WAY);
        let troubles = Arc::<Troubles>::default();
        let noted = Arc::clone(&troubles);
        let keep: Keep = Box::new(move |id, frame| keep(&names, &files, (&told, &noted), id, frame));
        let receiving = fleet.messenger.receive(&directory.run, keep);
        let receiving = receiving.map_err(|why| UsageError::new(OPTION, Complaint::of_text(why.0)))?;
        let (follows, followed) = channel();
        let line = |(agent, head): (usize, &AgentHead)| {
            let agent = (agent, &*head.name, ClockOffset(head.clock_ahead_ns));
            OrderLine::open(&fleet.messenger, &directory.run, agent, follows.clone())
        };
        let orders = heads.iter().enumerate().map(line).collect();
        Ok(Wires { incoming, orders, followed, known, troubles, _receiving: receiving })
    }
}

/// Takes a frame: to the disk, and to the merger. What nobody waits for any more is acknowledged, so that the agent can
/// forget it.
pub(super) fn keep(
    names: &[String],
    files: &[Mutex<AgentItems>],
    (told, troubles): (&SyncSender<Incoming>, &Troubles),
    id: &FrameId,
    frame: &[u8],
) -> bool {
    let Some(agent) = names.iter().position(|name| *name == id.agent) else { return false };
    let Some(mut file) = files.get(agent).and_then(|file| file.lock().ok()) else { return false };
    match file.take(id.seq, frame) {
        Ok(items) => {
            // Whatever could not be kept before came again.
            troubles.all().remove(&agent);
            // The lock is held until here, so that items reach the merger in their order.
            items.is_empty() || told.send(Incoming { agent, items }).is_ok()
        }
        Err(why) => {
            // What an agent did wrong has no number of the operating system.
            if why.raw_os_error().is_some() {
                troubles.all().insert(agent, why.to_string());
            }
            false
        }
    }
}
