//! What the links of invitations lead to, whoever invites: the application or an organization.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Act;
use latchkey_people::users::model::{ContactKind, User};
use latchkey_people::users::store as users;
use latchkey_presence::sessions::store as sessions;

/// What the link of an invitation leads to.
pub struct FollowedLink {
    /// Where the invitation says that the link leads.
    pub redirect_url: Option<String>,
    pub next: NextStep,
}

/// What is left to do for whoever opened the link of an invitation.
pub enum NextStep {
    /// There is an account with the address.
    SignIn,
    /// There is none.
    SignUp,
    /// There is none, and the ticket is of no use any more.
    SignUpWithoutTicket,
    /// They are signed in, and have what they were invited to.
    Nothing,
}

impl NextStep {
    /// For whoever is not signed in: whether there is an account with the invited address.
    pub async fn with_account(tx: &mut Tx, act: &Act, address: &str) -> Result<NextStep> {
        let is_held = users::is_held(tx, &act.instance, ContactKind::Email.name(), address).await?;
        Ok(if is_held { NextStep::SignIn } else { NextStep::SignUp })
    }
}

/// Who is signed in on the client of a visitor and is invited. Whoever acts as them is not them.
pub async fn present(
    tx: &mut Tx,
    act: &Act,
    visitor: &Visitor,
    is_invited: impl Fn(&User) -> bool,
) -> Result<Option<User>> {
    let Some(client) = visitor.client_id() else { return Ok(None) };
    let live = sessions::live_of_client(tx, &act.instance, &client, &act.settings, act.now).await?;
    let themselves = live.into_iter().filter(|present| present.session.actor.is_none());
    Ok(themselves.map(|present| present.user).find(|user| is_invited(user)))
}

/// Somebody who was [`present`], locked: they may have lost the invited address since.
pub async fn lock(tx: &mut Tx, act: &Act, user: &User, is_invited: impl Fn(&User) -> bool) -> Result<User> {
    let user = users::lock(tx, &act.instance, &user.id).await?;
    user.filter(|user| is_invited(user)).ok_or_else(|| Error::new(Code::SignedOut))
}

/// Who has the invited address, locked, to follow the invitation by signing in. `missing` says that there is nobody.
///
/// An account that only reserves the address is not entered: whoever made it may be a stranger, who would join with the
/// one who is invited, and know the password of their account.
pub async fn lock_holder(
    tx: &mut Tx,
    act: &Act,
    address: &str,
    missing: Code,
    is_invited: impl Fn(&User) -> bool,
) -> Result<User> {
    let user = users::lock_by_identifier(tx, &act.instance, ContactKind::Email.name(), address).await?;
    let user = user.ok_or_else(|| Error::new(missing))?;
    if !is_invited(&user) {
        return Err(Error::param(Code::FormVerificationNeeded, "ticket").saying(
            "There is an account with the invited address that has not proven it. Sign in to it, verify the address, and accept the invitation there.",
        ));
    }
    Ok(user)
}
