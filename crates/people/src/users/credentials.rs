//! What proves a user: password, authenticator secret, backup codes. Kept apart from the document.

use latchkey_base::kinds::{InstanceId, SessionId, UserId};
use latchkey_base::rng;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_db::{DbError, Row, Statement, Table, Tx};
use latchkey_jose::seal::MasterKey;
use latchkey_jose::totp;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::{BACKUP_CODE_ROUNDS, BACKUP_CODES, TOTP_SETUP_MS};
use latchkey_kernel::settings::{Attribute, Attributes};
use latchkey_kernel::slow::WorkOwner;
use latchkey_passwords::{Digest, DigestError, Hasher, Policy, Weakness, suggestion_message};
use serde::{Deserialize, Serialize};

use super::model::{PasswordState, User};
use super::rules::disabled;

/// A password as stored.
#[derive(Clone, PartialEq)]
pub struct StoredPassword {
    pub digest: String,
    /// The name of its hasher.
    pub hasher: String,
}

/// Everything a user can prove themselves with.
#[derive(Clone, Default, PartialEq)]
pub struct Credentials {
    pub password: Option<StoredPassword>,
    /// The secret shared with an authenticator app.
    pub totp_secret: Option<Vec<u8>>,
    /// The time step of the last accepted code; older ones are refused.
    pub totp_last_step: Option<i64>,
    /// The authenticator app that is being set up: nothing is proven with it yet.
    pub totp_pending: Option<PendingTotp>,
    /// Unused backup codes, plain or as bcrypt digests. Sealed at rest.
    pub backup_codes: Vec<String>,
}

/// The secret of an authenticator app that was shown and not proven yet.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingTotp {
    pub secret: Vec<u8>,
    /// The session it was shown in.
    pub session: SessionId,
    pub shown_at: Time,
}

impl PendingTotp {
    /// Whether it can be proven in a session. When the clock was set back it may have been shown later than now.
    pub fn is_open(&self, session: &SessionId, now: Time) -> bool {
        self.session == *session && (0..TOTP_SETUP_MS).contains(&(now.ms() - self.shown_at.ms()))
    }
}

impl Credentials {
    /// Whether the second factors are the same, whatever the password.
    pub fn has_factors_of(&self, other: &Credentials) -> bool {
        let factors =
            |held: &Credentials| (held.totp_secret.clone(), held.totp_last_step, held.backup_codes.clone());
        factors(self) == factors(other)
    }
}

/// What a request changes. `None` leaves a part as it is.
#[derive(Default)]
pub struct CredentialsChange {
    password: Option<NewPassword>,
    totp_secret: Option<Option<Vec<u8>>>,
    backup_codes: Option<Vec<String>>,
}

enum NewPassword {
    Plain { password: Secret, is_checked: bool },
    Stored(StoredPassword),
}

/// The fields of a request that concern credentials.
#[derive(Default)]
pub struct CredentialFields<'a> {
    /// Password in plain text.
    pub password: Option<&'a Secret>,
    /// Accept any password.
    pub skip_password_checks: bool,
    pub password_digest: Option<&'a Secret>,
    /// How the digest was made.
    pub password_hasher: Option<&'a str>,
    /// Authenticator secret; `Some(None)` removes it.
    pub totp_secret: Option<Option<&'a Secret>>,
    pub backup_codes: Option<&'a [Secret]>,
}

