//! What somebody who is signed in does to their own account.
//!
//! Whatever protects the account (identifiers, passwords, second factors, other sessions) changes only after
//! a recent proof of who it is. All changes go the same ways as those of backends; what users may not do to
//! themselves stands in `rules`.

pub mod attempt;
pub mod backup_codes;
pub mod contacts;
pub mod emails;
pub mod links;
pub mod passwords;
pub mod phones;
pub mod picture;
pub mod profile;
pub mod rules;
pub mod sessions;
pub mod settle;
pub mod totp;
pub mod view;

use axum::response::Response;
use latchkey_base::Result;
use latchkey_web::api::Api;

use crate::AppState;
use crate::cx::Cx;
use crate::frontend::client::lens;
use crate::frontend::person::Person;
use crate::frontend::reply::Envelope;
use crate::resources::users::change::Target;
use crate::resources::users::model::User;
use crate::resources::users::view::{self as users, DeletedView, FrontendUserView};

type UserAnswer<'a> = Envelope<'a, FrontendUserView<'a>>;
type DeletedAnswer<'a> = Envelope<'a, DeletedView>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    profile::routes(api);
    emails::routes(api);
    phones::routes(api);
    passwords::routes(api);
    totp::routes(api);
    backup_codes::routes(api);
    picture::routes(api);
    sessions::routes(api);
}

/// The person whose account is changed.
fn target(person: &Person) -> Target {
    Target::User(person.user.id.clone())
}

/// Answers with the user as they are now.
async fn show(cx: &Cx, person: &Person, outcome: Result<User>) -> Response {
    let visitor = &person.visitor;
    match outcome {
        Ok(user) => cx.answer(visitor, Ok(users::frontend(&user, lens(&visitor.site, cx.now)))).await,
        Err(error) => cx.answer::<()>(visitor, Err(error)).await,
    }
}
