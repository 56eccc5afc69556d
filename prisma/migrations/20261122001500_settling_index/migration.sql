-- The state `cancelling` has not existed since before the first release.
DROP INDEX transactions_to_settle;
CREATE INDEX transactions_to_settle ON transactions (chain_id, block_number) WHERE state = 'mined';
