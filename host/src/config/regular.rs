//! Opening what decides a run: regular files, and nothing that could keep it waiting.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Open a regular file, through links, and refuse anything else. A pipe is not waited for: it may have no other end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "x").expect("written");
        symlink("file", at("link")).expect("a link");
        symlink("nowhere", at("dangling")).expect("a link");
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).expect("a pipe");
        assert!(open_regular(&at("file")).is_ok() && open_regular(&at("link")).is_ok());
        assert_eq!(open_regular(&at("dangling")).expect_err("refused").kind(), io::ErrorKind::NotFound);
        for other in [at("pipe"), folder.path().to_owned(), "/dev/null".into()] {
            assert_eq!(open_regular(&other).expect_err("refused").to_string(), "it is not a regular file");
        }
    }
}
