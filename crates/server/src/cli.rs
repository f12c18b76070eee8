//! The command line: its commands, flags and help.
//!
//! Flags of settings come from the list in `config/settings.rs` and are the same for every command,
//! because every command reads the same configuration.

mod webhooks;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, Command, Error};

use crate::config::{SETTINGS, Setting, all_nearest};
use crate::frameworks::FRAMEWORKS;

const EXAMPLES: &str = "\
Examples:
  latchkey serve                                   start on http://127.0.0.1:3400 with data in ./data
  latchkey serve --listen 0.0.0.0:80 --log-format json
  LATCHKEY_DATABASE=postgres://latchkey@db/latchkey latchkey serve
  latchkey env next                                what goes into .env.local of an app with Next.js
  latchkey trust                                   HTTPS on this machine, for SDKs that need it
  latchkey keys create --json                      a further secret key, for a script
  latchkey keys revoke key_…                       refuse a key that has leaked
  latchkey instances create --environment production --frontend-api clerk.example.com
  latchkey settings set session.lifetime_seconds=86400 sign_up.mode=restricted
  latchkey settings reset session                  its settings as they were at first
  latchkey signing-keys rotate                     a new key for tokens; the old one fades out
  latchkey webhooks create http://localhost:3000/hook   send events there, signed
  latchkey config > latchkey.toml                  a file with every setting, to be changed

Settings come from ./latchkey.toml (or --config), then from the environment, then from flags; the
later wins. The master key and the token for metrics have no flag, because command lines are visible
to others: set LATCHKEY_MASTER_KEY and LATCHKEY_METRICS_TOKEN, or leave the master key to the file
master.key in the data directory.

Exit codes: 0 it worked, 1 it failed, 2 the command line or the configuration must be corrected.";

/// What stands below the help of every command.
const ELSEWHERE: &str =
    "The flags of the configuration, such as --data-dir, work here too: `latchkey --help` lists them.";

/// The command line of this process. An error is also help that was asked for.
pub(crate) fn read() -> Result<ArgMatches, Error> {
    command().try_get_matches().map_err(with_all_near)
}

/// The error of a value that is not one of several, with all that may have been meant: clap names one of them.
fn with_all_near(mut error: Error) -> Error {
    let (given, known) = (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue));
    if let (Some(ContextValue::String(given)), Some(ContextValue::Strings(known))) = (given, known) {
        let near = all_nearest(given, known.iter().map(String::as_str));
        let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
        if near.len() > 1 {
            error.insert(ContextKind::SuggestedValue, ContextValue::Strings(near));
        }
    }
    error
}

/// The whole command line.
pub(crate) fn command() -> Command {
    let all = root();
    let names: Vec<String> = all.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names.into_iter().fold(all, |all, name| all.mut_subcommand(name, pointing))
}

/// A command and those below it, with a line that says where the flags of the configuration are.
fn pointing(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let examples = command.get_after_long_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    let command = command.after_help(ELSEWHERE).after_long_help(format!("{examples}{ELSEWHERE}"));
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, pointing))
}

fn root() -> Command {
    Command::new("latchkey")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A self-hosted identity server that Clerk's SDKs can talk to")
        .after_help("`latchkey --help` shows the flags of the configuration, and examples.")
        .after_long_help(format!("{}\n\n{EXAMPLES}", configuration()))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(config_flag())
        .args(SETTINGS.iter().filter_map(setting_flag))
        .subcommand(Command::new("serve").about("Start the server").long_about(
            "Start the server. On the first start the database is made and a development instance \
                     with it; what an app needs to reach it is printed. SIGTERM and SIGINT end it after the \
                     running requests are answered.",
        ))
        .subcommand(keys())
        .subcommand(env())
        .subcommand(trust())
        .subcommand(instances())
        .subcommand(settings())
        .subcommand(signing_keys())
        .subcommand(webhooks::command())
        .subcommand(Command::new("migrate").about("Bring the database's schema up to date").long_about(
            "Bring the database's schema up to date and say what was applied. `serve` does it too.",
        ))
        .subcommand(
            Command::new("openapi").about("Print the OpenAPI document of the Backend API").arg(
                Arg::new("frontend")
                    .long("frontend")
                    .action(ArgAction::SetTrue)
                    .help("That of the Frontend API instead"),
            ),
        )
        .subcommand(Command::new("config").about("Print every setting with its default and what it is for"))
        .subcommand(
            Command::new("docs")
                .hide(true)
                .about("Print a page of the documentation that is made from the code")
                .arg(Arg::new("page").required(true).value_parser(["settings", "frameworks"])),
        )
        .subcommand(Command::new("version").about("Print the version"))
}

