//! Every product limit, with the reason for its number; and the rate limits.

use std::time::Duration;

use latchkey_base::{Code, Error, Result, Time};
use latchkey_web::api::{DefaultRates, Operation};
use latchkey_web::network::Network;
use latchkey_web::query::decode;
use latchkey_web::throttle::{Counter, Limit, Per, PersonRate, Rate, Throttle};

use crate::environment::Environment;

mod lanes;
mod memory;
mod people;
mod writers;

pub use lanes::{CROWDED_CLIENTS_LANE, RESIZING_LANE, SIGNING_LANE, UPLOADS_LANE, hashing, long_reads};
pub use memory::{BACKEND_ANSWERS_BYTES, FRONTEND_ANSWERS_BYTES, LARGE_BODIES_BYTES, SMALL_BODIES_BYTES};
pub use writers::weight;

/// Largest metadata of each kind, as published.
pub const METADATA_BYTES: usize = 8 * 1024;
/// Longest `external_id`: room for a URL or a composite key, and still a sane index entry.
pub const EXTERNAL_ID_CHARS: usize = 255;
/// Identifiers of one kind a user may have; each costs an index row and a line in every answer.
pub const IDENTIFICATIONS_PER_KIND: usize = 100;
/// Unproven ones of a kind among them that people may add to their own account: each lets them have mail
/// sent to a stranger.
pub const UNVERIFIED_IDENTIFICATIONS: usize = 5;
/// Backup codes a user may have; imported bcrypt ones are each tried when a code is checked.
pub const BACKUP_CODES: usize = 20;
/// Rounds of bcrypt it may take to compare a code with all that were imported: two seconds, or all of them of cost 10.
pub const BACKUP_CODE_ROUNDS: u64 = 1 << 15;
/// Wrong codes after which a verification has failed: 3 in a million is the chance to guess one code.
pub const VERIFICATION_ATTEMPTS: i64 = 3;
/// How long a code is good for.
pub const VERIFICATION_MS: i64 = 10 * 60 * 1000;
/// How long the secret of an authenticator app can be proven after it was shown: as long as a code that was sent.
pub const TOTP_SETUP_MS: i64 = 10 * 60 * 1000;
/// Least time between two codes to one phone number: text messages cost money.
pub const PHONE_CODE_PAUSE_MS: i64 = 30 * 1000;
/// Text messages people may have sent to one number in a while, whatever the attempt or the browser: as many
/// as for one challenge. Whoever knows a number could run up a bill with it otherwise.
pub const TEXTS_PER_NUMBER: i64 = 10;
/// The same for e-mails to one mailbox, whatever stands behind a `+` in its address: codes and links to sign in, to sign
/// up, to choose a new password, and to prove an address.
pub const MAILS_PER_MAILBOX: i64 = 10;
/// How many more a browser may have sent on which the owner of the account was signed in before, or that has proven a
/// first factor. Strangers cannot use these up: whoever asks for codes to somebody's address all day keeps
/// nobody from signing in on their own browsers. On a new one a password still works, and codes within the hour
/// after the stranger has stopped.
pub const MESSAGES_FOR_KNOWN: i64 = 10;
/// How long that while is, for texts and e-mails.
pub const MESSAGES_WINDOW_MS: i64 = 3600 * 1000;
/// E-mails that strangers may have sent from one address in a day, to whatever mailboxes: all people of a company may sign up
/// on one. This machine is no address: people behind a proxy that is not trusted, and test suites, seem to be here.
pub const MAILS_OF_ADDRESS: i64 = 1000;
/// The same for text messages, which cost money.
pub const TEXTS_OF_ADDRESS: i64 = 100;
/// That day.
pub const MESSAGES_OF_ADDRESS_MS: i64 = 24 * 3600 * 1000;
/// Codes or links sent for one challenge.
pub const CHALLENGE_SENDINGS: i64 = 10;
/// How long a session may lie idle where the instance sets no limit: longer than any lifetime that is usual.
pub const SESSION_ABANDON_MS: i64 = 30 * 24 * 3600 * 1000;
/// Least time between two notes that a session was used.
pub const SESSION_TOUCH_MS: i64 = 10 * 60 * 1000;
/// How long somebody may act as another, as published.
pub const ACTOR_SESSION_MS: i64 = 30 * 60 * 1000;
/// How long such a session may lie idle.
pub const ACTOR_IDLE_MS: i64 = 10 * 60 * 1000;
/// How long an actor token is good for unless told otherwise, as published.
pub const ACTOR_TOKEN_SECONDS: i64 = 3600;
/// Largest actor as JSON: with the other claims it still fits into a cookie.
pub const ACTOR_BYTES: usize = 2048;
/// How long a sign-in token is good for unless told otherwise, as published.
pub const SIGN_IN_TOKEN_SECONDS: i64 = 30 * 24 * 3600;
/// How long after its end a token can be renewed without sending the browser around.
pub const RENEWAL_MS: i64 = 24 * 3600 * 1000;
/// How long a testing token is good for, as published.
pub const TESTING_TOKEN_SECONDS: i64 = 3600;
/// Passkeys of a user, as published.
pub const PASSKEYS_PER_USER: usize = 10;
/// How long the challenge for a passkey or a trusted device is good: as long as browsers wait for a passkey.
pub const DEVICE_CHALLENGE_MS: i64 = 5 * 60 * 1000;
/// Trusted devices of a user that were not revoked; a person has few, and all are read with the user.
pub const TRUSTED_DEVICES_PER_USER: usize = 10;
/// How long attempts to sign in or up stay open, as published.
pub const ATTEMPT_MS: i64 = 24 * 3600 * 1000;
/// How long a backend may take to fetch what a handshake left for it.
pub const HANDSHAKE_MS: i64 = 60 * 1000;
/// How long a browser may take from the primary domain to a satellite: it is sent there at once.
pub const SYNC_MS: i64 = 60 * 1000;
/// How long sessions are kept after their time is over, for lists and for those who look into a case.
pub const SESSION_RETENTION_MS: i64 = 30 * 24 * 3600 * 1000;
/// How long a browser nobody is signed in on is remembered: longer than a session of a week is kept, so that few
/// of those whose time has come still hold one.
pub const CLIENT_RETENTION_MS: i64 = 45 * 24 * 3600 * 1000;
/// The same where nobody ever signed in: attempts to sign in and up end after a day, and a browser that comes back later gets
/// another client. Strangers can have a million clients made in a day, so they must not stay for weeks.
pub const CLIENT_WITHOUT_PEOPLE_RETENTION_MS: i64 = 3 * 24 * 3600 * 1000;
/// Sessions that a user may have, on all clients; the oldest gives way. All end in one transaction with a password.
pub const SESSIONS_OF_USER: i64 = 1_000;
/// Sessions of all users that are banned in one call: each is an event with its user, all in one transaction.
pub const SESSIONS_IN_BULK: usize = 2_000;
/// How long an answer about a client with many people waits for its place.
pub const CROWDED_CLIENT_WAIT: Duration = Duration::from_secs(5);
/// How long a browser keeps what proves it: the longest browsers allow, 400 days.
pub const CLIENT_TOKEN_MS: i64 = 400 * 24 * 3600 * 1000;
/// Where answers must not tell who has an account, and some accounts have digests that were imported: an attempt at a
/// password takes this long, or the multiple of it that leaves the slowest of those digests twice its time. bcrypt at
/// cost 12, PBKDF2 with 600,000 rounds and scrypt as usual take half of it on one core.
pub const IMPORTED_DIGEST: Duration = Duration::from_millis(500);
/// Largest upload of a picture, as published.
pub const IMAGE_BYTES: usize = 10 * 1024 * 1024;
/// How far rows that wait are counted for the metrics. More is an emergency whatever the number, and counting millions
/// at every question would make it worse.
pub const METRICS_ROWS: i64 = 10_000;
/// Most pixels of an uploaded picture, read from its header before anything is decoded: the largest photos that phones
/// take by default (24 megapixels) fit. Decoding takes up to half a second and, at 4 bytes a pixel, 100 MB; one
/// is decoded at a time (`UPLOADS_LANE`), so this is also the bound for all of them together.
pub const IMAGE_PIXELS: u64 = 25_000_000;
/// Callers who wait for events at once; each looks twice a second. A tenant has at most as many as are left for all
/// others (`waiter.rs`): 500 when it is alone.
pub const FEED_WAITERS: usize = 1000;
/// Bytes of events read at once, for a page or for an endpoint: a message can have most of a megabyte.
pub const EVENTS_BYTES: usize = 8 * 1024 * 1024;
/// Rows of a page that is read at once; a longer one takes a place among long reads. With an organization and a user in
/// each row, and as much metadata as they may have, such a page is some megabytes.
pub const QUICK_ROWS: i64 = 100;
/// Rows that such a page may skip: they are read as well.
pub const QUICK_OFFSET: i64 = 1000;
/// Events in a page of the feed unless told otherwise.
pub const EVENTS_PAGE: i64 = 100;
/// Longest wait for an event; a request has 30 seconds in all.
pub const EVENT_WAIT_SECONDS: u64 = 25;
/// Messages shown by the development inbox.
pub const INBOX_MESSAGES: i64 = 100;
/// Longest wait for a message that can be asked for.
pub const INBOX_WAIT_SECONDS: u64 = 30;
/// Longest wait there is: a little less than a request may take.
pub const INBOX_PATIENCE: Duration = Duration::from_secs(29);
/// Callers who wait for messages at once, shared between tenants in the same way: 100 for one that is alone. Each
/// looks several times a second.
pub const INBOX_WAITERS: usize = 200;
/// How long the link to the inbox that the server prints is good.
pub const INBOX_PASS_MS: i64 = 24 * 3600 * 1000;