/// Checks the form of what was given; everything wrong is added to `problems`.
pub fn read(
    given: CredentialFields<'_>,
    attributes: &Attributes,
    problems: &mut Vec<Problem>,
) -> CredentialsChange {
    problems.extend(switched_off(&given, attributes));
    let mut change = CredentialsChange::default();
    match (given.password, given.password_digest, given.password_hasher) {
        (Some(_), Some(_), _) => problems.push(
            Problem::of(Code::FormConditionalParamDisallowed, "password_digest")
                .saying("Give either `password` or `password_digest`."),
        ),
        (_, None, Some(_)) => problems.push(together("password_digest")),
        (Some(password), None, None) => {
            change.password = Some(NewPassword::Plain {
                password: password.clone(),
                is_checked: !given.skip_password_checks,
            });
        }
        (None, Some(digest), Some(hasher)) => match stored(digest, hasher) {
            Ok(stored) => change.password = Some(NewPassword::Stored(stored)),
            Err(problem) => problems.push(problem),
        },
        (None, Some(_), None) => problems.push(together("password_hasher")),
        (None, None, None) if given.skip_password_checks => problems.push(
            Problem::of(Code::FormConditionalParamMissing, "skip_password_checks")
                .saying("`skip_password_checks` needs `password`."),
        ),
        (None, None, None) => (),
    }
    change.totp_secret = given.totp_secret.map(|secret| {
        secret.and_then(|secret| {
            let decoded = totp::base32_decode(secret.expose());
            if decoded.is_none() {
                problems.push(Problem::of(Code::InvalidTotpSecret, "totp_secret"));
            }
            decoded
        })
    });
    change.backup_codes = given.backup_codes.map(|codes| {
        problems.extend(backup_code_problem(codes));
        codes.iter().map(|code| code.expose().to_owned()).collect()
    });
    change
}

/// What was given though the instance does not use it. Clearing it is always allowed.
fn switched_off(given: &CredentialFields<'_>, attributes: &Attributes) -> Vec<Problem> {
    let fields: [(bool, &Attribute, &str); 4] = [
        (given.password.is_some(), &attributes.password, "password"),
        (given.password_digest.is_some(), &attributes.password, "password_digest"),
        (given.totp_secret.flatten().is_some(), &attributes.authenticator_app, "totp_secret"),
        (given.backup_codes.is_some_and(|codes| !codes.is_empty()), &attributes.backup_code, "backup_codes"),
    ];
    let off = fields.into_iter().filter(|(is_given, attribute, _)| *is_given && !attribute.enabled);
    off.map(|(_, _, param)| disabled(param)).collect()
}

fn together(param: &str) -> Problem {
    Problem::of(Code::FormConditionalParamMissing, param)
        .saying("`password_digest` and `password_hasher` go together.")
}

fn stored(digest: &Secret, hasher: &str) -> Result<StoredPassword, Problem> {
    let known = Hasher::parse(hasher).ok_or_else(|| {
        let names: Vec<&str> = Hasher::ALL.iter().map(|hasher| hasher.as_str()).collect();
        Problem::of(Code::FormParamValueInvalid, "password_hasher")
            .saying(format!("`password_hasher` must be one of: {}.", names.join(", ")))
    })?;
    match Digest::parse(known, digest.expose()) {
        Ok(_) => Ok(StoredPassword { digest: digest.expose().to_owned(), hasher: hasher.to_owned() }),
        Err(DigestError::TooCostly) => Err(Problem::of(Code::FormPasswordDigestInvalid, "password_digest")
            .saying("Checking this digest would cost too much; use one with a lower work factor.")),
        Err(_) => Err(Problem::of(Code::FormPasswordDigestInvalid, "password_digest")
            .saying(format!("This is not a digest in the format of `{hasher}`."))),
    }
}

/// How many rounds of bcrypt it takes to compare a code with this one.
fn bcrypt_rounds(stored: &str) -> u64 {
    let cost =
        stored.strip_prefix("$2").and_then(|rest| rest.split('$').nth(1)).and_then(|cost| cost.parse().ok());
    cost.map_or(0, |cost: u32| 1u64.checked_shl(cost).unwrap_or(u64::MAX))
}

