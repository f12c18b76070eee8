//! How a JWT template looks on the wire. The key is not part of it.

use latchkey_base::Time;
use latchkey_base::kinds::JwtTemplateId;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::JwtTemplate;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JWTTemplate")]
pub struct JwtTemplateView<'a> {
    object: JwtTemplateObject,
    id: &'a JwtTemplateId,
    name: &'a str,
    claims: &'a Map<String, Value>,
    lifetime: i64,
    allowed_clock_skew: i64,
    custom_signing_key: bool,
    signing_algorithm: &'static str,
    created_at: Time,
    updated_at: Time,
}

object!(JwtTemplateObject, "jwt_template");

pub fn jwt_template(template: &JwtTemplate) -> JwtTemplateView<'_> {
    JwtTemplateView {
        object: JwtTemplateObject::It,
        id: &template.id,
        name: &template.name,
        claims: &template.claims,
        lifetime: template.lifetime_seconds,
        allowed_clock_skew: template.allowed_clock_skew_seconds,
        custom_signing_key: template.signing.is_custom(),
        signing_algorithm: template.signing.algorithm().name(),
        created_at: template.created_at,
        updated_at: template.updated_at,
    }
}
