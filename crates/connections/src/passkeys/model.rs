//! What a passkey is, and what its registration is until it is finished.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, IdentificationId, InstanceId, UserId};
use latchkey_kernel::limits::VERIFICATION_ATTEMPTS;

/// A passkey, as far as its proofs are concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPasskey {
    pub instance: InstanceId,
    /// What the authenticator calls it.
    pub credential_id: Vec<u8>,
    /// How often it was used, if the authenticator counts: with every use it shows a higher number. Those that are
    /// copied between devices always show 0.
    pub counter: i64,
    /// Whether it may be copied to other devices.
    pub backup_eligible: bool,
    /// Whether it was.
    pub backed_up: bool,
    pub updated_at: Time,
    /// The identification by which its user has it.
    pub id: IdentificationId,
    pub user: UserId,
    /// The domain it belongs to.
    pub rp_id: String,
    /// The public key and what else is needed to check proofs, as `ceremony` writes it.
    pub credential: String,
    pub created_at: Time,
}

/// A registration under way.
#[derive(Clone, Debug, PartialEq)]
pub struct PasskeyRegistration {
    pub instance: InstanceId,
    /// The identification it will be.
    pub id: IdentificationId,
    /// Failed attempts.
    pub attempts: i64,
    pub user: UserId,
    /// The browser it was begun in.
    pub client: ClientId,
    /// The domain the passkey will belong to.
    pub rp_id: String,
    /// What it will be called.
    pub name: String,
    /// The options the browser got, as JSON; the challenge is among them.
    pub options: String,
    pub created_at: Time,
    pub expire_at: Time,
}

impl PasskeyRegistration {
    /// Whether nothing can come of it any more, because it was tried too often.
    pub fn is_spent(&self) -> bool {
        self.attempts >= VERIFICATION_ATTEMPTS
    }

    /// Whether it is too late.
    pub fn is_expired(&self, now: Time) -> bool {
        self.expire_at <= now
    }
}
