//! An allocator for verifiers that allocate little. It hands out memory in order, and reclaims only the last allocation.
//!
//! An instance lives for one call, so freeing memory gains nothing. The initial memory costs nothing, while growing it costs
//! system calls; Rust's own allocator for this target always grows it. A verifier that allocates and frees a lot should use
//! Rust's allocator.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

/// Makes [`Arena`] the allocator of a verifier. Outside a component, as in tests, it does nothing.
#[macro_export]
macro_rules! use_arena {
    () => {
        #[cfg(target_family = "wasm")]
        #[global_allocator]
        static ARENA: $crate::Arena = $crate::Arena::new();
    };
}

/// All memory after the program's own.
#[derive(Debug)]
pub struct Arena {
    /// Where the free memory begins; 0 before the first use.
    free: Cell<usize>,
}

// SAFETY: a component has one thread.
unsafe impl Sync for Arena {}

const PAGE: usize = 64 << 10;

impl Arena {
    /// Returns an empty arena.
    #[expect(clippy::new_without_default, reason = "only for `use_arena`, which needs a constant")]
    pub const fn new() -> Self {
        Self { free: Cell::new(0) }
    }

    fn free(&self) -> usize {
        if self.free.get() == 0 {
            self.free.set(heap_base());
        }
        self.free.get()
    }

    /// Allocates everything up to `end`, and grows the memory if necessary.
    fn take(&self, end: usize) -> bool {
        let there = memory_pages() * PAGE;
        if end > there && !grow((end - there).div_ceil(PAGE)) {
            return false;
        }
        self.free.set(end);
        true
    }
}

// SAFETY: every block lies after all that are in use, aligned, and within the memory.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.free().next_multiple_of(layout.align());
        match start.checked_add(layout.size()) {
            Some(end) if self.take(end) => start as *mut u8,
            _ => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block as usize + layout.size() == self.free() {
            self.free.set(block as usize);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if block as usize + layout.size() == self.free() {
            return match (block as usize).checked_add(size) {
                Some(end) if self.take(end) => block,
                _ => std::ptr::null_mut(),
            };
        }
        // SAFETY: the caller's promise about `block` and `layout`; the new block is another.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
            }
            moved
        }
    }
}

#[cfg(target_family = "wasm")]
fn heap_base() -> usize {
    unsafe extern "C" {
        /// Set by the linker: the end of the program's own memory.
        static __heap_base: u8;
    }
    &raw const __heap_base as usize
}

#[cfg(target_family = "wasm")]
fn memory_pages() -> usize {
    core::arch::wasm32::memory_size(0)
}

#[cfg(target_family = "wasm")]
fn grow(pages: usize) -> bool {
    core::arch::wasm32::memory_grow(0, pages) != usize::MAX
}

// Elsewhere there is no memory to hand out, and nobody asks.
#[cfg(not(target_family = "wasm"))]
fn heap_base() -> usize {
    usize::MAX / 2
}

#[cfg(not(target_family = "wasm"))]
fn memory_pages() -> usize {
    0
}

#[cfg(not(target_family = "wasm"))]
fn grow(_pages: usize) -> bool {
    false
}
