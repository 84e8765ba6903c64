//! The processor time that a guest uses, and its share of the cores.

use crate::cores;
use rustix::time::{ClockId, clock_gettime};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// Awaits a future, and returns how long it computed, on whichever threads.
pub(super) async fn of<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let mut future = pin!(future);
    let mut computed = Duration::ZERO;
    let output = std::future::poll_fn(|context| poll(future.as_mut(), context, &mut computed)).await;
    (output, computed)
}

fn poll<T>(future: Pin<&mut impl Future<Output = T>>, context: &mut Context<'_>, computed: &mut Duration) -> Poll<T> {
    let start = of_thread();
    let polled = future.poll(context);
    *computed += of_thread().saturating_sub(start);
    polled
}

/// Returns the processor time of this thread.
fn of_thread() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// One of several guests that run at the same time.
pub(super) struct Share<'a> {
    running: &'a AtomicUsize,
    most: usize,
}

impl<'a> Share<'a> {
    /// Counts one more guest until the value is dropped.
    pub(super) fn of(running: &'a AtomicUsize) -> Self {
        let most = running.fetch_add(1, Ordering::Relaxed) + 1;
        Self { running, most }
    }

    /// Returns how much of this time the cores have for each guest.
    pub(super) fn of_time(&self, time: Duration) -> Duration {
        let guests = self.most.max(self.running.load(Ordering::Relaxed));
        time.mul_f64((cores::count() as f64 / guests as f64).min(1.0))
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_processor_time() {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a thread");
        let (_, waited) = tokio.block_on(of(async { tokio::time::sleep(Duration::from_millis(100)).await }));
        assert!(waited < Duration::from_millis(50), "{waited:?}");
        let spin = async {
            let start = of_thread();
            while of_thread() - start < Duration::from_millis(20) {}
        };
        assert!(tokio.block_on(of(spin)).1 >= Duration::from_millis(20));
    }

    #[test]
    fn guests_share_the_cores() {
        let running = AtomicUsize::new(0);
        let guests: Vec<Share<'_>> = (0..4 * cores::count()).map(|_| Share::of(&running)).collect();
        assert_eq!(guests[0].of_time(Duration::from_secs(8)), Duration::from_secs(2));
        drop(guests);
        assert_eq!(Share::of(&running).of_time(Duration::from_secs(8)), Duration::from_secs(8));
    }
}
