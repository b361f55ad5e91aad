//! Several protocols in one flow: a protocol whose requests, origins and names are those of the protocols that its URLs ask for.
//!
//! Each of them prepares its own URLs as it would alone, and says nothing that it would not say alone; what this adds is who is
//! asked. Used only where a flow asks for other protocols than HTTP, so that all other runs are compiled without it. Which of
//! them a connection speaks stands in [`wire::Origin::bound`], whose status code it is in the code's first bits; HTTP comes
//! first, so that both are its own there.

mod dialogue;
mod parts;
mod session;

pub use dialogue::{Mixed, NAME};
