-- What waits about one subject, by a condition of its own: with the one of what is due, PostgreSQL takes the index of that
-- instead while it believes that little waits, and looks at all that does.
CREATE INDEX ix__webhook_deliveries__waiting ON webhook_deliveries (instance_id, endpoint_id, subject_id, seq) WHERE status = 'pending';
-- What did not arrive, since a time.
CREATE INDEX ix__webhook_deliveries__missed ON webhook_deliveries (instance_id, endpoint_id, created_at, seq) WHERE status <> 'succeeded';
-- At the end: PostgreSQL locks out readers from here on.
DROP INDEX ix__webhook_deliveries__subject;
