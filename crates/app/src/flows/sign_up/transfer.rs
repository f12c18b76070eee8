//! Going on from a sign-in that proved an address nobody has an account with.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use crate::cx::Act;
use crate::resources::challenges::model::Challenge;
use crate::resources::clients::model::Client;
use crate::resources::sign_ins;
use crate::resources::sign_ups::model::{Claimed, SignUp};
use crate::resources::users::model::{Kind, Strategy};

/// Takes over what the sign-in of a client has proven. The sign-in ends with it, so it can be taken over
/// once. The caller saves the client.
pub async fn take_over(
    tx: &mut Tx,
    act: &Act,
    mut client: Client,
    mut sign_up: SignUp,
) -> Result<(Client, SignUp)> {
    let nothing = || Error::new(Code::AccountTransferInvalid);
    let proven = sign_ins::transferable(tx, &client, act.now).await?.ok_or_else(nothing)?;
    let kind = match proven.strategy {
        Strategy::EmailCode | Strategy::EmailLink => Kind::Email,
        Strategy::PhoneCode => Kind::Phone,
        _ => return Err(nothing()),
    };
    let value = proven.target.clone().ok_or_else(nothing)?;
    let verified_at = proven.verified_at.or(Some(act.now));
    // The code was used up by the sign-in; nothing is left to try here.
    let proven = Challenge { transferable: false, secret: None, verified_at, ..proven };
    *sign_up.claimed_mut(kind) = Some(Claimed { verification: Some(proven), ..Claimed::new(value) });
    client.sign_in = None;
    Ok((client, sign_up))
}
