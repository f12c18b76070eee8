-- What waits about one subject, by a condition of its own: with the one of what is due, PostgreSQL takes the index of that
-- instead while it believes that little waits, and looks at all that does.
DROP INDEX ix__webhook_deliveries__subject;
CREATE INDEX ix__webhook_deliveries__waiting ON webhook_deliveries (instance_id, endpoint_id, subject_id, seq) WHERE status = 'pending';
