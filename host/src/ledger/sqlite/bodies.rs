//! Compresses large bodies of entries. The record of a run lists every checked file, and most of it repeats itself.
//!
//! The chain of the ledger has the digests of the bodies before they are compressed.

use std::borrow::Cow;

/// Shorter bodies are stored as they are: they fit into a page of the database.
const LARGE: usize = 4 << 10;
/// Longer bodies are stored as they are, so that no stored byte makes a reader allocate more than this.
const MOST: usize = 256 << 20;
/// Higher levels take longer, and make the record of 3,000 files no shorter.
const LEVEL: i32 = 1;
/// The start of every Zstandard frame. A body is JSON, which cannot start so.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns the bytes that are stored for a body.
pub(super) fn packed(body: &[u8]) -> Cow<'_, [u8]> {
    if !(LARGE..=MOST).contains(&body.len()) {
        return body.into();
    }
    let mut frame = Vec::with_capacity(zstd_safe::compress_bound(body.len()));
    match zstd_safe::compress(&mut frame, body, LEVEL) {
        Ok(_) => frame.into(),
        Err(_) => body.into(),
    }
}

/// Returns the body of stored bytes. Bytes that are damaged stay as they are: they do not have the digest of the body.
pub(super) fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.starts_with(&MAGIC) {
        return bytes;
    }
    let size = zstd_safe::get_frame_content_size(&bytes).ok().flatten().and_then(|size| usize::try_from(size).ok());
    let Some(size) = size.filter(|size| *size <= MOST) else { return bytes };
    let mut body = Vec::with_capacity(size);
    match zstd_safe::decompress(&mut body, &bytes) {
        Ok(_) => body,
        Err(_) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_is_unpacked_as_it_was() {
        let long = format!("{{\"files\":[{}]}}", "{\"path\":\"a.json\",\"status\":\"pass\"},".repeat(3_000));
        for body in [b"".as_slice(), b"{}", &long.as_bytes()[..LARGE - 1], &long.as_bytes()[..LARGE], long.as_bytes()] {
            let stored = packed(body);
            assert!(stored.len() <= body.len() && unpacked(stored.to_vec()) == body, "{}", body.len());
        }
        assert!(packed(long.as_bytes()).len() * 50 < long.len());
    }

    #[test]
    fn damaged_bytes_are_no_body() {
        let body = vec![b'{'; 2 * LARGE];
        let frame = packed(&body).into_owned();
        for cut in [MAGIC.len(), 8, frame.len() - 1] {
            assert_eq!(unpacked(frame[..cut].to_vec()), frame[..cut]);
        }
        // A frame that says that it has 2^62 bytes.
        let huge = [&MAGIC[..], &[0xe0], &(1_u64 << 62).to_le_bytes(), &[0; 8]].concat();
        assert_eq!(unpacked(huge.clone()), huge);
    }
}
