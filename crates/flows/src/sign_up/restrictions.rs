//! Who may sign up, by the lists and by what others have: what has to be looked up.

use latchkey_base::{Error, Problem, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_people::restrictions::check::{HeldIdentifier, alias_problem, listed_problems};
use latchkey_people::restrictions::rules::unlisted;
use latchkey_people::users::model::ContactKind;
use latchkey_presence::sign_ups::fields::needs_proof;
use latchkey_presence::sign_ups::model::SignUp;

use super::rules;

/// Refuses an attempt with something that may not enter. The address that the application invited itself needs no place
/// on the allow-list. What is proven, or must be before the attempt is complete, decides
/// alone: a listed number that is only typed lets nobody in with an address that is not listed.
pub async fn check(tx: &mut Tx, act: &Act, sign_up: &SignUp) -> Result<()> {
    rules::accepted(sign_up, &act.settings, act.test_mode)?;
    let held = rules::contacts_of(sign_up);
    let held: Vec<_> = held.iter().map(|(kind, value)| identifier(sign_up, *kind, value, act)).collect();
    let invited = sign_up.application_invitation.as_ref().map(|_| ContactKind::Email);
    let problems = listed_problems(tx, &act.instance, &act.settings, &held, invited).await?;
    let problems = problems.into_iter().flatten().map(|problem| told(problem, sign_up));
    Error::collect(problems.collect())
}

/// Whoever follows an invitation sees a page without a field for the address: a refusal of that would be shown nowhere.
fn told(mut problem: Problem, sign_up: &SignUp) -> Problem {
    let is_of_address = problem.meta.get("param_name").is_some_and(|name| name == ContactKind::Email.name());
    if sign_up.is_invited && is_of_address {
        problem.meta.remove("param_name");
    }
    problem
}

fn identifier<'a>(sign_up: &SignUp, kind: ContactKind, value: &'a str, act: &Act) -> HeldIdentifier<'a> {
    let is_verified = sign_up.claimed(kind).is_some_and(|claimed| claimed.is_verified());
    let counts_as_proven = is_verified || needs_proof(sign_up, kind, &act.settings);
    HeldIdentifier { identifier: (kind, value), counts_as_proven }
}

/// The same for an attempt that is complete otherwise: it has to have something that can stand on the allow-list.
pub async fn check_complete(tx: &mut Tx, act: &Act, sign_up: &SignUp) -> Result<()> {
    check(tx, act, sign_up).await?;
    if act.settings.has_allowlist() && rules::contacts_of(sign_up).is_empty() {
        return Err(unlisted().into());
    }
    let mut problems = Vec::new();
    for (kind, value) in rules::contacts_of(sign_up) {
        let alias = alias_problem(tx, &act.instance, &act.settings, (kind, &value)).await?;
        problems.extend(alias.map(|problem| told(problem, sign_up)));
    }
    Error::collect(problems)
}

/// Which addresses are another spelling of somebody else's, as far as that may be told.
pub async fn aliases(tx: &mut Tx, act: &Act, sign_up: &SignUp) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (kind, value) in rules::tellable_contacts(sign_up, &act.settings) {
        problems.extend(alias_problem(tx, &act.instance, &act.settings, (kind, &value)).await?);
    }
    Ok(problems)
}
