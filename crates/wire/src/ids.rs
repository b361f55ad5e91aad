//! Numbers by which things are named: each of a type of its own, so that none is taken for another.

/// Declares such a number: an index of 32 bits, of which the highest names nothing.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Names nothing.
            pub const NONE: $name = $name(u32::MAX);

            /// That at this place of a list.
            #[inline]
            pub const fn of(at: usize) -> $name {
                $name(at as u32)
            }

            /// Its place in a list.
            #[inline]
            pub const fn at(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A connection: a slot of a network. After [`crate::Network::close`] nothing more arrives for it until it is given out again.
    ConnId
    /// An exchange in flight, named by the engine; unique among those in flight in one worker.
    ExchangeId
    /// Where connections lead: an index into [`crate::Prepared::origins`].
    OriginId
    /// A prepared request: an index into [`crate::Prepared::requests`].
    RequestId
}
