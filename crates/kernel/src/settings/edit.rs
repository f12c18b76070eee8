//! Changing a settings document by paths such as `session.lifetime_seconds`, with everything that is
//! wrong said at once.

use latchkey_base::secret::Secret;
use latchkey_base::{Error, Result};
use serde_json::{Map, Value};

use super::messages::{EMAIL_WEBHOOK_SECRET, SMS_WEBHOOK_SECRET, SMTP_PASSWORD, TWILIO_TOKEN};
use super::secrets::SHOWN;
use super::wording::in_our_words;
use super::{SealedSetting, Settings, SettingsFault, SocialProvider, unbuilt};
use crate::signing_secrets;

/// Objects whose keys are the application's own: read and written whole.
fn is_open(path: &str) -> bool {
    path == "session.token_claims" || field_of_provider(path) == Some("authorize_params")
}

/// Settings that are kept sealed and never shown.
const SECRETS: [&str; 4] = [SMTP_PASSWORD, EMAIL_WEBHOOK_SECRET, TWILIO_TOKEN, SMS_WEBHOOK_SECRET];

/// Whether it is kept sealed and never shown.
fn is_secret(path: &str) -> bool {
    SECRETS.contains(&path) || matches!(field_of_provider(path), Some("client_secret" | "private_key"))
}

/// What is named of an entry of `social`, such as `client_id` in `social.google.client_id`.
fn field_of_provider(path: &str) -> Option<&str> {
    path.strip_prefix("social.")?.split_once('.').map(|(_, field)| field)
}

/// Every single setting with its path, in the order of the document; secrets as `(set)` or null.
pub fn flat(settings: &Settings) -> Result<Vec<(String, Value)>> {
    let shown = |(path, value): (String, Value)| match is_secret(&path) && !value.is_null() {
        true => (path, SHOWN.into()),
        false => (path, value),
    };
    Ok(leaves(settings)?.into_iter().map(shown).collect())
}

/// The settings that differ, as they are shown afterwards. Of a new provider only what is not as by default counts, and
/// of one that was taken away that it is gone.
pub fn differences(before: &Settings, after: &Settings) -> Result<Vec<(String, Value)>> {
    let mut base = before.clone();
    base.social.retain(|key, _| after.social.contains_key(key));
    for key in after.social.keys().filter(|key| !before.social.contains_key(*key)) {
        base.social.insert(key.clone(), SocialProvider::default());
    }
    let (old, new) = (leaves(&base)?, leaves(after)?);
    let pairs = new.iter().zip(flat(after)?);
    let mut found: Vec<_> = pairs.filter(|(leaf, _)| !old.contains(leaf)).map(|(_, shown)| shown).collect();
    for key in after.social.keys().filter(|key| !before.social.contains_key(*key)) {
        let prefix = format!("social.{key}.");
        if !found.iter().any(|(path, _)| path.starts_with(&prefix)) {
            found.push((format!("{prefix}enabled"), false.into()));
        }
    }
    let gone = before.social.keys().filter(|key| !after.social.contains_key(*key));
    found.extend(gone.map(|key| (format!("social.{key}"), Value::Null)));
    Ok(found)
}

fn leaves(settings: &Settings) -> Result<Vec<(String, Value)>> {
    let mut leaves = Vec::new();
    collect("", document(settings)?, &mut leaves);
    Ok(leaves)
}

/// Whether there is a secret among the changes.
pub fn names_secret(changes: &[(String, Value)]) -> bool {
    let mut leaves = Vec::new();
    changes.iter().for_each(|(path, value)| collect(path, value.clone(), &mut leaves));
    leaves.iter().any(|(path, _)| is_secret(path))
}

/// The secrets among the changes that are too easy to guess for signing with.
pub fn weak_secrets(changes: &[(String, Value)]) -> Vec<SettingsFault> {
    let mut leaves = Vec::new();
    changes.iter().for_each(|(path, value)| collect(path, value.clone(), &mut leaves));
    let signing = [EMAIL_WEBHOOK_SECRET, SMS_WEBHOOK_SECRET];
    let given = leaves.into_iter().filter(|(path, value)| {
        signing.contains(&path.as_str()) && !value.is_null() && value != "" && value != SHOWN
    });
    let weak = given.filter_map(|(path, value)| {
        let secret = Secret::new(value.as_str().unwrap_or_default().to_owned());
        let problem = signing_secrets::check(&secret).err()?;
        Some(SettingsFault { path, text: problem.detail.unwrap_or_default() })
    });
    weak.collect()
}

