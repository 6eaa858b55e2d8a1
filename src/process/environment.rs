//! What a child gets to see of the user's environment. Edge: it reads it.
//!
//! Whoever runs foreign code must not find a secret in it: only what is on the lists here is passed on, and everything
//! else has to be named in the matrix, with `{env:NAME}`.

use std::collections::BTreeMap;

/// Paths, locale, certificates and where the tools are: for every child.
const BASE: [&str; 23] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "RUSTUP_HOME",
    "CARGO_HOME",
    "JAVA_HOME",
    "MAVEN_HOME",
    "PYENV_ROOT",
    "GOPATH",
    "GOTOOLCHAIN",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];
const BASE_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The settings of registry clients: which registry, through which proxy, with which cache.
const CLIENTS: [&str; 11] = [
    "GOPROXY",
    "GOPRIVATE",
    "GONOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "GOINSECURE",
    "GOMODCACHE",
    "GOCACHE",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "GRADLE_USER_HOME",
];
const CLIENT_PREFIXES: [&str; 9] = [
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTRIES_",
    "CARGO_SOURCE_",
    "NPM_CONFIG_",
    "YARN_",
    "PIP_",
    "UV_",
    "COREPACK_",
];
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];

/// What only a registry's client may see that Harness itself calls: it runs no code of a version.
const LOGINS: [&str; 4] = [
    "CARGO_REGISTRY_TOKEN",
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
];
const LOGIN_PREFIXES: [&str; 1] = ["GIT_CONFIG_"];

/// Parts of the names of settings that hold a secret.
const SECRET: [&str; 8] = [
    "TOKEN",
    "AUTH",
    "PASSWORD",
    "PASSWD",
    "SECRET",
    "CREDENTIAL",
    "USERNAME",
    "KEY",
];

/// Who will read an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// A server, or a tool that is asked for its version.
    Any,
    /// The steps of a build: they run a version's own code, and registry clients.
    Build,
    /// A registry's client that Harness calls itself.
    Client,
}

/// Returns the environment that every child starts from: paths, locale and certificates.
pub fn base_environment() -> BTreeMap<String, String> {
    environment(Reader::Any)
}

/// Returns the environment of the steps of a build: that of every child, and the settings of registry clients, but not
/// their secrets.
pub fn build_environment() -> BTreeMap<String, String> {
    environment(Reader::Build)
}

/// Returns the environment of a registry's client that runs no code of a version: its secrets are among it.
pub fn client_environment() -> BTreeMap<String, String> {
    environment(Reader::Client)
}

/// Returns the settings of installers that decide what they install, such as a file of constraints. Where they get it and
/// how they reach it is left out: that is the same thing from another place.
pub fn installer_settings() -> BTreeMap<String, String> {
    const INSTALLERS: [&str; 3] = ["PIP_", "UV_", "CARGO_SOURCE_"];
    const WAYS: [&str; 9] = [
        "CACHE",
        "TIMEOUT",
        "RETRIES",
        "INDEX",
        "PROXY",
        "CERT",
        "HOST",
        "VERSION_CHECK",
        "NO_INPUT",
    ];
    let decides = |name: &String| {
        INSTALLERS.iter().any(|prefix| name.starts_with(prefix))
            && !WAYS.iter().any(|way| name.contains(way))
    };
    let mut settings = build_environment();
    settings.retain(|name, _| decides(name));
    settings
}

fn environment(reader: Reader) -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_passed_on(name, reader))
        .collect()
}

/// Returns whether a variable is passed on, which its name alone decides.
fn is_passed_on(name: &str, reader: Reader) -> bool {
    let upper = name.to_uppercase();
    let is_one_of = |names: &[&str], prefixes: &[&str]| {
        names.contains(&name) || prefixes.iter().any(|prefix| upper.starts_with(prefix))
    };
    let is_base = is_one_of(&BASE, &BASE_PREFIXES);
    let is_setting =
        is_one_of(&CLIENTS, &CLIENT_PREFIXES) || PROXIES.contains(&name.to_lowercase().as_str());
    let is_secret = SECRET.iter().any(|part| upper.contains(part));
    match reader {
        Reader::Any => is_base,
        Reader::Build => is_base || (is_setting && !is_secret),
        Reader::Client => is_base || is_setting || is_one_of(&LOGINS, &LOGIN_PREFIXES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readers(name: &str) -> [bool; 3] {
        [Reader::Any, Reader::Build, Reader::Client].map(|reader| is_passed_on(name, reader))
    }

    #[test]
    fn every_child_sees_paths_and_locale() {
        for name in ["PATH", "HOME", "LC_ALL", "XDG_CACHE_HOME", "SSL_CERT_FILE"] {
            assert_eq!(readers(name), [true; 3], "{name}");
        }
    }

    #[test]
    fn builds_and_clients_see_the_settings_of_registries() {
        for name in [
            "npm_config_registry",
            "CARGO_REGISTRIES_INHOUSE_INDEX",
            "PIP_INDEX_URL",
            "UV_DEFAULT_INDEX",
            "GOPROXY",
            "GOMODCACHE",
            "MAVEN_OPTS",
            "HTTPS_PROXY",
            "no_proxy",
        ] {
            assert_eq!(readers(name), [false, true, true], "{name}");
        }
    }

    #[test]
    fn only_clients_see_the_secrets_of_registries() {
        for name in [
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_INHOUSE_TOKEN",
            "npm_config__auth",
            "npm_config_//registry.example/:_authToken",
            "UV_INDEX_INHOUSE_PASSWORD",
            "YARN_NPM_AUTH_TOKEN",
            "PIP_KEYRING_PROVIDER",
            "SSH_AUTH_SOCK",
            "GIT_CONFIG_VALUE_0",
        ] {
            assert_eq!(readers(name), [false, false, true], "{name}");
        }
    }

    #[test]
    fn nobody_sees_anything_else() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "NPM_TOKEN",
            "GOFLAGS",
            "RUSTFLAGS",
            "JAVA_TOOL_OPTIONS",
            "NODE_OPTIONS",
            "LD_PRELOAD",
            "PATHS",
        ] {
            assert_eq!(readers(name), [false; 3], "{name}");
        }
    }
}
