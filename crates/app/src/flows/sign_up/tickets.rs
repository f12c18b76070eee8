//! Tickets that let people sign up though not everybody may. Invitations will hand them out; until they
//! exist, no ticket is valid.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use crate::cx::Act;
use crate::resources::sign_ups::model::SignUp;

/// Lets an attempt in by a ticket: what the ticket says about the person becomes part of it.
pub async fn admit(_: &mut Tx, _: &Act, _: SignUp, _ticket: &str) -> Result<SignUp> {
    Err(Error::param(Code::TicketInvalid, "ticket"))
}
