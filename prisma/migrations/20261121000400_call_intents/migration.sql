-- Transactions that call contracts: what they wait for, what they serve, and whether a block's execution succeeded.

ALTER TABLE transactions
  ADD COLUMN depends_on   text,
  ADD COLUMN subject_type text,
  ADD COLUMN subject_id   text,
  ADD COLUMN succeeded    boolean;

-- Of what is in a block already, its newest inclusion tells.
UPDATE transactions t
   SET succeeded = (SELECT (e.data->>'succeeded')::boolean FROM events e
                     WHERE e.stream_id = 'transaction-' || t.transaction_id AND e.type = 'TransactionMined'
                     ORDER BY e.stream_version DESC LIMIT 1)
 WHERE t.block_number IS NOT NULL;

CREATE INDEX transactions_of_subject ON transactions (subject_type, subject_id) WHERE subject_id IS NOT NULL;
CREATE INDEX transactions_waiting_for ON transactions (depends_on) WHERE depends_on IS NOT NULL AND state = 'requested';

SELECT create_put_function('transactions');
