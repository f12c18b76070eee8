//! `latchkey settings`: the settings document of an instance.

use std::io::Read;

use clap::ArgMatches;
use latchkey_base::kinds::InstanceId;
use latchkey_kernel::instances::change::{self, ChangedSettings};
use latchkey_kernel::settings::explain::{self, ExplainedSetting, ItemField};
use latchkey_kernel::settings::{SealedSetting, Settings, SettingsFault, edit};
use serde_json::{Map, Value, json};

use super::{change_origin, elsewhere, instances};
use crate::config::{Config, nearest};
use crate::failure::Failure;
use crate::provision::Storage;
use crate::show;

/// Shows the settings, or those below paths.
pub(crate) async fn get(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let instance = instances::select(&storage, line.get_one::<String>("instance").map(String::as_str))?;
    let paths: Vec<&String> = line.get_many::<String>("path").into_iter().flatten().collect();
    if line.get_flag("explain") {
        let with_named = |settings, path: &&String| explain::with_provider(settings, path);
        let settings = paths.iter().fold(instance.settings.clone(), with_named);
        return explain(&shown(&settings, &paths)?, line.get_flag("json"));
    }
    let found = shown(&instance.settings, &paths)?;
    match (paths.as_slice(), found.as_slice(), line.get_flag("json")) {
        ([path], _, true) => show::json(&nested(&found, path)),
        (_, _, true) => show::json(&nested(&found, "")),
        ([path], [(leaf, value)], _) if *path == leaf => show::json(value),
        _ => show::result(&listed(&found)?),
    }
    Ok(())
}

/// All settings, or those below paths.
fn shown(settings: &Settings, paths: &[&String]) -> Result<Vec<(String, Value)>, Failure> {
    match paths.is_empty() {
        true => Ok(edit::flat(settings)?),
        false => below(settings, paths),
    }
}

/// Shows settings with what they mean.
fn explain(found: &[(String, Value)], as_json: bool) -> Result<(), Failure> {
    let mut all = explain::all()?;
    all.push(explain::providers());
    let explained = found.iter().filter_map(|(path, value)| {
        let known = explain::canonical(path);
        let setting = all.iter().find(|setting| setting.path == known)?;
        Some((ExplainedSetting { path: path.clone(), ..setting.clone() }, value))
    });
    if as_json {
        show::json(&explained.map(|(setting, value)| in_json(&setting, value)).collect::<Vec<Value>>());
        return Ok(());
    }
    let texts: Vec<String> = explained.map(|(setting, value)| in_words(&setting, value)).collect();
    show::result(&texts.join("\n\n"));
    Ok(())
}

fn in_words(setting: &ExplainedSetting, value: &Value) -> String {
    let ExplainedSetting { path, meaning, values, choices, fields, default } = setting;
    let words = choices.iter().filter(|(_, meaning)| !meaning.is_empty());
    let words: String = words.map(|(word, meaning)| format!("\n    {word}: {meaning}")).collect();
    let field = |field: &ItemField| format!("\n    {} ({}): {}", field.name, field.values, field.meaning);
    let fields: String = fields.iter().map(field).collect();
    format!("{path} = {value}\n  {meaning}{words}{fields}\n  Values: {values}. Default: {default}.")
}

fn in_json(setting: &ExplainedSetting, value: &Value) -> Value {
    let ExplainedSetting { path, meaning, values, default, .. } = setting;
    json!({"path": path, "value": value, "meaning": meaning, "values": values, "default": default})
}

/// Changes settings in one transaction.
pub(crate) async fn set(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let changes = changes(line)?;
    let storage = Storage::existing(config).await?;
    let wanted = line.get_one::<String>("instance").map(String::as_str);
    let id = instances::select(&storage, wanted)?.id.clone();
    let changes = sealed(config, &storage, &id, changes).await?;
    change(&storage, id, changes).await
}

/// Gives settings their defaults again, in one transaction.
pub(crate) async fn reset(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let paths: Vec<&String> = line.get_many::<String>("path").into_iter().flatten().collect();
    let storage = Storage::existing(config).await?;
    let wanted = line.get_one::<String>("instance").map(String::as_str);
    let instance = instances::select(&storage, wanted)?;
    let changes = found(&paths, |path| edit::defaults(&instance.settings, path))?;
    change(&storage, instance.id.clone(), changes).await
}

/// The settings below paths. There must be some below each.
fn below(settings: &Settings, paths: &[&String]) -> Result<Vec<(String, Value)>, Failure> {
    found(paths, |path| edit::below(settings, path))
}

fn found(
    paths: &[&String],
    find: impl Fn(&str) -> latchkey_base::Result<Vec<(String, Value)>>,
) -> Result<Vec<(String, Value)>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        let found = find(path)?;
        if found.is_empty() {
            return Err(Failure::usage(format!("There is no setting {path:?}."), hint(path)?));
        }
        all.extend(found);
    }
    Ok(all)
}

