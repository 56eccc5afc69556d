-- Lanes are worked on by partitions (ADR 49). The leases of single lanes go: whoever still works under one is refused by the next append.
DELETE FROM leases WHERE name ~ '^(sign|submit)-[0-9]+-0x';

-- Transactions that lost their nonce, and have no other: their earlier bytes are found by their lane. They are few.
CREATE INDEX transactions_without_their_nonce ON transactions (chain_id, from_address) WHERE nonce IS NULL AND jsonb_array_length(hashes) > 0;