/// Longest subject line; what mail programs show is a fraction of it.
pub const TEMPLATE_SUBJECT_CHARS: usize = 250;
/// Longest name of a template.
pub const TEMPLATE_NAME_CHARS: usize = 100;
/// Longest local part of an address, by RFC 5321.
pub const LOCAL_PART_CHARS: usize = 64;
/// Variants of one template: more than there are languages with an ISO code of two letters.
pub const TEMPLATE_LOCALES: i64 = 200;
/// Changes of templates an instance may make: a deployment that writes each in several languages fits.
pub const TEMPLATE_CHANGES: Limit = Limit { requests: 500, window_ms: 3600 * 1000 };
/// Suspicious bodies an instance may try before its templates are locked for the rest of the hour.
pub const TEMPLATE_SUSPICIONS: Limit = Limit { requests: 5, window_ms: 3600 * 1000 };

/// Largest claims of a JWT template as JSON: twice what fits into a cookie, as shortcodes are longer than
/// most values.
pub const JWT_CLAIMS_BYTES: usize = 8 * 1024;
/// Deepest nesting of those claims; readers of tokens stop at some depth, and metadata comes on top.
pub const JWT_CLAIMS_DEPTH: usize = 32;
/// Largest claims with the values of a user in them: all metadata fit, and no server takes larger headers.
pub const JWT_RENDERED_BYTES: usize = 32 * 1024;
/// Largest token a template may make at the time it is saved: a cookie has 4096 bytes, name included.
pub const JWT_TOKEN_BYTES: usize = 4000;
/// Users whose tokens are measured when a template is saved. The largest document need not make the
/// largest token, but one of the largest will.
pub const JWT_USERS_MEASURED: i64 = 20;
/// Longest name of a JWT template, which is part of a path.
pub const JWT_TEMPLATE_NAME_CHARS: usize = 128;
/// Countries to which no text messages are sent; there are fewer with phone numbers.
pub const BLOCKED_COUNTRIES: usize = 250;
/// Longest redirect URL: what browsers and proxies take everywhere, and an index entry of PostgreSQL can hold.
pub const REDIRECT_URL_CHARS: usize = 2048;
/// How long a proxy may take to pass on a question to the Frontend API and the answer; who asks waits for it.
pub const PROXY_CHECK_MS: u64 = 5_000;
/// Bytes of that answer that are read; it has some hundred.
pub const PROXY_CHECK_BYTES: usize = 4096;

