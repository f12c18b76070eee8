//! What every step works with: the client, the attempt and its user, all locked; and the answer at the end.

use std::sync::Arc;

use axum::response::Response;
use latchkey_base::kinds::{ClientId, SignInId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client::view_context;
use latchkey_door::client_handle::ClientHandle;
use latchkey_door::site::Site;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::settings::Settings;
use latchkey_people::factors::audience::FactorAudience;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::sessions::closing::Clients;
use latchkey_presence::sign_ins::model::SignIn;
use latchkey_presence::sign_ins::view::{self, SignInView};
use latchkey_presence::sign_ins::{rules as attempts, store};

use super::rules;

/// What a transaction of this flow needs to know.
#[derive(Clone)]
pub struct SignInContext {
    /// The instance, as seen from outside.
    pub site: Arc<Site>,
    /// Who does it when.
    pub act: Act,
    /// The client that asks.
    pub client: ClientHandle,
    /// The origin of the page that asks.
    pub page: String,
    /// The client that factors are offered to.
    pub audience: FactorAudience,
}

impl SignInContext {
    /// The context of a request.
    pub fn new(cx: &Cx, visitor: &Visitor) -> SignInContext {
        SignInContext {
            site: visitor.site.clone(),
            act: visitor.act(cx),
            client: visitor.client_handle(),
            page: visitor.page(),
            audience: visitor.factor_audience(cx),
        }
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
pub struct SignInAttempt {
    /// The client it is made on, locked.
    pub client: Client,
    /// What proves the client, if that is new.
    pub secret: Option<ClientProof>,
    pub sign_in: SignIn,
    /// Who it is about, if there is such a user and they may sign in.
    pub user: Option<User>,
    /// Why the step was refused, although it counts and is saved.
    pub refusal: Option<Error>,
    /// The clients on which the user is signed in, locked if sessions on them end in this step.
    pub clients: Clients,
    /// Whether it is another client that asks, as when a link is opened in another browser.
    pub is_elsewhere: bool,
}

impl SignInAttempt {
    /// Of a client that is locked. Nobody is known yet whom it is about.
    pub fn new(client: Client, sign_in: SignIn) -> SignInAttempt {
        SignInAttempt {
            client,
            secret: None,
            sign_in,
            user: None,
            refusal: None,
            clients: Clients::default(),
            is_elsewhere: false,
        }
    }
}

/// The attempt of the client that asks, locked with its user.
pub async fn lock(tx: &mut Tx, context: &SignInContext, id: &SignInId) -> Result<SignInAttempt> {
    let client = lock_client(tx, context, id).await?;
    of_client(tx, context, client, id).await
}

/// The same without its user, who is yet to be found out.
pub async fn lock_alone(tx: &mut Tx, context: &SignInContext, id: &SignInId) -> Result<SignInAttempt> {
    let client = lock_client(tx, context, id).await?;
    let sign_in = lock_sign_in(tx, context, &client, id).await?;
    Ok(SignInAttempt::new(client, sign_in))
}

/// The same for somebody who comes back from another site, on the client that began.
pub async fn lock_returned(
    tx: &mut Tx,
    context: &SignInContext,
    on: &ClientId,
    id: &SignInId,
) -> Result<SignInAttempt> {
    let gone = || Error::new(Code::OauthCallbackInvalid);
    let client = clients::lock(tx, &context.act.instance, on).await?.ok_or_else(gone)?;
    let sign_in = lock_sign_in(tx, context, &client, id).await.map_err(|_| gone())?;
    let is_elsewhere = context.client.id() != Some(on);
    Ok(SignInAttempt { is_elsewhere, ..SignInAttempt::new(client, sign_in) })
}

/// The attempt of a client that is locked already.
pub async fn of_client(
    tx: &mut Tx,
    context: &SignInContext,
    client: Client,
    id: &SignInId,
) -> Result<SignInAttempt> {
    let (act, settings) = (&context.act, context.settings());
    let mut sign_in = lock_sign_in(tx, context, &client, id).await?;
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
    Ok(SignInAttempt { user, ..SignInAttempt::new(client, sign_in) })
}

async fn lock_client(tx: &mut Tx, context: &SignInContext, id: &SignInId) -> Result<Client> {
    context.client.lock(tx).await.map_err(|error| match error.code() {
        Code::SignedOut => Error::not_found("sign-in", id),
        _ => error,
    })
}

async fn lock_sign_in(
    tx: &mut Tx,
    context: &SignInContext,
    client: &Client,
    id: &SignInId,
) -> Result<SignIn> {
    let found = store::lock_of_client(tx, &context.act.instance, &client.id, id).await?;
    let open = found.filter(|sign_in| !sign_in.is_over(context.act.now));
    open.ok_or_else(|| Error::not_found("sign-in", id))
}

/// The attempt of a visitor and its user, to look at them before the transaction.
pub async fn find(cx: &Cx, visitor: &Visitor, id: &SignInId) -> Result<(SignIn, Option<User>)> {
    let instance = &visitor.site.instance;
    let mut tx = cx.app.db.read().await?;
    let found = match visitor.client() {
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
pub async fn answer(cx: &Cx, mut visitor: Visitor, outcome: Result<SignInAttempt>) -> Response {
    let shown = match outcome {
        Ok(attempt) => {
            let (context, audience) = (view_context(&visitor.site, cx.now), visitor.factor_audience(cx));
            let view = view::sign_in(&attempt.sign_in, attempt.user.as_ref(), context, audience);
            visitor.becomes(attempt.client, attempt.secret);
            attempt.refusal.map_or(Ok(view), Err)
        }
        Err(error) => Err::<SignInView, Error>(error),
    };
    visitor.answer(cx, shown).await
}
