//! Organizations: groups of people that an application keeps apart, and what members may do in them.

pub mod access;
pub mod choices;
pub mod domains;
pub mod enrollments;
pub mod invitations;
pub mod key;
pub mod logos;
pub mod memberships;
pub mod notices;
pub mod orgs;
pub mod portal_links;
pub mod removals;
pub mod role_migrations;
pub mod suggestions;

use enrollments::Enrollments;
use latchkey_kernel::group::{Group, Job};
use latchkey_kernel::jobs::JobParts;
use latchkey_kernel::registry::Registry;
use latchkey_kernel::{AppState, background};
use latchkey_web::api::Api;
use removals::Removals;
use role_migrations::run::RoleMigrations;

/// What the group adds to the server.
pub const GROUP: Group = Group {
    backend,
    register,
    aged: &[portal_links::store::AGED],
    tickets: &[portal_links::ending::TICKETS, invitations::ending::TICKETS],
    jobs,
    ..Group::named("organizations")
};

fn backend(api: &mut Api<AppState>) {
    orgs::backend::routes(api);
    memberships::backend::routes(api);
    invitations::backend::routes(api);
    domains::backend::routes(api);
    access::roles::routes(api);
    access::permissions::routes(api);
    access::role_sets::routes(api);
    portal_links::backend::routes(api);
}

fn register(registry: &mut Registry) {
    enrollments::register(registry);
    domains::ownership::register(registry);
    registry.add(memberships::list::CONDITIONS);
}

fn jobs(parts: &JobParts) -> Vec<Job> {
    vec![
        background::job::<Removals>(parts),
        background::job::<RoleMigrations>(parts),
        background::job::<Enrollments>(parts),
    ]
}
