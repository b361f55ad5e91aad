//! Memory that goes back to the system once it is not needed: a peer's one large message must not be held for ever.
//!
//! The C library of GNU keeps what is freed: a block of its own for a large buffer becomes part of a heap after the first
//! one was freed, and a heap is given back from its end only. Other libraries are left as they are.

/// Buffers from here on have blocks of their own, which are given back at once.
#[cfg(target_env = "gnu")]
const LARGE: i32 = 128 << 10;

/// Large buffers go back to the system when they are freed; said once, before there are threads.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator, which it reads under its own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Gives back what is free, wherever it lies: for who has freed many small things. It takes milliseconds.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: has no conditions; each heap is locked meanwhile.
    unsafe {
        libc::malloc_trim(0);
    }
}
