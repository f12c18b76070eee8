//! Stories that span resources. Resources never use flows.

pub mod client;
pub mod enter;
pub mod factors;
pub mod handshake;
pub mod links;
pub mod me;
pub mod reverification;
pub mod sign_in;
pub mod sign_up;
pub mod sync;
pub mod verify;

use latchkey_web::api::Api;

use crate::AppState;

/// Adds every frontend operation that spans resources.
pub fn frontend_routes(api: &mut Api<AppState>) {
    client::frontend::routes(api);
    handshake::frontend::routes(api);
    links::frontend::routes(api);
    me::routes(api);
    reverification::frontend::routes(api);
    sign_in::frontend::routes(api);
    sign_up::frontend::routes(api);
    sync::frontend::routes(api);
    verify::frontend::routes(api);
}
