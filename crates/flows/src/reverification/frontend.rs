//! Routes and handlers of the Frontend API.

use std::sync::Arc;

use axum::response::Response;
use latchkey_base::kinds::SessionId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::{TransactionBody, Tx};
use latchkey_door::client::{self, view_context};
use latchkey_door::person::SessionVisitor;
use latchkey_door::reply::Envelope;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::{AppState, limits};
use latchkey_people::challenges::model::Challenge;
use latchkey_presence::sessions::model::{Level, ReverificationStatus};
use latchkey_presence::sessions::present::PresentSession;
use latchkey_presence::sessions::store;
use latchkey_web::api::Api;
use latchkey_web::form::{Form, OpenForm};
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::rules;
use super::steps::{self, ReverificationOutcome, SessionOnClient, WhichFactor};
use super::view::{self, ReverificationView};
use crate::factors::evidence::{Evidence, Shown, SubmittedEvidence, examine, examine_registered};
use crate::sign_in::input::{
    AttemptFirstFactor, AttemptSecondFactor, PrepareFirstFactor, PrepareSecondFactor,
};
use crate::sign_in::rules::{first_strategy, second_strategy};
use crate::strategies::{self, FirstFactor, NamedSecondFactor, ProofPurpose, ProofRequest, ShownProof};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.post("/v1/client/sessions/{session_id}/verify", "startSessionReverification", start)
        .summary("Begin to prove anew who it is")
        .returns::<Envelope<'_, ReverificationView<'_>>>();
    api.post(
        "/v1/client/sessions/{session_id}/verify/prepare_first_factor",
        "prepareSessionReverificationFirstFactor",
        prepare_first,
    )
    .summary("Send the code of a first factor")
    .returns::<Envelope<'_, ReverificationView<'_>>>()
    .limited(limits::SENDINGS);
    api.post(
        "/v1/client/sessions/{session_id}/verify/attempt_first_factor",
        "attemptSessionReverificationFirstFactor",
        attempt_first,
    )
    .summary("Prove a first factor anew")
    .returns::<Envelope<'_, ReverificationView<'_>>>()
    .errors(&[403])
    .limited(limits::GUESSES);
    api.post(
        "/v1/client/sessions/{session_id}/verify/prepare_second_factor",
        "prepareSessionReverificationSecondFactor",
        prepare_second,
    )
    .summary("Send the code of a second factor")
    .returns::<Envelope<'_, ReverificationView<'_>>>()
    .limited(limits::SENDINGS);
    api.post(
        "/v1/client/sessions/{session_id}/verify/attempt_second_factor",
        "attemptSessionReverificationSecondFactor",
        attempt_second,
    )
    .summary("Prove a second factor anew")
    .returns::<Envelope<'_, ReverificationView<'_>>>()
    .errors(&[403])
    .limited(limits::GUESSES);
}

/// Body of `startSessionReverification`.
#[derive(Deserialize, JsonSchema)]
struct StartReverification {
    /// What is to be proven.
    level: Level,
}

async fn start(
    cx: Cx,
    SessionVisitor(visitor): SessionVisitor,
    Path(id): Path<SessionId>,
    Form(input): Form<StartReverification>,
) -> Response {
    let outcome = run(&cx, &visitor, id, move |tx, act, target| {
        Box::pin(async move { steps::start(tx, &act, &target, input.level).await })
    });
    let outcome = outcome.await;
    answer(&cx, &visitor, outcome).await
}

async fn prepare_first(
    cx: Cx,
    SessionVisitor(visitor): SessionVisitor,
    Path(id): Path<SessionId>,
    OpenForm(input, fields): OpenForm<PrepareFirstFactor>,
) -> Response {
    let outcome = match registered(&cx, &visitor, &input.strategy) {
        Some(factor) => prepare_registered(&cx, &visitor, id, factor, &fields).await,
        None => {
            let named = input.email_address_id.or(input.phone_number_id);
            match first_strategy(&input.strategy) {
                Ok(strategy) => prepare(&cx, &visitor, id, WhichFactor::First, Some(strategy), named).await,
                Err(error) => Err(error),
            }
        }
    };
    answer(&cx, &visitor, outcome).await
}

type RegisteredFactor = (Strategy, Arc<dyn FirstFactor>);

/// The factor of a group above by this name.
fn registered(cx: &Cx, visitor: &Visitor, name: &str) -> Option<RegisteredFactor> {
    strategies::find(&cx.app.product.registry, name, &visitor.site.settings)
}

