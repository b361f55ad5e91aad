//! Identifiers: each kind has its own type, so that they cannot be mixed up.

/// Declares 32-bit index types whose highest value is reserved for `NONE`.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Reserved value that identifies nothing.
            pub const NONE: $name = $name(u32::MAX);

            /// Creates the identifier of the item at this index.
            #[inline]
            pub const fn of(at: usize) -> $name {
                $name(at as u32)
            }

            /// Returns the index.
            #[inline]
            pub const fn at(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A connection: a slot of a network. After [`crate::Network::close`] nothing more arrives for it until it is
    /// reused.
    ConnId
    /// An exchange in flight, numbered by the engine; unique among those in flight in one worker.
    ExchangeId
    /// Destination of connections: an index into [`crate::PreparedWorkload::origins`].
    OriginId
    /// A prepared request: an index into [`crate::PreparedWorkload::requests`].
    RequestId
}
