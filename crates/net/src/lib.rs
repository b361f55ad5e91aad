//! How bytes travel: epoll, io_uring, a seeded simulation, TLS.
