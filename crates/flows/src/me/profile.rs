//! Names, username, primary contacts, metadata; and the end of the account.

use axum::http::Method;
use axum::response::Response;
use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_organizations::memberships::view::FrontendMembershipView;
use latchkey_people::challenges::links::digest;
use latchkey_people::users::change::{UserTarget, change};
use latchkey_people::users::credentials::CredentialsChange;
use latchkey_people::users::input::{Metadata, UpdateUser};
use latchkey_people::users::metadata::{self, Mode};
use latchkey_people::users::model::User;
use latchkey_people::users::rules::may_delete_self;
use latchkey_people::users::store as users;
use latchkey_people::users::view::FrontendUserView;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::query::Query;
use latchkey_web::version::Version;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{rules, show, target};
use crate::accounts::{deletion, update};
use crate::sign_in::input::ReturnedApp;
use crate::strategies;

pub fn routes(api: &mut Api<AppState>) {
    api.group("User");
    api.get("/v1/me", "getUser", get)
        .summary("Get the current user")
        .returns::<Envelope<'_, FrontendUserView<'_, FrontendMembershipView<'_>>>>()
        .only_reads();
    api.patch("/v1/me", "patchUser", update_me)
        .summary("Update the current user")
        .returns::<Envelope<'_, FrontendUserView<'_, FrontendMembershipView<'_>>>>()
        .errors(&[403]);
    api.delete("/v1/me", "deleteUser", delete)
        .summary("Delete the current user")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403]);
    api.patch("/v1/me/metadata", "patchUserMetadata", merge_metadata)
        .summary("Merge metadata of the current user")
        .returns::<Envelope<'_, FrontendUserView<'_, FrontendMembershipView<'_>>>>();
}

/// Body of `patchUser`. Whatever else backends can change of a user is not for the user to change.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateMe {
    /// Username; empty removes it.
    pub username: Patch<String>,
    /// First name.
    pub first_name: Patch<String>,
    /// Last name.
    pub last_name: Patch<String>,
    /// A verified address of the user.
    pub primary_email_address_id: Patch<String>,
    /// A verified number of the user.
    pub primary_phone_number_id: Patch<String>,
    /// A verified wallet of the user.
    pub primary_web3_wallet_id: Patch<String>,
    /// Replaces the metadata everybody may write. Since 2026-05-12 `patchUserMetadata` is the way.
    pub unsafe_metadata: Patch<Map<String, Value>>,
    /// Refused: `changePassword` is the way.
    pub password: Option<Secret>,
}

/// Body of `patchUserMetadata`.
#[derive(Deserialize, JsonSchema)]
pub struct UpdateMetadata {
    /// Merged at every depth into what is there; null removes a key.
    pub unsafe_metadata: Map<String, Value>,
}

/// A native app shows the nonce of its return URL here to connect an account. Without a nonce nothing is written, so the
/// operation counts as one that only reads; a `HEAD` request, which programs send that look at links, connects nothing.
async fn get(cx: Cx, method: Method, person: Person, Query(query): Query<ReturnedApp>) -> Response {
    let nonce = query.rotating_token_nonce.filter(|nonce| !nonce.is_empty() && method == Method::GET);
    let outcome = match nonce {
        Some(nonce) => confirmed(&cx, &person, &nonce).await,
        None => Ok(person.user.clone()),
    };
    show(&cx, &person, outcome).await
}

/// Returns the user with the account that waited for a nonce.
async fn confirmed(cx: &Cx, person: &Person, nonce: &str) -> Result<User> {
    let (visitor, digest, invalid) =
        (&person.visitor, digest(nonce), || Error::new(Code::ClientStateInvalid));
    let mut pending = person.user.external_accounts.iter().filter_map(|held| held.challenge.as_ref());
    let asked = pending.find(|asked| asked.secret.as_deref() == Some(&*digest)).ok_or_else(invalid)?;
    let (registry, settings) = (&cx.app.product.registry, &visitor.site.settings);
    let (_, factor) = strategies::find(registry, asked.strategy.name(), settings).ok_or_else(invalid)?;
    factor.confirm(cx, visitor, &person.user, nonce).await?;
    let user = users::find(&mut cx.app.db.read().await?, &visitor.site.instance, &person.user.id).await?;
    user.ok_or_else(invalid)
}