/// Endpoints an instance may have; every event is sent to each that wants it.
pub const WEBHOOK_ENDPOINTS: i64 = 50;
/// Longest address of an endpoint; servers and proxies take no longer ones for sure.
pub const WEBHOOK_URL_CHARS: usize = 2048;
/// Longest description of an endpoint.
pub const WEBHOOK_DESCRIPTION_CHARS: usize = 500;
/// Secrets of an endpoint that sign at once; each makes a header longer.
pub const WEBHOOK_SECRETS: usize = 3;
/// How long an old secret goes on signing unless told otherwise.
pub const WEBHOOK_SECRET_OVERLAP_SECONDS: i64 = 24 * 3600;
/// How long a link to the page of webhooks is good for.
pub const WEBHOOK_PORTAL_MS: i64 = 24 * 3600 * 1000;

/// How long an endpoint may take to answer; the receivers' own libraries allow for as much.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an endpoint's answer is kept, for people to read.
pub const WEBHOOK_RESPONSE_BYTES: usize = 1024;

/// How strictly requests are counted.
#[derive(Clone, Debug, PartialEq)]
pub enum RateLimits {
    /// Not at all: for tests and hosts with one tenant.
    Off,
    /// By these numbers.
    On {
        /// All operations of a production instance together.
        production: Limit,
        /// All operations of a development instance together.
        development: Limit,
    },
}