fn keys() -> Command {
    Command::new("keys")
        .about("List, create or revoke the secret keys of an instance, and list the tickets they made")
        .long_about(
            "List, create or revoke the secret keys of an instance. They are kept as digests, so an earlier one cannot be \
             shown again. All of this works while the server runs. docs/KEYS.md says what to do when a key has leaked.",
        )
        .override_usage("latchkey keys <COMMAND>")
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        // A key was made without a word once: who still writes that is told what to write now.
        .arg(json_flag().hide(true))
        .arg(instance_flag().hide(true))
        .subcommand(
            Command::new("list")
                .about("List the secret keys of an instance: id, beginning and end, and when they were made")
                .arg(instance_flag())
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("create")
                .about("Make a further secret key, and print it this once; earlier ones keep working")
                .arg(instance_flag())
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("revoke")
                .about("Revoke a secret key, and end the tickets and links it made")
                .long_about(
                    "Revoke a secret key: it is refused from the next request on. The sign-in tokens, actor tokens and \
                     links it made end with it, unless --keep-tickets is given. Prints these, and the changes of the \
                     configuration that were made with the key. docs/KEYS.md says what does not end.",
                )
                .arg(
                    Arg::new("key")
                        .value_name("KEY")
                        .required(true)
                        .help("Its id, such as key_…, or the key itself"),
                )
                .arg(
                    Arg::new("keep-tickets")
                        .long("keep-tickets")
                        .action(ArgAction::SetTrue)
                        .help("Keep its tickets and links, for a planned change of keys"),
                )
                .arg(instance_flag())
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("tickets")
                .about("List the tickets and link tokens that can still be used, with the secret key that made each")
                .arg(
                    Arg::new("key")
                        .long("key")
                        .value_name("ID")
                        .help("Only those that this key made, such as key_…"),
                )
                .arg(instance_flag())
                .arg(json_flag()),
        )
}

fn env() -> Command {
    // Aliases are values of their own: clap names no others in its help and its errors.
    let names = FRAMEWORKS.iter().flat_map(|one| {
        let also = move |alias: &&'static str| PossibleValue::new(*alias).help(format!("As {}", one.name));
        std::iter::once(PossibleValue::new(one.name).help(one.title)).chain(one.aliases.iter().map(also))
    });
    Command::new("env")
        .about("Print what goes into the environment of an app, for its framework")
        .long_about(
            "Print what goes into the environment of an app: a block for the .env file of its framework, with the \
             keys, the URLs, and as comments what must stand in code. Without a framework it lists all it knows; \
             docs/FRAMEWORKS.md has all of them.\n\n\
             Secret keys are kept as digests, so only the first one of the development instance is known; \
             --new-key makes a further one.",
        )
        .arg(Arg::new("framework").value_name("FRAMEWORK").value_parser(PossibleValuesParser::new(names)))
        .arg(
            Arg::new("new-key")
                .long("new-key")
                .action(ArgAction::SetTrue)
                .help("Make a further secret key and put it in"),
        )
        .arg(
            Arg::new("plain")
                .long("plain")
                .action(ArgAction::SetTrue)
                .help("For plain HTTP, also where the local certificate authority is trusted"),
        )
        .arg(instance_flag())
        .arg(json_flag())
}

fn trust() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("trust")
        .about("Let this machine trust HTTPS of the Frontend API, for development")
        .long_about(
            "Make a certificate authority in the data directory, and put it into the stores of the system and of \
             browsers. It is good for localhost, names below it and loopback addresses only. After the next start the \
             Frontend API speaks HTTPS beside plain HTTP, and the publishable key of the development instance names \
             a host below .localhost. SDKs without a proxy variable need that; the earlier key keeps working.\n\n\
             Run it as yourself: what needs the administrator is printed, to be typed.",
        )
        .arg(flag("remove", "Take it back: out of the stores, and out of the data directory"))
        .arg(flag("print", "Show what would be done, and do nothing"))
        .arg(flag("skip-system", "Leave the store of the system as it is"))
        .arg(flag("skip-browsers", "Leave the stores of browsers as they are"))
}

