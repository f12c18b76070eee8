//! Fills tables of organizations behind the server's back, with rows like those it writes: through the API those who join
//! one organization wait for each other, and a hundred thousand would take minutes.

use std::time::Duration;

use rusqlite::Connection;

use crate::databases::{connect, settle};
use crate::{Result, progress};

/// How long SQLite waits for the server's writer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The database of a server that runs.
pub(crate) struct Fill<'a> {
    pub(crate) engine: &'static str,
    /// As `LATCHKEY_DATABASE` has it.
    pub(crate) database: &'a str,
}

impl Fill<'_> {
    /// Makes so many users members of an organization without members.
    pub(crate) async fn members(&self, organization: &str, role: &str, count: usize) -> Result<()> {
        let script = format!(
            "INSERT INTO organization_memberships
               (instance_id, organization_id, user_id, id, role_id, document, created_at, updated_at)
             SELECT o.instance_id, o.id, u.id, 'orgmem_' || substr(u.id, 6), '{role}', {METADATA}, u.created_at, u.created_at
             FROM organizations o JOIN users u ON u.instance_id = o.instance_id
             WHERE o.id = '{organization}' ORDER BY u.created_at LIMIT {count};
             UPDATE organizations SET members_count = {count} WHERE id = '{organization}';"
        );
        self.run(&script).await
    }

    /// Copies an organization, so that there are those with the numbers `from` to `to`.
    pub(crate) async fn organizations(&self, like: &str, from: usize, to: usize) -> Result<()> {
        let count = to - from + 1;
        let script = format!(
            "INSERT INTO organizations (instance_id, id, document, slug, name_folded, search_folded, role_set_id,
               created_by, members_count, created_at)
             WITH RECURSIVE numbers(n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM numbers WHERE n < {to})
             SELECT o.instance_id, {ID}, replace(o.document, o.id, {ID}), 'copy-' || n, o.name_folded,
               o.search_folded, o.role_set_id, o.created_by, o.members_count, o.created_at + n
             FROM organizations o CROSS JOIN numbers WHERE o.id = '{like}';
             UPDATE organization_counts SET organizations = organizations + {count}
             WHERE instance_id = (SELECT instance_id FROM organizations WHERE id = '{like}')
               AND part = (SELECT min(part) FROM organization_counts
                           WHERE instance_id = (SELECT instance_id FROM organizations WHERE id = '{like}'));"
        );
        self.run(&script).await
    }

    /// Makes a user a member of so many of the copied organizations. Returns the id of the first.
    pub(crate) async fn memberships(&self, user: &str, role: &str, count: usize) -> Result<String> {
        let script = format!(
            "INSERT INTO organization_memberships
               (instance_id, organization_id, user_id, id, role_id, document, created_at, updated_at)
             WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
             SELECT instance_id, {ID}, id, 'orgmem_' || substr({ID}, 5), '{role}', {METADATA}, n, n
             FROM users CROSS JOIN numbers WHERE id = '{user}';"
        );
        self.run(&script).await?;
        Ok(format!("org_{:027}", 1))
    }

    async fn run(&self, script: &str) -> Result<()> {
        progress(self.engine, "filling tables of organizations");
        let Some(path) = self.database.strip_prefix("sqlite:") else {
            connect(self.database).await?.batch_execute(script).await?;
            return settle(self.database).await;
        };
        // Without ANALYZE: nobody does that to the file of a server, and connections that are open keep what they read of it
        // when the tables were still empty.
        let (path, script) = (path.to_owned(), format!("BEGIN; {script} COMMIT;"));
        let filled = tokio::task::spawn_blocking(move || {
            let connection = Connection::open(path)?;
            connection.busy_timeout(PATIENCE)?;
            connection.execute_batch(&script)
        });
        Ok(filled.await??)
    }
}

/// The id of the organization with the number `n`; both engines understand it.
const ID: &str = "'org_' || '00000000000000000' || substr(CAST(10000000000 + n AS TEXT), 2)";
/// What a membership is created with.
const METADATA: &str = r#"'{"public_metadata":{},"private_metadata":{}}'"#;