async fn prepare_registered(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    (strategy, factor): RegisteredFactor,
    fields: &Map<String, Value>,
) -> Result<ReverificationOutcome> {
    let PresentSession { user, .. } = find(cx, visitor, &id).await?;
    let asked = ProofRequest {
        visitor,
        strategy,
        purpose: ProofPurpose::Reverification,
        attempt: id.as_str(),
        user: Some(&user),
        identifier: None,
        redirect_url: None,
        fields,
    };
    let challenge = factor.prepare(cx, asked).await?;
    keep(cx, visitor, id.clone(), WhichFactor::First, challenge).await
}

async fn keep(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    turn: WhichFactor,
    challenge: Challenge,
) -> Result<ReverificationOutcome> {
    let kept = run(cx, visitor, id, move |tx, act, target| {
        Box::pin(async move { steps::keep(tx, &act, &target, turn, challenge).await })
    });
    kept.await
}

async fn prepare_second(
    cx: Cx,
    SessionVisitor(visitor): SessionVisitor,
    Path(id): Path<SessionId>,
    OpenForm(input, fields): OpenForm<PrepareSecondFactor>,
) -> Response {
    let name = input.strategy.as_deref().unwrap_or_default();
    let strategy = input.strategy.as_deref().map(second_strategy).transpose();
    let outcome = match (registered_second(&cx, &visitor, name), strategy) {
        (Some(factor), _) => prepare_registered_second(&cx, &visitor, id, factor, &fields).await,
        (None, Ok(strategy)) => {
            prepare(&cx, &visitor, id, WhichFactor::Second, strategy, input.phone_number_id).await
        }
        (None, Err(error)) => Err(error),
    };
    answer(&cx, &visitor, outcome).await
}

/// Finds the second factor of a group above by this name.
fn registered_second(cx: &Cx, visitor: &Visitor, name: &str) -> Option<NamedSecondFactor> {
    strategies::find_second(&cx.app.product.registry, name, &visitor.site.settings)
}

async fn prepare_registered_second(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    (strategy, factor): NamedSecondFactor,
    fields: &Map<String, Value>,
) -> Result<ReverificationOutcome> {
    let PresentSession { user, session, .. } = find(cx, visitor, &id).await?;
    rules::expected(&session, ReverificationStatus::NeedsSecondFactor)?;
    let request = ProofRequest {
        visitor,
        strategy,
        purpose: ProofPurpose::SecondFactor,
        attempt: id.as_str(),
        user: Some(&user),
        identifier: None,
        redirect_url: None,
        fields,
    };
    let challenge = factor.prepare(cx, request).await?;
    keep(cx, visitor, id.clone(), WhichFactor::Second, challenge).await
}

async fn prepare(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    turn: WhichFactor,
    strategy: Option<Strategy>,
    named: Option<String>,
) -> Result<ReverificationOutcome> {
    let prepared = run(cx, visitor, id, move |tx, act, target| {
        Box::pin(async move { steps::prepare(tx, &act, &target, turn, strategy, named).await })
    });
    prepared.await
}

async fn attempt_first(
    cx: Cx,
    SessionVisitor(visitor): SessionVisitor,
    Path(id): Path<SessionId>,
    OpenForm(input, fields): OpenForm<AttemptFirstFactor>,
) -> Response {
    let outcome = match (registered(&cx, &visitor, &input.strategy), first_strategy(&input.strategy)) {
        (Some(factor), _) => {
            let mut fields = fields;
            // The server knows this field itself, and passes it on to groups that need it.
            fields.extend(input.signature.map(|text| ("signature".to_owned(), Value::String(text))));
            attempt_registered(&cx, &visitor, id, factor, input.code, &fields).await
        }
        (None, Ok(strategy)) => {
            let (code, password) = (input.code, input.password);
            let shown = Shown { strategy, code, password, signature: input.signature };
            attempt(&cx, &visitor, id, WhichFactor::First, shown).await
        }
        (None, Err(error)) => Err(error),
    };
    answer(&cx, &visitor, outcome).await
}

async fn attempt_registered(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    (strategy, factor): RegisteredFactor,
    code: Option<Secret>,
    fields: &Map<String, Value>,
) -> Result<ReverificationOutcome> {
    let PresentSession { user, session, .. } = find(cx, visitor, &id).await?;
    let begun = rules::open(&session, strategy, cx.now)?;
    let code = code.as_ref().map(Secret::expose);
    let shown = ShownProof {
        visitor,
        strategy,
        user: Some(&user),
        purpose: ProofPurpose::Reverification,
        challenge: begun,
        code,
        fields,
    };
    let verdict = factor.examine(cx, shown).await?;
    let examined = begun.cloned();
    let judged = run(cx, visitor, id.clone(), move |tx, act, target| {
        Box::pin(
            async move { steps::judge(tx, &act, &target, &*factor, (strategy, examined), verdict).await },
        )
    });
    judged.await
}

