-- Text messages by their number: how many it got of late is asked before another one is written.
CREATE INDEX ix__messages__texts ON messages (instance_id, recipient, created_at) WHERE channel = 'sms';
