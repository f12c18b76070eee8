//! The attempt to sign up that is under way on a client.

use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::users::view::ViewContext;
use serde_json::value::{RawValue, to_raw_value};

use super::{model, store, view};
use crate::clients::model::Client;

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