fn instances() -> Command {
    Command::new("instances")
        .about("List, create or delete instances: tenants with keys and users of their own")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(Command::new("list").about("List all instances, oldest first").arg(json_flag()))
        .subcommand(
            Command::new("create")
                .about("Create an instance, or several from a file, and print the keys")
                .long_about(
                    "Create an instance and print its keys, or create all instances that a file describes and print \
                     their keys by name. The secret key of a production instance is kept \
                     as a digest only: this is the one time it is shown.\n\n\
                     --frontend-api HOST says at which host browsers reach the Frontend API of this \
                     instance; the host tells instances apart, and is part of the publishable key. A \
                     production instance needs it. The first development instance has the one that the \
                     configuration says, and a further one gets a name under localhost.\n\n\
                     --from FILE creates many instances with their settings, roles and permissions, all or none \
                     (docs/CONFIGURATION.md).",
                )
                .arg(
                    Arg::new("environment")
                        .long("environment")
                        .value_name("ENVIRONMENT")
                        .required_unless_present("from")
                        .value_parser(["development", "production"])
                        .help("What it is for"),
                )
                .arg(
                    Arg::new("from")
                        .long("from")
                        .value_name("FILE")
                        .conflicts_with_all(["environment", "frontend-api"])
                        .help("Create all instances that this TOML file describes; - is the standard input"),
                )
                // Shown here, though it is a flag of the configuration: those are hidden.
                .arg(
                    Arg::new("frontend-api")
                        .long("frontend-api")
                        .value_name("HOST")
                        .help("Where browsers reach its Frontend API; a production instance needs it"),
                )
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("delete")
                .about("Delete an instance with everything in it")
                .arg(Arg::new("id").value_name("ID").required(true).help("Its id, such as ins_…"))
                .arg(
                    Arg::new("yes")
                        .long("yes")
                        .action(ArgAction::SetTrue)
                        .help("Really delete it; there is no way back"),
                ),
        )
}

fn settings() -> Command {
    let path = "Settings are named by paths, such as session.lifetime_seconds or \
                attributes.phone_number.enabled; `latchkey settings get` shows all of them.";
    Command::new("settings")
        .about("Show or change the settings of an instance: attributes, passwords, sessions, pages")
        .long_about(format!(
            "Show or change the settings of an instance: what users may or must have, how they sign up and \
             in, how long sessions last, what pages show. {path}"
        ))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("get")
                .about("Show the settings, or those below paths")
                .long_about("Show the settings, or those below paths, and the defaults of what was changed.")
                .arg(
                    Arg::new("path")
                        .value_name("PATH")
                        .num_args(0..)
                        .help("Such as session, or session.lifetime_seconds"),
                )
                .arg(
                    Arg::new("explain")
                        .long("explain")
                        .action(ArgAction::SetTrue)
                        .help("Say what each setting does, what it can be, and its default"),
                )
                .arg(instance_flag())
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("set")
                .about("Change settings; all of them, or none if anything is wrong")
                .long_about(format!(
                    "Change settings: all of them, or none if anything is wrong. A running server uses them \
                     from the next request on.\n\n{path} A value is JSON; what is not is taken as a text. An \
                     object changes what it names and leaves the rest as it is."
                ))
                .after_long_help(
                    "Examples:\n  \
                     latchkey settings set session.lifetime_seconds=86400 display.application_name='My app'\n  \
                     latchkey settings set 'attributes.phone_number={\"enabled\": false}'\n  \
                     latchkey settings set 'attributes.email_address.first_factors=[\"email_link\"]'\n  \
                     latchkey settings get --json > settings.json; latchkey settings set --file settings.json\n\n\
                     Other users of the machine can read command lines. Give secrets by a file or by the \
                     standard input: latchkey settings set --file - < secrets.json",
                )
                .arg(
                    Arg::new("change")
                        .value_name("PATH=JSON")
                        .num_args(1..)
                        .required_unless_present("file")
                        .help("What to change, and to what"),
                )
                .arg(
                    Arg::new("file")
                        .long("file")
                        .value_name("FILE")
                        .help("A JSON document with the changes; - is the standard input"),
                )
                .arg(instance_flag()),
        )
        .subcommand(
            Command::new("reset")
                .about("Give settings their defaults again, with all that is below them")
                .after_long_help("Example:\n  latchkey settings reset session sign_up.mode")
                .arg(
                    Arg::new("path")
                        .value_name("PATH")
                        .num_args(1..)
                        .required(true)
                        .help("Such as session, or session.lifetime_seconds"),
                )
                .arg(instance_flag()),
        )
}

