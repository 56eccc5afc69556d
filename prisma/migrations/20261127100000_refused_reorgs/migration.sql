-- What a follower refuses to undo: an operator can accept it.
ALTER TABLE chain_stalls ADD COLUMN refusal jsonb;
