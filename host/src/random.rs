//! Bytes that nobody can guess, asked of the operating system.

use ring::rand::{SecureRandom, SystemRandom};

/// So many of them; none where the system gives none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}