fn backup_code_problem(codes: &[Secret]) -> Option<Problem> {
    if codes.len() > BACKUP_CODES {
        return Some(
            Problem::of(Code::FormParamArraySizeExceeded, "backup_codes")
                .saying(format!("At most {BACKUP_CODES} backup codes.")),
        );
    }
    let work: u64 = codes.iter().map(|code| bcrypt_rounds(code.expose())).fold(0, u64::saturating_add);
    if work > BACKUP_CODE_ROUNDS {
        return Some(
            Problem::of(Code::FormParamFormatInvalid, "backup_codes")
                .saying("Checking these digests would cost too much; use a lower cost, such as 10."),
        );
    }
    let is_good = |code: &Secret| match code.expose() {
        text if text.starts_with("$2") => Digest::parse(Hasher::Bcrypt, text).is_ok(),
        text => (6..=72).contains(&text.chars().count()),
    };
    let bad = codes.iter().any(|code| !is_good(code));
    bad.then(|| {
        Problem::of(Code::FormParamFormatInvalid, "backup_codes")
            .saying("A backup code has 6 to 72 characters, or is a bcrypt digest.")
    })
}

impl CredentialsChange {
    /// Whether anything changes.
    pub fn is_some(&self) -> bool {
        self.password.is_some() || self.totp_secret.is_some() || self.backup_codes.is_some()
    }

    /// A password that was hashed before.
    pub fn to_password(password: StoredPassword) -> CredentialsChange {
        CredentialsChange { password: Some(NewPassword::Stored(password)), ..CredentialsChange::default() }
    }

    /// The password that is being set, once it was hashed.
    pub fn into_password(self) -> Option<StoredPassword> {
        match self.password {
            Some(NewPassword::Stored(password)) => Some(password),
            Some(NewPassword::Plain { .. }) | None => None,
        }
    }

    /// Whether a password is being set.
    pub fn sets_password(&self) -> bool {
        self.password.is_some()
    }

    /// Checks a plain password against the policy and hashes it, off the request's thread; fails with
    /// what is wrong with it and with the `problems` found so far.
    pub async fn hashed(
        mut self,
        cx: &Cx,
        owner: &WorkOwner,
        policy: Policy,
        identifiers: Vec<String>,
        mut problems: Vec<Problem>,
    ) -> Result<CredentialsChange> {
        let (password, is_checked) = match self.password {
            Some(NewPassword::Plain { password, is_checked }) => (password, is_checked),
            Some(NewPassword::Stored(_)) | None => {
                Error::collect(problems)?;
                return Ok(self);
            }
        };
        let salt = rng::bytes(&*cx.app.rng);
        let work = move || {
            let identifiers: Vec<&str> = identifiers.iter().map(String::as_str).collect();
            // Even an unchecked password has a size that hashing can bear.
            let policy = if is_checked {
                policy
            } else {
                Policy {
                    min_length: 1,
                    max_length: usize::MAX,
                    refuse_breached: false,
                    min_zxcvbn_score: 0,
                    require_lowercase: false,
                    require_numbers: false,
                    require_special: false,
                    require_uppercase: false,
                    ..policy
                }
            };
            let identifiers = if is_checked { identifiers } else { Vec::new() };
            let weaknesses = latchkey_passwords::check(&policy, password.expose(), &identifiers);
            problems.extend(weaknesses.into_iter().map(weakness));
            Error::collect(problems)?;
            Ok::<_, Error>(latchkey_passwords::hash(password.expose(), salt))
        };
        let digest = cx.app.hashing.run(owner, work).await??;
        self.password = Some(NewPassword::Stored(StoredPassword {
            digest,
            hasher: Hasher::Argon2id.as_str().to_owned(),
        }));
        Ok(self)
    }

    /// Applies the change to what is stored.
    pub fn apply(self, mut credentials: Credentials) -> Credentials {
        if let Some(NewPassword::Stored(password)) = self.password {
            credentials.password = Some(password);
        }
        if let Some(secret) = self.totp_secret {
            credentials.totp_secret = secret;
            credentials.totp_last_step = None;
        }
        if let Some(codes) = self.backup_codes {
            credentials.backup_codes = codes;
        }
        credentials
    }

