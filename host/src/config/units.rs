//! Durations, sizes and names, as they are written in gate.toml.

use std::time::Duration;

const DURATION_UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
const SIZE_UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// Reads `500ms`, `2m` or `1h30m`: larger units first, each at most once.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut units = DURATION_UNITS.iter();
    let mut total = 0u64;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, behind) = split_number(rest)?;
        let (unit, after) = behind.split_at(behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len()));
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.checked_mul(*factor)?)?;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total))
}

/// Writes a duration in the format that [`duration`] reads, rounded down to milliseconds.
pub(crate) fn show_duration(duration: Duration) -> String {
    let mut rest = duration.as_millis();
    let mut text = String::new();
    for (unit, factor) in DURATION_UNITS {
        let count = rest / u128::from(factor);
        rest %= u128::from(factor);
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Reads `64MiB` or `10MB`.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text)?;
    let (_, factor) = SIZE_UNITS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*factor)
}

/// Serialises a duration as a number of milliseconds.
pub(crate) fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

fn split_number(text: &str) -> Option<(u64, &str)> {
    let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    Some((number.parse().ok()?, rest))
}

/// Returns whether a gate, a check, a command or a model may have this name. Reports join names with `/` and number voters
/// with `#`, so names contain neither.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=64).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_they_are_written() {
        for (text, milliseconds) in
            [("500ms", 500), ("2m", 120_000), ("1h30m", 5_400_000), ("1h1m1s1ms", 3_661_001), ("90s", 90_000)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in
            ["", "2", "m", "2 m", "-2m", "1.5h", "30m1h", "1m1m", "2M", "99999999999999999999h", "6000000000000h"]
        {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_shown_as_they_are_read() {
        for text in ["500ms", "2m", "1h30m", "1h1m1s1ms", "1m30s"] {
            assert_eq!(show_duration(duration(text).expect(text)), text);
        }
        assert_eq!(show_duration(Duration::ZERO), "0s");
    }

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (text, bytes) in [("64MiB", 64 << 20), ("10MB", 10_000_000), ("1KiB", 1_024), ("7B", 7), ("0B", 0)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "10", "MiB", "10 MiB", "-1B", "1.5MB", "10mb", "99999999999GiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_words() {
        for name in ["json", "review-2", "A_b", "9"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-x", "a b", "a.b", "a#1", "a/b", "ä", &"x".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
