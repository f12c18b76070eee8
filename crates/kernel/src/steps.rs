//! Changes of very many rows on behalf of somebody who waits for them: some in each transaction, so that others write in
//! between. Their turns at the database are those of the instance.

use std::ops::ControlFlow;
use std::time::Duration;

use latchkey_base::kinds::InstanceId;
use latchkey_base::{Error, Result};
use latchkey_db::for_caller;

use crate::callers;

/// Rows looked at in one transaction: some milliseconds.
pub const AT_ONCE: i64 = 500;
/// Rest between two transactions.
const PAUSE: Duration = Duration::from_millis(10);

/// Does work for an instance to its end, also when whoever asked for it does not wait so long.
pub async fn to_the_end<T: Send + 'static>(
    instance: &InstanceId,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    tokio::spawn(for_caller(callers::of_server(instance), work)).await.map_err(Error::internal)?
}

/// Takes step after step. Each says what the next one begins with, or what came of them all.
pub async fn all<S, T, F>(start: S, step: impl Fn(S) -> F) -> Result<T>
where
    F: Future<Output = Result<ControlFlow<T, S>>>,
{
    let mut place = start;
    loop {
        match step(place).await? {
            ControlFlow::Break(done) => return Ok(done),
            ControlFlow::Continue(next) => place = next,
        }
        tokio::time::sleep(PAUSE).await;
    }
}
