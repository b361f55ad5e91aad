//! The contracts of brunt: how a protocol and how a network plug in.
