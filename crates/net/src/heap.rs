//! Return of unused memory to the system: the memory of one large message from a peer must not be held forever.
//!
//! glibc keeps freed memory: after the first large buffer with its own block is freed, later ones are allocated on a
//! heap, and a heap only shrinks from its end. Nothing is changed with other C libraries.

/// Buffers of at least this size in bytes get their own blocks, which are returned to the system as soon as they are
/// freed.
#[cfg(target_env = "gnu")]
const LARGE: i32 = 128 << 10;

/// Makes the allocator return large buffers to the system when they are freed; call this once, before any thread
/// starts.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a parameter of the allocator, which reads it under its own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns all free memory to the system, wherever it is; for use after many small blocks were freed. Takes
/// milliseconds.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: has no preconditions; the call locks each heap.
    unsafe {
        libc::malloc_trim(0);
    }
}
