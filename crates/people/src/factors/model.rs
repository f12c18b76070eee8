//! What a factor is.

use latchkey_base::kinds::{IdentificationId, TrustedDeviceId};
use latchkey_kernel::strategy::Strategy;

use crate::users::model::ContactKind;

/// A way to prove who one is.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The way of proof.
    pub strategy: Strategy,
    /// Where a code or link is sent.
    pub recipient: Option<FactorRecipient>,
    /// The trusted device that signs.
    pub device: Option<TrustedDeviceId>,
}

impl Factor {
    /// A factor that needs no recipient, such as a password.
    pub fn new(strategy: Strategy) -> Factor {
        Factor { strategy, recipient: None, device: None }
    }
}

/// An address or number codes and links are sent to.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorRecipient {
    /// E-mail or phone.
    pub kind: ContactKind,
    /// Which of the user's; none where answers must not tell whether there is a user.
    pub id: Option<IdentificationId>,
    /// The address or number.
    pub value: String,
    /// What is shown of it.
    pub safe_identifier: String,
    /// Whether it is the user's primary one; none like `id`.
    pub is_primary: Option<bool>,
    /// Whether it is the second factor that is asked for first.
    pub is_default: bool,
}
