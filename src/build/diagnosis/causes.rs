//! The known kinds of cause: how a tool's words tell each, what it means, and what could be tried. Pure.
//!
//! The first that fits a failure explains it, so the special stand before the general. One belongs here only when it is
//! sure; what may as well be a mistake in the code is left to the tool's own words. `docs/gaps.md` has them as a table.

use super::Nature;

/// A known kind of cause. Its patterns may catch a `name` and a `version`, which its words take up in braces.
#[derive(Debug)]
pub(super) struct Cause {
    /// What the failure is by its own line.
    pub(super) natures: &'static [Nature],
    /// Pattern for what the tool says.
    pub(super) said: &'static str,
    /// Pattern for the place in the source; empty when any will do.
    pub(super) place: &'static str,
    /// Pattern for the lines around; empty when any will do.
    pub(super) near: &'static str,
    /// What it means; empty where the tool's own words say it.
    pub(super) why: &'static str,
    /// What could be tried; empty where that is not sure.
    pub(super) hint: &'static str,
}

const fn cause(natures: &'static [Nature], said: &'static str) -> Cause {
    Cause {
        natures,
        said,
        place: "",
        near: "",
        why: "",
        hint: "",
    }
}

impl Cause {
    const fn at(self, place: &'static str) -> Self {
        Self { place, ..self }
    }

    const fn near(self, near: &'static str) -> Self {
        Self { near, ..self }
    }

    const fn means(self, why: &'static str) -> Self {
        Self { why, ..self }
    }

    const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}

const COMPILER: &[Nature] = &[Nature::Compiler];
const LINKER: &[Nature] = &[Nature::Linker];
const DEPENDENCY: &[Nature] = &[Nature::Dependency];
const EXCEPTION: &[Nature] = &[Nature::Exception];
const LIBRARY: &[Nature] = &[Nature::Library];
const PROGRAM: &[Nature] = &[Nature::Program];
const MEMORY: &[Nature] = &[Nature::Memory];

const OTHER_SERVER: &str =
    "an `[[override]]` for these versions that builds a server written for their interface";
const OTHER_NODE: &str = "an older Node.js, or a newer version of the package";
const NEWER_NODE: &str = "a newer Node.js, or an older version of the package";
const OLDER_PYTHON: &str = "an older Python, or a newer version of the package";
const NEEDS_NODE: &str = "the code needs a newer Node.js than this one";
const IN_NODE_MODULES: &str = r"/node_modules/(?<name>(?:@[^/\s]+/)?[^/\s]+)/";

