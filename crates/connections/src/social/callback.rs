//! `/v1/oauth_callback`: where providers send people back. Whatever went wrong at the provider is noted in the attempt, and
//! the browser goes back to the page that asked. Only an answer that nobody waits for is an error here: there is no page
//! that could be trusted.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use latchkey_base::kinds::{ClientId, SignInId, SignUpId, UserId};
use latchkey_base::{Code, Error, Id, Result};
use latchkey_door::redirects::{self, Destination};
use latchkey_door::reply::away;
use latchkey_door::site::RequestSite;
use latchkey_door::visitor::Visitor;
use latchkey_flows::sign_in::attempt::SignInContext;
use latchkey_flows::sign_in::registered::take_returned as take_sign_in;
use latchkey_flows::sign_up::{self, accounts};
use latchkey_flows::verify::frontend::{refused, with_dev_browser};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_people::challenges::links::digest;
use latchkey_people::challenges::model::{Challenge, Newcomer};
use latchkey_web::api::{Api, Entrance};
use latchkey_web::form::OpenForm;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::attempts::{KeptAttempt, kept};
use super::protocol::{self, CallbackParams, Connection, Granted};
use super::{connecting, returning, verdicts};

pub(super) fn routes(api: &mut Api<AppState>) {
    api.group("OAuth2 Callbacks");
    api.get("/v1/oauth_callback", "getOauthCallback", get)
        .summary("Come back from another provider")
        .errors(&[403])
        .entrance(Entrance::Opening)
        .redirects(303)
        .public();
    api.post("/v1/oauth_callback", "postOauthCallback", post)
        .summary("Come back from a provider that answers with a form")
        .redirects(303)
        .only_reads()
        .from_other_sites()
        .public();
}

/// What a provider says. Those who know more parameters than these may send them.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CallbackQuery {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
    scope: Option<String>,
    /// Who somebody is, as Apple tells it once.
    user: Option<String>,
}

/// The form of a provider, which becomes a query: browsers show their cookies with that.
#[derive(Deserialize, JsonSchema)]
struct CallbackForm {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    scope: Option<String>,
}

async fn post(
    _: Cx,
    RequestSite(site): RequestSite,
    OpenForm(form, fields): OpenForm<CallbackForm>,
) -> Result<Response, Failure> {
    let known = [("state", form.state), ("code", form.code), ("error", form.error), ("scope", form.scope)];
    let mut there = redirects::trusted(format!("{}/v1/oauth_callback", site.base_url));
    for (name, value) in known {
        there = value.map_or(there.clone(), |value| there.with(name, &value));
    }
    for name in ["iss", "user"] {
        if let Some(value) = fields.get(name).and_then(Value::as_str) {
            there = there.with(name, value);
        }
    }
    Ok(away(StatusCode::SEE_OTHER, there.as_str())?)
}

