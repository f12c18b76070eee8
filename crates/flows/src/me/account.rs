//! The account that is changed, and the answer with it.

use axum::response::Response;
use latchkey_base::Result;
use latchkey_door::client::{self, view_context};
use latchkey_door::person::Person;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::change::{UserTarget, with_secrets};
use latchkey_people::users::credentials::Credentials;
use latchkey_people::users::model::User;
use latchkey_people::users::view as users;

/// Changes the account of somebody who has proven lately who they are, by a rule that also says what to tell.
pub(super) async fn change<R, T>(cx: &Cx, person: &Person, rule: R) -> Result<T>
where
    R: FnOnce(User, Credentials, &Settings) -> Result<(User, Credentials, T)> + Send + 'static,
    T: Send + 'static,
{
    person.check_reverified(cx.now)?;
    let (act, target) = (person.visitor.act(cx), target(person));
    let written = cx.write(move |tx| {
        Box::pin(async move {
            with_secrets(tx, &act, &target, |user, held| rule(user, held, &act.settings)).await
        })
    });
    Ok(written.await?.1)
}

/// The person whose account is changed.
pub(super) fn target(person: &Person) -> UserTarget {
    UserTarget::User(person.user.id.clone())
}

/// Answers with the user as they are now.
pub async fn show(cx: &Cx, person: &Person, outcome: Result<User>) -> Response {
    let visitor = &person.visitor;
    match (client::load(cx, visitor).await, outcome) {
        (Ok(shown), Ok(user)) => {
            let context = view_context(&visitor.site, cx.now);
            let memberships = client::memberships(shown.as_ref());
            let view = users::frontend(&user, memberships.of(&user, context), context);
            visitor.answer_with(cx, shown.as_ref(), Ok(view)).await
        }
        (Ok(shown), Err(error)) => visitor.answer_with::<()>(cx, shown.as_ref(), Err(error)).await,
        (Err(error), _) => visitor.refuse(cx, error).await,
    }
}
