//! Turns of the loop, and what they imply about time: which answers arrived too late, and which requests may be timed
//! out.
//!
//! Timeouts measure the peer's time, not ours. An answer that was waiting in its socket while we were late did not time
//! out; an answer that the peer had not sent by its deadline did, whatever else has arrived. Both follow from
//! [`Turn::caught_up`], the time up to which all data that had arrived has been read. It advances with every turn, even
//! if the peers never pause, because a turn reads at most one piece per connection. Only after a late wakeup may a
//! socket hold more than one piece: `caught_up` then does not advance until everything is read, or until as much time
//! has passed as we were late.

use brunt_contract::TurnRemainder;
use brunt_measure::Nanos;

/// Maximum length of a turn before it is interrupted for timers; it is resumed afterwards.
const LONG: Nanos = Nanos::from_millis(1);

/// The state of the current turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// Time up to which everything that had arrived has been read.
    pub caught_up: Nanos,
    /// Earliest time at which the data read in this turn may have arrived.
    pub data_since: Nanos,
    /// Time at which the wait of this turn began.
    wait_began: Nanos,
    /// Time at which that wait ended, or the turn was resumed.
    began: Nanos,
    /// Set if the turn was interrupted and is not over.
    cut: bool,
    /// Start of the round over all connections and the number visited so far, if the sockets hold more data than one
    /// turn reads.
    round: Option<(Nanos, u32)>,
    /// Time until which sockets may hold more than one piece each, because we were late.
    backlog_until: Nanos,
    late: Nanos,
    /// Set if the turn left bytes unread.
    has_rest: bool,
}

impl Turn {
    pub fn begin(now: Nanos) -> Turn {
        Turn { caught_up: now, data_since: now, wait_began: now, began: now, ..Turn::default() }
    }

    /// Records the beginning of a wait.
    #[inline]
    pub fn begin_wait(&mut self, now: Nanos) {
        if !self.cut {
            self.wait_began = now;
        }
    }

    /// Records the end of a wait that should have ended at `until`. After a timely wakeup, events are as recent as the
    /// wakeup. After a late one (because the previous turn took long, or the thread did not run), they may be as old as
    /// the time up to which we had caught up.
    #[inline]
    pub fn end_wait(&mut self, until: Nanos, now: Nanos) {
        let late = now - until.max(self.began);
        self.began = now;
        // A similar delay while we still read the backlog of the first is no new reason to wait.
        if late > self.late + self.late {
            (self.late, self.backlog_until) = (late, now + late);
        }
        if !self.cut {
            self.data_since = if now <= until { now } else { self.caught_up };
        }
    }

    /// Returns the time up to which everything that had arrived was read, if sockets may hold bytes that earlier turns
    /// left there.
    #[inline]
    pub fn unread_since(&self) -> Option<Nanos> {
        self.has_rest.then_some(self.caught_up)
    }

    /// Returns `true` if the turn was interrupted and will be resumed after the next wait.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Returns `true` if the turn has taken so long that timers must not wait for its end.
    #[inline]
    pub fn is_long(&self, now: Nanos) -> bool {
        now > self.began + LONG
    }

