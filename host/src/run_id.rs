//! Identifiers of runs: 128 bits, as 26 letters and digits that sort as the bits do.

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: u32 = 26;

/// The identifier with these bits.
pub(crate) fn encode(bits: u128) -> String {
    (0..LENGTH).rev().map(|digit| char::from(DIGITS[(bits >> (5 * digit) & 31) as usize])).collect()
}

/// The bits of an identifier; nothing where it is none.
pub(crate) fn decode(id: &str) -> Option<u128> {
    let digit = |byte: u8| DIGITS.iter().position(|digit| *digit == byte);
    let bits = id.bytes().try_fold(0u128, |bits, byte| Some(bits << 5 | digit(byte)? as u128));
    bits.filter(|bits| encode(*bits) == id)
}

#[cfg(test)]
mod tests {
    use super::*;

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