const TEN_SECONDS: i64 = 10_000;
const ONE_HOUR: i64 = 3_600_000;
const ONE_DAY: i64 = 24 * ONE_HOUR;

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits::On {
            production: Limit { requests: 1000, window_ms: TEN_SECONDS },
            development: Limit { requests: 100, window_ms: TEN_SECONDS },
        }
    }
}

/// Changes of one organization, as published.
pub const ORGANIZATION_CHANGES: Rate = Rate::per_object("changes of an organization", 10, TEN_SECONDS);
/// Changes of one membership, as published.
pub const MEMBERSHIP_CHANGES: Rate = Rate::per_objects("changes of a membership", 10, TEN_SECONDS);
/// Memberships shown with a user as they see themselves, the newest, besides those of their sessions; and organizations in
/// a claim that names them all. Each is a kilobyte of nearly every answer to a browser; who is in more organizations gets
/// them from the list of memberships, page by page.
pub const MEMBERSHIPS_SHOWN: i64 = 100;
/// Organizations that members can add somebody to who has chosen none of them: enough for those who work for several,
/// and too few to fill what is shown of somebody's organizations.
pub const MEMBERSHIPS_UNCHOSEN: i64 = 20;
/// Up to how many invitations that wait for an answer are counted for each of those organizations. The count is in nearly
/// every answer to a browser; the list of invitations has the exact one.
pub const INVITATIONS_COUNTED: i64 = 1_000;
/// How much of the block-list is shown, newest first. The published operation has no pages and shows all; this is some two
/// megabytes, so that lists of any length fit into memory many times. `total_count` says how many there are.
pub const BLOCKLIST_SHOWN: i64 = 10_000;
/// Invitations to the application, as published.
pub const INVITATIONS: Rate = Rate::per_instance("invitations", 100, ONE_HOUR);
/// The same in bulk, as published.
pub const BULK_INVITATIONS: Rate = Rate::per_instance("invitations in bulk", 25, ONE_HOUR);
/// Invitations to organizations, as published.
pub const ORGANIZATION_INVITATIONS: Rate = Rate::per_instance("invitations to organizations", 250, ONE_HOUR);
/// The same in bulk, as published.
pub const BULK_ORGANIZATION_INVITATIONS: Rate =
    Rate::per_instance("invitations to organizations in bulk", 50, ONE_HOUR);
