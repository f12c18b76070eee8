//! The refusal of endpoints that are not there.

use latchkey_base::Error;
use latchkey_base::kinds::WebhookEndpointId;

/// The refusal of an endpoint that is not there.
pub fn not_found(id: &WebhookEndpointId) -> Error {
    Error::not_found("webhook endpoint", id)
}
