//! Every kind of id and its prefix. Alphabetical and append-only: a prefix, once given out, stays.

use crate::id::{Id, Kind};

/// Declares the kinds: a marker type, its prefix, and the alias code uses.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $alias:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        pub enum $kind {}
        impl Kind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        $(#[$doc])*
        pub type $alias = Id<$kind>;
    )*

        /// All prefixes, for the test that keeps them distinct.
        pub const PREFIXES: &[&str] = &[$($prefix),*];
    };
}

kinds! {
    /// A token that lets one person act as another.
    ActorTokenKind ActorTokenId = "act";
    /// What link tokens of an organization's admin portal lead to.
    AdminPortalLinkKind AdminPortalLinkId = "apl";
    /// An address, number or wallet that may enter.
    AllowlistIdentifierKind AllowlistIdentifierId = "alid";
    /// One that may not.
    BlocklistIdentifierKind BlocklistIdentifierId = "blid";
    /// A browser or device: what holds sessions.
    ClientKind ClientId = "client";
    /// A browser of somebody who develops an app.
    DevBrowserKind DevBrowserId = "dvb";
    /// A domain of an application: its own, or a satellite.
    DomainKind DomainId = "dmn";
    /// Where events are sent.
    WebhookEndpointKind WebhookEndpointId = "ep";
    /// An event row in the outbox.
    EventKind EventId = "msg";
    /// A connected account of a provider.
    ExternalAccountKind ExternalAccountId = "eac";
    /// An e-mail address, phone number, username, wallet or passkey of a user.
    IdentificationKind IdentificationId = "idn";
    /// An uploaded picture.
    ImageKind ImageId = "img";
    /// An instance: one tenant.
    InstanceKind InstanceId = "ins";
    /// An invitation to the application.
    InvitationKind InvitationId = "inv";
    /// A template for tokens with claims of the application's choice.
    JwtTemplateKind JwtTemplateId = "jtmp";
    /// An e-mail or text message to a person.
    MessageKind MessageId = "ema";
    /// An organization.
    OrganizationKind OrganizationId = "org";
    /// A domain whose people an organization takes in.
    OrganizationDomainKind OrganizationDomainId = "orgdmn";
    /// An invitation to an organization.
    OrganizationInvitationKind OrganizationInvitationId = "orginv";
    /// A user's membership in an organization.
    OrganizationMembershipKind OrganizationMembershipId = "orgmem";
    /// What a role of an organization may allow.
    PermissionKind PermissionId = "perm";
    /// A try of a proxy to the Frontend API.
    ProxyCheckKind ProxyCheckId = "proxchk";
    /// A URL that browsers may be sent to.
    RedirectUrlKind RedirectUrlId = "ru";
    /// A role of members of organizations.
    RoleKind RoleId = "role";
    /// The roles that organizations choose from.
    RoleSetKind RoleSetId = "rset";
    /// Members that move to other roles because a role set is replaced.
    RoleSetMigrationKind RoleSetMigrationId = "rsmig";
    /// A secret key of an instance (the record, not the key).
    SecretKeyKind SecretKeyId = "key";
    /// What was last seen of a session.
    SessionActivityKind SessionActivityId = "sess_activity";
    /// A session of a user.
    SessionKind SessionId = "sess";
    /// An attempt to sign in.
    SignInKind SignInId = "sia";
    /// A token that signs a user in once.
    SignInTokenKind SignInTokenId = "sit";
    /// An attempt to sign up.
    SignUpKind SignUpId = "sua";
    /// An organization that a user may ask to join.
    OrganizationSuggestionKind OrganizationSuggestionId = "orgsug";
    /// A template of an instance's messages.
    TemplateKind TemplateId = "tmpl";
    /// A device a user enrolled.
    TrustedDeviceKind TrustedDeviceId = "tdv";
    /// What a device signs to be trusted.
    TrustedDeviceChallengeKind TrustedDeviceChallengeId = "tdc";
    /// A user.
    UserKind UserId = "user";
    /// A one-time code that was sent.
    VerificationKind VerificationId = "ver";
    /// Somebody who asked to be let in.
    WaitlistEntryKind WaitlistEntryId = "wle";
}

#[cfg(test)]
mod tests {
    use super::PREFIXES;

    #[test]
    fn prefixes_are_distinct() {
        let mut sorted = PREFIXES.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), PREFIXES.len());
    }
}
