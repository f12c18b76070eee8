//! THE list of resources: one `mod` line and one `routes` line each.

pub mod actor_tokens;
pub mod challenges;
pub mod clients;
pub mod domains;
pub mod email_addresses;
pub mod environment;
pub mod events;
pub mod factors;
pub mod handshakes;
pub mod identifications;
pub mod images;
pub mod inbox;
pub mod instances;
pub mod interstitial;
pub mod jwks;
pub mod jwt_templates;
pub mod messages;
pub mod phone_numbers;
pub mod portal;
pub mod scripts;
pub mod sessions;
pub mod sign_in_tokens;
pub mod sign_ins;
pub mod sign_ups;
pub mod syncs;
pub mod templates;
pub mod testing_tokens;
pub mod tickets;
pub mod users;
pub mod webhook_deliveries;
pub mod webhooks;
pub mod well_known;

use std::path::PathBuf;

use axum::Router;
use latchkey_web::api::Api;
use latchkey_web::version::Change;

use crate::AppState;

/// Adds every backend operation.
pub fn routes(api: &mut Api<AppState>) {
    jwks::backend::routes(api);
    jwt_templates::backend::routes(api);
    templates::backend::routes(api);
    interstitial::backend::routes(api);
    clients::backend::routes(api);
    sessions::backend::routes(api);
    sign_in_tokens::backend::routes(api);
    actor_tokens::backend::routes(api);
    sign_ups::backend::routes(api);
    testing_tokens::backend::routes(api);
    users::backend::routes(api);
    email_addresses::backend::routes(api);
    phone_numbers::backend::routes(api);
    webhooks::backend::routes(api);
    webhook_deliveries::backend::routes(api);
    events::backend::routes(api);
    inbox::dev::routes(api);
}

/// Adds every frontend operation.
pub fn frontend_routes(api: &mut Api<AppState>) {
    clients::dev_browsers::routes(api);
    environment::frontend::routes(api);
    sessions::frontend::routes(api);
    well_known::frontend::routes(api);
}

/// Adds what the frontend listener serves besides operations: pages and scripts.
pub fn pages(router: Router<AppState>, scripts_dir: Option<PathBuf>) -> Router<AppState> {
    let source = scripts_dir.map_or(scripts::files::Source::Cdn, scripts::files::Source::at);
    portal::pages::routes(router).merge(scripts::frontend::routes(source))
}

/// How answers change for older versions, newest first. Bodies are the same in every version but for that
/// of `UpdateUser` (see `users/update.rs`).
pub const CHANGES: &[Change] = &[sessions::view::PENDING];
