-- Each step of a transaction writes all its indexes anew, so each index has to have a reader.

-- The bytes to submit are found in transactions_in_flight, which also has those that were submitted long ago.
DROP INDEX transactions_to_submit;

-- Every reader names a nonce: a transaction that has none yet needs no entry.
DROP INDEX transactions_nonce_once;
CREATE UNIQUE INDEX transactions_nonce_once ON transactions (chain_id, from_address, nonce) WHERE nonce IS NOT NULL;
