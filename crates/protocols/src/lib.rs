//! How things are said: protocols as conversations without I/O.
