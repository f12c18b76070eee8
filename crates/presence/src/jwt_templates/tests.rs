//! What the unit tests of this folder share: a user and a template.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, JwtTemplateId};
use latchkey_base::rng::SeededRng;
use latchkey_people::users::model::User;
use serde_json::{Map, Value, json};

use super::model::{JwtTemplate, Signing};

pub(super) const NOW: Time = Time::from_ms(1_767_225_600_000);
pub(super) const API_URL: &str = "https://api.example.com";

/// A user with these fields beside those every document has.
pub(super) fn user(fields: Value) -> User {
    let mut document = json!({
        "id": "user_000000000000000000000000001",
        "public_metadata": {}, "private_metadata": {"secret": "kept"}, "unsafe_metadata": {},
        "delete_self_enabled": true, "create_organization_enabled": true,
        "created_at": 1_700_000_000_999_i64, "updated_at": 1_700_000_100_000_i64,
    });
    document.as_object_mut().unwrap().extend(object(fields));
    serde_json::from_str(&document.to_string()).unwrap()
}

pub(super) fn template(claims: Value) -> JwtTemplate {
    let rng = SeededRng::new(1);
    JwtTemplate {
        instance: InstanceId::new(NOW, &rng),
        id: JwtTemplateId::new(NOW, &rng),
        name: "hasura".to_owned(),
        claims: object(claims),
        lifetime_seconds: 60,
        allowed_clock_skew_seconds: 5,
        signing: Signing::Instance,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}
