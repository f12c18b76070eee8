//! Checking passwords and codes, and taking second factors away.

use std::time::Duration;

use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::constant_time_eq;
use latchkey_jose::totp::verify_totp;
use latchkey_passwords::{Digest, Hasher};

use super::credentials::{Credentials, StoredPassword};
use super::model::{SecondFactor, User};
use super::view::CodeType;

/// Whether a password is right; slow on purpose.
pub fn password_fits(stored: &StoredPassword, password: &Secret) -> bool {
    parse(stored).is_some_and(|digest| digest.verify(password.expose()))
}

/// Whether a digest should be made anew, now that the password is known.
pub fn needs_upgrade(stored: &StoredPassword) -> bool {
    parse(stored).is_some_and(|digest| digest.needs_upgrade())
}

/// About how long comparing a password with a digest takes.
pub fn comparing_time(stored: &StoredPassword) -> Duration {
    parse(stored).map_or(Duration::ZERO, |digest| digest.time())
}

fn parse(stored: &StoredPassword) -> Option<Digest> {
    Digest::parse(Hasher::parse(&stored.hasher)?, &stored.digest).ok()
}

/// Checks a code against the authenticator secret and the backup codes. A right code is used up:
/// a TOTP step is never accepted again, a backup code is gone. bcrypt digests make this slow.
pub fn use_code(mut credentials: Credentials, code: &Secret, now: Time) -> Result<(Credentials, CodeType)> {
    let code = code.expose();
    if credentials.totp_secret.is_none() && credentials.backup_codes.is_empty() {
        return Err(Error::new(Code::TotpDisabled));
    }
    let step = credentials
        .totp_secret
        .as_ref()
        .and_then(|secret| verify_totp(secret, code, now.seconds(), credentials.totp_last_step));
    if let Some(step) = step {
        credentials.totp_last_step = Some(step);
        return Ok((credentials, CodeType::Totp));
    }
    if let Some(index) = credentials.backup_codes.iter().position(|stored| backup_code_fits(stored, code)) {
        // One that was imported twice is still one code.
        let used = credentials.backup_codes.remove(index);
        credentials.backup_codes.retain(|stored| *stored != used);
        return Ok((credentials, CodeType::BackupCode));
    }
    let is_totp_shaped = code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit());
    match credentials.backup_codes.is_empty() && !is_totp_shaped {
        true => Err(Error::param(Code::TotpInvalidLength, "code")),
        false => Err(Error::param(Code::TotpIncorrectCode, "code")),
    }
}

/// Whether a code is a stored one; slow for those that were imported.
pub fn backup_code_fits(stored: &str, code: &str) -> bool {
    match stored.starts_with("$2") {
        true => Digest::parse(Hasher::Bcrypt, stored).is_ok_and(|digest| digest.verify(code)),
        false => constant_time_eq(stored.as_bytes(), code.as_bytes()),
    }
}

/// Takes the authenticator app away.
pub fn without_totp(user: User, credentials: Credentials) -> (User, Credentials) {
    let user = User { totp_enabled: false, ..user };
    (user, Credentials { totp_secret: None, totp_last_step: None, ..credentials })
}

/// Takes the backup codes away.
pub fn without_backup_codes(user: User, credentials: Credentials) -> (User, Credentials) {
    let user = User { backup_code_enabled: false, ..user };
    (user, Credentials { backup_codes: Vec::new(), ..credentials })
}

/// Takes every second factor away.
pub fn without_mfa(user: User, credentials: Credentials) -> (User, Credentials) {
    let (user, credentials) = without_totp(user, credentials);
    let (mut user, credentials) = without_backup_codes(user, credentials);
    user.phone_numbers.all.iter_mut().for_each(|phone| phone.second_factor = SecondFactor::None);
    (user, credentials)
}

/// Takes the password away.
pub fn without_password(user: User, credentials: Credentials) -> (User, Credentials) {
    (User { password: None, ..user }, Credentials { password: None, ..credentials })
}

/// Marks the password as compromised, or as sound again.
pub fn set_compromised(mut user: User, compromised: bool) -> Result<User> {
    let password = user.password.as_mut().ok_or_else(|| Error::new(Code::NoPasswordSet))?;
    password.compromised = compromised;
    Ok(user)
}

#[cfg(test)]
mod tests {
    use latchkey_jose::totp::totp_code;

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn with_totp() -> Credentials {
        Credentials { totp_secret: Some(b"12345678901234567890".to_vec()), ..Credentials::default() }
    }

    #[test]
    fn a_totp_code_is_accepted_once() {
        let code = Secret::new(totp_code(b"12345678901234567890", NOW.seconds() / 30));
        let (used, _) = use_code(with_totp(), &code, NOW).ok().unwrap();
        let replay = use_code(used, &code, NOW).err().map(|error| error.code());
        assert_eq!(replay, Some(Code::TotpIncorrectCode));
    }

    #[test]
    fn a_backup_code_is_used_up_plain_or_bcrypt() {
        // bcrypt, cost 4, of `backup-two`.
        let digest = "$2b$04$abcdefghijklmnopqrstuuTDcFMIRHZzMoUMDLPzuCgPVhpQPKGmu";
        let credentials =
            Credentials { backup_codes: vec!["backup-one".into(), digest.into()], ..Credentials::default() };
        let (left, _) = use_code(credentials, &Secret::new("backup-one".into()), NOW).ok().unwrap();
        assert_eq!(left.backup_codes, [digest]);
        assert!(use_code(left, &Secret::new("backup-one".into()), NOW).is_err());
    }

    #[test]
    fn codes_for_nobody_are_refused() {
        let refused = use_code(Credentials::default(), &Secret::new("123456".into()), NOW)
            .err()
            .map(|error| error.code());
        assert_eq!(refused, Some(Code::TotpDisabled));
        let short = use_code(with_totp(), &Secret::new("123".into()), NOW).err().map(|error| error.code());
        assert_eq!(short, Some(Code::TotpInvalidLength));
    }
}
