//! Log lines on standard error, for people or for machines.

use std::io::{IsTerminal, stderr};

use crate::config::{Config, LogFormat};

/// Starts logging. Called once, before anything is logged.
pub(crate) fn start(config: &Config) {
    let builder =
        tracing_subscriber::fmt().with_writer(stderr).with_max_level(config.log_level).with_target(false);
    match config.log_format {
        LogFormat::Text => builder.with_ansi(stderr().is_terminal()).init(),
        LogFormat::Json => builder.with_ansi(false).json().flatten_event(true).init(),
    }
}
