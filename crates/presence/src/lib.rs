//! Who is there: browsers and devices, the sessions on them, attempts to sign in or up, and the tokens that tell of it.

pub mod clients;
pub mod domain_changes;
pub mod handshakes;
pub mod jwks;
pub mod jwt_templates;
pub mod redirect_urls;
pub mod renewed_tokens;
pub mod sessions;
pub mod sign_ins;
pub mod sign_ups;
pub mod syncs;
pub mod testing_tokens;

use domain_changes::DomainChanges;
use latchkey_kernel::AppState;
use latchkey_kernel::group::{Group, Job};
use latchkey_kernel::jobs::JobParts;
use latchkey_web::api::Api;

use latchkey_kernel::background;

/// What the group adds to the server.
pub const GROUP: Group = Group {
    backend,
    jobs,
    changes: &[sessions::view::PENDING],
    aged: &[
        handshakes::AGED,
        syncs::AGED,
        sign_ins::store::AGED,
        sign_ups::store::AGED,
        renewed_tokens::AGED,
        // Before clients, which only go once they hold none.
        sessions::store::AGED,
        clients::store::AGED_WITHOUT_PEOPLE,
        clients::store::AGED,
        clients::store::AGED_DEV_BROWSERS,
    ],
    ..Group::named("presence")
};

fn backend(api: &mut Api<AppState>) {
    jwks::routes(api);
    jwt_templates::backend::routes(api);
    redirect_urls::backend::routes(api);
    clients::backend::routes(api);
    sessions::backend::routes(api);
    sign_ups::backend::routes(api);
    testing_tokens::routes(api);
}

fn jobs(parts: &JobParts) -> Vec<Job> {
    vec![background::job::<DomainChanges>(parts)]
}
