//! What can happen, by the names applications know it under.

/// Writes the list once: the kinds, their names on the wire, and what they mean.
macro_rules! events {
    (emitted { $($(#[doc = $meaning:literal])* $kind:ident = $name:literal;)* }
     to_come { $($(#[doc = $later_meaning:literal])* $later:ident = $later_name:literal;)* }) => {
        /// A kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $($(#[doc = $meaning])* $kind,)*
            $($(#[doc = $later_meaning])* $later,)*
        }

        impl Event {
            pub const ALL: &[Event] = &[$(Event::$kind,)* $(Event::$later),*];

            /// The name on the wire.
            pub fn name(self) -> &'static str {
                match self {
                    $(Event::$kind => $name,)*
                    $(Event::$later => $later_name,)*
                }
            }

            /// What has happened, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Event::$kind => concat!($($meaning),*),)*
                    $(Event::$later => concat!($($later_meaning),*),)*
                }
            }

            /// Whether anything causes it yet.
            pub fn is_emitted(self) -> bool {
                matches!(self, $(Event::$kind)|*)
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
    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Event> {
        Event::ALL.iter().copied().find(|kind| kind.name() == name)
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
}