    /// Notes in the document what the user will have.
    pub fn mark(&self, mut user: User, now: Time) -> User {
        if self.password.is_some() {
            user.password = Some(PasswordState { updated_at: now, compromised: false });
        }
        if let Some(secret) = &self.totp_secret {
            user.totp_enabled = secret.is_some();
        }
        if let Some(codes) = &self.backup_codes {
            user.backup_code_enabled = !codes.is_empty();
        }
        user
    }
}

fn weakness(weakness: Weakness) -> Problem {
    let of = |code: Code| Problem::of(code, "password");
    match weakness {
        Weakness::TooShort { min } => {
            of(Code::FormPasswordLengthTooShort).saying(format!("A password has at least {min} characters."))
        }
        Weakness::TooLong { max } => {
            of(Code::FormPasswordLengthTooLong).saying(format!("A password has at most {max} characters."))
        }
        Weakness::TooManyBytes { max } => {
            of(Code::FormPasswordSizeInBytesExceeded).saying(format!("A password has at most {max} bytes."))
        }
        Weakness::NoUppercase => of(Code::FormPasswordNoUppercase),
        Weakness::NoLowercase => of(Code::FormPasswordNoLowercase),
        Weakness::NoNumber => of(Code::FormPasswordNoNumber),
        Weakness::NoSpecialChar => of(Code::FormPasswordNoSpecialChar),
        Weakness::NotStrongEnough { suggestions } => {
            let suggestions: Vec<_> = suggestions
                .iter()
                .map(|code| serde_json::json!({ "code": code, "message": suggestion_message(code).unwrap_or_default() }))
                .collect();
            of(Code::FormPasswordNotStrongEnough)
                .with("zxcvbn", serde_json::json!({ "suggestions": suggestions }))
        }
        Weakness::Breached => of(Code::FormPasswordPwned),
        Weakness::MatchesIdentifier => of(Code::FormPasswordMatchesIdentifier),
    }
}

static CREDENTIALS: Table = Table::new("credentials", &["instance_id", "user_id"]).saved(&[
    "password_digest",
    "password_hasher",
    "totp_secret_sealed",
    "totp_last_step",
    "backup_codes_sealed",
    "totp_pending_sealed",
]);

/// Digests of passwords that were not made here, or not as they are made now; as the index has it.
const IMPORTED: &str = " FROM credentials WHERE instance_id = $1 \
    AND substr(password_digest, 2, 8) || substr(password_digest, 16, 15) <> 'argon2idm=19456,t=2,p=1'";

/// Whether an instance has such digests. Comparing those takes another time.
pub async fn has_imported(tx: &mut Tx, instance: &InstanceId) -> Result<bool> {
    let sql = ["SELECT 1", IMPORTED, " LIMIT 1"];
    Ok(tx.maybe(&sql, &[instance.into()], |_| Ok(())).await?.is_some())
}

/// Some of them.
pub async fn some_imported(tx: &mut Tx, instance: &InstanceId) -> Result<Vec<StoredPassword>> {
    let sql = ["SELECT password_digest, password_hasher", IMPORTED, " LIMIT 1000"];
    let read = |row: &Row| Ok(StoredPassword { digest: row.text(0)?, hasher: row.text(1)? });
    Ok(tx.all(&sql, &[instance.into()], read).await?)
}

/// The credentials of a user; none is the same as empty ones.
pub async fn find(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    master: &MasterKey,
) -> Result<Credentials> {
    let sealed = CREDENTIALS.find(tx, &[instance.into(), user.into()], read_row).await?;
    sealed.map_or_else(|| Ok(Credentials::default()), |sealed| open(sealed, user, master))
}

