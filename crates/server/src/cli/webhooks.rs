//! The command line of `latchkey webhooks`.

use clap::{Arg, ArgAction, ArgGroup, Command};

use super::{instance_flag, json_flag};

const EXAMPLES: &str = "\
Examples:
  latchkey webhooks create http://localhost:3000/hook --event-types user.created,user.deleted
  latchkey webhooks events                               which types of events there are
  latchkey webhooks test ep_… --event-type user.created
  latchkey webhooks deliveries ep_… --status failed
  latchkey webhooks replay ep_… --since 2h               everything of the last two hours again
  latchkey webhooks replay ep_… --failed                 what failed, whenever that was";

/// The command with all it can do.
pub(super) fn command() -> Command {
    Command::new("webhooks")
        .about("Manage the endpoints that events are sent to, and what became of each event there")
        .after_long_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(sub("list", "List the endpoints of an instance, newest first"))
        .subcommand(Command::new("events").about("List the types of events there are").arg(json_flag()))
        .subcommand(create())
        .subcommand(sub("show", "Show an endpoint and how it is doing").arg(endpoint()))
        .subcommand(update())
        .subcommand(sub("enable", "Send events to an endpoint again").arg(endpoint()).arg(switch(
            "skip-missed",
            "Leave out what happened so far; otherwise it goes on where it stopped",
        )))
        .subcommand(sub("disable", "Send no more events to an endpoint").arg(endpoint()))
        .subcommand(
            sub("delete", "Delete an endpoint with its deliveries")
                .arg(endpoint())
                .arg(switch("yes", "Really delete it; there is no way back")),
        )
        .subcommand(sub("secret", "Show the secrets that events are signed with").arg(endpoint()))
        .subcommand(rotate())
        .subcommand(
            sub("test", "Send a made-up event and show what the endpoint answers").arg(endpoint()).arg(
                value("event-type", "TYPE", "The kind of event to make up")
                    .alias("event")
                    .default_value("user.created"),
            ),
        )
        .subcommand(deliveries())
        .subcommand(replay())
}

fn create() -> Command {
    sub("create", "Create an endpoint and show its secret")
        .arg(Arg::new("url").value_name("URL").required(true).help("Where events are posted"))
        .args(details())
        .arg(secret_file())
        .arg(switch("disabled", "Send nothing yet"))
}

fn update() -> Command {
    sub("update", "Change the address, the description or the events of an endpoint")
        .arg(endpoint())
        .arg(value("url", "URL", "Where events are posted"))
        .args(details())
        .arg(switch("all-events", "Send events of every kind").conflicts_with("event-types"))
        .group(
            ArgGroup::new("change")
                .args(["url", "description", "event-types", "all-events"])
                .required(true)
                .multiple(true),
        )
}

fn rotate() -> Command {
    sub("rotate", "Sign with a new secret; the old one signs beside it for a while")
        .arg(endpoint())
        .arg(
            value("overlap", "TIME", "How long the old secret goes on signing: 0, 90s, 10m, 1h, up to 7d")
                .default_value("24h"),
        )
        .arg(secret_file())
}

fn deliveries() -> Command {
    sub("deliveries", "List what became of events at an endpoint, newest first; or show one of them")
        .arg(endpoint())
        .arg(event("An event, to show every attempt and what is sent"))
        .arg(value("status", "STATUS", "Only those that stand so").value_parser([
            "pending",
            "succeeded",
            "failed",
        ]))
        .arg(value("event-type", "TYPE", "Only of this kind of event"))
        .arg(
            value("limit", "NUMBER", "At most so many")
                .default_value("20")
                .value_parser(clap::value_parser!(i64).range(1..=500)),
        )
}

fn replay() -> Command {
    sub("replay", "Send events to an endpoint again: one, all since a time, or what failed")
        .arg(endpoint())
        .arg(event("The event to send again").conflicts_with_all(["since", "failed"]))
        .arg(value("since", "TIME", "From when on: 2h and 3d are so long ago; or 2026-01-31T12:00:00Z"))
        .arg(switch("failed", "Only what has not arrived, given up or not"))
        .override_usage("latchkey webhooks replay [OPTIONS] <ENDPOINT> <EVENT|--since <TIME>|--failed>")
        .group(ArgGroup::new("what").args(["event", "since", "failed"]).required(true).multiple(true))
}

/// A subcommand with the flags all of them have.
fn sub(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).arg(instance_flag()).arg(json_flag())
}

fn endpoint() -> Arg {
    Arg::new("id").value_name("ENDPOINT").required(true).help("Its id, such as ep_…")
}

fn event(help: &'static str) -> Arg {
    Arg::new("event").value_name("EVENT").help(help)
}

fn details() -> [Arg; 2] {
    [
        value("description", "TEXT", "A note for people"),
        value("event-types", "TYPES", "Only these, such as user.created,user.deleted; `events` lists all")
            .alias("events")
            .value_delimiter(','),
    ]
}

/// Command lines are visible to others, so a secret is never part of one.
fn secret_file() -> Arg {
    value("secret-file", "FILE", "A file with a secret of your own, whsec_…; - is the standard input")
}

fn value(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
