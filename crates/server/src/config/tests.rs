//! What wins, what is refused, and that everything wrong is said at once.

use super::*;

fn load(file: &str, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let find = |pairs: &[(&str, &str)], name: &str| {
        pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    let file = File { path: "test.toml".to_owned(), text: file.to_owned() };
    Config::load(Some(&file), |name| find(variables, name), |name| find(flags, name))
        .map_err(|problems| problems.iter().map(Problem::to_string).collect())
}

fn problems(file: &str, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> Vec<String> {
    load(file, variables, flags).expect_err("the configuration is refused")
}

#[test]
fn without_any_source_the_defaults_hold() {
    let config = Config::load(None, |_| None, |_| None).unwrap();
    assert_eq!(config.api_url(config.listen), "http://127.0.0.1:3400");
    assert_eq!(config.frontend_api(), "127.0.0.1:3401");
    assert_eq!(config.database, Location::Sqlite("./data/latchkey.db".into()));
    assert_eq!(
        (config.rate_limits, config.log_format, config.log_level),
        (RateLimits::default(), LogFormat::Text, Level::INFO)
    );
    assert!(config.hash_threads >= 1 && config.master_key.is_none() && config.trusted_proxies.is_empty());
}

#[test]
fn the_later_source_wins() {
    let file =
        "listen = '127.0.0.1:1'\nfrontend_listen = '127.0.0.1:2'\ndata_dir = 'file'\nlog_level = 'warn'";
    let variables =
        [("LATCHKEY_LISTEN", "127.0.0.1:3"), ("LATCHKEY_DATA_DIR", "variable"), ("LATCHKEY_LOG_LEVEL", "")];
    let config = load(file, &variables, &[("data-dir", "flag")]).unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!(config.frontend_listen.port(), 2);
    assert_eq!(config.database, Location::Sqlite("flag/latchkey.db".into()));
    assert_eq!(config.log_level, Level::WARN, "an empty variable is as good as none");
}

#[test]
fn all_problems_are_reported_at_once() {
    let file = "lisen = '127.0.0.1:1'\nlog_format = 'xml'\n[rate_limits_custom]\nwindow_seconds = 0\nminutes = 3\n[extra]\na = 1";
    let variables = [("LATCHKEY_LISTEN", "localhost:3400"), ("LATCHKEY_TRUSTED_PROXIES", "10.0.0.1, proxy")];
    let found = problems(file, &variables, &[("database-connections", "none")]).join("\n");
    for expected in [
        "lisen, from the file test.toml\n    There is no setting of this name.\n    Did you mean `listen`?",
        "log_format, from the file test.toml\n    \"xml\" is not a choice.\n    Write one of: text, json.",
        "rate_limits_custom.window_seconds, from the file test.toml\n    \"0\" is not a number in its range.",
        "rate_limits_custom.minutes, from the file test.toml\n    There is no setting",
        "extra, from the file test.toml\n    There is no setting",
        "listen, from the environment variable LATCHKEY_LISTEN\n    \"localhost:3400\" is not an address",
        "trusted_proxies, from the environment variable LATCHKEY_TRUSTED_PROXIES\n    \"proxy\" is not",
        "database_connections, from the flag --database-connections\n    \"none\" is not a number",
    ] {
        assert!(found.contains(expected), "{expected}\nis missing in\n{found}");
    }
}

#[test]
fn secrets_are_never_repeated() {
    let text = "database = 'mysql://user:hunter2@host/db'\nmaster_key = 'hunter2'\napi_url = 'https://me:hunter2@host'";
    let found = problems(text, &[], &[]);
    assert_eq!(found.len(), 3, "{found:?}");
    let broken = problems("listen = '127.0.0.1:1'\nmaster_key = 'hunter2", &[], &[]);
    assert!(broken[0].contains("Line 2 is not TOML"), "{broken:?}");
    let config = load(&format!("master_key = '{}='", "A".repeat(43)), &[], &[]).unwrap();
    assert!(!format!("{found:?} {broken:?}").contains("hunter2") && !format!("{config:?}").contains("AAA"));
}

#[test]
fn rate_limits_are_default_off_or_custom() {
    let limits = |text: &str| load(text, &[], &[]).unwrap().rate_limits;
    assert_eq!(limits("rate_limits = 'off'"), RateLimits::Off);
    let custom =
        limits("rate_limits = 'custom'\n[rate_limits_custom]\nproduction_requests = 7\nwindow_seconds = 60");
    let limit = |requests| Limit { requests, window_ms: 60_000 };
    assert_eq!(custom, RateLimits::On { production: limit(7), development: limit(100) });
    assert_eq!(problems("rate_limits = 'none'", &[], &[]).len(), 1);
}

#[test]
fn public_addresses_are_what_callers_can_use() {
    let config = load("listen = '0.0.0.0:80'\nfrontend_listen = '[::]:81'", &[], &[]).unwrap();
    let shown = |config: &Config| {
        (config.api_url(config.listen), config.frontend_api(), config.frontend_url(config.frontend_listen))
    };
    let expected = ("http://127.0.0.1:80", "latchkey.localhost:81", "http://localhost:81");
    assert_eq!(shown(&config), (expected.0.into(), expected.1.into(), expected.2.into()));
    let config = load(
        "api_url = 'https://id.example.com/'\nfrontend_api = 'A.example.com'\nfrontend_url = 'https://a.example.com/'",
        &[],
        &[],
    )
    .unwrap();
    let expected = ("https://id.example.com", "a.example.com", "https://a.example.com");
    assert_eq!(shown(&config), (expected.0.into(), expected.1.into(), expected.2.into()));
    let config = load("frontend_listen = '10.1.2.3:81'", &[], &[]).unwrap();
    assert_eq!(config.frontend_url(config.frontend_listen), "http://10.1.2.3:81");
    let free = load("frontend_listen = '127.0.0.1:0'", &[], &[]).unwrap();
    assert_eq!(free.frontend_api(), "127.0.0.1");
    for bad in [
        "api_url = 'id.example.com'",
        "api_url = 'https://'",
        "frontend_api = 'https://a.example.com'",
        "frontend_api = 'localhost:3401'",
        "frontend_url = 'a.example.com'",
        "scripts_dir = './no-such-directory'",
    ] {
        assert_eq!(problems(bad, &[], &[]).len(), 1, "{bad}");
    }
    assert_eq!(problems("listen = '127.0.0.1:3401'", &[], &[]).len(), 1, "both would listen there");
    for (url, host) in [
        ("https://clerk.example.com/", "clerk.example.com"),
        ("http://a.example.com:8443/v1", "a.example.com:8443"),
        ("https://", "clerk.example.com"),
    ] {
        let found = problems(&format!("frontend_api = '{url}'"), &[], &[]);
        let said = format!("Write only the host, without https:// and without a path: {host}");
        assert!(found.len() == 1 && found[0].ends_with(&said), "{found:?}");
    }
}

#[test]
fn certificates_come_with_their_keys_and_change_the_scheme() {
    let config = load("tls_certificate = 'a.pem'\ntls_key = ['a.key']", &[], &[]).unwrap();
    let addresses =
        |config: &Config| (config.api_url(config.listen), config.frontend_url(config.frontend_listen));
    assert_eq!(addresses(&config), ("https://127.0.0.1:3400".into(), "http://localhost:3401".into()));
    let variables =
        [("LATCHKEY_FRONTEND_TLS_CERTIFICATE", "a.pem, b.pem"), ("LATCHKEY_FRONTEND_TLS_KEY", "a.key,b.key")];
    let config = load("", &variables, &[]).unwrap();
    assert_eq!(addresses(&config), ("http://127.0.0.1:3400".into(), "https://localhost:3401".into()));
    let pair =
        |name: &str| Pair { certificate: format!("{name}.pem").into(), key: format!("{name}.key").into() };
    assert_eq!(config.frontend_tls.unwrap().pairs, [pair("a"), pair("b")]);
    let found = problems("tls_certificate = 'a.pem'\nfrontend_tls_key = 'b.key'", &[], &[]).join("\n");
    for expected in [
        "tls_key, from the default\n    It is empty, while `tls_certificate` is set.",
        "frontend_tls_certificate, from the default\n    It is empty, while `frontend_tls_key` is set.",
    ] {
        assert!(found.contains(expected), "{expected}\nis missing in\n{found}");
    }
    let found = problems("tls_certificate = ['a.pem', 'b.pem']\ntls_key = 'a.key'", &[], &[]);
    assert!(found[0].contains("Certificates in `tls_certificate`: 2; keys here: 1."), "{found:?}");
}

#[test]
fn lists_are_written_as_lists_or_with_commas() {
    let ips: Vec<IpAddr> = vec!["10.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    assert_eq!(load("trusted_proxies = ['10.0.0.1', '::1']", &[], &[]).unwrap().trusted_proxies, ips);
    assert_eq!(
        load("", &[("LATCHKEY_TRUSTED_PROXIES", "10.0.0.1, ::1,")], &[]).unwrap().trusted_proxies,
        ips
    );
    assert!(problems("trusted_proxies = [1]", &[], &[])[0].contains("It is array"));
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    assert_eq!(problems("", &[("LATCHKEY_DATA_DIR", "d\u{FFFD}ta")], &[]).len(), 1);
}

#[test]
fn mistyped_variables_are_a_problem_and_foreign_ones_are_not() {
    let names = ["LATCHKEY_DATABSE", "LATCHKEY_LISTEN", "LATCHKEY_BIN", "LATCHKEY_CONFIG", "PATH"];
    let problems = super::mistyped(names.into_iter().map(str::to_owned));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("Did you mean LATCHKEY_DATABASE?"));
}

#[test]
fn metrics_have_an_address_of_their_own_and_a_token_that_cannot_be_guessed() {
    let config =
        load("metrics_listen = '127.0.0.1:3402'\nmetrics_token = '0123456789abcdef'", &[], &[]).unwrap();
    assert_eq!(config.metrics_listen, Some("127.0.0.1:3402".parse().unwrap()));
    assert!(config.metrics_token.is_some());
    let config = load("", &[], &[]).unwrap();
    assert!(config.metrics_listen.is_none() && config.metrics_token.is_none());
    for other in ["3400", "3401"] {
        let found = problems(&format!("metrics_listen = '127.0.0.1:{other}'"), &[], &[]);
        assert!(found[0].contains("Give it a port of its own."), "{found:?}");
    }
    for token in ["guessable", "0123456789 abcdef"] {
        let found = problems("", &[("LATCHKEY_METRICS_TOKEN", token)], &[]);
        assert!(found.len() == 1 && !found[0].contains(token), "{found:?}");
    }
}