/// Addresses that one person may invite from browsers, whatever the organization and whatever became of the invitations:
/// anybody can create organizations and have mail sent to strangers in their name. A company of 500 is invited in a day;
/// whoever has more people uses a backend, or a domain.
pub const INVITED_BY_PERSON: Limit = Limit { requests: 500, window_ms: 24 * ONE_HOUR };
/// The same for one organization, whoever of its members invites: as many as a backend may invite one by one, as
/// published.
pub const INVITED_TO_ORGANIZATION: Limit = Limit { requests: 250, window_ms: ONE_HOUR };
/// Calls that put several addresses on the waitlist: 1000 addresses, each of which is sent an e-mail.
pub const BULK_WAITLIST_ENTRIES: Rate = Rate::per_instance("waitlist entries in bulk", 20, TEN_SECONDS);
/// Addresses that can be put on the waitlist in one call, as published.
pub const WAITLIST_IN_BULK: usize = 50;
/// How many people can be invited in one call, to the application or to an organization, as published.
pub const INVITATIONS_IN_BULK: usize = 10;
/// How many days an invitation is good for unless told otherwise, as published.
pub const INVITATION_DAYS: i64 = 30;
/// How many organizations a user may create unless told otherwise, as published.
pub const ORGANIZATIONS_PER_CREATOR: i64 = 100;
/// Roles that an instance may add to the two it begins with, as published.
pub const CUSTOM_ROLES: usize = 10;
/// Roles of one role set, as published.
pub const ROLES_IN_SET: usize = 10;
/// Permissions that an instance may add to those of the system, as published.
pub const CUSTOM_PERMISSIONS: usize = 50;
/// Role sets of an instance. They are one document with its roles and permissions, which is read whenever a member is
/// shown: with names and descriptions as long as they may be it has some 100 KB, with usual ones 15 KB.
pub const ROLE_SETS: usize = 20;
/// Characters of the key of a role, a permission or a role set. Tokens name the role and the permissions of a member.
pub const ACCESS_KEY_CHARS: usize = 128;
/// Characters of the description of a role, a permission or a role set.
pub const ACCESS_DESCRIPTION_CHARS: usize = 500;
/// Longest validity of a link token of an admin portal, as published.
pub const PORTAL_LINK_SECONDS_MAX: i64 = 24 * 3600;
/// Validity of one unless told otherwise, as published.
pub const PORTAL_LINK_SECONDS: i64 = 3600;
/// Scopes of one: names of things to do, of which an application has few.
pub const PORTAL_LINK_SCOPES: usize = 50;
/// Characters of each text of one: a scope, the id of a contact, the reason of a revocation.
pub const PORTAL_LINK_TEXT_CHARS: usize = 256;
/// How many domains an organization may have, as published.
pub const DOMAINS_OF_ORGANIZATION: usize = 10;
/// Codes that may be sent for one domain in a day, to whatever addresses of it: each goes to a stranger, and a new one
/// gives new guesses. Twice as many as for one challenge.
pub const AFFILIATION_SENDINGS: i64 = 20;
/// Wrong codes for one domain in a day: 20 in a million is the chance that somebody gets a domain in a day that is not
/// theirs.
pub const AFFILIATION_GUESSES: i64 = 20;
/// How long that day is.
pub const AFFILIATION_TRIES_MS: i64 = 24 * ONE_HOUR;
/// How long an invitation waits that a domain caused: nobody sent it, and it is taken back with the domain, so it stays
/// for as long as the domain is verified, which is years.
pub const DOMAIN_INVITATION_DAYS: i64 = 100 * 365;
/// How long the TXT record of a domain is waited for: whoever manages the zone is often another person, who needs days.
pub const TXT_CHALLENGE_MS: i64 = 7 * 24 * 3600 * 1000;
/// Looking up TXT records: each may make the server wait for a name server that somebody else chose.
pub const TXT_LOOKUPS: Rate = Rate::per_address("lookups of TXT records", 10, 60_000);
/// Changes of one user, as published.
pub const USER_CHANGES: Rate = Rate::per_object("changes of a user", 10, TEN_SECONDS);
/// Beginning to sign in, as published.
pub const SIGN_INS: Rate = Rate::per_address("sign-ins", 5, TEN_SECONDS);
/// Beginning to sign up, as published.
pub const SIGN_UPS: Rate = Rate::per_address("sign-ups", 5, TEN_SECONDS);
/// Joining the waitlist: each writes a row and sends a mail, and is as seldom as signing up.
pub const WAITLIST_JOINS: Rate = Rate::per_address("joining the waitlist", 5, TEN_SECONDS);
/// Proving a factor to sign in, as published.
pub const SIGN_IN_ATTEMPTS: Rate = Rate::per_address("attempts at a sign-in", 3, TEN_SECONDS);
/// Proving an address or a number to sign up, as published.
pub const SIGN_UP_ATTEMPTS: Rate = Rate::per_address("attempts at a sign-up", 3, TEN_SECONDS);
/// Guessing codes and passwords anywhere else, which is no better there.
pub const GUESSES: Rate = Rate::per_address("guesses", 5, TEN_SECONDS);
/// Having messages sent: nobody types in as many codes in a minute.
pub const SENDINGS: Rate = Rate::per_address("sendings", 10, 60_000);
/// Making pictures smaller: one is made at a time, and this is less than may wait for it.
pub const RESIZED_IMAGES: Rate = Rate::per_address("resized images", 50, TEN_SECONDS);
/// The same for all addresses together, of one instance: the one thread that does it makes some hundred in a second.
pub const RESIZED_IMAGES_OF_INSTANCE: Limit = Limit { requests: 500, window_ms: TEN_SECONDS };
/// Megapixels of pictures that somebody may upload, as one or as many: four of the largest, a hundred small ones.
pub const MEGAPIXELS_OF_PERSON: Limit = Limit { requests: 100, window_ms: 60_000 };
/// The same for all people of one address: whoever has many accounts leaves most of the sum below to others.
pub const MEGAPIXELS_OF_ADDRESS: Limit = Limit { requests: 300, window_ms: 60_000 };
/// The same for all people of an instance together: at some 40 megapixels in a second, less than half of the time of
/// the one thread that decodes them. Uploads by backends are not counted: they have the limit of their key.
pub const MEGAPIXELS_OF_INSTANCE: Limit = Limit { requests: 1000, window_ms: 60_000 };
/// What else writes for anybody, each operation counted by itself. An office behind one address, or a test suite
/// with dozens of browsers, stays far below; whoever fills tables in a loop does not.
pub const WRITES_FOR_ANYBODY: Rate = Rate::per_address("", 200, TEN_SECONDS);
/// What people who are signed in write from one address, all operations together: a thousand people behind one
/// address may each change something every ten seconds.
pub const WRITES_OF_PEOPLE: Rate = Rate::per_address("writes of people", 1000, TEN_SECONDS);
/// Changes that one person makes to their own account, all operations together, from whatever address.
pub const CHANGES_OF_PERSON: PersonRate = PersonRate {
    name: "changes of a person",
    limit: Limit { requests: 60, window_ms: TEN_SECONDS },
    is_shared: false,
};
/// The same for a day. Each change is an event with the whole user, kept for 30 days unless the setting says
/// otherwise: 9.5 KB for one with 8 KB of metadata, some 35 KB where backends filled the other two kinds as well. So a
/// person who changes one letter in a loop adds at most 4.75 MB a day (17.5 MB), and keeps at most 143 MB there
/// (525 MB). Nobody changes their account 500 times in a day by hand.
pub const CHANGES_OF_PERSON_DAILY: PersonRate = PersonRate {
    name: "changes of a person in a day",
    limit: Limit { requests: 500, window_ms: ONE_DAY },
    is_shared: true,
};
/// The same changes by all people of one address: an office of a thousand people may each change something twenty times.
/// Whoever has thousands of accounts adds 190 MB a day (700 MB) from one address. This machine is no address: people who
/// come by a proxy that is not trusted, and test suites, seem to be here.
pub const CHANGES_OF_ADDRESS_DAILY: Limit = Limit { requests: 20_000, window_ms: ONE_DAY };
/// The same for the network of an address (`Network::wide`), beyond the first `LIGHT_PERSON` changes of each: 950 MB a day
/// (3.5 GB). Mobile providers have thousands of people behind a /16; they are not stopped by a few who rent addresses there.
pub const CHANGES_OF_NETWORK_DAILY: Limit = Limit { requests: 100_000, window_ms: ONE_DAY };
/// What a person may change in a day and still be a light one, whom nothing stops that all people do together.
pub const LIGHT_PERSON: u32 = 20;
/// The changes of all people of an instance together beyond the first `LIGHT_PERSON` of each: 1.9 GB a day (7 GB), from
/// however many addresses. The first ones are not counted, so that those who do nothing unusual never use it up; they are 190
/// KB a day (700 KB) for each account, so they are bounded by how many accounts there are, and by address.
pub const CHANGES_OF_INSTANCE_DAILY: Limit = Limit { requests: 200_000, window_ms: ONE_DAY };
/// Sessions that one person opens in a day, from whatever addresses, on an instance without test mode. Beginning and ending
/// one are an event each, with the whole user. Those who sign in for every test of a suite do so on a development instance.
pub const SESSIONS_OPENED_DAILY: i64 = 500;
/// How long that day is.
pub const SESSIONS_OPENED_MS: i64 = ONE_DAY;
/// Changes of how people of a domain join: each may invite everybody who has an address of the domain, or take that back,
/// and every invitation is an event.
pub const ENROLLMENT_MODES_DAILY: PersonRate = PersonRate {
    name: "enrollment modes in a day",
    limit: Limit { requests: 20, window_ms: ONE_DAY },
    is_shared: false,
};
/// Using a session and changing between sessions: scripts do so whenever a page comes into view. It overwrites two
/// rows and adds none, so there is no bound for the day.
pub const TOUCHES: PersonRate = PersonRate {
    name: "sessions touched",
    limit: Limit { requests: 60, window_ms: TEN_SECONDS },
    is_shared: false,
};
/// Tokens of sessions: a page needs one a minute. Signing takes 0.5 ms, and 9 with a key of 4096 bits, as a template may have.
pub const TOKENS: PersonRate =
    PersonRate { name: "tokens", limit: Limit { requests: 200, window_ms: TEN_SECONDS }, is_shared: false };
