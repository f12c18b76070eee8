//! The commands: each reads the configuration, does one thing and prints what came of it.

mod described_instances;
mod elsewhere;
mod env;
mod instances;
mod key_tickets;
mod keys;
mod listeners;
mod migrate;
mod serve;
mod settings;
mod signing_keys;
mod trust;
mod webhook_deliveries;
mod webhooks;

use std::sync::Arc;

use clap::ArgMatches;
use latchkey_app::GROUPS;
use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_kernel::outbox::ChangeOrigin;
use latchkey_outbound::client::{Client, Options};

use crate::config::{self, Config};
use crate::failure::Failure;
use crate::{frameworks, logging, reference, show};

/// The origin of a change of the configuration that a command makes.
pub(crate) fn change_origin(instance: &InstanceId) -> ChangeOrigin {
    ChangeOrigin::command_line(instance, SystemClock.now(), Arc::new(SystemRng))
}

/// Runs the command the line names.
pub(crate) fn run(line: &ArgMatches) -> Result<(), Failure> {
    match line.subcommand() {
        Some(("serve", own)) => serve::run(configure(own)?),
        Some(("env", own)) => wait(env::run(&configure(own)?, own)),
        Some(("trust", own)) => trust::run(&configure(own)?, own),
        Some(("keys", group)) => match group.subcommand() {
            word if keys::has_flags(group) || word.is_none() => Err(keys::misplaced(group)),
            Some(("list", own)) => wait(keys::list(&configure(own)?, own)),
            Some(("revoke", own)) => wait(keys::revoke(&configure(own)?, own)),
            Some(("tickets", own)) => wait(key_tickets::list(&configure(own)?, own)),
            Some((_, own)) => wait(keys::create(&configure(own)?, own)),
            None => Ok(()),
        },
        Some(("instances", group)) => match group.subcommand() {
            Some(("list", own)) => wait(instances::list(&configure(own)?, own)),
            Some(("create", own)) => wait(instances::create(&configure(own)?, own)),
            Some(("delete", own)) => wait(instances::delete(&configure(own)?, own)),
            _ => Ok(()),
        },
        Some(("settings", group)) => match group.subcommand() {
            Some(("get", own)) => wait(settings::get(&configure(own)?, own)),
            Some(("set", own)) => wait(settings::set(&configure(own)?, own)),
            Some(("reset", own)) => wait(settings::reset(&configure(own)?, own)),
            _ => Ok(()),
        },
        Some(("signing-keys", group)) => match group.subcommand() {
            Some(("list", own)) => wait(signing_keys::list(&configure(own)?, own)),
            Some(("public", own)) => wait(signing_keys::public(&configure(own)?, own)),
            Some(("rotate", own)) => wait(signing_keys::rotate(&configure(own)?, own)),
            _ => Ok(()),
        },
        Some(("webhooks", group)) => match group.subcommand() {
            Some(("events", own)) => {
                webhooks::list_event_types(own);
                Ok(())
            }
            Some((name, own)) => wait(webhooks::run(name, &configure(own)?, own)),
            None => Ok(()),
        },
        Some(("migrate", own)) => wait(migrate::run(&configure(own)?)),
        Some(("openapi", own)) => {
            let config = configure(own)?;
            show::json(&match own.get_flag("frontend") {
                true => latchkey_app::frontend_document(&config.frontend_url(config.frontend_listen), GROUPS),
                false => latchkey_app::document(&config.api_url(config.listen), GROUPS),
            });
            Ok(())
        }
        Some(("docs", own)) => {
            show::result(&match own.get_one::<String>("page").map(String::as_str) {
                Some("frameworks") => frameworks::document(),
                _ => reference::document()?,
            });
            Ok(())
        }
        Some(("config", _)) => {
            show::result(config::REFERENCE.trim_end());
            Ok(())
        }
        Some(("version", _)) => {
            show::result(concat!("latchkey ", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
        // clap refuses a line without a known command.
        _ => Ok(()),
    }
}

/// The configuration of this process, with logging started as it says.
fn configure(line: &ArgMatches) -> Result<Config, Failure> {
    let config = Config::read(|flag| line.get_one::<String>(flag).cloned())?;
    logging::start(&config);
    Ok(config)
}

/// Runs a short command to its end on this thread.
fn wait(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(no_runtime)?.block_on(work)
}

/// What sends requests to addresses other people chose.
fn outbound() -> Result<Client, Failure> {
    Client::new(Options::default()).map_err(|failure| {
        Failure::new(
            format!("No requests can be sent from here: {failure}"),
            "Install the certificates of the operating system (the package ca-certificates).",
        )
    })
}

fn no_runtime(error: std::io::Error) -> Failure {
    Failure::new(
        format!("The operating system gives no threads or file descriptors: {error}."),
        "Raise the limits of this process (ulimit -n, ulimit -u), or stop something else.",
    )
}
