//! THE list of system templates, in the order of their positions. Slugs are those the SDKs' users know.
//!
//! Left out are the published ones about billing and those addressed to whoever runs the service.

use crate::model::{Block, Channel, System};

const REQUESTED: Block = Block::Facts(&[("Asked for from", "requested_from"), ("Time", "requested_at")]);
const NOT_YOU: Block = Block::Note(
    "If this was not you, change your password and look through your account\
     {{#if support_email}}, or write to {{support_email}}{{/if}}.",
);
const IGNORE: Block =
    Block::Note("If you did not ask for this, you can ignore this e-mail. Nothing will happen.");

const CODE: &[&str] = &["otp_code", "ttl_minutes", "requested_from", "requested_at", "requested_by"];
const LINK: &[&str] = &["magic_link", "ttl_minutes", "requested_from", "requested_at", "requested_by"];
const NOTICE: &[&str] =
    &["greeting_name", "primary_email_address", "requested_from", "requested_at", "support_email"];
const INVITATION: &[&str] = &[
    "action_url",
    "inviter_name",
    "inviter.name",
    "invitation.expires_in_days",
    "invitation.public_metadata",
    "support_email",
];
const ORGANIZATION: &[&str] = &[
    "action_url",
    "inviter_name",
    "inviter.name",
    "org.name",
    "org.logo_image_url",
    "org.public_metadata",
    "invitation.expires_in_days",
    "invitation.public_metadata",
    "support_email",
];

/// What most templates have in common.
const PLAIN: System = System {
    channel: Channel::Email,
    slug: "",
    name: "",
    subject: "",
    title: "",
    blocks: &[],
    variables: NOTICE,
    required: &[],
    is_notice: true,
};