async fn get(
    cx: Cx,
    headers: HeaderMap,
    mut visitor: Visitor,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, Failure> {
    match answered(&cx, &mut visitor, query).await {
        Ok(there) => {
            let there = with_dev_browser(&visitor, there);
            Ok(visitor.redirect(&cx, StatusCode::SEE_OTHER, there.as_str()).await)
        }
        Err(error) => refused(&cx, &visitor, &headers, error).await,
    }
}

/// What an answer is for.
enum Owner {
    SignIn(SignInId),
    SignUp(SignUpId),
    User(UserId),
}

impl Owner {
    fn of(state: &str) -> Option<Owner> {
        let (owner, _) = state.split_once('.')?;
        Id::parse(owner)
            .map(Owner::SignIn)
            .or_else(|| Id::parse(owner).map(Owner::SignUp))
            .or_else(|| Id::parse(owner).map(Owner::User))
    }
}

/// An answer that somebody waits for.
pub(super) struct Returned {
    /// What was begun. Its secret is used up.
    pub(super) asked: Challenge,
    pub(super) kept: KeptAttempt,
    /// What the provider says of somebody, or why it says nothing.
    pub(super) granted: Result<(Connection, Granted)>,
}

async fn answered(cx: &Cx, visitor: &mut Visitor, query: CallbackQuery) -> Result<Destination> {
    let invalid = || Error::new(Code::OauthCallbackInvalid);
    let state = query.state.clone().ok_or_else(invalid)?;
    let digest = digest(&state);
    match Owner::of(&state).ok_or_else(invalid)? {
        Owner::SignIn(id) => {
            let (client, asked) = returning::find_sign_in(cx, visitor, &id).await?;
            check_browser(cx, visitor, &client, asked.as_ref())?;
            let context = SignInContext::new(cx, visitor);
            let (on, attempt) = (client.clone(), id.clone());
            let taking = cx.write(move |tx| Box::pin(take_sign_in(tx, context, on, attempt, digest)));
            let asked = taking.await?;
            let returned = exchanged(cx, visitor, asked, query).await?;
            returning::to_sign_in(cx, visitor, client, id, returned).await
        }
        Owner::SignUp(id) => {
            let (client, asked) = accounts::find_returned(cx, visitor, &id).await?;
            check_browser(cx, visitor, &client, asked.as_ref())?;
            let context = sign_up::frontend::context(cx, visitor);
            let attempt = id.clone();
            let taking = cx.write(move |tx| Box::pin(accounts::take_returned(tx, context, attempt, digest)));
            let asked = taking.await?;
            let returned = exchanged(cx, visitor, asked, query).await?;
            returning::to_sign_up(cx, visitor, id, returned).await
        }
        Owner::User(id) => {
            let (account, asked) = connecting::take(cx, visitor, id.clone(), digest).await?;
            let returned = exchanged(cx, visitor, asked, query).await?;
            connecting::settle(cx, visitor, id, account, returned).await
        }
    }
}

/// Refuses an answer in another browser than the one that began: whoever is led to a provider by a stranger must not sign
/// that stranger in, nor be signed in as them. Native apps open a browser that never had their client, and show later that
/// they were told the outcome. Browsers of developers may have no cookie here.
fn check_browser(cx: &Cx, visitor: &Visitor, client: &ClientId, asked: Option<&Challenge>) -> Result<()> {
    let invalid = || Error::new(Code::OauthCallbackInvalid);
    let is_native = kept(&visitor.act(cx), asked.ok_or_else(invalid)?)?.is_native;
    let is_same = visitor.client_id().as_ref() == Some(client);
    match is_same || is_native || visitor.site.is_development() {
        true => Ok(()),
        false => Err(invalid()),
    }
}

/// Asks the provider. Whatever it says, or does not say, is the outcome of the attempt.
async fn exchanged(cx: &Cx, visitor: &Visitor, asked: Challenge, query: CallbackQuery) -> Result<Returned> {
    let act = visitor.act(cx);
    let kept = kept(&act, &asked)?;
    let params = CallbackParams {
        code: query.code,
        error: query.error,
        iss: query.iss,
        scope: query.scope,
        user: query.user,
    };
    let asking = async {
        let connection = protocol::find(&act, visitor.site.environment, asked.strategy.name())?;
        let granted = protocol::exchange(cx, &connection, &kept.pending, &params, &kept.redirect_uri).await?;
        Ok::<_, Error>((connection, granted))
    };
    let granted = match asking.await {
        Err(error) if error.status() >= 500 => return Err(error),
        granted => granted,
    };
    Ok(Returned { asked, kept, granted })
}

impl Returned {
    /// What is known of whom the provider names, or why nothing is.
    pub(super) fn newcomer(&mut self, act: &Act) -> Result<Newcomer> {
        let nothing = Err(Error::new(Code::OauthCallbackInvalid));
        let (connection, granted) = std::mem::replace(&mut self.granted, nothing)?;
        let newcomer = verdicts::newcomer(act, &connection, granted.profile, Some(&granted.tokens))?;
        Ok(Newcomer { is_unconfirmed: self.kept.is_native, ..newcomer })
    }
}