/// The same for all people of an address, who may come by a proxy that is not trusted.
pub const TOKENS_OF_ADDRESS: Rate = Rate::per_address("tokens of people", 5000, TEN_SECONDS);
/// The limits of operations that write and say nothing about it.
pub const DEFAULT_RATES: DefaultRates = DefaultRates {
    for_anybody: WRITES_FOR_ANYBODY,
    for_people: WRITES_OF_PEOPLE,
    of_person: &[CHANGES_OF_PERSON, CHANGES_OF_PERSON_DAILY],
};

const TEN_MINUTES: i64 = 10 * 60 * 1000;

/// For how many bytes of its body a request of somebody who is not signed in counts once more. Forms to sign in and up are
/// shorter. What is stored of a body is about as long as the body, besides 440 bytes of a client and 580 of an attempt
/// with their index entries (measured on SQLite). So a request that counts once stores 1.5 KB at most and one that counts
/// seventeen times, with 8 KB of metadata, 9.4 KB: 550 bytes for each time.
pub const BYTES_OF_WEIGHT: u64 = 512;
/// The longest body that weighs by its length: metadata of 8 KB, each byte escaped in a form, and all other fields.
pub const LONGEST_WEIGHED: u64 = 4 * METADATA_BYTES as u64;

/// What browsers write that show no client yet, of one address: an office of hundreds of people who all begin to sign in
/// within ten minutes, or a test suite with a thousand fresh browsers. A request with a long body counts as several
/// (`weight`), here and wherever else somebody writes who is not signed in.
pub const STRANGERS_OF_ADDRESS: Limit = Limit { requests: 1500, window_ms: TEN_MINUTES };
/// The same for the network of an address (an IPv4 /16, an IPv6 /32): whoever rents thousands of addresses has them
/// side by side. Half of what all networks have together.
pub const STRANGERS_OF_NETWORK: Limit = Limit { requests: 3000, window_ms: TEN_MINUTES };
/// The same for all addresses together. Four addresses that ask as much as they may use it up, so it is not all there
/// is: see `RESERVE_OF_STRANGERS`.
pub const STRANGERS: Limit = Limit { requests: 6000, window_ms: TEN_MINUTES };
/// What an address may ask for in the window and still be a light asker: some people who sign in at a time. When the sum
/// is used up, light askers take from the reserve, and nobody else does.
pub const LIGHT_STRANGER: u32 = 20;
/// What the light askers of one network may take from the reserve.
pub const RESERVE_OF_STRANGERS_OF_NETWORK: Limit = Limit { requests: 200, window_ms: TEN_MINUTES };
/// The reserve of an instance, as large as the sum: whoever wants to use up both needs 300 addresses in 30 networks.
/// Both together are at most 1,728,000 such requests a day, however many addresses take part: 1.6 GB if each begins to sign
/// in, 2.6 GB if each is as long as it may be and counts once. Of that the attempts stay for a day and the clients, 750 MB,
/// for three (`CLIENT_WITHOUT_PEOPLE_RETENTION_MS`). Browsers of developers are 400 MB and stay for 45 days. While both
/// are used up, browsers without a client wait; those with one, and everybody signed in, do not. A constant, as the sum
/// is: a larger one costs storage, a smaller one sign-ins, whatever the instance is for.
pub const RESERVE_OF_STRANGERS: Limit = Limit { requests: 6000, window_ms: TEN_MINUTES };
/// What one client writes without anybody being signed in: handshakes of a test suite that shares one client among
/// its browsers fit.
pub const WRITES_OF_CLIENT: Limit = Limit { requests: 200, window_ms: TEN_SECONDS };
/// The same for an hour.
pub const WRITES_OF_CLIENT_HOURLY: Limit = Limit { requests: 5000, window_ms: 3600 * 1000 };
/// The same for all clients together, but for those on which somebody is signed in. Four clients that write as much as
/// they may use it up; the others then take from `RESERVE_OF_CLIENTS`. A client has one attempt to sign in and one to sign
/// up, which a new one replaces: with the reserve, and as many clients as strangers may have made, 4 GB a day, deleted
/// after a day.
pub const WRITES_OF_CLIENTS: Limit = Limit { requests: 20_000, window_ms: TEN_MINUTES };
/// What a client may write in an hour and still take from the reserve: signing in takes about five writes.
pub const LIGHT_CLIENT: u32 = 200;
/// What the clients of one address may take from the reserve: anybody can have a hundred clients made, so they must not
/// count for more than one.
pub const RESERVE_OF_CLIENTS_OF_ADDRESS: Limit = Limit { requests: 200, window_ms: TEN_MINUTES };
/// The same for a network: ten of them use up the reserve, with a hundred addresses.
pub const RESERVE_OF_CLIENTS_OF_NETWORK: Limit = Limit { requests: 2000, window_ms: TEN_MINUTES };
/// The reserve of an instance for clients, as large as the sum.
pub const RESERVE_OF_CLIENTS: Limit = Limit { requests: 20_000, window_ms: TEN_MINUTES };

