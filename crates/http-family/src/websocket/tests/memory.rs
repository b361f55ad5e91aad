//! Memory of idle connections, and the absence of allocations on busy ones.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use super::*;
use crate::websocket::WebSocketServer;

/// An allocator that counts the allocations of its thread.
struct ThreadCountingAllocator;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded to the system's allocator with unchanged arguments.
unsafe impl GlobalAlloc for ThreadCountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.with(|held| held.set(held.get() + layout.size() as isize));
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller upholds the contract of this very method.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.with(|held| held.set(held.get() - layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: ThreadCountingAllocator = ThreadCountingAllocator;

/// Returns the result of `work`, the bytes still held by it and the number of allocator calls.
fn cost<T>(work: impl FnOnce() -> T) -> (T, isize, usize) {
    let (held, calls) = (HELD.get(), CALLS.get());
    let made = work();
    (made, HELD.get() - held, CALLS.get() - calls)
}

#[test]
fn an_idle_connection_is_small() {
    assert!(
        size_of::<crate::websocket::WebSocketSession>() <= 80,
        "{}",
        size_of::<crate::websocket::WebSocketSession>()
    );
    let dialogue = dialogue(&["data=x"]);
    let answer = consent("");
    let (session, held, _) = cost(|| {
        let mut session = session(&dialogue);
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        // In two pieces, followed by a message in fragments and a heartbeat.
        session.receive(&answer[..40], &mut out, &mut done).expect("good");
        session.receive(&answer[40..], &mut out, &mut done).expect("good");
        submit(&mut session, &dialogue, 0);
        submit(&mut session, &dialogue, 1);
        session.receive(&[frame(0x01, b"a"), frame(0x80, b"b")].concat(), &mut out, &mut done).expect("good");
        session.receive(&frame(0x81, b"b")[..2], &mut out, &mut done).expect("good");
        session.receive(b"b", &mut out, &mut done).expect("good");
        assert!(session.heartbeat(&mut out));
        session
    });
    let own = size_of::<crate::websocket::WebSocketSession>() as isize;
    assert_eq!((session.room() > 0, held), (true, own), "nothing beside the session itself");
}

#[test]
fn the_server_holds_the_path_and_nothing_else() {
    assert!(size_of::<WebSocketServer>() <= 40, "{}", size_of::<WebSocketServer>());
    let dialogue = dialogue(&["data=x"]);
    let mut upgrade = OutputBuffer::default();
    dialogue.session(&dialogue.origins()[0], &EstablishedConnection::default()).open(&mut upgrade);
    let (_server, held, _) = cost(|| {
        let mut server = WebSocketServer::new();
        let mut out = OutputBuffer::default();
        brunt_contract::ServerSession::receive(&mut server, upgrade.bytes(), &mut |_| {}).expect("good");
        brunt_contract::ServerSession::write_due(&mut server, &mut out);
        server
    });
    assert_eq!(held, "/chat?x=1".len() as isize);
}

/// Covers replies, sequence numbers and per-message expected texts, all of which reuse memory.
#[test]
fn what_is_said_beside_messages_allocates_nothing_either() {
    let options =
        ["data={\"u\":{user}} {sequence width 9}", "expect-body=\"u\":{user}", "reply=^ping(.)=>pong{captured}"];
    let dialogue = dialogue(&options);
    let mut session = opened(&dialogue, "");
    let script = [frame(0x81, b"ping1"), frame(0x81, b"{\"u\":0}")].concat();
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let mut turn = |id: u32| {
        session
            .submit(ExchangeId(id), &dialogue.requests()[0].request, &SlotContext::default(), &mut out)
            .expect("room");
        session.receive(&script, &mut out, &mut done).expect("good");
        assert_eq!((session.write_replies(0, &mut out), done.events.len()), (1, 2));
        session.reset_pending_replies();
        out.clear();
        done.events.clear();
    };
    (0..10).for_each(&mut turn);
    let ((), held, calls) = cost(|| (10..100).for_each(&mut turn));
    assert_eq!((held, calls), (0, 0));
}

#[test]
fn messages_in_steady_state_allocate_nothing() {
    for options in [&["data={\"seq\":5}"][..], &["data={\"seq\":5}", "match-field=seq", "expect-body=seq"]] {
        let dialogue = dialogue(options);
        let mut session = opened(&dialogue, "");
        let answer = frame(0x81, b"{\"seq\":5}");
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        let mut turn = |id: u32| {
            session
                .submit(ExchangeId(id), &dialogue.requests()[0].request, &SlotContext::default(), &mut out)
                .expect("room");
            session.receive(&answer, &mut out, &mut done).expect("good");
            assert_eq!(done.events.len(), 1);
            out.clear();
            done.events.clear();
        };
        turn(0);
        let ((), held, calls) = cost(|| (1..100).for_each(&mut turn));
        assert_eq!((held, calls), (0, 0), "{options:?}");
    }
}
