//! What templates can show: the application, the person, and the occasion.

use latchkey_kernel::cx::Act;
use latchkey_kernel::device::Device;
use latchkey_kernel::document;
use latchkey_kernel::settings::Settings;
use serde_json::{Map, Value, json};

use super::model::Account;

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
pub fn user(account: &Account<'_>) -> Value {
    json!({
        "id": account.user,
        "first_name": account.first_name,
        "last_name": account.last_name,
        "username": account.username,
        "primary_email_address": account.primary_email_address,
        "public_metadata": document::value(account.public_metadata),
        "unsafe_metadata": document::value(account.unsafe_metadata),
    })
}

/// Who asks, from where, and when.
pub fn occasion(act: &Act) -> Map<String, Value> {
    let seen = Device::of(&act.user_agent);
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
pub fn all(act: &Act, account: Option<&Account<'_>>, own: &Map<String, Value>) -> Value {
    let mut data = occasion(act);
    data.insert("app".to_owned(), app(&act.settings));
    data.insert("current_year".to_owned(), json!(act.now.year()));
    let support = act.settings.display.support_email.clone().unwrap_or_default();
    data.insert("support_email".to_owned(), json!(support));
    if let Some(account) = account {
        data.insert("user".to_owned(), user(account));
        data.insert("greeting_name".to_owned(), json!(account.greeting_name()));
        data.insert("primary_email_address".to_owned(), json!(account.primary_email_address));
    }
    data.extend(own.clone());
    Value::Object(data)
}
