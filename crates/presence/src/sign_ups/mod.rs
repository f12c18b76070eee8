//! Attempts to sign up: what somebody has told about themselves so far, and what of it is proven.
//!
//! An attempt belongs to one client and is a document. A password in it is hashed from the first moment on,
//! and leaves it for the user's credentials once the attempt is complete.

pub mod backend;
pub mod fields;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;

use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::users::view::ViewContext;
use serde_json::value::{RawValue, to_raw_value};

use super::clients::model::Client;

/// The attempt under way on a client, as it is shown with it.
pub async fn shown(tx: &mut Tx, context: ViewContext<'_>, client: &Client) -> Result<Option<Box<RawValue>>> {
    let open = under_way(tx, client, context.now).await?;
    let shown = open.map(|sign_up| to_raw_value(&view::frontend(&sign_up, context)));
    shown.transpose().map_err(Error::internal)
}

/// The attempt under way on a client.
async fn under_way(tx: &mut Tx, client: &Client, now: Time) -> Result<Option<model::SignUp>> {
    let Some(id) = &client.sign_up else { return Ok(None) };
    let found = store::find(tx, &client.instance, id).await?;
    Ok(found.filter(|sign_up| sign_up.status(now) == model::SignUpStatus::MissingRequirements))
}

/// The account at another provider by which somebody wanted to sign up on a client who is a user already: signing in goes
/// on from there.
pub async fn transferable(tx: &mut Tx, client: &Client, now: Time) -> Result<Option<Challenge>> {
    let asked = under_way(tx, client, now).await?.and_then(|sign_up| sign_up.external_account);
    Ok(asked.filter(|asked| asked.may_be_transferred(now)))
}
