//! Everything that happened, told to others: the feed, webhooks, and the worker that delivers.

pub mod courier;
pub mod feed;
pub mod webhooks;

use latchkey_kernel::AppState;
use latchkey_kernel::group::Group;
use latchkey_kernel::outbox;
use latchkey_web::api::Api;

/// What the group adds to the server.
pub const GROUP: Group = Group {
    backend,
    histories: &[outbox::HISTORY, webhooks::deliveries::store::HISTORY],
    ..Group::named("events")
};

fn backend(api: &mut Api<AppState>) {
    webhooks::backend::routes(api);
    webhooks::deliveries::backend::routes(api);
    feed::backend::routes(api);
}
