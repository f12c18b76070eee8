//! Routes and handlers of the Frontend API.

use axum::response::Response;
use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::{Body, Tx};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;

use super::steps::{self, Place, Step, Turn};
use super::view::{self, ReverificationView};
use crate::AppState;
use crate::cx::{Act, Cx};
use crate::flows::factors::evidence::{Shown, examine};
use crate::flows::sign_in::input::{
    AttemptFirstFactor, AttemptSecondFactor, PrepareFirstFactor, PrepareSecondFactor,
};
use crate::flows::sign_in::rules::{first_strategy, second_strategy};
use crate::frontend::client::lens;
use crate::frontend::reply::Envelope;
use crate::frontend::visitor::Visitor;
use crate::resources::sessions::model::Level;
use crate::resources::sessions::store;
use crate::resources::users::model::Strategy;

type Wrapped<'a> = Envelope<'a, ReverificationView<'a>>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.post("/v1/client/sessions/{session_id}/verify", "startSessionReverification", start)
        .summary("Begin to prove anew who it is")
        .form::<StartReverification>()
        .returns::<Wrapped<'_>>();
    api.post(
        "/v1/client/sessions/{session_id}/verify/prepare_first_factor",
        "prepareSessionReverificationFirstFactor",
        prepare_first,
    )
    .summary("Send the code of a first factor")
    .form::<PrepareFirstFactor>()
    .returns::<Wrapped<'_>>();
    api.post(
        "/v1/client/sessions/{session_id}/verify/attempt_first_factor",
        "attemptSessionReverificationFirstFactor",
        attempt_first,
    )
    .summary("Prove a first factor anew")
    .form::<AttemptFirstFactor>()
    .returns::<Wrapped<'_>>()
    .errors(&[403]);
    api.post(
        "/v1/client/sessions/{session_id}/verify/prepare_second_factor",
        "prepareSessionReverificationSecondFactor",
        prepare_second,
    )
    .summary("Send the code of a second factor")
    .form::<PrepareSecondFactor>()
    .returns::<Wrapped<'_>>();
    api.post(
        "/v1/client/sessions/{session_id}/verify/attempt_second_factor",
        "attemptSessionReverificationSecondFactor",
        attempt_second,
    )
    .summary("Prove a second factor anew")
    .form::<AttemptSecondFactor>()
    .returns::<Wrapped<'_>>()
    .errors(&[403]);
}

/// Body of `startSessionReverification`.
#[derive(Deserialize, JsonSchema)]
struct StartReverification {
    /// What is to be proven.
    level: Level,
}

async fn start(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SessionId>,
    Form(input): Form<StartReverification>,
) -> Response {
    let outcome = run(&cx, &visitor, id, move |tx, act, place| {
        Box::pin(async move { steps::start(tx, &act, &place, input.level).await })
    });
    let outcome = outcome.await;
    answer(&cx, &visitor, outcome).await
}

async fn prepare_first(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SessionId>,
    Form(input): Form<PrepareFirstFactor>,
) -> Response {
    let named = input.email_address_id.or(input.phone_number_id);
    let outcome = match first_strategy(&input.strategy) {
        Ok(strategy) => prepare(&cx, &visitor, id, Turn::First, Some(strategy), named).await,
        Err(error) => Err(error),
    };
    answer(&cx, &visitor, outcome).await
}

async fn prepare_second(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SessionId>,
    Form(input): Form<PrepareSecondFactor>,
) -> Response {
    let outcome = match input.strategy.as_deref().map(second_strategy).transpose() {
        Ok(strategy) => prepare(&cx, &visitor, id, Turn::Second, strategy, input.phone_number_id).await,
        Err(error) => Err(error),
    };
    answer(&cx, &visitor, outcome).await
}

async fn prepare(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    turn: Turn,
    strategy: Option<Strategy>,
    named: Option<String>,
) -> Result<Step> {
    let prepared = run(cx, visitor, id, move |tx, act, place| {
        Box::pin(async move { steps::prepare(tx, &act, &place, turn, strategy, named).await })
    });
    prepared.await
}

async fn attempt_first(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SessionId>,
    Form(input): Form<AttemptFirstFactor>,
) -> Response {
    let outcome = match first_strategy(&input.strategy) {
        Ok(strategy) => {
            let shown = Shown { strategy, code: input.code, password: input.password };
            attempt(&cx, &visitor, id, Turn::First, shown).await
        }
        Err(error) => Err(error),
    };
    answer(&cx, &visitor, outcome).await
}

async fn attempt_second(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SessionId>,
    Form(input): Form<AttemptSecondFactor>,
) -> Response {
    let outcome = match second_strategy(&input.strategy) {
        Ok(strategy) => {
            let shown = Shown { strategy, code: input.code, password: None };
            attempt(&cx, &visitor, id, Turn::Second, shown).await
        }
        Err(error) => Err(error),
    };
    answer(&cx, &visitor, outcome).await
}

/// What is slow is done before the transaction, and only for who is signed in here.
async fn attempt(cx: &Cx, visitor: &Visitor, id: SessionId, turn: Turn, shown: Shown) -> Result<Step> {
    let client = visitor.known()?.id.clone();
    let mut tx = cx.app.db.read().await?;
    let found = store::find_with_user(&mut tx, &visitor.site.instance, &id).await?;
    drop(tx);
    let mine = found.filter(|(session, _)| session.client == client);
    let (_, user) = mine.ok_or_else(|| Error::not_found("session", &id))?;
    let strategy = shown.strategy;
    let evidence = examine(cx, Some(&user), shown).await?;
    let tried = run(cx, visitor, id, move |tx, act, place| {
        Box::pin(async move { steps::attempt(tx, &act, &place, turn, strategy, evidence).await })
    });
    tried.await
}

async fn run<S>(cx: &Cx, visitor: &Visitor, session: SessionId, step: S) -> Result<Step>
where
    S: for<'a> FnOnce(&'a mut Tx, Act, Place) -> Body<'a, Step> + Send + 'static,
{
    let place = Place { session, client: visitor.known()?.id.clone() };
    let act = visitor.act(cx);
    cx.write(move |tx| step(tx, act, place)).await
}

async fn answer(cx: &Cx, visitor: &Visitor, outcome: Result<Step>) -> Response {
    let refused = |error| cx.answer::<()>(visitor, Err(error));
    match outcome {
        Ok(Step { refusal: Some(refusal), .. }) => refused(refusal).await,
        Ok(Step { session, user, .. }) => match &session.reverification {
            Some(under_way) => {
                let lens = lens(&visitor.site, cx.now);
                let view = view::reverification(under_way, &session, &user, lens);
                cx.answer(visitor, Ok(view)).await
            }
            None => refused(Error::new(Code::SessionReverificationMissing)).await,
        },
        Err(error) => refused(error).await,
    }
}
