//! Going on from a sign-in that proved an address, or somebody, nobody has an account with.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::identifications::rules::checked;
use latchkey_people::users::model::ContactKind;
use latchkey_presence::clients::model::Client;
use latchkey_presence::sign_ins;
use latchkey_presence::sign_ups::model::{Claimed, SignUp};

use super::accounts;

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
    let verified_at = proven.verified_at.or(Some(act.now));
    // The code was used up by the sign-in; nothing is left to try here.
    let newcomer = proven.newcomer.clone();
    let proven = Challenge { transferable: false, secret: None, verified_at, newcomer: None, ..proven };
    let contacts = match (proven.strategy, newcomer) {
        (Strategy::EmailCode | Strategy::EmailLink, _) => vec![(ContactKind::Email, proven.target.clone())],
        (Strategy::PhoneCode, _) => vec![(ContactKind::Phone, proven.target.clone())],
        (Strategy::Registered(_), Some(newcomer)) if newcomer.account.is_some() => {
            let proof = Challenge { newcomer: Some(newcomer), failure: None, ..proven };
            client.sign_in = None;
            return Ok((client, Box::pin(accounts::filled(tx, act, sign_up, proof)).await?));
        }
        (strategy, _) if strategy.is_wallet() => vec![(ContactKind::Wallet, proven.target.clone())],
        (Strategy::Registered(_), Some(newcomer)) => {
            sign_up.first_name = newcomer.first_name;
            sign_up.last_name = newcomer.last_name;
            vec![(ContactKind::Email, newcomer.email_address), (ContactKind::Phone, newcomer.phone_number)]
        }
        _ => return Err(nothing()),
    };
    let mut contacts = contacts.into_iter().filter_map(|(kind, value)| Some((kind, value?))).peekable();
    contacts.peek().ok_or_else(nothing)?;
    for (kind, value) in contacts {
        // What a group above found out may be written in any way.
        let value = checked(kind, &value)?;
        let verification = Some(Challenge { target: Some(value.clone()), ..proven.clone() });
        *sign_up.claimed_mut(kind) = Some(Claimed { verification, ..Claimed::new(value) });
    }
    client.sign_in = None;
    Ok((client, sign_up))
}
