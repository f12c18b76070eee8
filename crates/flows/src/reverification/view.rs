//! How proving anew looks on the wire.

use latchkey_kernel::object;
use latchkey_people::challenges::view::{ChallengeView, verification};
use latchkey_people::factors::audience::FactorAudience;
use latchkey_people::factors::model::Factor;
use latchkey_people::factors::rules as factors;
use latchkey_people::factors::view::{FactorView, factor};
use latchkey_people::users::model::User;
use latchkey_people::users::view::ViewContext;
use latchkey_presence::sessions::model::{Level, Reverification, ReverificationStatus, Session};
use latchkey_presence::sessions::own_memberships::OwnMemberships;
use latchkey_presence::sessions::view as sessions;
use latchkey_presence::sessions::view::FrontendSessionView;
use schemars::JsonSchema;
use serde::Serialize;

use super::rules;

object!(ReverificationObject, "session_reverification");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionReverification")]
pub struct ReverificationView<'a> {
    object: ReverificationObject,
    level: Level,
    status: ReverificationStatus,
    supported_first_factors: Option<Vec<FactorView>>,
    supported_second_factors: Option<Vec<FactorView>>,
    first_factor_verification: Option<ChallengeView>,
    second_factor_verification: Option<ChallengeView>,
    session: FrontendSessionView<'a>,
}

pub fn reverification<'a>(
    under_way: &'a Reverification,
    session: &'a Session,
    user: &'a User,
    memberships: &'a OwnMemberships,
    context: ViewContext<'_>,
    audience: FactorAudience,
) -> ReverificationView<'a> {
    let status = under_way.status();
    let shown = |all: Vec<Factor>, is_asked: bool| {
        let is_shown = is_asked && status != ReverificationStatus::Complete;
        is_shown.then(|| all.iter().map(factor).collect())
    };
    let usable = |all: Vec<Factor>| factors::usable_at(all, user, context.relying_party);
    let first = usable(rules::first_factors(user, context.settings, audience));
    let second = usable(rules::second_factors(under_way, user, context.settings, audience));
    ReverificationView {
        object: ReverificationObject::It,
        level: under_way.level,
        status,
        supported_first_factors: shown(first, under_way.level != Level::SecondFactor),
        supported_second_factors: shown(second, under_way.level != Level::FirstFactor),
        first_factor_verification: under_way.first_factor.as_ref().map(|it| verification(it, context.now)),
        second_factor_verification: under_way.second_factor.as_ref().map(|it| verification(it, context.now)),
        session: sessions::frontend(session, user, None, memberships, context),
    }
}
