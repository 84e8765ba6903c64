//! Builds the components of `fixtures/components`.
//!
//! A guest is text: a whole component, or a core module whose imports and exports have the names of the canonical ABI and
//! which is wrapped for a world of `fixtures/components/worlds.wit`. Three comments are instructions:
//! - `;; include file about allocator` includes these `.part` files;
//! - `;; replace THIS => THAT` changes the text of the parts;
//! - `;; encoding: utf-16` wraps the module with strings of that encoding.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::{PackageId, Resolve};

pub(crate) fn folder() -> PathBuf {
    root().join("fixtures/components")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Returns the names of all guests: the files of the folder, not of its subfolders.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("the guests").map(|entry| entry.expect("an entry").path());
    let guests = entries.filter(|path| path.extension().is_some_and(|extension| extension == "wat"));
    guests.map(|path| path.file_stem().expect("a name").to_str().expect("UTF-8").to_owned()).collect()
}

/// Returns the text of a guest, with all its parts.
pub(crate) fn text(name: &str) -> String {
    let read =
        |file: String| fs::read_to_string(folder().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut text = String::new();
    for line in read(format!("{name}.wat")).lines() {
        match line.trim().strip_prefix(";; include ") {
            Some(parts) => text.extend(parts.split(' ').map(|part| read(format!("{part}.part")))),
            None => text.extend([line, "\n"]),
        }
    }
    let changes: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(";; replace ")?.split_once(" => "))
        .map(|(this, that)| (this.to_owned(), that.to_owned()))
        .collect();
    for (this, that) in changes {
        assert!(text.matches(&this).count() > 1, "{name}: nothing to replace");
        text = text.replace(&this, &that);
    }
    text
}

/// Returns a guest as a core module, not wrapped.
pub(crate) fn module(name: &str) -> Vec<u8> {
    wat::parse_str(text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns a guest as a component.
pub(crate) fn component(name: &str) -> Vec<u8> {
    assemble(name, &text(name))
}

/// Returns text as a component; `name` is for messages only.
pub(crate) fn assemble(name: &str, text: &str) -> Vec<u8> {
    let mut bytes = wat::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    if wasmparser::Parser::is_component(&bytes) {
        return bytes;
    }
    let (resolve, worlds) = &*WORLDS;
    let world = if text.contains("/submission-verifier@") { "submission" } else { "file" };
    let world = resolve.select_world(&[*worlds], Some(world)).expect("the world");
    let encoding = if text.contains(";; encoding: utf-16") { StringEncoding::UTF16 } else { StringEncoding::UTF8 };
    wit_component::embed_component_metadata(&mut bytes, resolve, world, encoding).expect("embeddable");
    let encoder = ComponentEncoder::default().module(&bytes).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    encoder.validate(true).encode().unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// The contract with the worlds of the guests, parsed once.
static WORLDS: LazyLock<(Resolve, PackageId)> = LazyLock::new(|| {
    let mut resolve = Resolve::default();
    resolve.push_dir(root().join("wit")).expect("the contract");
    let worlds = resolve.push_file(folder().join("worlds.wit")).expect("the worlds");
    (resolve, worlds)
});
