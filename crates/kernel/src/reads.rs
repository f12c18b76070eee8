//! Reading lists: quick reads at once, those that may take long in turns.
//!
//! A search may walk over a whole table. A few run at once, whoever asks; tenants and the people of a tenant take turns
//! (`slow`), so that nobody waits behind all the searches of somebody else.

use std::ops::{Deref, DerefMut};

use latchkey_base::Result;
use latchkey_db::Tx;

use crate::App;
use crate::slow::{LanePlace, WorkOwner};

/// Reads on behalf of somebody.
pub struct Reads<'a> {
    app: &'a App,
    owner: WorkOwner,
}

impl<'a> Reads<'a> {
    pub fn new(app: &'a App, owner: WorkOwner) -> Reads<'a> {
        Reads { app, owner }
    }

    /// A connection for short, indexed reads.
    pub async fn quick(&self) -> Result<ListRead> {
        Ok(ListRead { tx: self.app.db.read().await?, _place: None })
    }

    /// A connection for reads that may take long, when it is the owner's turn.
    pub async fn long(&self) -> Result<ListRead> {
        let place = self.app.long_reads.place(&self.owner).await?;
        Ok(ListRead { tx: self.app.db.read_long().await?, _place: Some(place) })
    }
}

/// A connection, with its place among the long reads if it is one of them.
pub struct ListRead {
    tx: Tx,
    _place: Option<LanePlace>,
}

impl Deref for ListRead {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl DerefMut for ListRead {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.tx
    }
}
