//! Identifiers of runs: 128 bits as 26 letters and digits, which sort like the bits.

use crate::random::random;
use std::time::SystemTime;

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: u32 = 26;

/// Returns a new identifier: 48 bits of milliseconds and 80 random bits, so that identifiers sort by time.
pub(crate) fn new(now: SystemTime) -> String {
    let milliseconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let random = random::<10>().unwrap_or_default();
    let random = random.iter().fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    let bits = (milliseconds & ((1 << 48) - 1)) << 80 | random;
    encode(bits)
}

/// Returns the identifier with these bits.
pub(crate) fn encode(bits: u128) -> String {
    (0..LENGTH).rev().map(|digit| char::from(DIGITS[(bits >> (5 * digit) & 31) as usize])).collect()
}

/// Returns the bits of an identifier; `None` if it is not one.
pub(crate) fn decode(id: &str) -> Option<u128> {
    let digit = |byte: u8| DIGITS.iter().position(|digit| *digit == byte);
    let bits = id.bytes().try_fold(0u128, |bits, byte| Some(bits << 5 | digit(byte)? as u128));
    bits.filter(|bits| encode(*bits) == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn identifiers_sort_by_time_and_never_repeat() {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let ids: BTreeSet<String> = (0..1_000).map(|_| new(then)).collect();
        assert_eq!(ids.len(), 1_000);
        let later = new(then + Duration::from_millis(1));
        assert!(ids.iter().all(|id| *id < later && id.len() == 26));
    }

    #[test]
    fn identifiers_and_bits_are_the_same_thing() {
        for bits in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0011_2233_4455_6677] {
            assert_eq!(decode(&encode(bits)), Some(bits));
        }
        assert!(encode(1) < encode(2) && encode(2) < encode(u128::MAX));
        for other in ["", "run-1", "0", "zzzzzzzzzzzzzzzzzzzzzzzzzz", "0000000000000000000000000i"] {
            assert_eq!(decode(other), None, "{other}");
        }
    }
}
