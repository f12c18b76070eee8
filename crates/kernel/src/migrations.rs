//! The steps of the schema, in order. Append only; a shipped file never changes.

use latchkey_db::Migration;

/// What SQLite's writer does before each commit.
pub const BEFORE_COMMIT: &str = include_str!("../../../migrations/before_commit.sqlite.sql");

/// Every step.
pub const ALL: &[Migration] = &[
    Migration {
        name: "0001_instances",
        common: include_str!("../../../migrations/0001_instances.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0002_users",
        common: include_str!("../../../migrations/0002_users.sql"),
        sqlite: include_str!("../../../migrations/0002_users.sqlite.sql"),
        postgres: include_str!("../../../migrations/0002_users.postgres.sql"),
    },
    Migration {
        name: "0003_outbox",
        common: include_str!("../../../migrations/0003_outbox.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0004_sessions",
        common: include_str!("../../../migrations/0004_sessions.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0005_jwt_templates",
        common: include_str!("../../../migrations/0005_jwt_templates.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0006_tokens",
        common: include_str!("../../../migrations/0006_tokens.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0007_events",
        common: include_str!("../../../migrations/0007_events.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0008_messages",
        common: include_str!("../../../migrations/0008_messages.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0009_satellites",
        common: include_str!("../../../migrations/0009_satellites.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0010_orders",
        common: include_str!("../../../migrations/0010_orders.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0011_texts",
        common: include_str!("../../../migrations/0011_texts.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0012_handshakes",
        common: include_str!("../../../migrations/0012_handshakes.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0013_safe_defaults",
        common: include_str!("../../../migrations/0013_safe_defaults.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0014_mailboxes",
        common: include_str!("../../../migrations/0014_mailboxes.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0015_organizations",
        common: include_str!("../../../migrations/0015_organizations.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0016_admin_portal_link_tokens",
        common: include_str!("../../../migrations/0016_admin_portal_link_tokens.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0017_entry",
        common: include_str!("../../../migrations/0017_entry.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0018_redirect_urls",
        common: include_str!("../../../migrations/0018_redirect_urls.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0019_waitlist",
        common: include_str!("../../../migrations/0019_waitlist.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0020_domains",
        common: include_str!("../../../migrations/0020_domains.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0021_passkeys",
        common: include_str!("../../../migrations/0021_passkeys.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0022_trusted_devices",
        common: include_str!("../../../migrations/0022_trusted_devices.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0023_external_accounts",
        common: include_str!("../../../migrations/0023_external_accounts.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0024_clients_without_people",
        common: include_str!("../../../migrations/0024_clients_without_people.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0025_cursor_moves",
        common: include_str!("../../../migrations/0025_cursor_moves.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0026_unchosen_memberships",
        common: include_str!("../../../migrations/0026_unchosen_memberships.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0027_messages_asked_from",
        common: include_str!("../../../migrations/0027_messages_asked_from.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0028_indexes_of_reads",
        common: include_str!("../../../migrations/0028_indexes_of_reads.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0029_waiting_deliveries",
        common: include_str!("../../../migrations/0029_waiting_deliveries.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0030_keys_of_tickets",
        common: include_str!("../../../migrations/0030_keys_of_tickets.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0031_mailboxes_and_senders",
        common: include_str!("../../../migrations/0031_mailboxes_and_senders.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0032_earlier_tokens",
        common: include_str!("../../../migrations/0032_earlier_tokens.sql"),
        sqlite: "",
        postgres: "",
    },
    Migration {
        name: "0034_keys_of_invitations",
        common: include_str!("../../../migrations/0034_keys_of_invitations.sql"),
        sqlite: "",
        postgres: "",
    },
];
