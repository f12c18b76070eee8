//! Reading lists: short reads at once, those that take long in turns.
//!
//! A search may walk over a whole table. A few run at once, whoever asks; tenants and the people of a tenant take turns
//! (`slow`), so that nobody waits behind all the searches of somebody else. Whoever had to wait for a turn has it until the
//! answer is written: a long answer takes as much of the processor as the read before it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latchkey_base::Result;
use latchkey_base::page::Paging;
use latchkey_db::{Held, ReadTurn, Tx};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::App;
use crate::limits::{QUICK_OFFSET, QUICK_ROWS};
use crate::registry::Registry;
use crate::slow::{LanePlace, SlowPool, WorkOwner};

/// Reads on behalf of somebody.
pub struct Reads<'a> {
    app: &'a App,
    owner: WorkOwner,
    turn: LongTurn,
}

/// The turn of a request among the reads that take long, once it has had to wait for one. All its reads share it.
#[derive(Clone, Default)]
pub struct LongTurn(Arc<Mutex<Option<Arc<LanePlace>>>>);

impl<'a> Reads<'a> {
    /// Reads whose turn ends with them.
    pub fn new(app: &'a App, owner: WorkOwner) -> Reads<'a> {
        Reads { app, owner, turn: LongTurn::default() }
    }

    /// The same for a request that has its turn for longer.
    #[must_use]
    pub fn in_turn(self, turn: &LongTurn) -> Reads<'a> {
        Reads { turn: turn.clone(), ..self }
    }

    /// What upper groups registered.
    pub fn registry(&self) -> &Registry {
        &self.app.product.registry
    }

    /// A connection for a page of a list in the order of an index. A short one near the start is read at once, if there is
    /// not much to be left out, counted or shown on the way; any other takes its turn among reads that take long.
    pub async fn page(&self, paging: Paging) -> Result<Tx> {
        match paging.limit <= QUICK_ROWS && paging.offset <= QUICK_OFFSET {
            true => self.short().await,
            false => self.long().await,
        }
    }

    /// A connection for reads that should be short: one that takes long all the same waits for its turn.
    pub async fn short(&self) -> Result<Tx> {
        let (turn, lane, owner) = (self.turn.clone(), self.app.long_reads.clone(), self.owner.clone());
        let turn: ReadTurn = Box::new(move || {
            Box::pin(async move { turn.wait(&lane, &owner).await.map(|place| Box::new(place) as Held) })
        });
        Ok(self.app.db.read_short(turn).await?)
    }

    /// A connection for reads that may take long, when it is the owner's turn. A caller who goes away does not stop a
    /// statement, so the place is taken until it has ended.
    pub async fn long(&self) -> Result<Tx> {
        let place = self.turn.wait(&self.app.long_reads, &self.owner).await?;
        Ok(self.app.db.read_long_holding(place).await?)
    }
}

impl Reads<'_> {
    /// Waits for the turn before something is written whose answer needs a long read: what is written then cannot be refused
    /// its answer.
    pub async fn wait(&self) -> Result<()> {
        self.turn.wait(&self.app.long_reads, &self.owner).await.map(drop)
    }
}

impl LongTurn {
    async fn wait(&self, lane: &SlowPool, owner: &WorkOwner) -> Result<Arc<LanePlace>> {
        if let Some(place) = &*self.place() {
            return Ok(place.clone());
        }
        let place = Arc::new(lane.place(owner).await?);
        *self.place() = Some(place.clone());
        Ok(place)
    }

    pub(crate) fn end(&self) {
        *self.place() = None;
    }

    /// Writes an answer. A long one does not keep those waiting whose requests are on the same thread.
    pub fn write<T>(&self, answer: impl FnOnce() -> T) -> T {
        let is_long = self.place().is_some();
        let has_other_threads = || {
            Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
        };
        match is_long && has_other_threads() {
            true => block_in_place(answer),
            false => answer(),
        }
    }

    fn place(&self) -> MutexGuard<'_, Option<Arc<LanePlace>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
