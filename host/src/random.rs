//! Bytes that nobody can guess, asked of the operating system.

/// So many of them; none where the system gives none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes).ok()?;
    Some(bytes)
}
