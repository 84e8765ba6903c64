//! Random bytes from the operating system.

use ring::rand::{SecureRandom, SystemRandom};

/// Returns this many random bytes; `None` if the system has none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}
