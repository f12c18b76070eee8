//! What people do with their own accounts at other providers.

use axum::response::Response;
use latchkey_base::kinds::ExternalAccountId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_flows::me;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_organizations::memberships::view::FrontendMembershipView;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::external_accounts::change::disconnect;
use latchkey_people::external_accounts::model::ExternalAccount;
use latchkey_people::external_accounts::view::{ExternalAccountView, external_account_begun};
use latchkey_people::external_accounts::{rules, store};
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_people::users::view::FrontendUserView;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;

use super::attempts::{ProofOrder, begin, is_by_token};
use super::{connecting, protocol, verdicts};

pub(super) fn routes(api: &mut Api<AppState>) {
    api.group("External Accounts");
    api.post("/v1/me/external_accounts", "postOAuthAccounts", create)
        .summary("Connect an account at another provider")
        .returns::<Envelope<'_, ExternalAccountView<'_>>>()
        .errors(&[403]);
    api.patch(
        "/v1/me/external_accounts/{external_account_id}/reauthorize",
        "reauthorizeExternalAccount",
        renew,
    )
    .summary("Ask the provider of a connected account for more")
    .returns::<Envelope<'_, ExternalAccountView<'_>>>()
    .errors(&[403]);
    api.delete("/v1/me/external_accounts/{external_account_id}", "deleteExternalAccount", remove)
        .summary("Disconnect an account at another provider")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403]);
    api.delete(
        "/v1/me/external_accounts/{external_account_id}/tokens",
        "revokeExternalAccountTokens",
        forget_tokens,
    )
    .summary("Forget the tokens of a connected account")
    .returns::<Envelope<'_, FrontendUserView<'_, FrontendMembershipView<'_>>>>();
}

/// Body of `postOAuthAccounts`.
#[derive(Deserialize, JsonSchema)]
struct ConnectAccount {
    /// `oauth_` and the provider; or `oauth_token_` and the provider, with a token of it.
    strategy: Option<String>,
    /// Where the browser comes back to.
    redirect_url: Option<String>,
    /// Where it goes if the account is connected.
    action_complete_redirect_url: Option<String>,
    /// What the provider is asked for besides, once for each scope.
    #[serde(default)]
    additional_scope: Vec<String>,
    /// An ID token, with `oauth_token_`.
    token: Option<String>,
    /// An authorization code, with `oauth_token_`: apps send it along with the token, which says everything. It is not enough
    /// alone, because it tells neither for which client it was given nor who began.
    code: Option<String>,
    /// Who somebody is at the provider, as far as they said so.
    oidc_login_hint: Option<String>,
    /// What the provider is to ask.
    oidc_prompt: Option<String>,
    /// Not accepted: there are no enterprise connections yet.
    enterprise_connection_id: Option<String>,
}

/// Body of `reauthorizeExternalAccount`.
#[derive(Deserialize, JsonSchema)]
struct ReauthorizeAccount {
    /// Where the browser comes back to.
    redirect_url: String,
    /// Where it goes if the provider agrees.
    action_complete_redirect_url: Option<String>,
    /// What the provider is asked for besides, once for each scope.
    #[serde(default)]
    additional_scope: Vec<String>,
    /// Who somebody is at the provider.
    oidc_login_hint: Option<String>,
    /// What the provider is to ask.
    oidc_prompt: Option<String>,
}

async fn create(cx: Cx, person: Person, Form(input): Form<ConnectAccount>) -> Response {
    let outcome = connect(&cx, &person, input).await;
    show(&cx, &person, outcome).await
}

async fn connect(cx: &Cx, person: &Person, input: ConnectAccount) -> Result<ExternalAccount> {
    person.check_reverified(cx.now)?;
    let refused =
        |param: &str, text: &str| Err(Error::param(Code::FormParamValueInvalid, param).saying(text));
    if input.enterprise_connection_id.as_deref().is_some_and(|id| !id.is_empty()) {
        return refused("enterprise_connection_id", "There are no enterprise connections yet.");
    }
    let strategy = input.strategy.as_deref().filter(|name| !name.is_empty());
    let strategy = strategy.ok_or_else(|| Error::param(Code::FormParamMissing, "strategy"))?;
    let has_code = input.code.as_deref().is_some_and(|code| !code.is_empty());
    let has_token = input.token.as_deref().is_some_and(|token| !token.is_empty());
    if has_code && !(has_token && is_by_token(strategy)) {
        return refused(
            "code",
            "Use an `oauth_token_` strategy, and send the ID token of the provider as `token`.",
        );
    }
    if is_by_token(strategy) {
        return connect_by_token(cx, person, strategy, input.token.as_deref()).await;
    }
    let (visitor, act) = (&person.visitor, person.visitor.act(cx));
    let connection = protocol::find(&act, visitor.site.environment, strategy)?;
    let provider = connection.strategy().name().to_owned();
    let is_held = |held: &ExternalAccount| held.is_verified() && held.account.provider == provider;
    if person.user.external_accounts.iter().any(is_held) {
        return Err(Error::new(Code::OauthAccountAlreadyConnected));
    }
    let order = ProofOrder {
        owner: person.user.id.as_str(),
        redirect_url: input.redirect_url.as_deref(),
        complete_url: input.action_complete_redirect_url.as_deref(),
        additional_scopes: &input.additional_scope,
        login_hint: input.oidc_login_hint.as_deref(),
        prompt: input.oidc_prompt.as_deref(),
        session: Some(&person.session.id),
    };
    let challenge = begin(cx, visitor, &connection, order).await?;
    let wanted = rules::wanted(&provider, challenge, cx.now, &*cx.app.rng);
    let (kept, target) = (wanted.clone(), UserTarget::User(person.user.id.clone()));
    cx.write(move |tx| Box::pin(async move { keep(tx, &act, &target, kept).await })).await?;
    Ok(wanted)
}

