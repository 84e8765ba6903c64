//! The processor time that a guest uses, and its share of the cores.

use crate::cores;
use rustix::time::{ClockId, clock_gettime};
use std::pin::{Pin, pin};
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

/// Returns how much of this time the cores have for each of so many guests that run at the same time.
pub(super) fn share(time: Duration, guests: usize) -> Duration {
    time.mul_f64((cores::count() as f64 / guests.max(1) as f64).min(1.0))
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
        let time = Duration::from_secs(8);
        assert_eq!((share(time, 1), share(time, 0)), (time, time));
        assert_eq!(share(time, 4 * cores::count()), time / 4);
    }
}
