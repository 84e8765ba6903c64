//! The command lines of a command that takes files: `{files}` in `run`, split by size.

use crate::config::{CommandConfig, FILES};

/// The most bytes of one command line. Linux allows at least 2 MiB with the usual stack size, and less with a small one.
const MOST_BYTES: usize = 96 << 10;

/// Returns the command lines to run: several if the files do not fit on one. None if the command takes files and there are
/// none.
pub(super) fn command_lines(command: &CommandConfig, files: &[String]) -> Vec<Vec<String>> {
    if !command.takes_files() {
        return vec![command.run.clone()];
    }
    let fixed: usize = command.run.iter().map(|argument| argument.len() + 1).sum();
    let room = MOST_BYTES.saturating_sub(fixed);
    let mut batches: Vec<Vec<String>> = Vec::new();
    let mut left = 0;
    for file in files {
        let argument = argument(file, command.cwd.as_deref());
        let size = argument.len() + 1;
        match batches.last_mut().filter(|_| size <= left) {
            Some(batch) => batch.push(argument),
            None => {
                batches.push(vec![argument]);
                left = room;
            }
        }
        left = left.saturating_sub(size);
    }
    let line = |batch: Vec<String>| {
        let expand = |argument: &String| match argument == FILES {
            true => batch.clone(),
            false => vec![argument.clone()],
        };
        command.run.iter().flat_map(expand).collect()
    };
    batches.into_iter().map(line).collect()
}

/// Returns a file as an argument of a command that runs in `cwd`. The author of the work chose its name, so it must not look
/// like an option or a response file.
fn argument(path: &str, cwd: Option<&str>) -> String {
    let folder: Vec<&str> = cwd.unwrap_or("").split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let parts: Vec<&str> = path.split('/').collect();
    let common = folder.iter().zip(&parts).take_while(|(a, b)| a == b).count().min(parts.len().saturating_sub(1));
    let up = std::iter::repeat_n("..", folder.len() - common);
    let relative = up.chain(parts[common..].iter().copied()).collect::<Vec<_>>().join("/");
    if relative.starts_with(['-', '@', '+']) { format!("./{relative}") } else { relative }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(run: &str, cwd: &str) -> CommandConfig {
        let text = format!(
            "[gate.g]\nall=[\"c\"]\n[check.c]\nverifier=\"command\"\ngrants=[\"command:it\"]\n\
             [command.it]\nrun={run}\ncwd={cwd:?}\n"
        );
        crate::config::parse(text.as_bytes()).expect("a configuration").commands["it"].clone()
    }

    fn lines(run: &str, cwd: &str, files: &[&str]) -> Vec<String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        command_lines(&command(run, cwd), &files).iter().map(|line| line.join(" ")).collect()
    }

    #[test]
    fn files_stand_where_the_configuration_wants_them() {
        let run = r#"["lint", "{files}", "--quiet"]"#;
        assert_eq!(lines(run, ".", &["a.js", "b/c d.js"]), ["lint a.js b/c d.js --quiet"]);
        assert_eq!(lines(run, ".", &[]), [""; 0], "nothing is to be run");
        assert_eq!(lines(r#"["make", "lint"]"#, ".", &["a"]), ["make lint"]);
    }

    #[test]
    fn a_name_is_no_option() {
        let run = r#"["lint", "{files}"]"#;
        assert_eq!(lines(run, ".", &["--fix", "@args", "+x"]), ["lint ./--fix ./@args ./+x"]);
        assert_eq!(lines(run, "web", &["web/-x"]), ["lint ./-x"]);
    }

    #[test]
    fn names_are_relative_to_the_folder_of_the_command() {
        let run = r#"["lint", "{files}"]"#;
        let files = ["web/src/a.ts", "web/b.ts", "c.ts", "webs/d.ts"];
        assert_eq!(lines(run, "web", &files), ["lint src/a.ts b.ts ../c.ts ../webs/d.ts"]);
        assert_eq!(lines(run, "./web/src", &files[..2]), ["lint a.ts ../b.ts"]);
        assert_eq!(lines(run, "web", &["web"]), ["lint ../web"]);
    }

    #[test]
    fn many_files_are_split_and_none_is_lost() {
        let files: Vec<String> = (0..5_000).map(|number| format!("folder/of/some/depth/file-{number}.js")).collect();
        let lines = command_lines(&command(r#"["lint", "{files}"]"#, "."), &files);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| line.iter().map(|word| word.len() + 1).sum::<usize>() <= MOST_BYTES));
        let handed: Vec<&String> = lines.iter().flat_map(|line| &line[1..]).collect();
        assert!(handed.into_iter().eq(&files));
        let long = "x".repeat(2 * MOST_BYTES);
        let alone = command_lines(&command(r#"["lint", "{files}"]"#, "."), &["a".to_owned(), long, "b".to_owned()]);
        assert_eq!(alone.len(), 3, "what fits on no line stands on its own");
    }
}