impl RateLimits {
    /// Counts a request of an instance; an error when it is one too many.
    pub async fn check(
        &self,
        throttle: &Throttle,
        who: (&str, Environment),
        operation: &Operation,
        path: &str,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { production, development } = self else { return Ok(()) };
        if !operation.counts {
            return Ok(());
        }
        let (instance, environment) = who;
        let overall = match environment {
            Environment::Production => *production,
            Environment::Development => *development,
        };
        count(throttle, &Counter::known("instance", instance, overall), now).await?;
        match operation.rate.filter(|rate| rate.per != Per::Address) {
            Some(rate) => {
                let whose = object(operation, path, rate.per);
                self.check_rate(throttle, rate, (instance, whose), now).await
            }
            None => Ok(()),
        }
    }

    /// Counts a request of a browser; an error when it is one too many.
    pub async fn check_visitor(
        &self,
        throttle: &Throttle,
        (instance, network): (&str, Network),
        (operation, path): (&Operation, &str),
        now: Time,
    ) -> Result<()> {
        let Some(rate) = operation.rate else { return Ok(()) };
        let whose = match rate.per {
            Per::Address => network.to_string(),
            per => object(operation, path, per),
        };
        self.check_rate(throttle, rate, (instance, whose), now).await
    }

    /// Counts a request that is for no instance by the address it comes from; an error when it is one too many.
    pub async fn check_address(
        &self,
        throttle: &Throttle,
        network: Network,
        rate: Rate,
        now: Time,
    ) -> Result<()> {
        self.check_rate(throttle, rate, ("", network.to_string()), now).await
    }