async fn attempt_second(
    cx: Cx,
    SessionVisitor(visitor): SessionVisitor,
    Path(id): Path<SessionId>,
    OpenForm(input, fields): OpenForm<AttemptSecondFactor>,
) -> Response {
    let registered = registered_second(&cx, &visitor, &input.strategy);
    let outcome = match (registered, second_strategy(&input.strategy)) {
        (Some(factor), _) => attempt_registered_second(&cx, &visitor, id, factor, input.code, &fields).await,
        (None, Ok(strategy)) => {
            let shown = Shown { strategy, code: input.code, password: None, signature: None };
            attempt(&cx, &visitor, id, WhichFactor::Second, shown).await
        }
        (None, Err(error)) => Err(error),
    };
    answer(&cx, &visitor, outcome).await
}

async fn attempt_registered_second(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    factor: NamedSecondFactor,
    code: Option<Secret>,
    fields: &Map<String, Value>,
) -> Result<ReverificationOutcome> {
    let PresentSession { user, session, .. } = find(cx, visitor, &id).await?;
    let under_way = rules::expected(&session, ReverificationStatus::NeedsSecondFactor)?;
    let (user, challenge) = (&user, under_way.second_factor.as_ref());
    let (strategy, _) = factor;
    let submitted = SubmittedEvidence { visitor, user, challenge, code, fields };
    let evidence = examine_registered(cx, factor, submitted).await?;
    try_evidence(cx, visitor, id, WhichFactor::Second, strategy, evidence).await
}

/// What is slow is done before the transaction, and only for who is signed in here.
async fn attempt(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    turn: WhichFactor,
    shown: Shown,
) -> Result<ReverificationOutcome> {
    let PresentSession { user, .. } = find(cx, visitor, &id).await?;
    let strategy = shown.strategy;
    let evidence = examine(cx, &WorkOwner::user(&user.instance, &user.id), Some(&user), shown).await?;
    try_evidence(cx, visitor, id, turn, strategy, evidence).await
}

async fn try_evidence(
    cx: &Cx,
    visitor: &Visitor,
    id: SessionId,
    turn: WhichFactor,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<ReverificationOutcome> {
    let tried = run(cx, visitor, id, move |tx, act, target| {
        Box::pin(async move { steps::attempt(tx, &act, &target, turn, strategy, evidence).await })
    });
    tried.await
}

/// The session of the client that asks, with its user.
async fn find(cx: &Cx, visitor: &Visitor, id: &SessionId) -> Result<PresentSession> {
    let client = visitor.require_client_of(id)?.id.clone();
    let mut tx = cx.app.db.read().await?;
    let found = store::find_with_user(&mut tx, &visitor.site.instance, id, &visitor.site.settings).await?;
    let mine = found.filter(|found| found.session.client == client);
    mine.ok_or_else(|| Error::not_found("session", id))
}

async fn run<S>(cx: &Cx, visitor: &Visitor, session: SessionId, step: S) -> Result<ReverificationOutcome>
where
    S: for<'a> FnOnce(&'a mut Tx, Act, SessionOnClient) -> TransactionBody<'a, ReverificationOutcome>
        + Send
        + 'static,
{
    let client = visitor.require_client_of(&session)?.id.clone();
    let target = SessionOnClient { session, client, audience: visitor.factor_audience(cx) };
    let act = visitor.act(cx);
    cx.write(move |tx| step(tx, act, target)).await
}

async fn answer(cx: &Cx, visitor: &Visitor, outcome: Result<ReverificationOutcome>) -> Response {
    let outcome = outcome.and_then(|outcome| match outcome.refusal {
        Some(refusal) => Err(refusal),
        None => Ok((outcome.session, outcome.user)),
    });
    let under_way = outcome.and_then(|(session, user)| match session.reverification.clone() {
        Some(under_way) => Ok((under_way, session, user)),
        None => Err(Error::new(Code::SessionReverificationMissing)),
    });
    match (client::load(cx, visitor).await, under_way) {
        (Ok(shown), Ok((under_way, session, user))) => {
            let context = view_context(&visitor.site, cx.now);
            let memberships = client::memberships(shown.as_ref());
            let view = view::reverification(
                &under_way,
                &session,
                &user,
                memberships,
                context,
                visitor.factor_audience(cx),
            );
            visitor.answer_with(cx, shown.as_ref(), Ok(view)).await
        }
        (Ok(shown), Err(error)) => visitor.answer_with::<()>(cx, shown.as_ref(), Err(error)).await,
        (Err(error), _) => visitor.refuse(cx, error).await,
    }
}
