//! What the command line says of itself, for shells and for `man`.

use std::process::Command;

use crate::world::{Ended, World};

#[test]
fn a_shell_takes_its_completions_and_each_verb_has_its_page() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = world.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("output"), "{shell}");
        world.write(shell, &script);
    }
    let bash = Command::new("bash")
        .args(["-n", "bash"])
        .current_dir(world.path())
        .output();
    assert_eq!(Ended::of(bash.unwrap()).expect(0).stderr, "");
    let page = world.run(&["man"]).expect(0).stdout;
    world.run(&["man", "pages/man1"]).expect(0);
    let pages = world.path().join("pages/man1");
    assert_eq!(
        page,
        std::fs::read_to_string(pages.join("harness.1")).unwrap()
    );
    let help = world.run(&["--help"]).expect(0).stdout;
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = verbs
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "));
    let verbs: Vec<&str> = verbs
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.contains(&"export"), "{verbs:?}");
    for verb in verbs.iter().filter(|verb| **verb != "help") {
        let text = std::fs::read_to_string(pages.join(format!("harness-{verb}.1"))).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{text}");
        assert!(page.contains(&format!("harness\\-{verb}(1)")), "{verb}");
    }
}