    async fn check_rate(
        &self,
        throttle: &Throttle,
        Rate { name, limit, per }: Rate,
        (instance, whose): (&str, String),
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let key = format!("{instance}/{whose}").into();
        count(throttle, &Counter { keys: per.keys(), scope: name, key, limit }, now).await.map(|_| ())
    }
}

impl RateLimits {
    /// Counts a change of a template; an error when it is one too many, or when templates are locked.
    pub async fn check_templates(&self, throttle: &Throttle, instance: &str, now: Time) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        if let Some(wait) = throttle.wait(&suspicious_templates(instance), now).await {
            return Err(Error::new(Code::EmailTemplateCustomizationLocked).retry_after(wait));
        }
        match throttle.hit(&Counter::known("templates", instance, TEMPLATE_CHANGES), now).await {
            Ok(_) => Ok(()),
            Err(wait) => Err(Error::new(Code::EmailTemplateCustomizationRateLimited).retry_after(wait)),
        }
    }

    /// Counts a suspicious template.
    pub async fn note_suspicion(&self, throttle: &Throttle, instance: &str, now: Time) {
        if let RateLimits::On { .. } = self {
            // What is over the limit is refused before it gets here.
            let _ = throttle.hit(&suspicious_templates(instance), now).await;
        }
    }
}

impl RateLimits {
    /// Counts a picture of an instance that is made smaller; an error when it is one too many.
    pub async fn check_resize(&self, throttle: &Throttle, instance: &str, now: Time) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let counter = Counter::known("resized images", instance, RESIZED_IMAGES_OF_INSTANCE);
        count(throttle, &counter, now).await.map(|_| ())
    }
}

/// What a request is about: the parts of its path that stand where the operation has a `{parameter}`, or the first of
/// them, or none. An id may be written with escapes, and is still the same id.
fn object(operation: &Operation, path: &str, per: Per) -> String {
    let parts = operation.path.split('/').zip(path.split('/'));
    let ids =
        parts.filter(|(template, _)| template.starts_with('{')).map(|(_, id)| decode(id).unwrap_or_default());
    let count = match per {
        Per::Instance => 0,
        Per::Object => 1,
        Per::Objects | Per::Address => usize::MAX,
    };
    ids.take(count).collect::<Vec<_>>().join("/")
}

fn suspicious_templates(instance: &str) -> Counter<'_> {
    Counter::known("suspicious templates", instance, TEMPLATE_SUSPICIONS)
}

/// Counts a request, and tells how many there were; an error when it is one too many.
async fn count(throttle: &Throttle, counter: &Counter<'_>, now: Time) -> Result<u32> {
    weigh(throttle, counter, 1, now).await
}

/// The same for a request that counts as `weight` of them.
async fn weigh(throttle: &Throttle, counter: &Counter<'_>, weight: u32, now: Time) -> Result<u32> {
    throttle.weigh(counter, weight, now).await.map_err(|wait| too_many(counter.limit, wait))
}

/// An error when one more would be too many. Counts nothing, and takes no place in the table of counters.
async fn check(throttle: &Throttle, counter: &Counter<'_>, now: Time) -> Result<()> {
    match throttle.wait(counter, now).await {
        Some(wait) => Err(too_many(counter.limit, wait)),
        None => Ok(()),
    }
}

fn too_many(limit: Limit, wait_seconds: i64) -> Error {
    let Limit { requests, window_ms } = limit;
    Error::new(Code::TooManyRequests)
        .saying(format!(
            "At most {requests} requests in {} seconds; try again in {wait_seconds} s.",
            window_ms / 1000
        ))
        .retry_after(wait_seconds)
}
