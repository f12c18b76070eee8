//! Events about changes of templates.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox::{ChangeOrigin, emit_change};
use latchkey_letters::model::System;

use super::view::id;

/// Records a change of a template, or of its variant for a locale. The event also names the path of the template, which
/// tells an operator more than the id.
pub fn emit(tx: &mut Tx, origin: &ChangeOrigin, kind: Event, system: &System, locale: &str) -> Result<()> {
    let mut path = format!("{}/{}", system.channel.name(), system.slug);
    if !locale.is_empty() {
        path.push_str("/locales/");
        path.push_str(locale);
    }
    emit_change(tx, origin, kind, &id(&origin.instance, system), &[path])
}
