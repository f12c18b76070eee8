//! How proving anew looks on the wire.
#![expect(missing_docs, reason = "wire fields, documented by the published description")]

use schemars::JsonSchema;
use serde::Serialize;

use super::rules;
use crate::resources::challenges::view::{VerificationView, verification};
use crate::resources::factors::model::Factor;
use crate::resources::factors::view::{FactorView, factor};
use crate::resources::sessions::model::{Level, Reverification, ReverificationStatus, Session};
use crate::resources::sessions::view::{self as sessions, FrontendSessionView};
use crate::resources::users::model::User;
use crate::resources::users::view::Lens;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum ReverificationObject {
    #[serde(rename = "session_reverification")]
    It,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionReverification")]
pub struct ReverificationView<'a> {
    object: ReverificationObject,
    level: Level,
    status: ReverificationStatus,
    supported_first_factors: Option<Vec<FactorView>>,
    supported_second_factors: Option<Vec<FactorView>>,
    first_factor_verification: Option<VerificationView>,
    second_factor_verification: Option<VerificationView>,
    session: FrontendSessionView<'a>,
}

pub fn reverification<'a>(
    under_way: &'a Reverification,
    session: &'a Session,
    user: &'a User,
    lens: Lens<'_>,
) -> ReverificationView<'a> {
    let status = under_way.status();
    let shown = |factors: Vec<Factor>, is_asked: bool| {
        let is_shown = is_asked && status != ReverificationStatus::Complete;
        is_shown.then(|| factors.iter().map(factor).collect())
    };
    let first = rules::first_factors(user, lens.settings);
    let second = rules::second_factors(user, lens.settings);
    ReverificationView {
        object: ReverificationObject::It,
        level: under_way.level,
        status,
        supported_first_factors: shown(first, under_way.level != Level::SecondFactor),
        supported_second_factors: shown(second, under_way.level != Level::FirstFactor),
        first_factor_verification: under_way.first_factor.as_ref().map(|it| verification(it, lens.now)),
        second_factor_verification: under_way.second_factor.as_ref().map(|it| verification(it, lens.now)),
        session: sessions::frontend(session, user, None, lens),
    }
}
