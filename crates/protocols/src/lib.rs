//! How things are said: protocols as conversations without I/O. The program keeps the one ordered list of them.

pub mod http1;
