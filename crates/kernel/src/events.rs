//! What can happen, by the names applications know it under.

/// Writes the list once: the kinds, their names on the wire, and what they mean.
macro_rules! events {
    (emitted { $($(#[doc = $meaning:literal])* $kind:ident = $name:literal;)* }
     feed_only { $($(#[doc = $feed_meaning:literal])* $feed:ident = $feed_name:literal;)* }
     to_come { $($(#[doc = $later_meaning:literal])* $later:ident = $later_name:literal;)* }) => {
        /// A kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $($(#[doc = $meaning])* $kind,)*
            $($(#[doc = $feed_meaning])* $feed,)*
            $($(#[doc = $later_meaning])* $later,)*
        }

        impl Event {
            /// The kinds that webhook endpoints can ask for.
            pub const ALL: &[Event] = &[$(Event::$kind,)* $(Event::$later),*];
            /// The kinds of changes of the configuration. They are in the feed, and no endpoint receives them.
            pub const FEED_ONLY: &[Event] = &[$(Event::$feed),*];

            /// The name on the wire.
            pub fn name(self) -> &'static str {
                match self {
                    $(Event::$kind => $name,)*
                    $(Event::$feed => $feed_name,)*
                    $(Event::$later => $later_name,)*
                }
            }

            /// What has happened, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Event::$kind => concat!($($meaning),*),)*
                    $(Event::$feed => concat!($($feed_meaning),*),)*
                    $(Event::$later => concat!($($later_meaning),*),)*
                }
            }

            /// Whether anything causes it yet.
            pub fn is_emitted(self) -> bool {
                matches!(self, $(Event::$kind)|* | $(Event::$feed)|*)
            }
        }
    };
}

// Kinds of groups that are still to come are known already, so that endpoints can ask for them. A test reads the
// sources and fails when a kind stands in the wrong part.
events! {
    emitted {
        /// An e-mail was written; sent too, unless the application delivers it.
        EmailCreated = "email.created";
        /// A text message was written; sent too, unless the application delivers it.
        SmsCreated = "sms.created";
        /// A user was created.
        UserCreated = "user.created";
        /// A user, or anything that belongs to one, was changed.
        UserUpdated = "user.updated";
        /// A user was deleted.
        UserDeleted = "user.deleted";
        /// A session began, or its last task was done.
        SessionCreated = "session.created";
        /// A session began with something left to do.
        SessionPending = "session.pending";
        /// A user signed out, or another session took this one's place.
        SessionEnded = "session.ended";
        /// A user signed out on a client.
        SessionRemoved = "session.removed";
        /// Somebody else ended a session.
        SessionRevoked = "session.revoked";
        /// An organization was created.
        OrganizationCreated = "organization.created";
        /// An organization was changed.
        OrganizationUpdated = "organization.updated";
        /// An organization was deleted.
        OrganizationDeleted = "organization.deleted";
        /// A user became a member of an organization.
        OrganizationMembershipCreated = "organizationMembership.created";
        /// A membership was changed.
        OrganizationMembershipUpdated = "organizationMembership.updated";
        /// A user is no longer a member of an organization.
        OrganizationMembershipDeleted = "organizationMembership.deleted";
        /// A role was created.
        RoleCreated = "role.created";
        /// A role, or what it may do, was changed.
        RoleUpdated = "role.updated";
        /// A role was deleted.
        RoleDeleted = "role.deleted";
        /// A permission was created.
        PermissionCreated = "permission.created";
        /// A permission was changed.
        PermissionUpdated = "permission.updated";
        /// A permission was deleted.
        PermissionDeleted = "permission.deleted";
        /// Somebody was invited to an organization.
        OrganizationInvitationCreated = "organizationInvitation.created";
        /// Somebody followed an invitation to an organization.
        OrganizationInvitationAccepted = "organizationInvitation.accepted";
        /// An invitation to an organization was taken back.
        OrganizationInvitationRevoked = "organizationInvitation.revoked";
        /// An organization named a domain.
        OrganizationDomainCreated = "organizationDomain.created";
        /// A domain of an organization was changed.
        OrganizationDomainUpdated = "organizationDomain.updated";
        /// A domain was taken from an organization.
        OrganizationDomainDeleted = "organizationDomain.deleted";
        /// Somebody joined the waitlist.
        WaitlistEntryCreated = "waitlistEntry.created";
        /// Somebody on the waitlist was invited or rejected, or has signed up.
        WaitlistEntryUpdated = "waitlistEntry.updated";
        /// An endpoint failed for so long that nothing is sent to it any more. Ours.
        WebhookEndpointDisabled = "webhookEndpoint.disabled";
    }
    feed_only {
        /// Settings of the instance were changed.
        SettingsUpdated = "settings.updated";
        /// A satellite domain was added.
        DomainCreated = "domain.created";
        /// A domain was changed.
        DomainUpdated = "domain.updated";
        /// A satellite domain was deleted.
        DomainDeleted = "domain.deleted";
        /// A redirect URL was listed.
        RedirectUrlCreated = "redirectUrl.created";
        /// A redirect URL was taken off the list.
        RedirectUrlDeleted = "redirectUrl.deleted";
        /// A JWT template was created.
        JwtTemplateCreated = "jwtTemplate.created";
        /// A JWT template was changed.
        JwtTemplateUpdated = "jwtTemplate.updated";
        /// A JWT template was deleted.
        JwtTemplateDeleted = "jwtTemplate.deleted";
        /// The template of an e-mail or text message was changed, or one of its variants for locales.
        MessageTemplateUpdated = "messageTemplate.updated";
        /// The template of an e-mail or text message got its default again.
        MessageTemplateReverted = "messageTemplate.reverted";
        /// An identifier was put on the allow-list.
        AllowlistIdentifierCreated = "allowlistIdentifier.created";
        /// An identifier was taken off the allow-list.
        AllowlistIdentifierDeleted = "allowlistIdentifier.deleted";
        /// An identifier was put on the block-list.
        BlocklistIdentifierCreated = "blocklistIdentifier.created";
        /// An identifier was taken off the block-list.
        BlocklistIdentifierDeleted = "blocklistIdentifier.deleted";
        /// A webhook endpoint was created.
        WebhookEndpointCreated = "webhookEndpoint.created";
        /// A webhook endpoint was changed, enabled or disabled.
        WebhookEndpointUpdated = "webhookEndpoint.updated";
        /// A webhook endpoint was deleted.
        WebhookEndpointDeleted = "webhookEndpoint.deleted";
        /// A webhook endpoint got another signing secret.
        WebhookSecretRotated = "webhookSecret.rotated";
        /// A further secret key of the instance was created.
        SecretKeyCreated = "secretKey.created";
        /// A secret key of the instance was revoked.
        SecretKeyRevoked = "secretKey.revoked";
    }
    to_come {
        /// A subscription was created.
        SubscriptionCreated = "subscription.created";
        /// A subscription was changed.
        SubscriptionUpdated = "subscription.updated";
        /// A subscription became active.
        SubscriptionActive = "subscription.active";
        /// A subscription was not paid in time.
        SubscriptionPastDue = "subscription.pastDue";
        /// An item of a subscription became active.
        SubscriptionItemActive = "subscriptionItem.active";
        /// An item of a subscription was changed.
        SubscriptionItemUpdated = "subscriptionItem.updated";
        /// An item of a subscription was cancelled.
        SubscriptionItemCanceled = "subscriptionItem.canceled";
        /// An item of a subscription will begin later.
        SubscriptionItemUpcoming = "subscriptionItem.upcoming";
        /// An item of a subscription ended.
        SubscriptionItemEnded = "subscriptionItem.ended";
        /// An item of a subscription was given up.
        SubscriptionItemAbandoned = "subscriptionItem.abandoned";
        /// An item of a subscription waits for its payment.
        SubscriptionItemIncomplete = "subscriptionItem.incomplete";
        /// An item of a subscription was not paid in time.
        SubscriptionItemPastDue = "subscriptionItem.pastDue";
        /// The free trial of an item ends soon.
        SubscriptionItemFreeTrialEnding = "subscriptionItem.freeTrialEnding";
        /// A payment was tried.
        PaymentAttemptCreated = "paymentAttempt.created";
        /// A payment went through or failed.
        PaymentAttemptUpdated = "paymentAttempt.updated";
    }
}

impl Event {
    /// The kind of this name, if webhook endpoints can ask for it.
    pub fn parse(name: &str) -> Option<Event> {
        Event::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns whether events of this name are in the feed only.
    pub fn is_feed_only(name: &str) -> bool {
        Event::FEED_ONLY.iter().any(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_and_a_meaning_of_its_own() {
        for kind in Event::ALL {
            assert_eq!(Event::parse(kind.name()), Some(*kind));
            assert!(kind.meaning().ends_with('.'), "{}", kind.name());
        }
        assert_eq!(Event::parse("user.created "), None);
    }

    #[test]
    fn changes_of_the_configuration_are_in_the_feed_only() {
        for kind in Event::FEED_ONLY {
            assert!(Event::is_feed_only(kind.name()) && kind.meaning().ends_with('.'), "{}", kind.name());
            assert_eq!(Event::parse(kind.name()), None);
        }
        assert!(!Event::is_feed_only("user.created"));
    }
}
