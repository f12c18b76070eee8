//! Every setting with what it means: read from the comments at its field, so that they cannot differ from the code.

use schemars::schema_for;
use serde_json::{Map, Value};

use super::{Settings, SocialProvider, edit, social};

/// Stands for the key of every provider.
const ANY_PROVIDER: &str = "<provider>";

/// A setting, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedSetting {
    /// Such as `session.lifetime_seconds`.
    pub path: String,
    /// What it does.
    pub meaning: String,
    /// What it can be.
    pub values: String,
    /// The words it can be, each with its meaning.
    pub choices: Vec<(String, String)>,
    /// If it is a list of objects: what each of them has.
    pub fields: Vec<ItemField>,
    pub default: Value,
}

/// What an object in a list has.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemField {
    pub name: String,
    /// What it says.
    pub meaning: String,
    /// What it can be.
    pub values: String,
}

/// All settings, in the order of the document.
pub fn all() -> latchkey_base::Result<Vec<ExplainedSetting>> {
    let schema = schema_for!(Settings).to_value();
    let mut settings = Settings::default();
    settings.social.insert(ANY_PROVIDER.to_owned(), SocialProvider::default());
    let leaves = edit::flat(&settings)?.into_iter();
    Ok(leaves.map(|(path, default)| explained(&schema, path, default)).collect())
}

/// The map of providers as a whole, as it is shown while there is none.
pub fn providers() -> ExplainedSetting {
    let schema = schema_for!(Settings).to_value();
    explained(&schema, "social".to_owned(), Value::Object(Map::new()))
}

/// The settings with entries for the providers that a path names, as if they had been added: what is not there yet can
/// be explained too.
pub fn with_provider(mut settings: Settings, path: &str) -> Settings {
    let named = path.strip_prefix("social.").and_then(|rest| rest.split('.').next());
    let is_provider = |key: &&str| {
        key.starts_with(social::CUSTOM) || social::is_mock(key) || social::KnownProvider::find(key).is_some()
    };
    let key = match named {
        Some(key) => Some(key).filter(is_provider),
        None => (path == "social" && settings.social.is_empty()).then_some(ANY_PROVIDER),
    };
    if let Some(key) = key {
        settings.social.entry(key.to_owned()).or_default();
    }
    settings
}

/// The path under which a setting is explained: all providers are explained as one.
pub fn canonical(path: &str) -> String {
    match path.strip_prefix("social.").and_then(|rest| rest.split_once('.')) {
        Some((_, field)) => format!("social.{ANY_PROVIDER}.{field}"),
        None => path.to_owned(),
    }
}

/// What a group of settings is about, such as `session`.
pub fn group(path: &str) -> String {
    let schema = schema_for!(Settings).to_value();
    meaning(find(&schema, path))
}

fn explained(schema: &Value, path: String, default: Value) -> ExplainedSetting {
    let field = find(schema, &path);
    ExplainedSetting {
        meaning: meaning(field),
        values: values(schema, field),
        choices: choices(schema, field),
        fields: fields(schema, field),
        path,
        default,
    }
}

/// The schema of the field at a path, with the comment at the field itself.
fn find<'a>(schema: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(schema, |place, name| {
        let place = resolved(schema, place);
        match &place["properties"][name] {
            Value::Null => &place["additionalProperties"],
            field => field,
        }
    })
}

/// What a reference leads to; the schema itself when it is none.
fn resolved<'a>(schema: &'a Value, place: &'a Value) -> &'a Value {
    match place["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        Some(name) => &schema["$defs"][name],
        None => place,
    }
}

/// The comment on one line.
fn meaning(field: &Value) -> String {
    let text = field["description"].as_str().unwrap_or_default();
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("`None` is", "null is")
        .replace("`None`", "null:")
}

fn values(schema: &Value, field: &Value) -> String {
    let place = resolved(schema, field);
    if let Some(options) = place["anyOf"].as_array() {
        let mut texts: Vec<String> = options.iter().map(|option| values(schema, option)).collect();
        texts.dedup();
        return texts.join(" or ");
    }
    let words = choices(schema, field);
    if !words.is_empty() {
        return words.into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(", ");
    }
    let types: Vec<&str> = match &place["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let plain = |name: &&str| match *name {
        "boolean" => "true or false".to_owned(),
        "integer" => "whole number".to_owned(),
        "string" => "text".to_owned(),
        "array" => format!("list of {}", items(schema, &place["items"])),
        other => other.to_owned(),
    };
    types.iter().map(plain).collect::<Vec<_>>().join(" or ")
}

fn items(schema: &Value, item: &Value) -> String {
    match values(schema, item).as_str() {
        "text" => "texts".to_owned(),
        "object" => "objects".to_owned(),
        words => words.to_owned(),
    }
}

fn fields(schema: &Value, field: &Value) -> Vec<ItemField> {
    let item = resolved(schema, &resolved(schema, field)["items"]);
    let properties = item["properties"].as_object().into_iter().flatten();
    let explained = properties.map(|(name, field)| ItemField {
        name: name.clone(),
        meaning: meaning(field),
        values: values(schema, field),
    });
    explained.collect()
}

fn choices(schema: &Value, field: &Value) -> Vec<(String, String)> {
    let place = resolved(schema, field);
    let described = place["oneOf"].as_array().into_iter().flatten().filter_map(Value::as_object);
    let word = |option: &Map<String, Value>| {
        let word = option.get("const")?.as_str()?.to_owned();
        Some((word, meaning(&Value::Object(option.clone()))))
    };
    let bare = place["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    described.filter_map(word).chain(bare.map(|word| (word.to_owned(), String::new()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_setting_says_what_it_means_and_what_it_can_be() {
        for setting in all().unwrap() {
            assert!(setting.meaning.ends_with('.') || setting.meaning.ends_with('`'), "{setting:?}");
            assert!(!setting.values.is_empty(), "{setting:?}");
            for field in &setting.fields {
                assert!(field.meaning.ends_with('.') && !field.values.is_empty(), "{field:?}");
            }
            assert_eq!(setting.values.contains("objects"), !setting.fields.is_empty(), "{setting:?}");
        }
    }

    #[test]
    fn words_are_explained_one_by_one() {
        let all = all().unwrap();
        let find = |path: &str| all.iter().find(|setting| setting.path == path).unwrap();
        let mode = find("sign_up.mode");
        assert_eq!((mode.values.as_str(), &mode.default), ("public, restricted, waitlist", &json!("public")));
        assert_eq!(mode.choices[0], ("public".to_owned(), "Everybody.".to_owned()));
        assert_eq!(find("session.inactivity_timeout_seconds").values, "whole number or null");
        assert_eq!(find("attributes.email_address.enabled").values, "true or false");
        assert_eq!(find("messages.email.smtp.password").values, "text or null");
        assert_eq!(group("session"), "How long sessions and their tokens last, and what tokens say.");
    }
}