async fn update_me(cx: Cx, person: Person, Form(input): Form<UpdateMe>) -> Response {
    let outcome = updated(&cx, &person, input).await;
    show(&cx, &person, outcome).await
}

async fn updated(cx: &Cx, person: &Person, input: UpdateMe) -> Result<User> {
    if input.password.is_some() {
        return Err(Error::param(Code::UpdatingUserPasswordDeprecated, "password"));
    }
    let (input, metadata) = split(input, cx.version)?;
    if rules::is_sensitive(&person.user, &input) {
        person.check_reverified(cx.now)?;
    }
    let (act, target) = (person.visitor.act(cx), target(person));
    let written =
        cx.write(move |tx| Box::pin(async move { update_in(tx, act, &target, input, metadata).await }));
    match written.await {
        Ok(user) => Ok(user),
        Err(error) => Err(update::explain_update(cx, error, person.user.clone()).await),
    }
}

async fn update_in(
    tx: &mut Tx,
    act: Act,
    target: &UserTarget,
    input: UpdateUser,
    metadata: Metadata,
) -> Result<User> {
    // Nothing of this ends sessions, whose clients would have to be locked before.
    let before = target.lock(tx, &act).await?;
    rules::check_update(&before, &input, &act.settings)?;
    update::write(tx, act, before.id, input, metadata, CredentialsChange::default()).await
}

/// The same in the words of the backend's operation, and the metadata of older versions.
fn split(input: UpdateMe, version: Version) -> Result<(UpdateUser, Metadata)> {
    let unsafe_metadata = match input.unsafe_metadata.change() {
        Some(_) if version >= Version::V2026_05_12 => {
            let problem = Problem::of(Code::FormParamUnknown, "unsafe_metadata");
            return Err(problem.saying("Metadata is changed with `PATCH /v1/me/metadata`.").into());
        }
        given => given.map(Option::unwrap_or_default),
    };
    let update = UpdateUser {
        username: input.username,
        first_name: input.first_name,
        last_name: input.last_name,
        primary_email_address_id: input.primary_email_address_id,
        primary_phone_number_id: input.primary_phone_number_id,
        primary_web3_wallet_id: input.primary_web3_wallet_id,
        notify_primary_email_address_changed: Some(true),
        ..UpdateUser::default()
    };
    Ok((update, Metadata { unsafe_metadata, ..Metadata::default() }))
}

async fn merge_metadata(cx: Cx, person: Person, Form(input): Form<UpdateMetadata>) -> Response {
    let given = Metadata { unsafe_metadata: Some(input.unsafe_metadata), ..Metadata::default() };
    let rule = move |user: User, _: &Act| metadata::apply(user, given, Mode::Merge);
    let outcome = change(&cx, person.visitor.act(&cx), target(&person), rule).await;
    show(&cx, &person, outcome).await
}

async fn delete(cx: Cx, person: Person) -> Response {
    let outcome = delete_me(&cx, &person).await;
    let gone = deleted("user", &person.user.id);
    person.visitor.answer(&cx, outcome.map(|()| gone)).await
}

async fn delete_me(cx: &Cx, person: &Person) -> Result<()> {
    if !may_delete_self(&person.user, &person.visitor.site.settings) {
        return Err(Error::new(Code::UserDeleteSelfNotEnabled));
    }
    person.check_reverified(cx.now)?;
    let (act, id) = (person.visitor.act(cx), person.user.id.clone());
    deletion::delete(cx, act, id).await
}