/// The changes one by one, with their secrets sealed. One that is written as it is shown stays as it is.
pub fn sealed(
    changes: &[(String, Value)],
    seal: impl Fn(&str, &str) -> Result<SealedSetting>,
) -> Result<Vec<(String, Value)>> {
    let mut leaves = Vec::new();
    for (path, value) in changes {
        collect(path, value.clone(), &mut leaves);
    }
    leaves.retain(|(path, value)| !(is_secret(path) && value == SHOWN));
    for (path, value) in leaves.iter_mut().filter(|(path, _)| is_secret(path)) {
        *value = match &*value {
            // A password of digits was taken for a number.
            Value::Number(number) => seal(path, &number.to_string())?.as_str().into(),
            Value::String(text) if !text.is_empty() => seal(path, text)?.as_str().into(),
            Value::String(_) => Value::Null,
            other => other.clone(),
        };
    }
    Ok(leaves)
}

/// The settings below a path, or the one at it; nothing when there is none.
pub fn below(settings: &Settings, path: &str) -> Result<Vec<(String, Value)>> {
    let prefix = format!("{path}.");
    let all = flat(settings)?.into_iter();
    Ok(all.filter(|(leaf, _)| leaf == path || leaf.starts_with(&prefix)).collect())
}

/// What a path has by default, as changes: a provider is taken away by its key.
pub fn defaults(settings: &Settings, path: &str) -> Result<Vec<(String, Value)>> {
    let key = path.strip_prefix("social.").map(|rest| rest.split('.').next().unwrap_or_default());
    match key.filter(|key| settings.social.contains_key(*key)) {
        Some(_) if field_of_provider(path).is_none() => Ok(vec![(path.to_owned(), Value::Null)]),
        Some(key) => {
            let mut usual = Settings::default();
            usual.social.insert(key.to_owned(), SocialProvider::default());
            below(&usual, path)
        }
        None => below(&Settings::default(), path),
    }
}

/// The document with changes made to it. An object changes what it names and leaves the rest. Unknown
/// paths, values of the wrong kind and contradictions of the result are all reported.
pub fn changed(settings: &Settings, changes: &[(String, Value)]) -> Result<Settings, Vec<SettingsFault>> {
    let mut leaves = Vec::new();
    for (path, value) in changes {
        collect(path, value.clone(), &mut leaves);
    }
    let mut next = document(settings).map_err(|error| vec![fault("", &error)])?;
    let mut faults = Vec::new();
    for (path, value) in leaves {
        match with(&next, &path, value) {
            Some(candidate) => match serde_json::from_value::<Settings>(candidate) {
                // What a new entry of a map leaves out is there for the next change.
                Ok(parsed) => next = document(&parsed).map_err(|error| vec![fault("", &error)])?,
                Err(error) => faults.push(fault(&path, &error)),
            },
            None => {
                let unknown = || "There is no setting of this name.".to_owned();
                let text = unbuilt::reason(&path).unwrap_or_else(unknown);
                faults.push(SettingsFault { path, text });
            }
        }
    }
    let parsed: Settings = serde_json::from_value(next).map_err(|error| vec![fault("", &error)])?;
    faults.extend(new_faults(settings, &parsed, Settings::problems));
    match faults.is_empty() {
        true => Ok(parsed),
        false => Err(faults),
    }
}

/// What is wrong after a change and was not before, or is about what changes. A document that an older version took, and
/// this one would not, can still be changed in everything else.
pub fn new_faults(
    before: &Settings,
    after: &Settings,
    problems: impl Fn(&Settings) -> Vec<SettingsFault>,
) -> Vec<SettingsFault> {
    let mut faults = problems(after);
    if !faults.is_empty() {
        let (known, changed) = (problems(before), differences(before, after).unwrap_or_default());
        let is_about =
            |fault: &SettingsFault, path: &str| format!("{}.", fault.path).starts_with(&format!("{path}."));
        faults
            .retain(|fault| !known.contains(fault) || changed.iter().any(|(path, _)| is_about(fault, path)));
    }
    faults
}

fn document(settings: &Settings) -> Result<Value> {
    serde_json::to_value(settings).map_err(Error::internal)
}

fn fault(path: &str, error: &dyn std::error::Error) -> SettingsFault {
    SettingsFault { path: path.to_owned(), text: in_our_words(&error.to_string()) }
}

fn collect(path: &str, value: Value, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) if !is_open(path) && !fields.is_empty() => {
            for (name, value) in fields {
                let inner = if path.is_empty() { name } else { format!("{path}.{name}") };
                collect(&inner, value, leaves);
            }
        }
        value => leaves.push((path.to_owned(), value)),
    }
}

