//! Accepting connections from listeners.

use brunt_contract::ConnId;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno as Os;
use rustix::net::SocketFlags;

use super::slot::EpollState;
use super::{Epoll, LISTENER};

impl Epoll {
    /// Accepts the next connection of a listener, if there is one.
    pub(super) fn accept(&mut self, listener: u32) -> Option<ConnId> {
        let l = &self.listeners[listener as usize];
        if !l.accepting {
            return None;
        }
        let fd = match rustix::net::accept_with(&l.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(fd) => fd,
            Err(Os::MFILE | Os::NFILE) => {
                // A ready listener that cannot be served would raise its event in every turn.
                let data = EventData::new_u64(LISTENER | u64::from(listener));
                let _ = epoll::modify(&self.poll, &l.fd, data, EventFlags::empty());
                (self.listeners[listener as usize].starved, self.starving) = (true, true);
                return None;
            }
            Err(_) => return None,
        };
        self.settle(fd, EpollState::Open, EventFlags::IN | EventFlags::RDHUP).ok()
    }
}
