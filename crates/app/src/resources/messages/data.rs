//! What templates can show: the application, the person, and the occasion.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::cx::Act;
use crate::resources::sessions::activity;
use crate::resources::users::model::User;
use crate::settings::Settings;

/// The application.
pub fn app(settings: &Settings) -> Value {
    let display = &settings.display;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let url = text(&display.home_url);
    let domain = url.split_once("://").map_or("", |(_, rest)| rest);
    let domain = domain.split(['/', '?', '#', ':']).next().unwrap_or_default();
    json!({
        "name": display.name(),
        "url": url,
        "domain_name": domain,
        "logo_image_url": text(&display.logo_image_url),
    })
}

/// The person.
pub fn user(user: &User) -> Value {
    json!({
        "id": user.id,
        "first_name": user.first_name.as_deref().unwrap_or_default(),
        "last_name": user.last_name.as_deref().unwrap_or_default(),
        "username": user.username.as_ref().map(|username| username.value.as_str()).unwrap_or_default(),
        "primary_email_address": primary_address(user),
        "public_metadata": raw(&user.public_metadata),
        "unsafe_metadata": raw(&user.unsafe_metadata),
    })
}

fn raw(metadata: &RawValue) -> Value {
    serde_json::from_str(metadata.get()).unwrap_or_default()
}

/// The primary address, or nothing.
pub fn primary_address(user: &User) -> &str {
    user.email_addresses.primary().map(|contact| contact.value.as_str()).unwrap_or_default()
}

/// How a person is greeted: by first name, else by username, else not by name.
pub fn greeting_name(user: &User) -> &str {
    let username = user.username.as_ref().map(|username| username.value.as_str());
    user.first_name.as_deref().filter(|name| !name.is_empty()).or(username).unwrap_or_default()
}

/// Who asks, from where, and when.
pub fn occasion(act: &Act) -> Map<String, Value> {
    let seen = activity::seen(&act.user_agent, "", act.now, &*act.rng);
    let by = match (seen.browser_name, seen.device_type) {
        (Some(browser), Some(device)) => format!("{browser} on {device}"),
        (one, other) => one.or(other).unwrap_or_default(),
    };
    let from: Vec<&str> =
        [by.as_str(), act.client_ip.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    let from = from.join(", ");
    Map::from_iter([
        ("requested_by".to_owned(), json!(by)),
        ("requested_from".to_owned(), json!(from)),
        ("requested_at".to_owned(), json!(act.now.spoken())),
    ])
}

/// Everything a message can show; what it brings itself comes last and counts.
pub fn all(act: &Act, person: Option<&User>, own: &Map<String, Value>) -> Value {
    let mut data = occasion(act);
    data.insert("app".to_owned(), app(&act.settings));
    data.insert("current_year".to_owned(), json!(act.now.year()));
    let support = act.settings.display.support_email.clone().unwrap_or_default();
    data.insert("support_email".to_owned(), json!(support));
    if let Some(person) = person {
        data.insert("user".to_owned(), user(person));
        data.insert("greeting_name".to_owned(), json!(greeting_name(person)));
        data.insert("primary_email_address".to_owned(), json!(primary_address(person)));
    }
    data.extend(own.clone());
    Value::Object(data)
}
