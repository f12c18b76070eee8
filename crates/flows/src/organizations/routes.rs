//! What members do in organizations.

use latchkey_kernel::AppState;
use latchkey_web::api::Api;

use super::{defaults, domains, invitations, logo, members, mine, profile, requests, roles, suggestions};

pub fn routes(api: &mut Api<AppState>) {
    profile::routes(api);
    logo::routes(api);
    members::routes(api);
    mine::routes(api);
    roles::routes(api);
    defaults::routes(api);
    invitations::routes(api);
    domains::routes(api);
    requests::routes(api);
    suggestions::routes(api);
}
