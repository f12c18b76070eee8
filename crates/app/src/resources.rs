//! THE list of resources: one `mod` line and one `routes` line each.

pub mod email_addresses;
pub mod identifications;
pub mod images;
pub mod inbox;
pub mod instances;
pub mod jwks;
pub mod phone_numbers;
pub mod users;

use latchkey_web::api::Api;
use latchkey_web::version::Change;

use crate::AppState;

/// Adds every backend operation.
pub fn routes(api: &mut Api<AppState>) {
    jwks::backend::routes(api);
    users::backend::routes(api);
    email_addresses::backend::routes(api);
    phone_numbers::backend::routes(api);
}

/// How answers change for older versions, newest first. So far every version shows these resources
/// alike; only the body of `UpdateUser` differs (see `users/backend.rs`).
pub const CHANGES: &[Change] = &[];
