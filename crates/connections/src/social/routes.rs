//! What the resource adds to the server.

use std::sync::Arc;

use axum::Router;
use latchkey_flows::strategies::Registered;
use latchkey_kernel::AppState;
use latchkey_kernel::registry::Registry;
use latchkey_web::api::Api;

use super::{accounts, attempts, callback, mock, popup, protocol, tokens};

pub(crate) fn backend(api: &mut Api<AppState>) {
    tokens::routes(api);
}

pub(crate) fn frontend(api: &mut Api<AppState>) {
    callback::routes(api);
    accounts::routes(api);
}

pub(crate) fn pages(router: Router<AppState>) -> Router<AppState> {
    popup::routes(mock::pages::routes(router))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add(protocol::ProviderKeys::default());
    registry.add(protocol::ProviderDocuments::default());
    registry.add(Registered(Arc::new(attempts::ProviderAccounts)));
}