fn signing_keys() -> Command {
    Command::new("signing-keys")
        .about("List or show the keys that sign tokens, or change to a new one")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("list")
                .about("List the signing keys of an instance, newest first")
                .arg(instance_flag())
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("public")
                .about("Print the public half of the key that signs now, as PEM")
                .long_about(
                    "Print the public half of the key that signs now, as PEM. Backends verify tokens with it \
                     without asking this server: SDKs take it as CLERK_JWT_KEY, jwtKey or jwt_key. After \
                     `latchkey signing-keys rotate` it is another one from the moment the new key signs: \
                     paste it then.",
                )
                .arg(instance_flag()),
        )
        .subcommand(
            Command::new("rotate")
                .about("Make a new signing key that takes over from the present one")
                .long_about(
                    "Make a new signing key that takes over from the present one. It is published at once \
                     and signs later, so that everybody who keeps the published keys knows it by then; the \
                     earlier ones stay published for a while longer, so that tokens they have signed are \
                     still good. If a key has leaked, set both times to 0: session tokens it has signed are \
                     refused at once by everybody who reads the published keys again, and browsers fetch \
                     new ones. Nobody has to sign in again for it: sessions do not depend on the key.",
                )
                .arg(
                    Arg::new("publish-ahead")
                        .long("publish-ahead")
                        .value_name("TIME")
                        .default_value("1h")
                        .help("How long it is published before it signs: 90s, 10m, 1h, 2d"),
                )
                .arg(
                    Arg::new("overlap")
                        .long("overlap")
                        .value_name("TIME")
                        .default_value("24h")
                        .help("How long the earlier keys stay published after that"),
                )
                .arg(instance_flag())
                .arg(json_flag()),
        )
}

fn instance_flag() -> Arg {
    Arg::new("instance")
        .long("instance")
        .value_name("ID")
        .help("Which instance; the oldest development instance unless set")
}

fn json_flag() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON")
}

/// The flags that every command takes, which are listed here once instead of in the help of each.
fn configuration() -> String {
    let config = "      --config <PATH>\n          The file with the settings [LATCHKEY_CONFIG]; ./latchkey.toml, if it \
                  exists, unless set";
    let flags = SETTINGS.iter().filter_map(|setting| {
        let help = setting.help.replace('\n', "\n          ");
        let flag = setting.flag?;
        Some(format!("      --{flag} <{}>\n          {help} [{}]", setting.value, setting.variable))
    });
    let lines: Vec<String> = std::iter::once(config.to_owned()).chain(flags).collect();
    format!("Configuration, the same for every command:\n{}", lines.join("\n"))
}

fn config_flag() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("PATH")
        .global(true)
        .hide(true)
        .help("The file with the settings [LATCHKEY_CONFIG]; ./latchkey.toml, if it exists, unless set")
}

fn setting_flag(setting: &'static Setting) -> Option<Arg> {
    let Setting { variable, flag, value, help, .. } = setting;
    let flag = (*flag)?;
    let help = format!("{help} [{variable}]");
    Some(Arg::new(flag).long(flag).value_name(*value).global(true).hide(true).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn settings_are_accepted_before_and_after_the_command() {
        for line in
            [&["latchkey", "--listen", "[::1]:1", "serve"], &["latchkey", "serve", "--listen", "[::1]:1"]]
        {
            let matches = command().try_get_matches_from(line).unwrap();
            let (_, serve) = matches.subcommand().unwrap();
            assert_eq!(serve.get_one::<String>("listen").unwrap(), "[::1]:1");
        }
    }

    #[test]
    fn help_of_a_command_has_its_own_flags_only() {
        for line in [&["latchkey", "settings", "get", "--help"][..], &["latchkey", "env", "--help"]] {
            let help = command().try_get_matches_from(line).unwrap_err().to_string();
            assert!(!help.contains("--tls-certificate") && help.contains("latchkey --help"), "{help}");
            assert!(help.lines().count() < 60, "{help}");
        }
        let all = command().try_get_matches_from(["latchkey", "--help"]).unwrap_err().to_string();
        for setting in SETTINGS {
            let shown =
                setting.flag.is_none_or(|flag| all.contains(&format!("--{flag} <{}>", setting.value)));
            assert!(shown, "{}", setting.name);
        }
    }

    #[test]
    fn the_host_of_a_new_instance_is_shown_and_accepted_at_both_places() {
        let help = command().try_get_matches_from(["latchkey", "instances", "create", "-h"]);
        let help = help.unwrap_err().to_string();
        assert!(help.contains("--frontend-api <HOST>"), "{help}");
        for line in [
            "latchkey --frontend-api clerk.example.com instances create --environment production",
            "latchkey instances create --environment production --frontend-api clerk.example.com",
        ] {
            let matches = command().try_get_matches_from(line.split(' ')).unwrap();
            let (_, group) = matches.subcommand().unwrap();
            let (_, own) = group.subcommand().unwrap();
            assert_eq!(own.get_one::<String>("frontend-api").unwrap(), "clerk.example.com", "{line}");
        }
    }

    #[test]
    fn the_master_key_has_no_flag() {
        assert!(command().try_get_matches_from(["latchkey", "serve", "--master-key", "x"]).is_err());
    }
}
