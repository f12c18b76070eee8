//! What every step works with: the client, the attempt and its user, all locked; and the answer at the end.

use std::sync::Arc;

use axum::response::Response;
use latchkey_base::kinds::SignInId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::rules;
use crate::cx::{Act, Cx};
use crate::frontend::client::lens;
use crate::frontend::site::Site;
use crate::frontend::visitor::{Hold, Visitor};
use crate::resources::clients::model::Client;
use crate::resources::sign_ins::model::SignIn;
use crate::resources::sign_ins::view::{self, SignInView};
use crate::resources::sign_ins::{rules as attempts, store};
use crate::resources::users::model::User;
use crate::resources::users::store as users;
use crate::settings::Settings;

/// What a transaction of this flow needs to know.
#[derive(Clone)]
pub struct Stage {
    /// The instance, as seen from outside.
    pub site: Arc<Site>,
    /// Who does it when.
    pub act: Act,
    /// The client that asks.
    pub hold: Hold,
}

impl Stage {
    /// The stage of a request.
    pub fn new(cx: &Cx, visitor: &Visitor) -> Stage {
        Stage { site: visitor.site.clone(), act: visitor.act(cx), hold: visitor.hold() }
    }

    /// The instance's settings.
    pub fn settings(&self) -> &Settings {
        &self.act.settings
    }

    /// Whether answers must not tell who has an account.
    pub fn is_guarded(&self) -> bool {
        self.settings().attack_protection.enumeration_protection
    }
}

/// An attempt in the course of a step.
pub struct Attempt {
    /// Where.
    pub client: Client,
    /// The client's secret, if it got a new one.
    pub secret: Option<Secret>,
    /// The attempt itself.
    pub sign_in: SignIn,
    /// Who it is about, if there is such a user and they may sign in.
    pub user: Option<User>,
    /// Why the step was refused, although it counts and is saved.
    pub refusal: Option<Error>,
    /// Whether it is another client that asks, as when a link is opened in another browser.
    pub is_elsewhere: bool,
}

/// The attempt of the client that asks, locked with its user.
pub async fn lock(tx: &mut Tx, stage: &Stage, id: &SignInId) -> Result<Attempt> {
    let client = lock_client(tx, stage, id).await?;
    of_client(tx, stage, client, id).await
}

/// The same without its user, who is yet to be found out.
pub async fn lock_alone(tx: &mut Tx, stage: &Stage, id: &SignInId) -> Result<Attempt> {
    let client = lock_client(tx, stage, id).await?;
    let sign_in = lock_sign_in(tx, stage, &client, id).await?;
    Ok(Attempt { client, secret: None, sign_in, user: None, refusal: None, is_elsewhere: false })
}

/// The attempt of a client that is locked already.
pub async fn of_client(tx: &mut Tx, stage: &Stage, client: Client, id: &SignInId) -> Result<Attempt> {
    let (act, settings) = (&stage.act, stage.settings());
    let mut sign_in = lock_sign_in(tx, stage, &client, id).await?;
    let user = match sign_in.user() {
        Some(user) => {
            let user = users::lock(tx, &act.instance, user).await?;
            let user = user.ok_or_else(|| Error::new(Code::SignInIdentificationOrUserDeleted))?;
            rules::still_proven(&sign_in, &user)?;
            sign_in = attempts::due(sign_in, &user, settings);
            rules::admitted(user, sign_in.step, settings, act.now)?
        }
        None => None,
    };
    Ok(Attempt { client, secret: None, sign_in, user, refusal: None, is_elsewhere: false })
}

async fn lock_client(tx: &mut Tx, stage: &Stage, id: &SignInId) -> Result<Client> {
    stage.hold.lock_known(tx).await.map_err(|error| match error.code() {
        Code::SignedOut => Error::not_found("sign-in", id),
        _ => error,
    })
}

async fn lock_sign_in(tx: &mut Tx, stage: &Stage, client: &Client, id: &SignInId) -> Result<SignIn> {
    let found = store::lock_of_client(tx, &stage.act.instance, &client.id, id).await?;
    let open = found.filter(|sign_in| !sign_in.is_over(stage.act.now));
    open.ok_or_else(|| Error::not_found("sign-in", id))
}

/// The attempt of a visitor and its user, to look at them before the transaction.
pub async fn find(cx: &Cx, visitor: &Visitor, id: &SignInId) -> Result<(SignIn, Option<User>)> {
    let instance = &visitor.site.instance;
    let mut tx = cx.app.db.read().await?;
    let found = match &visitor.client {
        Some(client) => store::find_of_client(&mut tx, instance, &client.id, id).await?,
        None => None,
    };
    let sign_in = found.filter(|sign_in| !sign_in.is_over(cx.now));
    let sign_in = sign_in.ok_or_else(|| Error::not_found("sign-in", id))?;
    let user = match sign_in.user() {
        Some(user) => users::find(&mut tx, instance, user).await?,
        None => None,
    };
    let sign_in = match &user {
        Some(user) => attempts::due(sign_in, user, &visitor.site.settings),
        None => sign_in,
    };
    Ok((sign_in, user))
}

/// Answers with what came of a step.
pub async fn answer(cx: &Cx, mut visitor: Visitor, outcome: Result<Attempt>) -> Response {
    let shown = match outcome {
        Ok(attempt) => {
            let view = view::sign_in(&attempt.sign_in, attempt.user.as_ref(), lens(&visitor.site, cx.now));
            visitor.becomes(attempt.client, attempt.secret);
            attempt.refusal.map_or(Ok(view), Err)
        }
        Err(error) => Err::<SignInView, Error>(error),
    };
    cx.answer(&visitor, shown).await
}
