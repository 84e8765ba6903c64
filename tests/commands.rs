//! The catalogue of commands that misbehave, run at every sandbox level of this machine.
#![cfg(target_os = "linux")]

mod base_files;
mod files;
mod fixers;
mod interrupted;
mod others;
mod planted;
mod stage;
mod survivors;

use gatehost::commands::CommandEnding;
use gatehost::config::SandboxLevel;
use stage::{PATIENCE, TestBed, complained, levels, printed};

#[test]
fn a_command_says_what_it_was_and_how_it_ended() {
    for &level in levels() {
        let bed = TestBed::new(level).file("part/a.txt", "here").with(|command| command.cwd = Some("part".to_owned()));
        let ran = bed.sh("cat a.txt; echo problem >&2; exit 7");
        assert_eq!((ran.ending, &*printed(&ran), &*complained(&ran)), (CommandEnding::Exited(7), "here", "problem\n"));
        assert_eq!((&*ran.name, ran.argv.len(), ran.stdout.length), ("it", 3, 4));
        assert!(ran.duration < PATIENCE && ran.started.elapsed().is_ok_and(|since| since < PATIENCE));
    }
}

#[test]
fn e4_any_amount_of_output_is_counted_and_kept_in_part() {
    const KEPT: usize = 1 << 20;
    const ALL: u64 = 200_000_003;
    let level = levels()[0];
    let ran = TestBed::new(level).sh(&format!("yes 0123456789abcde | head -c {ALL}; echo an error >&2"));
    assert_eq!((ran.stdout.length, ran.stdout.head.len(), ran.stdout.tail.len()), (ALL, KEPT, KEPT));
    assert!(ran.stdout.head.starts_with(b"0123456789abcde\n0") && ran.stdout.tail.ends_with(b"abcde\n012"));
    assert_eq!(ran.stdout.sha256, "e8c6230fb3e89a22c4a24a6715562c340e22fe0c74d75f1aecbed3c69fdbef03");
    assert_eq!(complained(&ran), "an error\n");
}

#[test]
fn e5_there_is_no_input_and_no_terminal() {
    for &level in levels() {
        let ran =
            TestBed::new(level).sh("cat; read line; echo \"read $?\"; (: < /dev/tty) 2>/dev/null; echo \"tty $?\"");
        assert_eq!(ran.ending, CommandEnding::Exited(0), "{level}");
        let printed = printed(&ran);
        assert!(printed.starts_with("read 1\ntty ") && !printed.contains("tty 0"), "{level}: {printed}");
    }
}

#[test]
fn what_is_given_as_input_arrives_whole() {
    let input: Vec<u8> = (0..700_000u32).map(|n| (n % 253) as u8).collect();
    for &level in levels() {
        let ran = TestBed::new(level).run(&["cat"], &input).expect("run");
        assert!(ran.stdout.head == input, "{level}");
        // Nobody has to read it.
        assert_eq!(
            TestBed::new(level).run(&["true"], &input).expect("run").ending,
            CommandEnding::Exited(0),
            "{level}"
        );
    }
}

#[test]
fn e6_only_an_exit_with_0_is_one() {
    for &level in levels() {
        let bed = TestBed::new(level).file("not-a-program", "text");
        for (script, ending) in [
            ("kill -9 $$", CommandEnding::Signalled(9)),
            ("kill -TERM $$", CommandEnding::Signalled(15)),
            ("kill -SEGV $$", CommandEnding::Signalled(11)),
            ("./not-a-program", CommandEnding::Exited(126)),
            ("no-such-program-anywhere", CommandEnding::Exited(127)),
            ("exit 255", CommandEnding::Exited(255)),
            ("exit 0", CommandEnding::Exited(0)),
        ] {
            assert_eq!(bed.sh(script).ending, ending, "{level}: {script}");
        }
    }
}

#[test]
fn e6_what_cannot_be_run_has_no_result() {
    for &level in levels() {
        let bed = TestBed::new(level).file("not-a-program", "text").file("folder/x", "");
        for (run, expected) in [
            ("no-such-program", "there is no program `no-such-program` in the search path"),
            ("./no-such-program", "the program `./no-such-program`: No such file"),
            ("./not-a-program", "`./not-a-program` is not an executable file"),
            ("./folder", "is not an executable file"),
        ] {
            let error = bed.run(&[run], b"").expect_err("no result").to_string();
            assert!(error.starts_with("the command `it`: ") && error.contains(expected), "{level}: {error}");
        }
        let outside = TestBed::new(level).with(|command| command.cwd = Some("none".to_owned()));
        assert!(outside.try_sh("true").is_err_and(|error| error.to_string().contains("its folder `none`")));
    }
}

#[test]
fn e12_what_is_printed_is_no_success() {
    for &level in levels() {
        let ran = TestBed::new(level).sh("echo '100 passed, 0 failed'; echo 'exit 0'; exit 1");
        assert_eq!(ran.ending, CommandEnding::Exited(1), "{level}");
    }
}

#[test]
fn a_confinement_that_cannot_be_had_is_no_result() {
    for (at_most, least) in
        [(SandboxLevel::Landlock, SandboxLevel::Namespaces), (SandboxLevel::None, SandboxLevel::Landlock)]
    {
        let bed = TestBed { level: at_most, ..TestBed::new(least) };
        let error = bed.try_sh("true").expect_err("refused").to_string();
        assert!(error.contains(&format!("requires the sandbox level `{least}`")), "{error}");
    }
}
