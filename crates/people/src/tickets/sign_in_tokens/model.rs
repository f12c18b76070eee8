//! What a sign-in token is.

use latchkey_base::kinds::{OrganizationId, SignInTokenId};

use crate::tickets::model::Grant;

/// A token that signs a user in once.
#[derive(Clone, Debug, PartialEq)]
pub struct SignInToken {
    pub id: SignInTokenId,
    /// Whom it signs in, and whether it still does.
    pub grant: Grant,
    /// The organization that the session begins with.
    pub organization: Option<OrganizationId>,
}