    /// Ends or interrupts the turn; `rest` is what remains unread on this many connections.
    #[inline]
    pub fn end(&mut self, rest: TurnRemainder, connections: u32, now: Nanos) {
        self.cut = rest == TurnRemainder::Unfinished;
        self.has_rest = rest != TurnRemainder::Nothing;
        if self.cut {
            return;
        }
        if rest == TurnRemainder::Nothing {
            (self.caught_up, self.round, self.late, self.backlog_until) =
                (self.wait_began, None, Nanos::ZERO, Nanos::ZERO);
            return;
        }
        let (since, seen) = self.round.unwrap_or((self.wait_began, 0));
        let each_was_seen = match rest {
            TurnRemainder::UnreadConnections(some) if seen < connections => {
                self.round = Some((since, seen.saturating_add(some.max(1))));
                return;
            }
            _ => now >= self.backlog_until,
        };
        self.round = None;
        if each_was_seen {
            self.caught_up = since;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    /// Runs a turn that waits from `from` until `until`, is woken at `woken` and leaves `rest` of ten connections.
    fn turn(turn: &mut Turn, from: u64, until: u64, woken: u64, rest: TurnRemainder) {
        turn.begin_wait(ms(from));
        turn.end_wait(ms(until), ms(woken));
        turn.end(rest, 10, ms(woken));
    }

    #[test]
    fn a_wait_that_ended_late_says_nothing_of_what_came_while_it_lasted() {
        let mut t = Turn::begin(ms(0));
        turn(&mut t, 10, 60, 3_000, TurnRemainder::Nothing);
        assert_eq!(t.caught_up, ms(10), "stopped in the wait: what came then may be told in the next turn");
        turn(&mut t, 3_000, 60, 3_000, TurnRemainder::Nothing);
        assert_eq!((t.data_since, t.caught_up), (ms(10), ms(3_000)));
    }

    #[test]
    fn woken_in_time_what_is_read_came_just_now() {
        let mut t = Turn::begin(ms(0));
        turn(&mut t, 10, 60, 40, TurnRemainder::Nothing);
        assert_eq!(t.data_since, ms(40));
    }

    #[test]
    fn a_peer_that_never_pauses_does_not_stop_the_clock() {
        let mut t = Turn::begin(ms(0));
        for now in 1..100 {
            turn(&mut t, now, 50, now, TurnRemainder::MoreToRead);
        }
        assert_eq!(t.caught_up, ms(99));
    }

    #[test]
    fn after_a_late_wake_sockets_are_emptied_first_for_as_long_as_we_were_late() {
        let mut t = Turn::begin(ms(0));
        turn(&mut t, 10, 60, 1_060, TurnRemainder::MoreToRead);
        for now in (1_061..2_060).step_by(3) {
            turn(&mut t, now, 60, now + 2, TurnRemainder::MoreToRead);
            assert!(t.caught_up <= ms(10), "{now}: {}", t.caught_up);
        }
        turn(&mut t, 2_060, 60, 2_061, TurnRemainder::MoreToRead);
        assert_eq!(t.caught_up, ms(2_060), "a peer that has not paused since has had its time");
        turn(&mut t, 2_070, 60, 2_071, TurnRemainder::Nothing);
        turn(&mut t, 2_080, 2_090, 3_090, TurnRemainder::MoreToRead);
        assert_eq!(t.caught_up, ms(2_070), "and is waited for once more when we are late once more");
    }

    #[test]
    fn a_stop_in_the_middle_of_a_turn_is_one_as_well() {
        let mut t = Turn::begin(ms(0));
        t.begin_wait(ms(10));
        t.end_wait(ms(60), ms(20));
        t.end(TurnRemainder::Unfinished, 10, ms(1_000));
        turn(&mut t, 1_000, 60, 1_000, TurnRemainder::MoreToRead);
        turn(&mut t, 1_001, 60, 1_002, TurnRemainder::MoreToRead);
        assert!(t.caught_up <= ms(10), "{}", t.caught_up);
        turn(&mut t, 1_950, 60, 1_951, TurnRemainder::MoreToRead);
        assert_eq!(t.caught_up, ms(1_950));
    }

    #[test]
    fn where_a_turn_does_not_see_all_connections_a_round_of_turns_does() {
        let mut t = Turn::begin(ms(0));
        for (now, caught_up) in [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1), (7, 1), (8, 5)] {
            turn(&mut t, now, 50, now, TurnRemainder::UnreadConnections(4));
            assert_eq!(t.caught_up, ms(caught_up), "{now}");
        }
    }

    #[test]
    fn a_turn_left_before_its_end_claims_nothing() {
        let mut t = Turn::begin(ms(0));
        t.begin_wait(ms(1));
        t.end_wait(ms(1), ms(1));
        assert!(!t.is_long(ms(2)) && t.is_long(ms(3)));
        t.end(TurnRemainder::Unfinished, 10, ms(3));
        turn(&mut t, 3, 3, 3, TurnRemainder::Nothing);
        assert_eq!(t.caught_up, ms(1));
    }
}
