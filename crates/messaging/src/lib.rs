//! Messages to people: their templates, the queue they wait in, and the ways they travel. Nothing here knows a user:
//! a message has a recipient.

pub mod inbox;
pub mod messages;
pub mod post;
pub mod templates;
pub mod transports;

use latchkey_kernel::AppState;
use latchkey_kernel::group::Group;
use latchkey_web::api::Api;

/// What the group adds to the server.
pub const GROUP: Group =
    Group { backend, histories: &[messages::store::HISTORY], ..Group::named("messaging") };

fn backend(api: &mut Api<AppState>) {
    templates::backend::routes(api);
    inbox::dev::routes(api);
}
