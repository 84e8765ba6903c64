use super::*;
use std::fs;

fn seen(places: &[(&str, MountAccess)]) -> Vec<(String, MountAccess)> {
    let mut seen = MountsBuilder::default();
    for &(path, access) in places {
        let path = PathBuf::from(path);
        seen.places.insert(path.clone(), MountedPath { path, access, folder: true });
    }
    let mounts = seen.into_view();
    mounts.places.into_iter().map(|place| (place.path.display().to_string(), place.access)).collect()
}

#[test]
fn what_is_below_is_named_only_where_it_differs() {
    use MountAccess::{Read, Write};
    let places = [("/w/.git", Read), ("/usr/local", Read), ("/w", Write), ("/usr", Read), ("/w/a", Write)];
    let expected = [("/usr", Read), ("/w", Write), ("/w/.git", Read)];
    assert_eq!(seen(&places), expected.map(|(path, access)| (path.to_owned(), access)));
    assert_eq!(seen(&[("/w", Read), ("/w/t", Write), ("/w/t/x", Read)]).len(), 3);
}

fn cache() -> Private {
    Private { path: PathBuf::new(), what: "cache", variable: "GATE_CACHE_DIR" }
}

#[test]
fn what_is_protected_or_hidden_cannot_be_moved_with_a_folder_above_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    fs::create_dir_all(root.join("a/b/cache")).expect("a folder");
    fs::create_dir_all(root.join("a/x")).expect("a folder");
    let hidden = |places: &[(&str, MountAccess)]| {
        let mut seen = MountsBuilder::default();
        places.iter().for_each(|(path, access)| seen.place(root.join(path), *access));
        let cache = Private { path: root.join("a/b/cache"), ..cache() };
        seen.hide(cache, &root.join("a/x")).expect("hidden");
        let mounts = seen.into_view();
        let shown = |place: MountedPath| place.path.strip_prefix(&root).expect("inside").display().to_string();
        (!mounts.hidden.is_empty(), mounts.places.into_iter().map(shown).collect::<Vec<_>>())
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(hidden(&[("", MountAccess::Write)]), (true, texts(&["", "a", "a/b"])));
    assert_eq!(hidden(&[("", MountAccess::Read), ("a/b", MountAccess::Write)]), (true, texts(&["", "a/b"])));
    assert_eq!(hidden(&[("", MountAccess::Read)]), (true, texts(&[""])));
    assert_eq!(hidden(&[("a/x", MountAccess::Write)]), (false, texts(&["a/x"])));
    let around = Private { path: root.join("a"), ..cache() };
    let error = MountsBuilder::default().hide(around, &root.join("a/x")).expect_err("refused").to_string();
    assert!(error.contains("`GATE_CACHE_DIR`"), "{error}");
}

#[test]
fn a_whole_home_is_never_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().canonicalize().expect("a folder");
    fs::create_dir_all(home.join("bin")).expect("a folder");
    for folder in ["venv/bin", "venv/lib", "venv/include", "venv/notes"] {
        fs::create_dir_all(home.join(folder)).expect("a folder");
    }
    let mut seen = MountsBuilder::new(Some(&home));
    assert!(!seen.read(&home));
    assert!(!seen.read(Path::new("/")));
    seen.programs(&home.join("bin"));
    seen.programs(&home.join("venv/bin"));
    let shown: Vec<_> = seen.into_view().places.into_iter().map(|place| place.path).collect();
    assert_eq!(shown, ["bin", "venv/bin", "venv/include", "venv/lib"].map(|path| home.join(path)));
}

#[test]
fn what_lies_beside_programs_and_in_toolchains_is_shown_without_credentials() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().canonicalize().expect("a folder");
    let make = |path: &str| {
        let path = home.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "").expect("a file");
    };
    let secrets = [
        ".fly/config.yml",
        ".pulumi/credentials.json",
        ".docker/config.json",
        ".deno/credentials.json",
        ".dotnet/corefx/cryptography/x509stores/my/a.pfx",
        ".local/share/uv/credentials/credentials.toml",
        ".npm-global/etc/npmrc",
        ".nvm/.npmrc",
        ".cargo/config.toml",
        "tool/auth.json",
        "tool/lib/node_modules/a/.npmrc",
        "tool/share/app/deep/er/credentials.json",
        "tool/share/keys/id_ed25519",
        "tool/libexec/token",
        "go/src/mine.go",
    ];
    let programs = [".fly/bin/fly", ".pulumi/bin/pulumi", ".docker/bin/docker", ".deno/bin/deno", "tool/bin/tool"];
    let others = [
        ".dotnet/dotnet",
        ".dotnet/sdk/a",
        ".local/share/uv/tools/a",
        ".npm-global/lib/a",
        ".nvm/a",
        "go/pkg/a",
        "tool/lib/node_modules/a/index.js",
        "tool/lib/node_modules/b/credentials/index.js",
        "tool/share/app/deep/er/data",
    ];
    secrets.iter().chain(&programs).chain(&others).for_each(|path| make(path));
    let mut seen = MountsBuilder::new(Some(&home));
    seen.toolchains(&Environment::default());
    // One that is in `PATH` as a whole, and one that a variable points to.
    for path in [".fly/bin", ".pulumi/bin", ".docker/bin", ".deno/bin", ".dotnet", "tool/bin", "go/bin", ".fly"] {
        seen.programs(&home.join(path));
    }
    seen.read(&home.join("tool"));
    for secret in secrets {
        assert_eq!(seen.access(&home.join(secret)), None, "{secret}");
    }
    for shown in programs.iter().chain(&others) {
        assert_eq!(seen.access(&home.join(shown)), Some(MountAccess::Read), "{shown}");
    }
}