/// Makes changes, all or none, and shows what they changed.
async fn change(storage: &Storage, id: InstanceId, changes: Vec<(String, Value)>) -> Result<(), Failure> {
    let origin = change_origin(&id);
    let outcome =
        storage.db.write(move |tx| Box::pin(async move { change::settings(tx, &origin, &changes).await }));
    let ChangedSettings { before: instance, after } = outcome.await?.map_err(|faults| refused(&faults))?;
    let changed = edit::differences(&instance.settings, &after)?;
    let whose = format!("{id} ({})", instance.environment.name());
    match changed.is_empty() {
        true => show::note(&format!("nothing was changed: the settings of {whose} are like that already")),
        false => {
            show::note(&format!("the settings of {whose} were changed"));
            show::result(&listed(&changed)?);
        }
    }
    Ok(())
}

/// The changes with their secrets sealed; without secrets no master key is needed.
async fn sealed(
    config: &Config,
    storage: &Storage,
    id: &InstanceId,
    changes: Vec<(String, Value)>,
) -> Result<Vec<(String, Value)>, Failure> {
    if !edit::names_secret(&changes) {
        return Ok(changes);
    }
    let weak = edit::weak_secrets(&changes);
    if !weak.is_empty() {
        return Err(refused(&weak));
    }
    let master = storage.master_key(config).await?;
    Ok(edit::sealed(&changes, |path, plain| SealedSetting::seal(&master, id, path, plain))?)
}

/// The changes the line asks for, in their order: those of the file first.
fn changes(line: &ArgMatches) -> Result<Vec<(String, Value)>, Failure> {
    let mut changes = Vec::new();
    if let Some(path) = line.get_one::<String>("file") {
        changes.push((String::new(), read(path)?));
    }
    let mut malformed = Vec::new();
    let given: Vec<&String> = line.get_many::<String>("change").into_iter().flatten().collect();
    let mut follows_secret = false;
    for text in &given {
        match text.split_once('=') {
            Some((path, value)) if !path.is_empty() => {
                follows_secret = is_secret(path);
                changes.push((path.to_owned(), value_of(path, value)));
            }
            // It may be the rest of a secret.
            _ if follows_secret => malformed.push("A word is not of the form PATH=JSON.".to_owned()),
            _ => malformed.push(format!("{text:?} is not of the form PATH=JSON.")),
        }
    }
    match malformed.is_empty() {
        true => Ok(changes),
        false => Err(Failure::usage(
            malformed.join("\n"),
            unquoted(&given).unwrap_or_else(|| "Such as: session.lifetime_seconds=86400".to_owned()),
        )),
    }
}

fn is_secret(path: &str) -> bool {
    edit::names_secret(&[(path.to_owned(), Value::String(String::new()))])
}

/// What to write where a shell cut a value at its spaces: words without a = follow a change.
fn unquoted(given: &[&String]) -> Option<String> {
    let first = given.windows(2).position(|pair| pair[0].contains('=') && !pair[1].contains('='))?;
    let rest = given[first + 1..].iter().take_while(|word| !word.contains('='));
    let words: Vec<&str> = std::iter::once(&given[first]).chain(rest).map(|word| word.as_str()).collect();
    let (path, _) = given[first].split_once('=')?;
    // A secret is not repeated.
    let whole = match is_secret(path) {
        true => format!("{path}=…"),
        false => words.join(" "),
    };
    Some(format!("A value with spaces needs quotes around the whole: '{}'", whole.replace('\'', "'\\''")))
}

/// Names of texts that providers make of digits alone.
const DIGITS: [&str; 4] = ["client_id", "client_secret", "key_id", "team_id"];

/// What is meant by a value. Quoting JSON strings for a shell is a nuisance: what is no JSON is a text, and so is a number
/// where only a text can be meant.
fn value_of(path: &str, text: &str) -> Value {
    let is_text = DIGITS.contains(&path.rsplit('.').next().unwrap_or_default());
    match serde_json::from_str(text) {
        Ok(Value::Number(_)) if is_text => Value::String(text.to_owned()),
        Ok(value) => value,
        // One entry of a list.
        Err(_) if is_list(path) => Value::Array(vec![Value::String(text.to_owned())]),
        Err(_) => Value::String(text.to_owned()),
    }
}

fn is_list(path: &str) -> bool {
    let settings = explain::with_provider(Settings::default(), path);
    let defaults = serde_json::to_value(settings).unwrap_or_default();
    defaults.pointer(&format!("/{}", path.replace('.', "/"))).is_some_and(Value::is_array)
}

/// The text of a file; `-` is the standard input.
pub(super) fn text_of(path: &str) -> Result<String, Failure> {
    let text = match path {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        path => std::fs::read_to_string(path),
    };
    text.map_err(|error| {
        Failure::usage(
            format!("{} cannot be read: {error}.", named(path)),
            "Name a file, or - for the standard input.",
        )
    })
}

fn named(path: &str) -> &str {
    if path == "-" { "The standard input" } else { path }
}

fn read(path: &str) -> Result<Value, Failure> {
    let (text, shown) = (text_of(path)?, named(path));
    match serde_json::from_str(&text) {
        Ok(Value::Object(document)) => Ok(Value::Object(document)),
        Ok(_) => Err(Failure::usage(
            format!("{shown} is not a JSON object."),
            "`latchkey settings get --json` shows how it looks.",
        )),
        Err(error) => Err(Failure::usage(
            format!("{shown} is not JSON: {error}."),
            "`latchkey settings get --json` shows how it looks.",
        )),
    }
}

