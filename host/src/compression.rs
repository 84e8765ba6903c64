//! Compresses large records and recordings with Zstandard: most of what they say repeats itself.

use std::borrow::Cow;
use std::fmt;
use std::io;
use zstd_safe::{CCtx, CParameter, DCtx, InBuffer, OutBuffer};

/// Shorter bodies are stored as they are: they fit into a page of the database.
const LARGE: usize = 4 << 10;
/// Longer bodies are stored as they are, so that no stored byte makes a reader allocate more than this.
const MOST: usize = 256 << 20;
/// Higher levels take longer, and make the record of 3,000 files no shorter.
const LEVEL: i32 = 1;
/// The start of every Zstandard frame. JSON cannot start so.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How many bytes a stream compresses or decompresses at once.
const STEP: usize = 64 << 10;

/// Returns the bytes that are stored for a body.
pub(crate) fn packed(body: &[u8]) -> Cow<'_, [u8]> {
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
pub(crate) fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
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

/// Compresses bytes as they come, into one frame with a checksum. The frame is handed out in pieces.
pub(crate) struct Compressor {
    context: CCtx<'static>,
    /// What was not handed out yet.
    pub(crate) ready: Vec<u8>,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}

impl Compressor {
    pub(crate) fn new() -> io::Result<Self> {
        let mut context = CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        for parameter in [CParameter::CompressionLevel(LEVEL), CParameter::ChecksumFlag(true)] {
            context.set_parameter(parameter).map_err(failed)?;
        }
        Ok(Self { context, ready: Vec::new() })
    }

    /// Compresses these bytes. Some of them may stay in the compressor.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut input = InBuffer::around(bytes);
        while input.pos() < bytes.len() {
            let at = self.ready.len();
            self.ready.reserve(STEP);
            let mut output = OutBuffer::around_pos(&mut self.ready, at);
            self.context.compress_stream(&mut output, &mut input).map_err(failed)?;
        }
        Ok(())
    }

    /// Ends the frame, and returns what was not handed out yet.
    pub(crate) fn finish(mut self) -> io::Result<Vec<u8>> {
        loop {
            let at = self.ready.len();
            self.ready.reserve(STEP);
            let mut output = OutBuffer::around_pos(&mut self.ready, at);
            if self.context.end_stream(&mut output).map_err(failed)? == 0 {
                return Ok(self.ready);
            }
        }
    }
}

/// Returns what the pieces of one frame contain, at most `most` bytes. A frame that was altered or that has no end is an error.
pub(crate) fn decompressed<'p>(pieces: impl IntoIterator<Item = &'p [u8]>, most: usize) -> io::Result<Vec<u8>> {
    let mut context = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
    let (mut content, mut is_whole) = (Vec::new(), false);
    for piece in pieces {
        let mut input = InBuffer::around(piece);
        while input.pos() < piece.len() {
            if is_whole {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "there is more behind its end"));
            }
            is_whole = step(&mut context, &mut input, &mut content, most)?;
        }
    }
    // What the last piece made, but did not fit into one step.
    while !is_whole {
        let before = content.len();
        is_whole = step(&mut context, &mut InBuffer::around(&[]), &mut content, most)?;
        if !is_whole && content.len() == before {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(content)
}

/// Decompresses one step, and returns whether the frame is whole.
fn step(context: &mut DCtx<'_>, input: &mut InBuffer<'_>, content: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let at = content.len();
    content.reserve(STEP);
    let left = context.decompress_stream(&mut OutBuffer::around_pos(content, at), input).map_err(failed)?;
    if content.len() > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {most} bytes")));
    }
    Ok(left == 0)
}

fn failed(code: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, zstd_safe::get_error_name(code))
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

    #[test]
    fn a_stream_is_read_as_it_was_written_in_any_pieces() {
        let lines: Vec<String> =
            (0..60_000_u32).map(|n| format!("{{\"n\":{}}}\n", n.wrapping_mul(2_654_435_761))).collect();
        let (mut stream, mut pieces) = (Compressor::new().expect("a stream"), Vec::new());
        for line in &lines {
            stream.add(line.as_bytes()).expect("compressed");
            if stream.ready.len() > 1_000 {
                pieces.push(std::mem::take(&mut stream.ready));
            }
        }
        pieces.push(stream.finish().expect("ended"));
        let (frame, all) = (pieces.concat(), lines.concat().into_bytes());
        let read = |pieces: &[Vec<u8>]| decompressed(pieces.iter().map(Vec::as_slice), MOST);
        assert!(pieces.len() > 2 && frame.len() < all.len());
        assert_eq!(read(&pieces).expect("whole"), all);
        assert_eq!(read(&frame.chunks(1).map(<[u8]>::to_vec).collect::<Vec<_>>()).expect("whole"), all);
        assert!(decompressed([&frame[..]], all.len() - 1).is_err(), "too long");
        for damaged in [&frame[..frame.len() - 1], &frame[..9], &[], &[&frame[..], b"x"].concat()] {
            assert!(decompressed([damaged], MOST).is_err(), "{} of {}", damaged.len(), frame.len());
        }
        let mut altered = frame.clone();
        altered[frame.len() / 2] ^= 1;
        assert!(decompressed([&altered[..]], MOST).is_err());
        let empty = Compressor::new().expect("a stream").finish().expect("ended");
        assert_eq!(decompressed([&empty[..]], MOST).expect("whole"), b"");
    }
}
