//! The list of settings: their names in the file, in the environment and on the command line.
//!
//! The command line, the reading of the environment and the check for unknown names all use this list;
//! a test keeps it equal to `config.default.toml`, which explains every setting at length.

/// One setting.
pub(crate) struct Setting {
    /// Its name in the file.
    pub(crate) name: &'static str,
    pub(crate) variable: &'static str,
    /// Its flag without the dashes, if it has one.
    pub(crate) flag: Option<&'static str>,
    /// What stands for its value in the help.
    pub(crate) value: &'static str,
    /// What it is, for the help.
    pub(crate) help: &'static str,
}

/// Every setting that is not part of a table, in the order of the help.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "listen",
        variable: "LATCHKEY_LISTEN",
        flag: Some("listen"),
        value: "ADDRESS:PORT",
        help: "Where the Backend API listens; 127.0.0.1:3400 unless set",
    },
    Setting {
        name: "frontend_listen",
        variable: "LATCHKEY_FRONTEND_LISTEN",
        flag: Some("frontend-listen"),
        value: "ADDRESS:PORT",
        help: "Where the Frontend API listens; 127.0.0.1:3401 unless set",
    },
    Setting {
        name: "tls_certificate",
        variable: "LATCHKEY_TLS_CERTIFICATE",
        flag: Some("tls-certificate"),
        value: "PATH,…",
        help: "PEM files with the certificates of the Backend API; it speaks plain HTTP unless set",
    },
    Setting {
        name: "tls_key",
        variable: "LATCHKEY_TLS_KEY",
        flag: Some("tls-key"),
        value: "PATH,…",
        help: "PEM files with their private keys, in the same order",
    },
    Setting {
        name: "frontend_tls_certificate",
        variable: "LATCHKEY_FRONTEND_TLS_CERTIFICATE",
        flag: Some("frontend-tls-certificate"),
        value: "PATH,…",
        help: "PEM files with the certificates of the Frontend API; it speaks plain HTTP unless set",
    },
    Setting {
        name: "frontend_tls_key",
        variable: "LATCHKEY_FRONTEND_TLS_KEY",
        flag: Some("frontend-tls-key"),
        value: "PATH,…",
        help: "PEM files with their private keys, in the same order",
    },
    Setting {
        name: "data_dir",
        variable: "LATCHKEY_DATA_DIR",
        flag: Some("data-dir"),
        value: "PATH",
        help: "Where the server keeps its files; ./data unless set",
    },
    Setting {
        name: "database",
        variable: "LATCHKEY_DATABASE",
        flag: Some("database"),
        value: "URL",
        help: "sqlite:PATH or postgres://USER@HOST/DATABASE; latchkey.db in the data directory unless set.\n\
               A password belongs into the environment or the file: command lines are visible to others",
    },
    Setting {
        name: "database_connections",
        variable: "LATCHKEY_DATABASE_CONNECTIONS",
        flag: Some("database-connections"),
        value: "NUMBER",
        help: "PostgreSQL connections at most; 16 unless set",
    },
    Setting {
        name: "api_url",
        variable: "LATCHKEY_API_URL",
        flag: Some("api-url"),
        value: "URL",
        help: "Where callers reach the Backend API; its listening address unless set",
    },
    Setting {
        name: "frontend_api",
        variable: "LATCHKEY_FRONTEND_API",
        flag: Some("frontend-api"),
        value: "HOST",
        help: "The host in the publishable key of the first development instance;\n\
               the Frontend API's listening address unless set",
    },
    Setting {
        name: "frontend_url",
        variable: "LATCHKEY_FRONTEND_URL",
        flag: Some("frontend-url"),
        value: "URL",
        help: "Where browsers reach the Frontend API; localhost and its port unless set",
    },
    Setting {
        name: "scripts_dir",
        variable: "LATCHKEY_SCRIPTS_DIR",
        flag: Some("scripts-dir"),
        value: "PATH",
        help: "Unpacked npm packages with the browser scripts; those installed with the\n\
               program unless set, or a public CDN",
    },
    Setting {
        name: "master_key",
        variable: "LATCHKEY_MASTER_KEY",
        flag: None,
        value: "BASE64",
        help: "What encrypts secrets at rest; master.key in the data directory unless set",
    },
    Setting {
        name: "rate_limits",
        variable: "LATCHKEY_RATE_LIMITS",
        flag: Some("rate-limits"),
        value: "default|custom|off",
        help: "How strictly requests are counted; the numbers of `custom` stand in the file",
    },
    Setting {
        name: "trusted_proxies",
        variable: "LATCHKEY_TRUSTED_PROXIES",
        flag: Some("trusted-proxies"),
        value: "ADDRESS,…",
        help: "Proxies whose X-Forwarded-For header is believed; none unless set",
    },
    Setting {
        name: "metrics_listen",
        variable: "LATCHKEY_METRICS_LISTEN",
        flag: Some("metrics-listen"),
        value: "ADDRESS:PORT",
        help: "Where /metrics listens alone; it is part of the Backend API unless set",
    },
    Setting {
        name: "metrics_token",
        variable: "LATCHKEY_METRICS_TOKEN",
        flag: None,
        value: "TEXT",
        help: "What has to be shown for /metrics; everybody may read it unless set",
    },
    Setting {
        name: "hash_threads",
        variable: "LATCHKEY_HASH_THREADS",
        flag: Some("hash-threads"),
        value: "NUMBER",
        help: "Passwords hashed at the same time; half of the cores unless set",
    },
    Setting {
        name: "log_format",
        variable: "LATCHKEY_LOG_FORMAT",
        flag: Some("log-format"),
        value: "text|json",
        help: "How log lines look; they go to standard error",
    },
    Setting {
        name: "log_level",
        variable: "LATCHKEY_LOG_LEVEL",
        flag: Some("log-level"),
        value: "LEVEL",
        help: "error, warn, info, debug or trace; info unless set",
    },
];

/// What stands in tables, and therefore only in the file.
pub(crate) const FILE_ONLY: &[&str] = &[
    "rate_limits_custom.production_requests",
    "rate_limits_custom.development_requests",
    "rate_limits_custom.window_seconds",
];

/// Every name a file may have.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name).chain(FILE_ONLY.iter().copied())
}
