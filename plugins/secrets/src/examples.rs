//! What looks like a secret and is none: placeholders, published examples, and what tests make for themselves.

use crate::keys;

/// Kinds that tests make for themselves, and that open nothing.
pub(crate) const TESTS_MAKE: [&str; 3] = ["private-key", "jwt", "encoded-jwt"];

/// Words that no issuer puts into a credential. Long enough that none stands in a random one by chance.
const WORDS: [&str; 20] = [
    "EXAMPLE",
    "PLACEHOLDER",
    "REDACTED",
    "XXXXX",
    "000000",
    "ABCDEFGH",
    "12345678",
    "YOUR_",
    "YOUR-",
    "CHANGEME",
    "DUMMY",
    "SAMPLE",
    "NOTREAL",
    "INSERT",
    "DEADBEEF",
    "QWERTY",
    "FAKE_",
    "FAKE-",
    "TEST_",
    "REPLACE",
];

/// Parts of examples that everybody knows: the token of jwt.io, the key of the Azure storage emulator, and the JSON Web Keys
/// of RFC 7515, 7517 and 8037.
const PUBLISHED: [&str; 9] = [
    "eyJzdWIiOiIxMjM0NTY3ODkw",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq",
    "870MB6gfuTJ4HtUnUvYM",
    "X4cTteJY_gn4FYPsXB8r",
    "Eq5xpGnNCivDflJsRQBX",
    "jpsQnnGQmL-YBIffH113",
    "AY5pb7A0UFiB3RELSD64",
    "nWGxne_9WmC6hEr0kuws",
    "AyM1SysPpbyDfgZld3um",
];

/// Whether a person wrote it to be recognised as none.
pub(crate) fn is_placeholder(secret: &str) -> bool {
    // The first line of a private key may name anybody, and so may a comment beside it.
    let random = keys::material(secret);
    let upper = random.to_ascii_uppercase();
    let mut seen = [false; 256];
    random.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    let different = seen.iter().filter(|&&seen| seen).count();
    different < 9
        || WORDS.iter().any(|word| upper.contains(word))
        || PUBLISHED.iter().any(|example| secret.contains(example))
}

/// Whether a path is that of a test, a fixture, an example or a page of documentation.
pub(crate) fn is_test(path: &str) -> bool {
    const FOLDERS: [&str; 14] = [
        "testdata",
        "test-data",
        "test_data",
        "testutil",
        "testutils",
        "spec",
        "specs",
        "e2e",
        "example",
        "examples",
        "samples",
        "doc",
        "docs",
        "documentation",
    ];
    /// Words that only end like it.
    const OTHERS: [&str; 6] = ["contest", "latest", "greatest", "attest", "protest", "fastest"];
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let is_folder = |folder: &str| {
        let bare = folder.trim_matches('_');
        FOLDERS.contains(&bare)
            || ["fixture", "mock", "dummy", "fake", "testing"].iter().any(|start| bare.starts_with(start))
            // `tests`, `unit-tests`, and `caddytest` as packages of Go are called.
            || (["test", "tests"].iter().any(|end| bare.ends_with(end)) && !OTHERS.contains(&bare))
    };
    folders.split('/').any(is_folder)
        || name.starts_with("test_")
        || ["_test.", ".test.", "_spec.", ".spec."].iter().any(|part| name.contains(part))
        || [".md", ".markdown", ".rst", ".adoc"].iter().any(|suffix| name.ends_with(suffix))
}