/// Keeps an account that is to be proven. Whoever begins anew gives up what they began.
async fn keep(tx: &mut Tx, act: &Act, target: &UserTarget, wanted: ExternalAccount) -> Result<()> {
    let before = target.lock(tx, act).await?;
    let mut after = before.clone();
    let is_other = |held: &ExternalAccount| held.account.provider != wanted.account.provider;
    after.external_accounts.retain(|held| held.is_verified() || is_other(held));
    after.external_accounts.push(wanted);
    users::save(tx, &before, &after).await
}

async fn connect_by_token(
    cx: &Cx,
    person: &Person,
    strategy: &str,
    token: Option<&str>,
) -> Result<ExternalAccount> {
    let missing = || Error::param(Code::FormParamMissing, "token");
    let token = token.filter(|token| !token.is_empty()).ok_or_else(missing)?;
    let (visitor, act) = (&person.visitor, person.visitor.act(cx));
    let (connection, profile) =
        protocol::id_token(cx, &act, visitor.site.environment, strategy, token).await?;
    let newcomer = verdicts::newcomer(&act, &connection, profile, None)?;
    let user = person.user.id.clone();
    let connected = cx.write(move |tx| Box::pin(connecting::connect(tx, act, user, None, newcomer)));
    let (user, id) = connected.await.map_err(connecting::claimed)?;
    account(&user, id.as_str())
}

async fn renew(
    cx: Cx,
    person: Person,
    Path(id): Path<String>,
    Form(input): Form<ReauthorizeAccount>,
) -> Response {
    let outcome = reauthorize(&cx, &person, &id, input).await;
    show(&cx, &person, outcome).await
}

async fn reauthorize(
    cx: &Cx,
    person: &Person,
    id: &str,
    input: ReauthorizeAccount,
) -> Result<ExternalAccount> {
    let held = account(&person.user, id)?;
    if !held.is_verified() {
        // It is connected by this. Of one that is connected already, the same account has to come back.
        person.check_reverified(cx.now)?;
    }
    let (visitor, act) = (&person.visitor, person.visitor.act(cx));
    let connection = protocol::find(&act, visitor.site.environment, &held.account.provider)?;
    // What was agreed to before is asked for again: a provider that forgets it would take it away.
    let mut scopes: Vec<String> =
        held.account.approved_scopes.split_whitespace().map(str::to_owned).collect();
    scopes.extend(input.additional_scope);
    let order = ProofOrder {
        owner: person.user.id.as_str(),
        redirect_url: Some(&input.redirect_url),
        complete_url: input.action_complete_redirect_url.as_deref(),
        additional_scopes: &scopes,
        login_hint: input.oidc_login_hint.as_deref().or(held.account.email_address.as_deref()),
        prompt: input.oidc_prompt.as_deref(),
        session: Some(&person.session.id),
    };
    let challenge = begin(cx, visitor, &connection, order).await?;
    let target = UserTarget::User(person.user.id.clone());
    cx.write(move |tx| Box::pin(async move { reauthorize_in(tx, &act, &target, &held.id, challenge).await }))
        .await
}

async fn reauthorize_in(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    id: &ExternalAccountId,
    challenge: Challenge,
) -> Result<ExternalAccount> {
    let before = target.lock(tx, act).await?;
    let mut after = before.clone();
    let position = rules::position(&after, id.as_str())?;
    after.external_accounts[position].challenge = Some(challenge);
    users::save(tx, &before, &after).await?;
    Ok(after.external_accounts.swap_remove(position))
}

async fn remove(cx: Cx, person: Person, Path(id): Path<String>) -> Response {
    let gone = deleted("external_account", &id);
    let outcome = removed(&cx, &person, id).await;
    person.visitor.answer(&cx, outcome.map(|()| gone)).await
}

async fn removed(cx: &Cx, person: &Person, id: String) -> Result<()> {
    person.check_reverified(cx.now)?;
    let (act, target) = (person.visitor.act(cx), UserTarget::User(person.user.id.clone()));
    cx.write(move |tx| Box::pin(async move { removed_in(tx, &act, &target, &id).await })).await
}

async fn removed_in(tx: &mut Tx, act: &Act, target: &UserTarget, id: &str) -> Result<()> {
    let before = target.lock(tx, act).await?;
    let (after, _) = rules::without(before.clone(), id)?;
    me::rules::check_entrance(&before, &after, &act.settings)?;
    disconnect(tx, act, &before, id).await.map(|_| ())
}

async fn forget_tokens(cx: Cx, person: Person, Path(id): Path<String>) -> Response {
    let outcome = forgotten(&cx, &person, &id).await;
    me::show(&cx, &person, outcome).await
}

async fn forgotten(cx: &Cx, person: &Person, id: &str) -> Result<User> {
    let held = account(&person.user, id)?;
    let instance = person.visitor.site.instance.clone();
    cx.write(move |tx| Box::pin(async move { store::delete(tx, &instance, &held.id).await })).await?;
    Ok(person.user.clone())
}

fn account(user: &User, id: &str) -> Result<ExternalAccount> {
    Ok(user.external_accounts[rules::position(user, id)?].clone())
}

async fn show(cx: &Cx, person: &Person, outcome: Result<ExternalAccount>) -> Response {
    match outcome {
        Ok(account) => person.visitor.answer(cx, Ok(external_account_begun(&account, cx.now))).await,
        Err(error) => person.visitor.answer::<()>(cx, Err(error)).await,
    }
}
