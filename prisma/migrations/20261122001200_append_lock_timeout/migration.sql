-- How long an append waits for a lock: a row that somebody keeps locked, in psql or in a transaction that was left open, holds up the
-- commits of its own wallet and not all that are sent after it. Commits are over in milliseconds; what meets a longer one is sent again.

ALTER FUNCTION append_commits(jsonb, jsonb, jsonb) SET lock_timeout = '1s';
