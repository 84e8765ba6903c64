//! Private keys: a line that begins one, followed by a part of the key. `secrets` also finds keys in other forms.

use crate::{Check, finding};
use gatehost_sdk::{File, Finding, Place};

const ALLOWED: &str = "gate:allow-secret";

pub(crate) fn judge(file: &File, text: &str) -> Option<Finding> {
    if !text.contains("PRIVATE KEY") && !text.contains("PuTTY-User-Key-File") {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |line: &str| {
        let pem = line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY") && line.ends_with("-----");
        pem || line.starts_with("PuTTY-User-Key-File-")
    };
    let at = (0..lines.len()).find(|&at| {
        let allowed = lines[at.saturating_sub(1)..=at].iter().any(|line| line.contains(ALLOWED));
        begins(lines[at]) && !allowed && lines[at + 1..].iter().take(12).any(|line| is_key(line))
    })?;
    let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
    let place = Place { line: Some(line), ..Place::file(&file.path) };
    let hint = "remove the key, and revoke it if it was ever shared; to allow a test key, write a comment `gate:allow-secret` \
                on the line above";
    Some(finding(file, Check::PrivateKey, "the file contains a private key").at(place).hint(hint))
}

/// A line of base64 that is no placeholder.
fn is_key(line: &str) -> bool {
    let is_base64 = line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let mut seen: Vec<u8> = line.bytes().collect();
    seen.sort_unstable();
    seen.dedup();
    line.len() >= 32 && is_base64 && seen.len() >= 9
}
