//! Reading lists: quick reads at once, those that may take long in turns.
//!
//! A search may walk over a whole table. A few run at once, whoever asks; tenants and the people of a tenant take turns
//! (`slow`), so that nobody waits behind all the searches of somebody else.

use latchkey_base::Result;
use latchkey_base::page::Paging;
use latchkey_db::Tx;

use crate::App;
use crate::limits::{QUICK_OFFSET, QUICK_ROWS};
use crate::registry::Registry;
use crate::slow::WorkOwner;

/// Reads on behalf of somebody.
pub struct Reads<'a> {
    app: &'a App,
    owner: WorkOwner,
}

impl<'a> Reads<'a> {
    pub fn new(app: &'a App, owner: WorkOwner) -> Reads<'a> {
        Reads { app, owner }
    }

    /// What upper groups registered.
    pub fn registry(&self) -> &Registry {
        &self.app.product.registry
    }

    /// A connection for a page of a list in the order of an index, with nothing left out on the way. A short one near
    /// the start is read at once; one that has or skips many rows takes its turn among reads that may take long.
    pub async fn page(&self, paging: Paging) -> Result<Tx> {
        match paging.limit <= QUICK_ROWS && paging.offset <= QUICK_OFFSET {
            true => Ok(self.app.db.read().await?),
            false => self.long().await,
        }
    }

    /// A connection for reads that may take long, when it is the owner's turn. A caller who goes away does not stop a
    /// statement, so the place is taken until it has ended.
    pub async fn long(&self) -> Result<Tx> {
        let place = self.app.long_reads.place(&self.owner).await?;
        Ok(self.app.db.read_long_holding(place).await?)
    }
}
