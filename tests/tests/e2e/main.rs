//! The real program against servers, as its users run it. One test program, so that it is linked once and its tests, which
//! mostly wait, run beside each other.

mod curl;
mod endless;
mod faults;
mod foreign_text;
mod frames;
mod generator;
mod grpc;
mod http;
mod http2;
mod keys;
mod lies;
mod load;
mod long;
mod memory;
mod mysql;
mod names;
mod nginx;
mod options;
mod own_protocol;
mod postgres;
mod processes;
mod proxies;
mod raw;
mod record;
mod redis;
mod secrets;
mod signals;
mod slots;
mod tables;
mod target;
mod terminal;
mod tongues;
mod websocket;
