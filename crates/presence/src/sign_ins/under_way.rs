//! The attempt to sign in that is under way on a client.

use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::factors::audience::FactorAudience;
use latchkey_people::users::store as users;
use latchkey_people::users::view::ViewContext;
use serde_json::value::{RawValue, to_raw_value};

use super::{model, rules, store, view};
use crate::clients::model::Client;

/// The attempt under way on a client, as it is shown with it.
pub async fn shown(
    tx: &mut Tx,
    context: ViewContext<'_>,
    audience: FactorAudience,
    client: &Client,
) -> Result<Option<Box<RawValue>>> {
    let Some(sign_in) = under_way(tx, client, context.now).await? else { return Ok(None) };
    let user = match sign_in.user() {
        Some(id) => users::find(tx, &client.instance, id).await?,
        None => None,
    };
    let sign_in = match &user {
        Some(user) => rules::due(sign_in, user, context.settings),
        None => sign_in,
    };
    let view = view::sign_in(&sign_in, user.as_ref(), context, audience);
    to_raw_value(&view).map(Some).map_err(Error::internal)
}

/// The attempt under way on a client.
async fn under_way(tx: &mut Tx, client: &Client, now: Time) -> Result<Option<model::SignIn>> {
    let Some(id) = &client.sign_in else { return Ok(None) };
    let found = store::find_of_client(tx, &client.instance, &client.id, id).await?;
    Ok(found.filter(|sign_in| !sign_in.is_over(now)))
}

/// What somebody proved on a client though nobody has an account with it: signing up goes on from there.
pub async fn transferable(tx: &mut Tx, client: &Client, now: Time) -> Result<Option<Challenge>> {
    let challenge = under_way(tx, client, now).await?.and_then(|sign_in| sign_in.first_factor);
    Ok(challenge.filter(|challenge| challenge.may_be_transferred(now)))
}
