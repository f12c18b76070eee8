//! Latchkey's program: the command line, the configuration, and serving over HTTP.
//!
//! It puts the parts together and holds no rule of the product. It is the one place that reads the
//! environment, prints, and makes the real clock and the real randomness. A library, because cargo compiles one
//! beside the product while a program waits for the product's machine code.

mod cli;
mod commands;
mod config;
mod failure;
mod files;
mod frameworks;
mod http;
mod keys;
mod logging;
mod no_instance;
mod provision;
mod reach;
mod reference;
mod show;
mod tls;
mod trust;
mod unusable;

use std::process::ExitCode;

use crate::failure::Failure;

/// Does what the command line asks for. 0: it worked; 1: it failed; 2: the command line or the configuration must be
/// corrected first.
pub fn run() -> ExitCode {
    let outcome = match cli::read() {
        Ok(matches) => commands::run(&matches),
        Err(asked) => {
            // Help and version arrive here too; they print to standard output and are no failure.
            let code = u8::try_from(asked.exit_code()).unwrap_or(1);
            return asked.print().map_or(ExitCode::FAILURE, |()| ExitCode::from(code));
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, message }) => {
            show::note(&format!("latchkey: {message}"));
            ExitCode::from(code)
        }
    }
}
