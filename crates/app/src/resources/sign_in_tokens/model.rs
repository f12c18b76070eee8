//! What a sign-in token is.

use latchkey_base::kinds::SignInTokenId;

use crate::resources::tickets::model::Grant;

/// A token that signs a user in once.
#[derive(Clone, Debug, PartialEq)]
pub struct SignInToken {
    /// Its id.
    pub id: SignInTokenId,
    /// Whom it signs in, and whether it still does.
    pub grant: Grant,
}
