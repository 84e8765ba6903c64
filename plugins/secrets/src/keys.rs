//! Private keys in the formats that contain them.

mod pem;

use std::ops::Range;

pub(crate) use pem::pieces;

/// Where keys are, in the order of the text.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    pem::find(text)
}