/// All of them, in the order in which they are tried.
pub(super) const CAUSES: &[Cause] = &[
    // rustc
    cause(COMPILER, "^internal compiler error")
        .means("the compiler itself failed")
        .hint("another version of the compiler"),
    cause(COMPILER, r"\(E0554\)")
        .means("it uses what only a nightly compiler allows")
        .hint("a nightly toolchain of that time"),
    cause(EXCEPTION, "requires a (?:nightly|'dev')")
        .means("it uses what only a nightly compiler allows")
        .hint("a nightly toolchain of that time"),
    cause(COMPILER, r"^type annotations needed.*\(E0282\)")
        .at(r"/time-(?<version>0\.3\.\d+)/")
        .means("the locked `time` {version} is too old for this compiler: Rust 1.80 and later need 0.3.35")
        .hint("a build without `--locked` after `cargo update -p time`, or Rust 1.79"),
    cause(COMPILER, ".")
        .at(r"/registry/src/[^/]+/(?<name>[\w-]+?)-(?<version>\d+\.[^/]*)/.*\.rs:")
        .means("the published crate `{name}` {version} does not compile with this compiler")
        .hint("a Rust toolchain of its time, or another version of `{name}` in the lock file"),
    cause(EXCEPTION, r"^panicked at .*/registry/src/[^/]+/(?<name>[\w-]+?)-(?<version>\d+\.[^/]*)/build\.rs")
        .means("the build script of `{name}` {version} gave up"),
    cause(COMPILER, r"^unresolved import `(?:crate|self|super)::")
        .means("the source imports from itself what it does not have"),
    cause(COMPILER, r"^unresolved import `(?<name>\w+)::.*\(E0432\)")
        .means("`{name}` has no such item: the code is written for another version of it")
        .hint(OTHER_SERVER),
    cause(COMPILER, r"(?:could not|cannot) find `\w+` in `(?<name>[\w:]+)`.*\(E0433\)")
        .means("`{name}` has no such item: the code is written for another version of it")
        .hint(OTHER_SERVER),
    cause(COMPILER, r"in (?:crate|module) `(?<name>[\w:]+)` \(E04\d\d\)")
        .means("`{name}` has no such item: the code is written for another version of it")
        .hint(OTHER_SERVER),
    cause(COMPILER, r"^no (?:method|function or associated item|associated item|variant|field).*\((?:E0599|E0609|E0560)\)")
        .means("the type has no such method, function or field: the code is written for another version of its crate")
        .hint(OTHER_SERVER),
    cause(COMPILER, ".")
        .near(r"#!?\[deny\(warnings\)\]")
        .means("a warning is taken for an error")
        .hint("`RUSTFLAGS = \"--cap-lints warn\"` in `build.env`"),
    // cargo
    cause(DEPENDENCY, "^rustc .* is not supported by the following package|because it requires rustc")
        .means("the package needs a newer Rust than this one")
        .hint("a newer Rust toolchain"),
    cause(DEPENDENCY, r"^failed to parse manifest.*feature `edition20\d\d` is required")
        .means("the package needs a newer Rust than this one")
        .hint("a newer Rust toolchain"),
    cause(DEPENDENCY, r"^failed to parse manifest at `.*/registry/src/[^/]+/(?<name>[\w-]+?)-(?<version>\d+\.[^/]*)/")
        .means("this cargo does not accept the manifest of the published crate `{name}` {version}")
        .hint("a Rust toolchain of its time"),
    cause(DEPENDENCY, "lock file.*--locked was passed")
        .means("`Cargo.lock` does not fit `Cargo.toml`")
        .hint("a build without `--locked`"),
    cause(DEPENDENCY, "with feature `[^`]+` but `(?<name>[^`]+)` does not have that feature")
        .means("this version of `{name}` has no such feature")
        .hint("an `[[override]]` for these versions whose server does not ask for the feature"),
    cause(DEPENDENCY, r"^failed to select a version for the requirement `(?<name>[\w-]+)")
        .near("candidate versions found which didn't match")
        .means("the registry has no such version of `{name}`"),
    // compilers of C and C++
    cause(COMPILER, r"longintrepr\.h")
        .means("the C extension is too old for this Python: 3.11 moved that header away")
        .hint("Python 3.10 or older, or a newer version of the package"),
    cause(COMPILER, r"Python\.h")
        .means("Python's own headers are not installed")
        .hint("install them (`python3-dev`)"),
    cause(COMPILER, r"sys/sysctl\.h|sys_errlist|sys_nerr")
        .means("glibc 2.32 and later do not have it")
        .hint("a patch to the source, or a build on an older system"),
    cause(COMPILER, r"v8::|‘v8’|Nan::")
        .means("the native add-on is written for another version of Node.js")
        .hint(OTHER_NODE),
    cause(COMPILER, "in namespace 'std'|member of ‘std’")
        .means("the C++ library has no such name at this language level, or a header for it is not included"),
    cause(COMPILER, "implicit declaration of function .*(?:C99|-Wimplicit|-Werror)")
        .means("the source is C of before 1999, which this compiler refuses")
        .hint("`-Wno-error=implicit-function-declaration` in `CFLAGS`"),
    cause(COMPILER, r"\[-Werror\b")
        .means("a warning is taken for an error")
        .hint("`-Wno-error` in the flags of the build"),
    cause(COMPILER, r"(?<name>[\w./+-]+\.h(?:pp)?)'?:? (?:No such file or directory|file not found)")
        .means("the header is missing: its library is not installed, or is of another version")
        .hint("install the development package that has `{name}`"),
    cause(COMPILER, r"CMake (?<version>[\d.]+) or higher is required")
        .means("it needs a newer CMake than this one")
        .hint("CMake {version} or newer"),
    cause(COMPILER, "Compatibility with CMake < ")
        .means("it is written for an older CMake than this one accepts")
        .hint("`-DCMAKE_POLICY_VERSION_MINIMUM=3.5` for CMake"),
    cause(COMPILER, r#"By not providing "Find(?<name>\w+)\.cmake""#)
        .means("CMake finds no `{name}`: it is not installed for building")
        .hint("install its development package"),
    // linkers
    cause(LINKER, r"^multiple definition of .*\(\.bss")
        .means("the source defines a variable in more than one file, which GCC 10 and later refuse")
        .hint("`-fcommon` in `CFLAGS`"),
    cause(LINKER, "undefined reference to `SSLv[23]_")
        .means("this OpenSSL no longer has SSL 2 and 3")
        .hint("an OpenSSL of that time"),
    cause(LINKER, r"(?:cannot find|unable to find library|library not found for) -l:?(?<name>[\w.+-]+)")
        .means("the library is not installed for linking")
        .hint("install the development package of `{name}` (for a static build, its `.a` file)"),
    cause(LINKER, "^undefined reference to|^undefined symbol: |^Undefined symbols")
        .means("no library that is linked has this function: one is missing, or is of another version")
        .hint("an `[[override]]` for these versions that links the library it is in, or the libraries of that time"),
    // shared libraries and programs
    cause(LIBRARY, r"GLIBC_(?<version>[\d.]+)' not found")
        .means("it was linked on a newer system: the glibc here is older than {version}")
        .hint("a build on this machine, or one for an older glibc"),
    cause(LIBRARY, r"(?:GLIBCXX|CXXABI)_[\d.]+' not found")
        .means("it was linked with a newer libstdc++ than the one here")
        .hint("a build on this machine, or one for an older system"),
    cause(LIBRARY, "wrong ELF class|invalid ELF header")
        .means("the library is for another processor, or for another word size of it")
        .hint("a build for the processor of this machine"),
    cause(LIBRARY, "cannot open shared object file")
        .means("a shared library is not installed, or not where the loader looks for it")
        .hint("install it, or name its folder in `LD_LIBRARY_PATH`"),
    cause(LIBRARY, "undefined symbol: ")
        .means("a shared library is of another version than the one that it was linked with")
        .hint("the library of that time, or a new build"),
    cause(PROGRAM, "Exec format error|cannot execute binary file")
        .means("it is no program for the processor of this machine")
        .hint("a build for the processor of this machine"),
    cause(PROGRAM, r"^`(?<name>[\w.+-]+)`: (?:(?:command )?not found|Command not found|No such file)")
        .hint("install `{name}`, or put it on PATH"),
    // memory
    cause(MEMORY, "JavaScript heap out of memory")
        .means("Node.js reached its own limit")
        .hint("a greater `NODE_OPTIONS = \"--max-old-space-size=…\"` in the environment"),
    cause(MEMORY, "OutOfMemoryError: Java heap space")
        .means("Java reached its own limit")
        .hint("a greater `-Xmx` for Java"),
    // npm
    cause(DEPENDENCY, "^npm ETARGET")
        .means("the registry has no such version"),
    cause(DEPENDENCY, "^npm E404")
        .means("the registry has no such package"),
    cause(DEPENDENCY, "^npm ERESOLVE")
        .means("what the packages ask of each other cannot be had together")
        .hint("`--legacy-peer-deps` for npm, or other versions of the companions"),
    cause(DEPENDENCY, "^npm EBADENGINE")
        .means("the package does not accept this Node.js")
        .hint("the Node.js that its `engines` asks for"),
    cause(DEPENDENCY, "^npm EBADPLATFORM")
        .means("the package is for another system"),
    cause(DEPENDENCY, "^npm EUSAGE.*npm ci")
        .means("there is no lock file")
        .hint("`npm install` in place of `npm ci`"),
    cause(EXCEPTION, "Could not find any Python installation")
        .means("node-gyp needs Python")
        .hint("install Python"),
    // Node.js
    cause(EXCEPTION, "^SyntaxError: (?:Use of const in strict mode|Block-scoped declarations)")
        .means(NEEDS_NODE)
        .hint(NEWER_NODE),
    cause(EXCEPTION, "^SyntaxError: (?:Cannot use import statement outside|Unexpected token '?export)")
        .means("an ES module is loaded as if it were none"),
    cause(EXCEPTION, "^SyntaxError: ")
        .at(IN_NODE_MODULES)
        .means("`{name}` needs a newer Node.js than this one")
        .hint(NEWER_NODE),
    cause(EXCEPTION, "Cannot find module 'node:")
        .means(NEEDS_NODE)
        .hint(NEWER_NODE),
    cause(EXCEPTION, r"Cannot find module '[./]")
        .means("a file is not where it is looked for: the build did not make it, or its path is another"),
    cause(EXCEPTION, r"Cannot find module '(?<name>(?:@[^/']+/)?[^/']+)")
        .means("there is no code of `{name}`: it is not installed, or its package is empty")
        .hint("install `{name}` in a step of the build, or pin a version that has code"),
    cause(EXCEPTION, "ERR_REQUIRE_ESM")
        .means("the package is an ES module, which this Node.js cannot `require`")
        .hint("an older version of the package, a server that uses `import`, or Node.js 22"),
    cause(EXCEPTION, "^Error: (?:The module '|Module did not self-register)")
        .near("NODE_MODULE_VERSION|did not self-register")
        .means("the native add-on was compiled for another version of Node.js")
        .hint("`npm rebuild` with this Node.js as a step of the build"),
    cause(EXCEPTION, "primordials is not defined")
        .means("a package of before Node.js 12 reads Node's own source, which it no longer can")
        .hint("Node.js 11 or older, or a newer version of the package (`graceful-fs` 4.2)"),
    cause(EXCEPTION, "^Error: No such module: ")
        .means("the code asks for an inner part of Node.js that this one does not have")
        .hint(OTHER_NODE),
    cause(EXCEPTION, "^ReferenceError: (?:GLOBAL|root) is not defined")
        .means("the code is written for a Node.js of before 14")
        .hint(OTHER_NODE),
    cause(EXCEPTION, "error:0308010C|ERR_OSSL_EVP_UNSUPPORTED")
        .means("the code uses an algorithm that OpenSSL 3 has switched off")
        .hint("`NODE_OPTIONS = \"--openssl-legacy-provider\"` in the environment, or Node.js 16"),
    cause(EXCEPTION, "^TypeError: Cannot set property .* which has only a getter")
        .at(IN_NODE_MODULES)
        .means("`{name}` sets a property that this Node.js made read-only: it is written for an older one")
        .hint(OTHER_NODE),
    cause(EXCEPTION, r"^TypeError: (?:Object .* has no method '|\S+\.\S+ is not a (?:function|constructor)$)")
        .means("what the code calls is not there in this version")
        .hint(OTHER_SERVER),
    // pip
    cause(DEPENDENCY, "^(?:Could not find a version|No matching distribution)")
        .near("Requires-Python")
        .means("pip left out versions that need another Python than this one")
        .hint("a Python that the version's `Requires-Python` accepts"),
    cause(DEPENDENCY, "^(?:Could not find a version|No matching distribution)")
        .near(r"from versions: \d")
        .means("the index has no such version for this Python"),
    cause(DEPENDENCY, "^Cannot install .*conflicting dependencies")
        .means("what the packages ask of each other cannot be had together")
        .hint("an `[[override]]` for these versions that pins other versions of the companions"),
    // uv
    cause(DEPENDENCY, "^Because the current Python version ")
        .means("the version needs another Python than this one")
        .hint("a Python that the version's `Requires-Python` accepts"),
    // Python
    cause(EXCEPTION, "^SyntaxError: (?:Missing parentheses in call to|multiple exception types must be)")
        .means("the code is written for Python 2")
        .hint("Python 2.7, or a newer version of the package"),
    cause(EXCEPTION, r"^(?:ModuleNotFound|Import)Error: No module named '(?:SocketServer|BaseHTTPServer|SimpleHTTPServer|Queue|urllib2|urlparse|httplib|ConfigParser|Cookie|StringIO|cStringIO|__builtin__)'")
        .means("the code is written for Python 2")
        .hint("Python 2.7, or a newer version of the package"),
    cause(EXCEPTION, "'dict' object has no attribute '(?:iteritems|itervalues|iterkeys|has_key)'|name '(?:unicode|basestring|xrange|raw_input)' is not defined")
        .means("the code is written for Python 2")
        .hint("Python 2.7, or a newer version of the package"),
    cause(EXCEPTION, "'build_ext' object has no attribute 'cython_sources'")
        .means("the set-up script is written for Cython of before 3")
        .hint("`cython<3` in a file that `PIP_CONSTRAINT` names, or a newer version of the package"),
    cause(EXCEPTION, "module 'collections' has no attribute '[A-Z]|cannot import name '[A-Z][A-Za-z]+' from 'collections'")
        .means("the code is written for Python of before 3.10")
        .hint(OLDER_PYTHON),
    cause(EXCEPTION, "module 'asyncio' has no attribute '(?:coroutine|async)'|module 'inspect' has no attribute 'getargspec'")
        .means("the code is written for Python of before 3.11")
        .hint(OLDER_PYTHON),
    cause(EXCEPTION, "No module named '(?:distutils|imp|asyncore|asynchat)'|module 'pkgutil' has no attribute 'ImpImporter'")
        .means("the code is written for Python of before 3.12")
        .hint(OLDER_PYTHON),
    cause(EXCEPTION, "module 'time' has no attribute 'clock'")
        .means("the code is written for Python of before 3.8")
        .hint(OLDER_PYTHON),
    cause(EXCEPTION, r"cannot import name '(?:url_quote|url_decode|url_encode|url_parse|url_unquote)' from 'werkzeug")
        .means("`werkzeug` is too new for this version: 3.0 took the name away")
        .hint("`werkzeug<3` beside these versions"),
    cause(EXCEPTION, "cannot import name '(?:escape|Markup|contextfunction)' from 'jinja2")
        .means("`jinja2` is too new for this version: 3.1 took the name away")
        .hint("`jinja2<3.1` beside these versions"),
    cause(EXCEPTION, r"cannot import name '\w+' from '(?<name>\w+)[\w.]*' \(.*/site-packages/")
        .means("`{name}` has no such name: the code is written for another version of it")
        .hint("pin `{name}` to a version of that time"),
    cause(EXCEPTION, r"cannot import name '\w+' from '(?<name>\w+)[\w.]*' \(.*/lib/python3")
        .means("`{name}` of this Python has no such name: the code is written for another Python")
        .hint("the Python that the code is written for"),
    cause(EXCEPTION, ".")
        .at("/pip-(?:install|req-build)-")
        .means("the package's own set-up script fails with this Python"),
    cause(EXCEPTION, r"No module named '(?<name>[\w-]+)[\w.-]*'")
        .means("`{name}` is not installed for this Python")
        .hint("install `{name}` in a step of the build"),
    cause(EXCEPTION, "^SyntaxError: ")
        .at(r"/site-packages/(?<name>[^/\s]+)/")
        .means("`{name}` is written for another Python than this one")
        .hint("the Python that the package is written for, or another version of the package"),
    // javac, Java, Maven
    cause(COMPILER, r"^cannot find symbol \((?:method|variable) |location: (?:package|interface) |^cannot find symbol \(.*, package ")
        .means("there is no such class or method: the code is written for another version of what it calls")
        .hint(OTHER_SERVER),
    cause(COMPILER, "^release version .* not supported|^invalid target release")
        .means("this Java compiler is too old for that release")
        .hint("a newer JDK"),
    cause(COMPILER, "^(?:Source|Target) option .* is no longer supported")
        .means("this Java compiler is too new for that release")
        .hint("an older JDK, or a newer `maven.compiler.source` and `target`"),
    cause(COMPILER, "^cannot access ")
        .near(r"class file has wrong version")
        .means("a library is compiled for a newer Java than this one")
        .hint("a newer JDK, or an older version of the library"),
    cause(EXCEPTION, "UnsupportedClassVersionError")
        .means("it is compiled for a newer Java than this one")
        .hint("a newer Java"),
    cause(EXCEPTION, "NoSuchMethodError|NoSuchFieldError|AbstractMethodError|IncompatibleClassChangeError")
        .means("a library is of another version than the one that the code was compiled with")
        .hint("the libraries of the versions that it was compiled with"),
    cause(EXCEPTION, r"(?:ClassNotFoundException|NoClassDefFoundError): (?<name>\S+)")
        .means("no jar on the class path has the class")
        .hint("the jar with `{name}` on the class path of the start command"),
    cause(EXCEPTION, "InaccessibleObjectException")
        .means("the code reaches into Java's own classes, which Java 16 and later forbid")
        .hint("Java 11, or `--add-opens` in the start command"),
    cause(DEPENDENCY, r"^Could not find artifact (?<name>\S+)")
        .means("no repository has `{name}`"),
    // Go
    cause(DEPENDENCY, r"requires go >= (?<version>[\w.]+)")
        .means("the module needs a newer Go than this one")
        .hint("Go {version} or newer"),
    cause(DEPENDENCY, "missing go.sum entry|updates to go.mod needed|no required module provides package")
        .means("`go.mod` and `go.sum` do not name all that the code imports")
        .hint("`go mod tidy` as the first step of the build"),
    cause(DEPENDENCY, "unknown revision|no matching versions")
        .means("the module has no such version"),
    cause(COMPILER, r"^undefined: \w+\.\w+|has no field or method|^unknown field .* in struct literal of type \w+\.")
        .means("the package has no such name: the code is written for another version of it")
        .hint(OTHER_SERVER),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_every_cause() {
        let document = include_str!("../../../docs/gaps.md");
        for cause in CAUSES {
            let words = |text: &str| match text {
                "" => "-".to_owned(),
                text => text.to_owned(),
            };
            let row = format!("| {} | {} |\n", words(cause.why), words(cause.hint));
            assert!(
                document.contains(&row),
                "docs/gaps.md has no row that ends with {row}"
            );
        }
    }
}