/// One line for each setting, with the default of what differs from it.
fn listed(leaves: &[(String, Value)]) -> Result<String, Failure> {
    let defaults = edit::flat(&Settings::default())?;
    let width = leaves.iter().map(|(path, _)| path.len()).max().unwrap_or_default();
    let lines = leaves.iter().map(|(path, value)| {
        let default = defaults.iter().find(|(known, default)| known == path && default != value);
        let remark = default.map(|(_, default)| format!("  (default: {default})")).unwrap_or_default();
        format!("{path:width$}  {value}{remark}")
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The document that has these settings, without what stands above `path`.
fn nested(leaves: &[(String, Value)], path: &str) -> Value {
    let mut document = Value::Object(Map::new());
    for (leaf, value) in leaves {
        let rest = leaf.strip_prefix(path).unwrap_or(leaf);
        let names = rest.split('.').filter(|name| !name.is_empty());
        let mut place = &mut document;
        for name in names {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[name];
        }
        *place = value.clone();
    }
    document
}

fn refused(faults: &[SettingsFault]) -> Failure {
    let count = match faults.len() {
        1 => "There is a problem".to_owned(),
        several => format!("There are {several} problems"),
    };
    let shown = |fault: &SettingsFault| format!("\n  {}\n    {}\n", fault.path, explained(fault));
    let list: String = faults.iter().map(shown).collect();
    Failure::usage(
        format!("{count} with these settings; nothing was changed:\n{list}"),
        "`latchkey settings get` shows all settings as they are.",
    )
}

/// What is wrong with a setting, and what may have been meant on a line of its own.
pub(super) fn explained(fault: &SettingsFault) -> String {
    let hint = if fault.text.starts_with("There is no setting") {
        hint(&fault.path).ok()
    } else {
        meant_value(&fault.text)
    };
    let hint = hint.map(|hint| format!("\n    {hint}")).unwrap_or_default();
    format!("{}{hint}", fault.text)
}

/// The word that may have been meant by one that is not known: the fault names both in backticks.
fn meant_value(fault: &str) -> Option<String> {
    let (given, known) = fault.split_once(" is not known; it can be ")?;
    let known = known.split('`').skip(1).step_by(2);
    nearest(given.trim_matches('`'), known).map(|word| format!("Did you mean {word}?"))
}

/// What a change below a provider that there is not would be told.
fn unknown_provider(path: &str) -> Option<String> {
    let key = path.strip_prefix("social.")?.split('.').next()?;
    let change = (format!("social.{key}.enabled"), Value::Bool(true));
    let faults = edit::changed(&Settings::default(), &[change]).err()?;
    faults.into_iter().map(|fault| fault.text).find(|text| text.starts_with("There is no provider"))
}

/// What may have been meant, or where it is configured.
fn hint(path: &str) -> Result<String, Failure> {
    let with_provider = explain::with_provider(Settings::default(), path);
    if edit::below(&with_provider, path).is_ok_and(|found| !found.is_empty()) {
        return Ok("This provider is not configured yet (docs/PROVIDERS.md).".to_owned());
    }
    if let Some(advice) = unknown_provider(path).or_else(|| elsewhere::advice(path)) {
        return Ok(advice);
    }
    let leaves = explain::all()?;
    let paths = leaves.iter().map(|leaf| leaf.path.as_str());
    let groups = paths.clone().flat_map(|leaf| leaf.match_indices('.').map(move |(end, _)| &leaf[..end]));
    let known = || paths.clone().chain(groups.clone());
    let one =
        path.split_once('.').and_then(|(first, rest)| Some(format!("{}.{rest}", first.strip_suffix('s')?)));
    Ok(match nearest(path, known()).or_else(|| nearest(one.as_deref()?, known())) {
        Some(known) => format!("Did you mean {known}?"),
        None => "`latchkey settings get` lists all there are.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_a_text_and_so_are_ids_of_digits() {
        assert_eq!(value_of("session.lifetime_seconds", "86400"), json!(86400));
        assert_eq!(value_of("social.discord.client_id", "1047123456789012345"), json!("1047123456789012345"));
        assert_eq!(value_of("social.discord.client_id", r#""12""#), json!("12"));
        assert_eq!(value_of("display.application_name", "Acme & Co"), json!("Acme & Co"));
        assert_eq!(value_of("social.x.enabled", "true"), json!(true));
    }

    #[test]
    fn a_document_comes_back_as_it_was() {
        let settings = Settings::default();
        let document = nested(&edit::flat(&settings).unwrap(), "");
        assert_eq!(serde_json::from_value::<Settings>(document).unwrap(), settings);
        let below = nested(&edit::below(&settings, "username").unwrap(), "username");
        assert_eq!(below, json!({"min_length": 4, "max_length": 64}));
        let one = nested(&edit::below(&settings, "username.min_length").unwrap(), "username.min_length");
        assert_eq!(one, json!(4));
    }
}
