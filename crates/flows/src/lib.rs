//! Stories that span resources, and what browsers ask for.

pub mod accounts;
pub mod actor_tokens;
pub mod client;
pub mod dev_browsers;
pub mod dev_tools;
pub mod domains;
pub mod enter;
pub mod environment;
pub mod factors;
pub mod handshake;
pub mod instance;
pub mod interstitial;
pub mod invitations;
pub mod invited;
pub mod links;
pub mod me;
pub mod organizations;
pub mod pictures;
pub mod portal;
pub mod refresh;
pub mod reverification;
pub mod scripts;
pub mod sessions;
pub mod sign_in;
pub mod sign_in_tokens;
pub mod sign_up;
pub mod strategies;
pub mod sync;
pub mod verify;
pub mod waitlist;
pub mod well_known;

use std::path::PathBuf;

use axum::Router;
use latchkey_kernel::AppState;
use latchkey_kernel::group::Group;
use latchkey_web::api::Api;

/// What the group adds to the server.
pub const GROUP: Group = Group { backend, frontend, pages: portal::pages::routes, ..Group::named("flows") };

fn backend(api: &mut Api<AppState>) {
    accounts::backend::routes(api);
    domains::backend::routes(api);
    instance::backend::routes(api);
    interstitial::backend::routes(api);
    refresh::routes(api);
    actor_tokens::routes(api);
    sign_in_tokens::routes(api);
}

fn frontend(api: &mut Api<AppState>) {
    dev_browsers::frontend::routes(api);
    environment::frontend::routes(api);
    sessions::frontend::routes(api);
    well_known::routes(api);
    client::frontend::routes(api);
    handshake::frontend::routes(api);
    links::routes(api);
    me::routes(api);
    organizations::routes(api);
    dev_tools::routes(api);
    reverification::frontend::routes(api);
    sign_in::frontend::routes(api);
    sign_up::frontend::routes(api);
    sync::frontend::routes(api);
    verify::frontend::routes(api);
    waitlist::routes(api);
}

/// The scripts of the frontend listener, which are the same for every instance.
pub fn scripts(scripts_dir: Option<PathBuf>) -> Router<AppState> {
    let source = scripts_dir.map_or(scripts::files::ScriptSource::Cdn, scripts::files::ScriptSource::at);
    for package in source.missing() {
        tracing::warn!(
            "the directory of browser scripts has no {package}, which the hosted pages need; docs/CONFIGURATION.md says \
             how to add it"
        );
    }
    scripts::frontend::routes(source)
}
