//! The accounts of people: who they are, how they prove it, who may have one, and the tickets that let them in.

pub mod challenges;
pub mod external_accounts;
pub mod factors;
pub mod identifications;
pub mod images;
pub mod invitations;
pub mod notices;
pub mod providers;
pub mod recipients;
pub mod restrictions;
pub mod tickets;
pub mod users;
pub mod waitlist;

use latchkey_kernel::AppState;
use latchkey_kernel::group::Group;
use latchkey_web::api::Api;
use tickets::{actor_tokens, sign_in_tokens};

/// What the group adds to the server.
pub const GROUP: Group = Group {
    backend,
    aged: &[sign_in_tokens::store::AGED, actor_tokens::store::AGED],
    tickets: &[sign_in_tokens::ending::TICKETS, actor_tokens::ending::TICKETS, invitations::ending::TICKETS],
    ..Group::named("people")
};

fn backend(api: &mut Api<AppState>) {
    users::backend::routes(api);
    identifications::backend::routes(api);
    invitations::backend::routes(api);
    restrictions::backend::routes(api);
    waitlist::backend::routes(api);
}
