//! The number of cores.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;

/// Returns how many threads can run at the same time, at least 1. It is read once: on Linux, that opens several files.
pub(crate) fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}
