//! Memory that is returned to the system once it is not needed: one large message of a peer must not be held for ever.
//!
//! glibc keeps what is freed: after the first large buffer with a block of its own is freed, later ones come from a
//! heap, and a heap only shrinks from its end. Other C libraries keep their settings.

/// Buffers of at least this size get blocks of their own, which are returned at once when freed.
#[cfg(target_env = "gnu")]
const LARGE: i32 = 128 << 10;

/// Makes large buffers return to the system when they are freed; call it once, before any thread starts.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator, which it reads under its own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns all free memory to the system, wherever it lies, after many small things were freed. Takes milliseconds.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: has no preconditions; each heap is locked meanwhile.
    unsafe {
        libc::malloc_trim(0);
    }
}
