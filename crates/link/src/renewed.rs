//! The coordinator's session, opened again when agents are added to the fleet or removed: access rules are part of a
//! session's configuration. Agents reconnect by themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brunt_messenger::{Messenger, ReplaceableMessenger, Undelivered};

use crate::zenoh_messenger::{ZenohMessenger, members};

/// Interval of looks at the directory of the agents.
const LOOK: Duration = Duration::from_secs(1);

/// Opens a coordinator's session (see [`ZenohMessenger::coordinator`]) that follows the directory of its fleet.
///
/// # Errors
/// The address is taken, or a file cannot be used.
pub fn coordinator(directory: &Path, listen: &str) -> Result<Arc<dyn Messenger>, Undelivered> {
    let messenger = Arc::new(ReplaceableMessenger::default());
    let known = members(directory);
    open(&messenger, directory, listen)?;
    let (watched, directory, listen) = (Arc::downgrade(&messenger), directory.to_owned(), listen.to_owned());
    let follow = move || {
        let mut known = known;
        while let Some(messenger) = watched.upgrade() {
            let now = members(&directory);
            if now != known && open(&messenger, &directory, &listen).is_ok() {
                known = now;
            }
            drop(messenger);
            std::thread::sleep(LOOK);
        }
    };
    std::thread::Builder::new().name("fleet".into()).spawn(follow).map_err(|why| Undelivered(why.to_string()))?;
    Ok(messenger)
}

fn open(messenger: &ReplaceableMessenger, directory: &Path, listen: &str) -> Result<(), Undelivered> {
    let directory = PathBuf::from(directory);
    messenger.replace(|| Ok(Arc::new(ZenohMessenger::coordinator(&directory, listen)?) as Arc<dyn Messenger>))
}
