//! The protocols that a flow may speak, each under its number. All else here asks whichever is meant.

use std::sync::Arc;

use wire::{Dialogue, Origin, Protocol};

use crate::{grpc::Grpc, http::Http, mysql::Mysql, postgres::Postgres, raw::Raw, redis::Redis, websocket::WebSocket};

/// The bits of [`Origin::bound`] that are a protocol's own.
const BOUND: u32 = 24;
/// The bits of a status code that are a protocol's own: five letters and digits of PostgreSQL need 26.
const CODE: u32 = 27;

pub(super) type DialogueOf<P> = <P as Protocol>::Dialogue;
pub(super) type SessionOf<P> = <DialogueOf<P> as Dialogue>::Session;
pub(super) type RequestOf<P> = <DialogueOf<P> as Dialogue>::Request;

/// A protocol that a flow may speak.
pub(super) trait Part: Protocol {
    /// Its number.
    const NUMBER: usize;
    /// What a response asked for, as a request of this protocol.
    fn own(request: &Request) -> Option<&RequestOf<Self>>;
    /// The other way round.
    fn hop(request: RequestOf<Self>) -> Request;
    /// Its dialogue.
    fn of(parts: &mut Parts) -> &mut Option<Arc<DialogueOf<Self>>>;
}

macro_rules! parts {
    ($($number:literal $part:ident $name:ident,)+) => {
        /// A request of any of them.
        #[derive(Debug)]
        pub enum Request {
            /// One that was prepared: the number of its protocol, and its place among the requests of that.
            Listed(usize, usize),
            $(
                #[doc = concat!("What a response of ", stringify!($part), " asked for.")]
                $part(RequestOf<$part>),
            )+
        }

        impl Request {
            /// The number of its protocol.
            pub(super) fn part(&self) -> usize {
                match self {
                    Request::Listed(part, _) => *part,
                    $(Request::$part(_) => $number,)+
                }
            }
        }

        $(
            impl Part for $part {
                const NUMBER: usize = $number;
                fn own(request: &Request) -> Option<&RequestOf<$part>> {
                    if let Request::$part(request) = request { Some(request) } else { None }
                }
                fn hop(request: RequestOf<$part>) -> Request {
                    Request::$part(request)
                }
                fn of(parts: &mut Parts) -> &mut Option<Arc<DialogueOf<$part>>> {
                    &mut parts.$name
                }
            }
        )+

        /// What is said in each of them; None: nothing.
        #[derive(Debug, Default)]
        pub(super) struct Parts {
            $(pub $name: Option<Arc<DialogueOf<$part>>>,)+
        }
    };
}

parts! {
    0 Http http,
    1 WebSocket websocket,
    2 Grpc grpc,
    3 Redis redis,
    4 Mysql mysql,
    5 Postgres postgres,
    6 Raw raw,
}

/// Asks the one of a number: `P` is its protocol in what is asked.
macro_rules! of_part {
    ($parts:expr, $number:expr, $p:ident, $dialogue:ident => $answer:expr) => {{
        use $crate::mixed::parts::of_part_arm as arm;
        match $number {
            0 => arm!($parts.http, $crate::http::Http, $p, $dialogue => $answer),
            1 => arm!($parts.websocket, $crate::websocket::WebSocket, $p, $dialogue => $answer),
            2 => arm!($parts.grpc, $crate::grpc::Grpc, $p, $dialogue => $answer),
            3 => arm!($parts.redis, $crate::redis::Redis, $p, $dialogue => $answer),
            4 => arm!($parts.mysql, $crate::mysql::Mysql, $p, $dialogue => $answer),
            5 => arm!($parts.postgres, $crate::postgres::Postgres, $p, $dialogue => $answer),
            6 => arm!($parts.raw, $crate::raw::Raw, $p, $dialogue => $answer),
            _ => None,
        }
    }};
}
macro_rules! of_part_arm {
    ($part:expr, $protocol:ty, $p:ident, $dialogue:ident => $answer:expr) => {{
        type $p = $protocol;
        // Not every question names it.
        let _: Option<$p> = None;
        $part.as_ref().map(|$dialogue| $answer)
    }};
}
pub(super) use of_part;
pub(super) use of_part_arm;

/// So many protocols there are.
pub(super) const COUNT: usize = 7;

/// A request among those of its protocol, or what a response asked for.
pub(super) fn found<'a, P: Part>(dialogue: &'a DialogueOf<P>, request: &'a Request) -> Option<&'a RequestOf<P>> {
    match request {
        Request::Listed(_, at) => dialogue.requests().get(*at).map(|weighted| &weighted.request),
        _ => P::own(request),
    }
}

/// Where a protocol's connection leads, among those of all.
pub(super) fn outer(part: usize, origin: &Origin) -> Origin {
    Origin { bound: (part as u32) << BOUND | origin.bound, ..origin.clone() }
}

/// The same as its protocol knows it, and the number of that.
pub(super) fn inner(origin: &Origin) -> (usize, Origin) {
    let own = Origin { bound: origin.bound & ((1 << BOUND) - 1), ..origin.clone() };
    (part_of_bound(origin.bound), own)
}

/// The number of the protocol that a connection speaks.
pub(super) fn part_of_bound(bound: u32) -> usize {
    (bound >> BOUND) as usize
}

/// A protocol's status code among those of all; none stays none.
pub(super) fn outer_code(part: usize, code: u32) -> u32 {
    if code == 0 { 0 } else { (part as u32) << CODE | code }
}

/// The number of the protocol whose status code it is, and the code as that knows it.
pub(super) fn inner_code(code: u32) -> (usize, u32) {
    ((code >> CODE) as usize, code & ((1 << CODE) - 1))
}