/// A copy of the document with one value replaced; nothing when it has no such place. A provider that is named for the
/// first time gets its place; null takes it away.
fn with(document: &Value, path: &str, value: Value) -> Option<Value> {
    let mut copy = document.clone();
    if let Some(rest) = path.strip_prefix("social.") {
        let key = rest.split('.').next().unwrap_or_default();
        let entries = copy["social"].as_object_mut()?;
        if rest == key && value.is_null() {
            entries.remove(key);
            return Some(copy);
        }
        if !entries.contains_key(key) {
            entries.insert(key.to_owned(), serde_json::to_value(SocialProvider::default()).ok()?);
        }
    }
    let mut place = &mut copy;
    for name in path.split('.') {
        place = place.as_object_mut().and_then(|fields: &mut Map<String, Value>| fields.get_mut(name))?;
    }
    *place = value;
    Some(copy)
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::kinds::InstanceId;
    use latchkey_base::rng::SeededRng;
    use latchkey_jose::seal::MasterKey;
    use serde_json::json;

    use super::*;

    fn change(changes: &[(&str, Value)]) -> Result<Settings, Vec<String>> {
        let changes: Vec<_> =
            changes.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
        let problem = |fault: SettingsFault| format!("{}: {}", fault.path, fault.text);
        changed(&Settings::default(), &changes).map_err(|faults| faults.into_iter().map(problem).collect())
    }

    #[test]
    fn an_object_changes_what_it_names() {
        let changed = change(&[
            ("attributes.phone_number", json!({"enabled": false, "used_for_second_factor": false})),
            ("session.token_claims", json!({"plan": "{{user.public_metadata.plan}}"})),
            ("lockout.duration_minutes", json!(null)),
        ]);
        let mut expected = Settings::default();
        expected.attributes.phone_number.enabled = false;
        expected.attributes.phone_number.used_for_second_factor = false;
        expected.session.token_claims.insert("plan".into(), json!("{{user.public_metadata.plan}}"));
        expected.lockout.duration_minutes = None;
        assert_eq!(changed, Ok(expected.clone()));
        assert_eq!(super::changed(&expected, &flat(&Settings::default()).unwrap()), Ok(Settings::default()));
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let faults = change(&[
            ("sesion.lifetime_seconds", json!(600)),
            ("sign_up.mode", json!("closed")),
            ("password.min_length", json!("ten")),
            ("password.max_length", json!(4)),
            ("attributes.username", json!({"first_factors": ["magic"], "colour": 1})),
        ])
        .unwrap_err();
        let paths: Vec<&str> = faults.iter().filter_map(|fault| fault.split(':').next()).collect();
        let expected = [
            "sesion.lifetime_seconds",
            "sign_up.mode",
            "password.min_length",
            "attributes.username.colour",
            "attributes.username.first_factors",
            "password.max_length",
            "password.min_length",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn what_an_older_version_took_stays_until_it_is_changed() {
        let mut old = Settings::default();
        old.password.max_length = 200;
        let set = |path: &str, value: Value| changed(&old, &[(path.to_owned(), value)]);
        assert_eq!(set("lockout.max_attempts", json!(5)).unwrap().password.max_length, 200);
        let faults = set("password.max_length", json!(100)).unwrap_err();
        assert_eq!((faults.len(), &*faults[0].path), (1, "password.max_length"));
        assert_eq!(set("password.max_length", json!(72)).unwrap(), Settings::default());
        let whole = super::changed(&old, &flat(&old).unwrap());
        assert_eq!(whole.unwrap(), old, "what is shown can be written");
    }

    #[test]
    fn secrets_are_sealed_and_never_shown() {
        let master = MasterKey::from_bytes([1; 32]);
        let id = InstanceId::new(Time::from_ms(1_767_225_600_000), &SeededRng::new(1));
        let seal = |path: &str, plain: &str| SealedSetting::seal(&master, &id, path, plain);
        let written =
            [("messages.email".to_owned(), json!({"smtp": {"username": "me", "password": "hunter2"}}))];
        let set = changed(&Settings::default(), &sealed(&written, seal).unwrap()).unwrap();
        let kept = set.messages.email.smtp.password.clone().unwrap();
        assert_eq!(kept.open(&master, &id, SMTP_PASSWORD).unwrap().expose(), "hunter2");
        assert!(!serde_json::to_string(&set).unwrap().contains("hunter2"));
        let shown = below(&set, SMTP_PASSWORD).unwrap();
        assert_eq!(shown, [(SMTP_PASSWORD.to_owned(), json!("(set)"))]);
        let again = changed(&set, &sealed(&flat(&set).unwrap(), seal).unwrap()).unwrap();
        assert_eq!(again, set, "what is shown can be written");
        assert_eq!(differences(&Settings::default(), &set).unwrap()[0], shown[0]);
        let gone = sealed(&[(SMTP_PASSWORD.to_owned(), json!(""))], seal).unwrap();
        assert_eq!(changed(&set, &gone).unwrap().messages.email.smtp.password, None);
        let plain = changed(&set, &[(SMTP_PASSWORD.to_owned(), json!("hunter2"))]).unwrap_err();
        assert_eq!(plain[0].path, SMTP_PASSWORD);
    }

    #[test]
    fn a_provider_is_made_by_naming_it_and_taken_away_by_null() {
        let set = |before: &Settings, changes: &[(&str, Value)]| {
            let changes: Vec<_> =
                changes.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
            super::changed(before, &changes)
        };
        let google = set(
            &Settings::default(),
            &[
                ("social.google.client_id", json!("id")),
                (
                    "social.google",
                    json!({"client_secret": "sealed:AQ==", "authorize_params": {"hd": "example.com"}}),
                ),
                ("social.google.enabled", json!(true)),
            ],
        )
        .unwrap();
        let provider = &google.social["google"];
        assert!(provider.enabled && provider.authenticatable && provider.client_secret.is_some());
        assert_eq!(provider.authorize_params["hd"], "example.com");
        let shown = below(&google, "social.google.client_secret").unwrap();
        assert_eq!(shown, [("social.google.client_secret".to_owned(), json!(SHOWN))]);
        assert_eq!(set(&google, &[("social.google", json!({}))]).unwrap(), {
            let mut reset = google.clone();
            reset.social.insert("google".into(), SocialProvider::default());
            reset
        });
        let gone = super::changed(&google, &defaults(&google, "social.google").unwrap()).unwrap();
        assert_eq!(gone, Settings::default());
        let shown = |before: &Settings, after: &Settings| -> Vec<String> {
            let found = differences(before, after).unwrap().into_iter();
            found.map(|(path, value)| format!("{path} {value}")).collect()
        };
        assert_eq!(shown(&google, &gone), ["social.google null"]);
        let made = [
            "social.google.authorize_params {\"hd\":\"example.com\"}",
            "social.google.client_id \"id\"",
            "social.google.client_secret \"(set)\"",
            "social.google.enabled true",
        ];
        assert_eq!(shown(&Settings::default(), &google), made);
        let bare = set(&google, &[("social.github", json!({}))]).unwrap();
        assert_eq!(shown(&google, &bare), ["social.github.enabled false"]);
        let one = defaults(&google, "social.google.authenticatable").unwrap();
        assert_eq!(one, [("social.google.authenticatable".to_owned(), json!(true))]);
        let twice = set(&google, &[("social.github.client_id", json!("x"))]).unwrap();
        assert_eq!(twice.social.len(), 2);
        for (path, value) in [
            ("social.google.colour", json!(1)),
            ("social.google.attributes.age", json!("x")),
            ("social.google", json!(7)),
        ] {
            assert!(set(&google, &[(path, value)]).is_err(), "{path}");
        }
        let plain = set(&google, &[("social.google.client_secret", json!("hunter2"))]).unwrap_err();
        assert!(!plain[0].text.contains("hunter2"), "{plain:?}");
        assert!(names_secret(&[("social".to_owned(), json!({"google": {"client_secret": "x"}}))]));
    }

    #[test]
    fn what_signs_must_be_hard_to_guess() {
        let weak = |text: &str| {
            let written = [("messages".to_owned(), json!({"sms": {"webhook": {"secret": text}}}))];
            let faults = weak_secrets(&written).into_iter();
            faults.map(|fault| fault.path).collect::<Vec<String>>()
        };
        for text in ["word", "whsec_c2VjcmV0", "whsec_", "whsec_not base64 at all, however long it is"] {
            assert_eq!(weak(text), [SMS_WEBHOOK_SECRET], "{text}");
        }
        for text in ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "", SHOWN] {
            assert_eq!(weak(text), [""; 0], "{text}");
        }
        assert_eq!(weak_secrets(&[(EMAIL_WEBHOOK_SECRET.to_owned(), json!(12345))]).len(), 1);
        assert_eq!(weak_secrets(&[(SMTP_PASSWORD.to_owned(), json!("hunter2"))]).len(), 0);
    }

    #[test]
    fn a_path_shows_itself_or_what_is_below_it() {
        let settings = Settings::default();
        let one = below(&settings, "session.lifetime_seconds").unwrap();
        assert_eq!(one, [("session.lifetime_seconds".to_owned(), json!(604_800))]);
        assert_eq!(below(&settings, "sign_up").unwrap().len(), 3);
        assert!(below(&settings, "sign").unwrap().is_empty());
    }
}
