-- Beside the log: requests that no node can simulate, for their owners. A row is as recent as seen_at: the signer writes it with
-- each try, and a request that is signed or ends leaves it behind.
CREATE TABLE unsimulated_transactions (
  transaction_id text           PRIMARY KEY,
  reason         text           NOT NULL,
  since          timestamptz(3) NOT NULL DEFAULT now(),
  seen_at        timestamptz(3) NOT NULL DEFAULT now()
);
