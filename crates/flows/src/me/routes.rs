//! What people do with their account.

use latchkey_kernel::AppState;
use latchkey_web::api::Api;

use super::{backup_codes, emails, passwords, phones, picture, profile, sessions, totp};

pub fn routes(api: &mut Api<AppState>) {
    profile::routes(api);
    emails::routes(api);
    phones::routes(api);
    passwords::routes(api);
    totp::routes(api);
    backup_codes::routes(api);
    picture::routes(api);
    sessions::routes(api);
}
