//! The dialect of a file: by its name, unless the settings choose one.

gatehost_sdk::settings! {
    /// What counts as JSON.
    pub(crate) enum Dialect {
        /// By the name of the file.
        Auto = "auto",
        /// RFC 8259.
        Json = "json",
        /// With comments and trailing commas.
        Jsonc = "jsonc",
        /// <https://spec.json5.org>
        Json5 = "json5",
    }
}

/// Suffixes of JSONC. A file `NAME.tsconfig.json` is a tsconfig as well.
const JSONC_SUFFIXES: &[&str] = &[".jsonc", ".code-workspace", ".code-snippets", ".tsconfig.json", ".eslintrc.json"];
const JSON5_SUFFIXES: &[&str] = &[".json5"];

/// Names whose own readers take comments.
const JSONC_NAMES: &[&str] = &[
    ".cspell.json",
    ".devcontainer.json",
    ".hintrc",
    ".jshintrc",
    ".markdownlint.json",
    ".oxlintrc.json",
    ".swcrc",
    "angular.json",
    "api-extractor.json",
    "biome.json",
    "cspell.json",
    "deno.json",
    "devcontainer.json",
    "global.json",
    "language-configuration.json",
    "launchSettings.json",
    "nx.json",
    "pyrightconfig.json",
    "rush.json",
    "tsdoc-metadata.json",
    "tsdoc.json",
    "tslint.json",
    "turbo.json",
    "typedoc.json",
    "workspace.json",
];
const JSON5_NAMES: &[&str] = &[".babelrc", ".babelrc.json", ".parcelrc", ".renovaterc", "babel.config.json"];

/// Families of names: how they begin, all ending in `.json`.
const JSONC_FAMILIES: &[&str] = &["tsconfig", "jsconfig", "appsettings", "api-extractor"];

/// Folders whose `.json` files are read by editors and tools that take comments.
const JSONC_FOLDERS: &[&str] = &[".vscode", ".zed", ".devcontainer", "config/rush"];

impl Dialect {
    /// The dialect of the file at `path`.
    pub(crate) fn of(self, path: &str) -> Self {
        if self != Self::Auto {
            return self;
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
        if JSON5_NAMES.contains(&name) || ends(JSON5_SUFFIXES) {
            Self::Json5
        } else if JSONC_NAMES.contains(&name) || ends(JSONC_SUFFIXES) || is_family(name) || is_folder(folder, name) {
            Self::Jsonc
        } else {
            Self::Json
        }
    }

    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto | Self::Json => "JSON",
            Self::Jsonc => "JSONC",
            Self::Json5 => "JSON5",
        }
    }
}

/// `tsconfig.json`, `tsconfig.build.json`, `tsconfig-base.json`, and not `tsconfigs.json`.
fn is_family(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".json") else { return false };
    JSONC_FAMILIES
        .iter()
        .filter_map(|family| stem.strip_prefix(family))
        .any(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
}

fn is_folder(folder: &str, name: &str) -> bool {
    let within = |wanted: &str| folder == wanted || folder.strip_suffix(wanted).is_some_and(|f| f.ends_with('/'));
    name.ends_with(".json")
        && (JSONC_FOLDERS.iter().any(|folder| within(folder)) || folder.starts_with(".devcontainer/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_names_have_their_dialect() {
        for (path, dialect) in [
            ("package.json", Dialect::Json),
            ("a/b.json", Dialect::Json),
            ("tsconfigs.json", Dialect::Json),
            ("vscode/settings.json", Dialect::Json),
            ("a.vscode/settings.json", Dialect::Json),
            ("data.geojson", Dialect::Json),
            ("tsconfig.json", Dialect::Jsonc),
            ("a/tsconfig.build.json", Dialect::Jsonc),
            ("a/base.tsconfig.json", Dialect::Jsonc),
            ("jsconfig.json", Dialect::Jsonc),
            ("src/appsettings.Development.json", Dialect::Jsonc),
            (".vscode/settings.json", Dialect::Jsonc),
            ("a/.vscode/launch.json", Dialect::Jsonc),
            (".devcontainer/python/devcontainer.json", Dialect::Jsonc),
            ("a.code-workspace", Dialect::Jsonc),
            ("wrangler.jsonc", Dialect::Jsonc),
            (".babelrc", Dialect::Json5),
            ("renovate.json5", Dialect::Json5),
        ] {
            assert_eq!(Dialect::Auto.of(path), dialect, "{path}");
        }
        assert_eq!(Dialect::Json.of("tsconfig.json"), Dialect::Json);
    }
}