/// Every template.
pub const ALL: &[System] = &[
    System {
        slug: "verification_code",
        name: "Verification code",
        subject: "{{otp_code}} is your {{app.name}} verification code",
        title: "Your verification code",
        blocks: &[
            Block::Text(
                "Enter this code to continue to {{app.name}}. It is good for {{ttl_minutes}} minutes.",
            ),
            Block::Code,
            Block::Text(
                "Do not share this code with anybody. Nobody at {{app.name}} will ever ask you for it.",
            ),
            REQUESTED,
            IGNORE,
        ],
        variables: CODE,
        required: &["otp_code"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "reset_password_code",
        name: "Reset password code",
        subject: "{{otp_code}} is your {{app.name}} password reset code",
        title: "Choose a new password",
        blocks: &[
            Block::Text(
                "Enter this code at {{app.name}} to choose a new password. It is good for {{ttl_minutes}} minutes.",
            ),
            Block::Code,
            Block::Text("Do not share this code with anybody: whoever has it can take over your account."),
            REQUESTED,
            Block::Note(
                "If you did not ask for it, somebody else did. Your password is unchanged, and you need not do anything.",
            ),
        ],
        variables: CODE,
        required: &["otp_code"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "magic_link_sign_in",
        name: "Email link - Sign in",
        subject: "Sign in to {{app.name}}",
        title: "Sign in to {{app.name}}",
        blocks: &[
            Block::Text("Use this button to sign in. It works for {{ttl_minutes}} minutes."),
            Block::Button("Sign in", "magic_link"),
            REQUESTED,
            IGNORE,
        ],
        variables: LINK,
        required: &["magic_link"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "magic_link_sign_up",
        name: "Email link - Sign up",
        subject: "Confirm your e-mail address for {{app.name}}",
        title: "Welcome to {{app.name}}",
        blocks: &[
            Block::Text(
                "Confirm that this is your e-mail address to finish signing up. The button works for {{ttl_minutes}} minutes.",
            ),
            Block::Button("Confirm and continue", "magic_link"),
            REQUESTED,
            IGNORE,
        ],
        variables: LINK,
        required: &["magic_link"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "magic_link_user_profile",
        name: "Email link - Verify email",
        subject: "Confirm your e-mail address for {{app.name}}",
        title: "Confirm your e-mail address",
        blocks: &[
            Block::Text(
                "Confirm that this address is yours, and it is added to your {{app.name}} account. The button works for {{ttl_minutes}} minutes.",
            ),
            Block::Button("Confirm address", "magic_link"),
            REQUESTED,
            IGNORE,
        ],
        variables: LINK,
        required: &["magic_link"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "invitation",
        name: "Invitation",
        subject: "You are invited to {{app.name}}",
        title: "You are invited",
        blocks: &[
            Block::Text(
                "{{#if inviter_name}}{{inviter_name}} invites you{{else}}You are invited{{/if}} to join {{app.name}}.",
            ),
            Block::Button("Accept the invitation", "action_url"),
            Block::Note(
                "{{#if invitation.expires_in_days}}The invitation is good for {{invitation.expires_in_days}} days. {{/if}}If you did not expect it, you can ignore this e-mail.",
            ),
        ],
        variables: INVITATION,
        required: &["action_url"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "organization_invitation",
        name: "Organization invitation",
        subject: "You are invited to {{org.name}} at {{app.name}}",
        title: "Join {{org.name}}",
        blocks: &[
            Block::Text(
                "{{#if inviter_name}}{{inviter_name}} invites you{{else}}You are invited{{/if}} to join {{org.name}} at {{app.name}}.",
            ),
            Block::Button("Join {{org.name}}", "action_url"),
            Block::Note(
                "{{#if invitation.expires_in_days}}The invitation is good for {{invitation.expires_in_days}} days. {{/if}}If you did not expect it, you can ignore this e-mail.",
            ),
        ],
        variables: ORGANIZATION,
        required: &["action_url"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "organization_invitation_accepted",
        name: "Organization invitation accepted",
        subject: "{{email_address}} joined {{org.name}}",
        title: "A new member of {{org.name}}",
        blocks: &[Block::Text(
            "{{email_address}} accepted the invitation and is a member of {{org.name}} at {{app.name}} now.",
        )],
        variables: &[
            "email_address",
            "org.name",
            "org.logo_image_url",
            "org.public_metadata",
            "action_url",
            "support_email",
        ],
        ..PLAIN
    },
    System {
        slug: "organization_membership_requested",
        name: "Organization membership requested",
        subject: "{{email_address}} asks to join {{org.name}}",
        title: "Somebody asks to join {{org.name}}",
        blocks: &[Block::Text(
            "{{email_address}} asks to become a member of {{org.name}} at {{app.name}}. Admit or refuse them in the settings of the organization.",
        )],
        variables: &[
            "email_address",
            "org.name",
            "org.logo_image_url",
            "org.public_metadata",
            "action_url",
            "support_email",
        ],
        ..PLAIN
    },
    System {
        slug: "affiliation_code",
        name: "Affiliation code",
        subject: "{{otp_code}} is the code for {{org.name}}",
        title: "Confirm the domain of {{org.name}}",
        blocks: &[
            Block::Text(
                "Enter this code at {{app.name}} to show that {{org.name}} uses this domain. It is good for {{ttl_minutes}} minutes.",
            ),
            Block::Code,
            REQUESTED,
            IGNORE,
        ],
        variables: &[
            "otp_code",
            "ttl_minutes",
            "requested_from",
            "requested_at",
            "requested_by",
            "org.name",
            "org.logo_image_url",
        ],
        required: &["otp_code"],
        is_notice: false,
        ..PLAIN
    },
    System {
        slug: "password_changed",
        name: "Password changed",
        subject: "Your {{app.name}} password was changed",
        title: "Your password was changed",
        blocks: &[
            Block::Greeting,
            Block::Text("The password of your {{app.name}} account was just changed."),
            Block::Facts(&[
                ("Account", "primary_email_address"),
                ("Changed from", "requested_from"),
                ("Time", "requested_at"),
            ]),
            Block::Note(
                "If this was not you, choose a new password at once{{#if support_email}} and write to {{support_email}}{{/if}}.",
            ),
        ],
        ..PLAIN
    },
    System {
        slug: "password_removed",
        name: "Password removed",
        subject: "Your {{app.name}} password was removed",
        title: "Your password was removed",
        blocks: &[
            Block::Greeting,
            Block::Text(
                "Your {{app.name}} account has no password any more. You sign in by the other ways you have set up.",
            ),
            Block::Facts(&[
                ("Account", "primary_email_address"),
                ("Removed from", "requested_from"),
                ("Time", "requested_at"),
            ]),
            NOT_YOU,
        ],
        ..PLAIN
    },
    System {
        slug: "primary_email_address_changed",
        name: "Primary email address changed",
        subject: "Your {{app.name}} e-mail address was changed",
        title: "Your e-mail address was changed",
        blocks: &[
            Block::Greeting,
            Block::Text(
                "The primary e-mail address of your {{app.name}} account is another one now. Messages about your account go there from now on.",
            ),
            Block::Facts(&[
                ("New address", "new_email_address"),
                ("Changed from", "requested_from"),
                ("Time", "requested_at"),
            ]),
            NOT_YOU,
        ],
        variables: &[
            "greeting_name",
            "primary_email_address",
            "new_email_address",
            "requested_from",
            "requested_at",
            "support_email",
        ],
        ..PLAIN
    },
    System {
        slug: "new_device_sign_in",
        name: "Sign in from new device",
        subject: "New sign-in to {{app.name}}",
        title: "Sign-in from a new device",
        blocks: &[
            Block::Greeting,
            Block::Text(
                "Somebody signed in to your {{app.name}} account on a device it was not used on before.",
            ),
            Block::Facts(&[
                ("Account", "primary_email_address"),
                ("Device", "device_type"),
                ("Browser", "browser_name"),
                ("IP address", "ip_address"),
                ("Method", "sign_in_method"),
                ("Time", "session_created_at"),
            ]),
            Block::Note(
                "If this was you, there is nothing to do. If not, change your password and end the session in your account\
                 {{#if support_email}}, or write to {{support_email}}{{/if}}.",
            ),
        ],
        variables: &[
            "greeting_name",
            "primary_email_address",
            "device_type",
            "browser_name",
            "operating_system",
            "ip_address",
            "location",
            "sign_in_method",
            "session_created_at",
            "revoke_session_url",
            "support_email",
        ],
        ..PLAIN
    },
    System {
        slug: "account_locked",
        name: "Account locked",
        subject: "Your {{app.name}} account is locked",
        title: "Your account is locked",
        blocks: &[
            Block::Greeting,
            Block::Text(
                "After {{failed_attempts}} failed attempts to sign in, nobody can sign in to your {{app.name}} account for now{{#if lockout_duration}}: it opens again in {{lockout_duration}}{{/if}}.",
            ),
            Block::Facts(&[("Account", "primary_email_address"), ("Locked", "locked_date")]),
            Block::Note(
                "If this was not you, somebody tried to guess your password. Choose a better one once you can sign in again\
                 {{#if support_email}}, or write to {{support_email}}{{/if}}.",
            ),
        ],
        variables: &[
            "greeting_name",
            "primary_email_address",
            "failed_attempts",
            "lockout_duration",
            "locked_date",
            "support_email",
        ],
        ..PLAIN
    },
    System {
        slug: "mfa_enabled",
        name: "Two-step verification enabled",
        subject: "Two-step verification is on for {{app.name}}",
        title: "Two-step verification is on",
        blocks: &[
            Block::Greeting,
            Block::Text("From now on, signing in to your {{app.name}} account takes a second step."),
            Block::Facts(&[
                ("Account", "primary_email_address"),
                ("Changed from", "requested_from"),
                ("Time", "requested_at"),
            ]),
            NOT_YOU,
        ],
        ..PLAIN
    },
    System {
        slug: "passkey_added",
        name: "Passkey added",
        subject: "A passkey was added to your {{app.name}} account",
        title: "A passkey was added",
        blocks: &[
            Block::Greeting,
            Block::Text("A passkey was added to your {{app.name}} account. Whoever holds it can sign in."),
            Block::Facts(&[("Passkey", "passkey_name"), ("Account", "primary_email_address")]),
            NOT_YOU,
        ],
        variables: &[
            "greeting_name",
            "primary_email_address",
            "passkey_name",
            "requested_from",
            "requested_at",
            "support_email",
        ],
        ..PLAIN
    },
    System {
        slug: "passkey_removed",
        name: "Passkey removed",
        subject: "A passkey was removed from your {{app.name}} account",
        title: "A passkey was removed",
        blocks: &[
            Block::Greeting,
            Block::Text(
                "A passkey was removed from your {{app.name}} account. It cannot be used to sign in any more.",
            ),
            Block::Facts(&[("Passkey", "passkey_name"), ("Account", "primary_email_address")]),
            NOT_YOU,
        ],
        variables: &[
            "greeting_name",
            "primary_email_address",
            "passkey_name",
            "requested_from",
            "requested_at",
            "support_email",
        ],
        ..PLAIN
    },
    System {
        slug: "waitlist_confirmation",
        name: "Waitlist confirmation",
        subject: "You are on the waitlist of {{app.name}}",
        title: "You are on the list",
        blocks: &[Block::Text(
            "Thank you for your interest in {{app.name}}. You are on the waitlist, and we write to you once there is a place.",
        )],
        variables: &["support_email"],
        ..PLAIN
    },
    System {
        slug: "waitlist_invitation",
        name: "Waitlist invitation",
        subject: "Your place at {{app.name}} is ready",
        title: "Your place is ready",
        blocks: &[
            Block::Text("Thank you for waiting. You can join {{app.name}} now."),
            Block::Button("Join now", "action_url"),
            Block::Note(
                "{{#if invitation.expires_in_days}}The invitation is good for {{invitation.expires_in_days}} days. {{/if}}If you did not ask for it, you can ignore this e-mail.",
            ),
        ],
        variables: INVITATION,
        required: &["action_url"],
        is_notice: false,
        ..PLAIN
    },
    System {
        channel: Channel::Sms,
        slug: "verification_code",
        name: "Verification code",
        title: "{{otp_code}} is your {{app.name}} verification code. Do not share it.{{#if app.domain_name}}\n\n@{{app.domain_name}} #{{otp_code}}{{/if}}",
        variables: CODE,
        required: &["otp_code"],
        is_notice: false,
        ..PLAIN
    },
    System {
        channel: Channel::Sms,
        slug: "reset_password_code",
        name: "Reset password code",
        title: "{{otp_code}} is your {{app.name}} password reset code. Do not share it.{{#if app.domain_name}}\n\n@{{app.domain_name}} #{{otp_code}}{{/if}}",
        variables: CODE,
        required: &["otp_code"],
        is_notice: false,
        ..PLAIN
    },
    System {
        channel: Channel::Sms,
        slug: "password_changed",
        name: "Password changed",
        title: "Your {{app.name}} password was changed. If this was not you, choose a new one at once.",
        ..PLAIN
    },
    System {
        channel: Channel::Sms,
        slug: "password_removed",
        name: "Password removed",
        title: "Your {{app.name}} password was removed. If this was not you, look through your account at once.",
        ..PLAIN
    },
    System {
        channel: Channel::Sms,
        slug: "account_locked",
        name: "Account locked",
        title: "Your {{app.name}} account is locked after {{failed_attempts}} failed attempts to sign in.",
        variables: &["greeting_name", "failed_attempts", "lockout_duration", "locked_date", "support_email"],
        ..PLAIN
    },
];

/// What stands above the address of a button.
pub const BUTTON_HINT: &str = "The button does not work? Copy this address into your browser:";

/// The templates of a channel, in order.
pub fn of(channel: Channel) -> impl Iterator<Item = &'static System> {
    ALL.iter().filter(move |system| system.channel == channel)
}

/// The template of this name.
pub fn find(channel: Channel, slug: &str) -> Option<&'static System> {
    of(channel).find(|system| system.slug == slug)
}

/// Where a template stands in the list of its channel.
pub fn position(system: &System) -> usize {
    of(system.channel).position(|other| other.slug == system.slug).unwrap_or_default()
}
