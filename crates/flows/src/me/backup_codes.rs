//! Backup codes: a handful of one-time codes on paper, for when no other second factor is at hand.

use axum::response::Response;
use latchkey_base::rng::{self, Rng};
use latchkey_base::{Code, Error, Result};
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::model::User;
use latchkey_web::api::Api;

use super::view::{self, BackupCodesView};
use super::{change, rules};

/// How many are made.
const COUNT: usize = 10;
/// How long each is: 40 bits, and only a few can be tried before the account locks.
const LENGTH: usize = 8;
/// Letters and digits nobody mistakes for others.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

pub fn routes(api: &mut Api<AppState>) {
    api.group("Backup codes");
    api.post("/v1/me/backup_codes", "createBackupCodes", create)
        .summary("Make new backup codes in place of the old ones")
        .returns::<Envelope<'_, BackupCodesView>>()
        .errors(&[403]);
}

async fn create(cx: Cx, person: Person) -> Response {
    let outcome = replaced(&cx, &person).await;
    let view = |codes| view::backup_codes(&person.user.id, codes, cx.now);
    person.visitor.answer(&cx, outcome.map(view)).await
}

async fn replaced(cx: &Cx, person: &Person) -> Result<Vec<String>> {
    if !person.visitor.site.settings.attributes.backup_code.is_second_factor() {
        return Err(Error::new(Code::FeatureNotEnabled).saying("Backup codes are switched off."));
    }
    let codes = fresh(&*cx.app.rng);
    let rule = |user: User, held, settings: &Settings| match rules::has_second_factor(&user, settings) {
        true => {
            let (user, held) = rules::with_codes(user, held, codes.clone());
            Ok((user, held, codes))
        }
        false => Err(Error::new(Code::BackupCodesNotAvailable)),
    };
    change(cx, person, rule).await
}

/// New codes.
pub fn fresh(rng: &dyn Rng) -> Vec<String> {
    let letter = |byte: u8| char::from(ALPHABET[usize::from(byte % 32)]);
    (0..COUNT).map(|_| rng::bytes::<LENGTH>(rng).into_iter().map(letter).collect()).collect()
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    #[test]
    fn codes_are_distinct_and_plain() {
        let mut codes = fresh(&SeededRng::new(1));
        assert!(codes.iter().all(|code| code.len() == LENGTH && code.bytes().all(|b| ALPHABET.contains(&b))));
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), COUNT);
    }
}
