//! Log lines on standard error, for people or for machines.

use std::io::{IsTerminal, stderr};

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Config, LogFormat};

/// Starts logging. Called once, before anything is logged.
pub(crate) fn start(config: &Config) {
    // HTTP/2's library tells of every frame, and of paths it cannot read, which may hold secrets.
    let filter =
        Targets::new().with_default(config.log_level).with_target("h2", config.log_level.min(Level::ERROR));
    // A line that cannot be written (its disk is full, say) is lost; telling so on the same stream would panic.
    let builder = tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_max_level(config.log_level)
        .with_target(false)
        .log_internal_errors(false);
    match config.log_format {
        LogFormat::Text => builder.with_ansi(stderr().is_terminal()).finish().with(filter).init(),
        LogFormat::Json => builder.with_ansi(false).json().flatten_event(true).finish().with(filter).init(),
    }
}
