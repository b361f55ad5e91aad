//! The ring of buffers that io_uring's multishot receives fill: the kernel takes one for each piece that arrives, and
//! gets it back as soon as the session has read it.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// Maximum number of buffers in the ring. Few are lent at first, because the kernel fills them in turn, and only a few
/// stay in the cache. More are lent once the ring has been empty, which costs an extra submission per affected
/// connection.
pub(super) const COUNT: u16 = 1024;
const FEW: u16 = 64;
const SIZE: usize = 8192;
/// Distance between buffers: not a power of two, or all buffers would start in the same few sets of the cache.
const STRIDE: usize = SIZE + 5 * 64;
const PAGE: usize = 4096;

pub(crate) struct Buffers {
    entries: *mut BufRingEntry,
    memory: Box<[u8]>,
    tail: u16,
    /// Number of buffers in use.
    lent: u16,
}

impl Buffers {
    /// The only buffer group.
    pub const GROUP: u16 = 0;

    fn layout() -> std::io::Result<Layout> {
        Layout::from_size_align(COUNT as usize * size_of::<BufRingEntry>(), PAGE).map_err(std::io::Error::other)
    }

    pub fn register(ring: &IoUring) -> std::io::Result<Buffers> {
        let layout = Buffers::layout()?;
        // SAFETY: the layout is not empty.
        let entries = unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>();
        if entries.is_null() {
            handle_alloc_error(layout);
        }
        let mut buffers = Buffers { entries, memory: vec![0; COUNT as usize * STRIDE].into(), tail: 0, lent: 0 };
        // SAFETY: the entries are page-aligned, zeroed, `COUNT` in number, and freed only after the ring is gone: the
        // network drops its ring first.
        unsafe { ring.submitter().register_buf_ring_with_flags(entries as u64, COUNT, Buffers::GROUP, 0)? };
        buffers.lend_more();
        Ok(buffers)
    }

    /// Doubles the number of lent buffers, up to [`COUNT`].
    pub fn lend_more(&mut self) {
        let more = if self.lent == 0 { FEW } else { self.lent.min(COUNT - self.lent) };
        (self.lent..self.lent + more).for_each(|buffer| self.give_back(buffer));
        self.lent += more;
    }

    /// Returns the first `n` bytes of a buffer that the kernel has filled.
    #[inline]
    pub fn bytes(&self, buffer: u16, n: usize) -> &[u8] {
        let from = buffer as usize * STRIDE;
        &self.memory[from..from + n.min(SIZE)]
    }

    /// Lends a buffer to the kernel, for the first time or again.
    #[inline]
    pub fn give_back(&mut self, buffer: u16) {
        let at = (self.tail & (COUNT - 1)) as usize;
        let address = &raw mut self.memory[buffer as usize * STRIDE];
        // SAFETY: `at` is within the ring, the kernel does not own the entry until the tail has passed it, and the tail
        // (in the reserved field of the first entry) is only ever written here.
        unsafe {
            let entry = &mut *self.entries.add(at);
            entry.set_addr(address as u64);
            entry.set_len(SIZE as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries).cast_mut().cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if let Ok(layout) = Buffers::layout() {
            // SAFETY: allocated in `register` with this layout.
            unsafe { dealloc(self.entries.cast(), layout) };
        }
    }
}
