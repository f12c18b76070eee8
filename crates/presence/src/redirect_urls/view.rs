//! How a redirect URL looks on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::RedirectUrlId;
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::RedirectUrl;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RedirectURL")]
pub struct RedirectUrlView<'a> {
    object: RedirectUrlObject,
    id: &'a RedirectUrlId,
    url: &'a str,
    created_at: Time,
    updated_at: Time,
}

object!(RedirectUrlObject, "redirect_url");

/// An entry is never changed, so it is as new as when it was made.
pub fn redirect_url(redirect_url: &RedirectUrl) -> RedirectUrlView<'_> {
    RedirectUrlView {
        object: RedirectUrlObject::It,
        id: &redirect_url.id,
        url: &redirect_url.url,
        created_at: redirect_url.created_at,
        updated_at: redirect_url.created_at,
    }
}
