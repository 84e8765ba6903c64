//! An allocator for verifiers. It hands out memory in order, and keeps what is freed in one list for each size.
//!
//! An instance lives for one call, so memory is never returned, and free blocks are never joined. The initial memory costs
//! nothing, while growing it costs system calls; Rust's own allocator for this target always grows it, and executes several
//! times as many instructions for each block.
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
    /// Where the unused memory begins; 0 before the first use.
    unused: Cell<usize>,
    /// The first free block of each class; 0 if there is none. A free block starts with the address of the next.
    free: [Cell<usize>; CLASSES],
}

// SAFETY: a component has one thread.
unsafe impl Sync for Arena {}

const PAGE: usize = 64 << 10;
/// All blocks start and end at multiples of it.
const UNIT: usize = 16;
/// Up to this size there is a class for each multiple of [`UNIT`], and above it four for each power of two.
const SMALL: usize = 1 << 10;
const CLASSES: usize = SMALL / UNIT + 4 * (usize::BITS - SMALL.ilog2()) as usize;

/// The class of blocks for a size above 0, and the size of these blocks.
const fn class(size: usize) -> (usize, usize) {
    let last = size - 1;
    if size <= SMALL {
        return (last / UNIT, (last / UNIT + 1) * UNIT);
    }
    let doublings = (last.ilog2() - SMALL.ilog2()) as usize;
    let shift = last.ilog2() - 2;
    let quarter = last >> shift;
    (SMALL / UNIT + 4 * doublings + (quarter - 4), (quarter + 1) << shift)
}

impl Arena {
    /// Returns an empty arena.
    #[expect(clippy::new_without_default, reason = "only for `use_arena`, which needs a constant")]
    pub const fn new() -> Self {
        Self { unused: Cell::new(0), free: [const { Cell::new(0) }; CLASSES] }
    }

    fn unused(&self) -> usize {
        if self.unused.get() == 0 {
            self.unused.set(heap_base().next_multiple_of(UNIT));
        }
        self.unused.get()
    }

    /// Allocates everything up to `end`, and grows the memory if necessary.
    fn take(&self, end: usize) -> bool {
        let there = memory_pages() * PAGE;
        if end > there && !grow((end - there).div_ceil(PAGE)) {
            return false;
        }
        self.unused.set(end);
        true
    }
}

// SAFETY: every block is free or lies after all that are in use, aligned, and within the memory.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (class, size) = class(layout.size());
        let block = self.free[class].get();
        if block != 0 && layout.align() <= UNIT {
            // SAFETY: `dealloc` put the address of the next block into this one.
            self.free[class].set(unsafe { *(block as *const usize) });
            return block as *mut u8;
        }
        let start = self.unused().next_multiple_of(layout.align());
        match start.checked_add(size) {
            Some(end) if self.take(end) => start as *mut u8,
            _ => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (class, size) = class(layout.size());
        if block as usize + size == self.unused.get() {
            self.unused.set(block as usize);
            return;
        }
        // SAFETY: the block is the caller's, has room for an address, and is aligned.
        unsafe { *block.cast() = self.free[class].get() };
        self.free[class].set(block as usize);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let ((_, old), (_, new)) = (class(layout.size()), class(size));
        // A block that shrinks keeps what it had; it counts as smaller from now on.
        if new <= old {
            return block;
        }
        if block as usize + old == self.unused.get() {
            return match (block as usize).checked_add(new) {
                Some(end) if self.take(end) => block,
                _ => std::ptr::null_mut(),
            };
        }
        // SAFETY: the caller's promise about `block` and `layout`; the new block is another.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size());
                self.dealloc(block, layout);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_as_large_as_asked_and_at_most_a_quarter_larger() {
        let mut last = (0, UNIT);
        for size in (1..5_000).chain((13..31).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1])) {
            let (class, block) = class(size);
            assert!(
                size <= block && block.is_multiple_of(UNIT) && block - size < UNIT.max(size / 4 + 1),
                "{size}: {block}"
            );
            assert!(class < CLASSES && (class, block) >= last, "{size}: {class}");
            assert_eq!(class == last.0, block == last.1, "{size}: all blocks of a class have one size");
            last = (class, block);
        }
    }
}