/// The credentials of a user, to change them. The user must be locked first.
pub async fn lock(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    master: &MasterKey,
) -> Result<Credentials> {
    let sealed = CREDENTIALS.lock(tx, &[instance.into(), user.into()], read_row).await?;
    sealed.map_or_else(|| Ok(Credentials::default()), |sealed| open(sealed, user, master))
}

/// The statement that stores credentials.
pub fn save(
    instance: &InstanceId,
    user: &UserId,
    credentials: &Credentials,
    master: &MasterKey,
) -> Result<Statement> {
    let seal =
        |what: &str, plain: &[u8]| master.seal(&format!("{what}:{user}"), plain).map_err(Error::internal);
    let totp = credentials.totp_secret.as_ref().map(|secret| seal("totp", secret)).transpose()?;
    let pending = match &credentials.totp_pending {
        Some(pending) => Some(seal("totp_pending", &serde_json::to_vec(pending).map_err(Error::internal)?)?),
        None => None,
    };
    let codes = match credentials.backup_codes.is_empty() {
        true => None,
        false => Some(seal(
            "backup_codes",
            &serde_json::to_vec(&credentials.backup_codes).map_err(Error::internal)?,
        )?),
    };
    Ok(CREDENTIALS.putting(vec![
        instance.into(),
        user.into(),
        credentials.password.as_ref().map(|password| password.digest.as_str()).into(),
        credentials.password.as_ref().map(|password| password.hasher.as_str()).into(),
        totp.into(),
        credentials.totp_last_step.into(),
        codes.into(),
        pending.into(),
    ]))
}

/// Replaces an old digest by a new one of the same password, unless it changed meanwhile.
pub async fn upgrade(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    old: &StoredPassword,
    digest: String,
) -> Result<()> {
    tx.run(
        &["UPDATE credentials SET password_digest = $3, password_hasher = $4 \
           WHERE instance_id = $1 AND user_id = $2 AND password_digest = $5"],
        &[
            instance.into(),
            user.into(),
            digest.into(),
            Hasher::Argon2id.as_str().into(),
            old.digest.as_str().into(),
        ],
    )
    .await?;
    Ok(())
}

/// Credentials as they lie in the table.
struct Sealed {
    password: Option<StoredPassword>,
    totp_secret: Option<Vec<u8>>,
    totp_last_step: Option<i64>,
    backup_codes: Option<Vec<u8>>,
    totp_pending: Option<Vec<u8>>,
}

fn read_row(row: &Row<'_>) -> Result<Sealed, DbError> {
    let password = row.maybe_text(2)?.zip(row.maybe_text(3)?);
    Ok(Sealed {
        password: password.map(|(digest, hasher)| StoredPassword { digest, hasher }),
        totp_secret: row.maybe_bytes(4)?,
        totp_last_step: row.maybe_int(5)?,
        backup_codes: row.maybe_bytes(6)?,
        totp_pending: row.maybe_bytes(7)?,
    })
}

fn open(sealed: Sealed, user: &UserId, master: &MasterKey) -> Result<Credentials> {
    let open = |what: &str, sealed: Vec<u8>| {
        master.open(&format!("{what}:{user}"), &sealed).map_err(Error::internal)
    };
    let codes = sealed.backup_codes.map(|codes| open("backup_codes", codes)).transpose()?;
    let pending = sealed.totp_pending.map(|pending| open("totp_pending", pending)).transpose()?;
    Ok(Credentials {
        password: sealed.password,
        totp_secret: sealed.totp_secret.map(|secret| open("totp", secret)).transpose()?,
        totp_last_step: sealed.totp_last_step,
        // Earlier versions kept the bare secret. Nobody knows when it was shown, so it is over.
        totp_pending: pending.and_then(|pending| serde_json::from_slice(&pending).ok()),
        backup_codes: codes
            .map(|codes| serde_json::from_slice(&codes).map_err(Error::internal))
            .transpose()?
            .unwrap_or_default(),
    })
}
