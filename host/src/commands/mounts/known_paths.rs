//! Well-known paths: folders of the system and of toolchains, and files with credentials.

use std::path::Path;

/// Folders of the system: programs, libraries, their settings.
pub(super) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/sys",
    "/run/current-system",
    "/run/systemd/resolve",
];

/// Toolchains and their packages in a home folder: the folders that tools need, not their parents, where credentials often
/// are.
pub(super) const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".deno/bin",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/sdk-manifests",
    ".dotnet/shared",
    ".dotnet/templates",
    ".dotnet/tools",
    ".elan",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".m2/repository",
    ".nix-profile",
    ".nodenv",
    ".npm-global/bin",
    ".npm-global/lib",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".swiftly",
    ".volta",
    "go/bin",
    "go/pkg",
];

/// The cargo configuration in a home folder: shown without tokens.
pub(super) const CARGO_CONFIG: &str = ".cargo/config.toml";

/// Folders next to `bin` that programs need: installations of Python, Java and Go, for example.
pub(super) const BESIDE_BIN: &[&str] = &[
    "VERSION",
    "conda-meta",
    "conf",
    "go.env",
    "include",
    "jmods",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "packages",
    "pkg",
    "platform",
    "pyvenv.cfg",
    "release",
    "share",
    "version",
];

/// Folders next to `shims` with the programs that shims start.
pub(super) const BESIDE_SHIMS: &[&str] = &["bin", "installs", "lib", "libexec", "plugins", "versions"];

/// Credentials in a home folder that may be inside a visible folder, such as one in `PATH`.
pub(super) const CREDENTIALS: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".config/gh",
    ".deno/credentials.json",
    ".docker/config.json",
    ".dotnet/corefx",
    ".fly/config.yml",
    ".kube/config",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".npm-global/etc",
    ".pulumi/credentials.json",
];

/// File names of credentials, in any folder that is not part of the system.
const CREDENTIAL_NAMES: &[&str] = &[
    ".credentials",
    ".credentials.json",
    ".env",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "_netrc",
    "access_token",
    "access_tokens.db",
    "application_default_credentials.json",
    "auth.json",
    "auth.toml",
    "credentials",
    "credentials.db",
    "credentials.json",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "token",
    "token.json",
];

/// Returns whether a path is part of the system, unless it is in a home folder.
pub(super) fn is_system(path: &Path, home: Option<&Path>) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system)) && !home.is_some_and(|home| path.starts_with(home))
}

/// Returns whether a path is known to contain credentials.
pub(super) fn is_credential(path: &Path, home: Option<&Path>) -> bool {
    let in_home = home.and_then(|home| path.strip_prefix(home).ok());
    in_home.is_some_and(|path| CREDENTIALS.iter().any(|credential| path == Path::new(credential)))
        || (path.file_name().is_some_and(|name| CREDENTIAL_NAMES.iter().any(|credential| name == *credential))
            && !is_code(path))
}

/// Returns whether a path is a folder of a package: some have folders with such names, and code in them.
fn is_code(path: &Path) -> bool {
    const PACKAGES: [&str; 3] = ["node_modules", "site-packages", "dist-packages"];
    path.iter().any(|part| PACKAGES.iter().any(|packages| part == *packages)) && path.is_dir()
}
