/** The outcomes of submitting a transaction to a node; `rpc-errors.ts` classifies them. */

/**
 * The outcome of submitting a signed transaction to a node.
 *
 * - `accepted`: it is in the pool, or was there already
 * - `nonce_too_low`: the nonce is used, by this transaction or another; only a block can show which
 * - `nonce_gap`: the node is missing an earlier nonce of the sender; send that one first
 * - `replacement_underpriced`: another transaction has the nonce, and this one does not pay enough more
 * - `fee_too_low`: below the minimum of the node or the next block
 * - `insufficient_funds`: the sender cannot pay value and gas
 * - `pool_full`: no room now, for anybody or for this sender
 * - `node_limit`: a setting of this node forbids it (geth: the fee cap of `--rpc.txfeecap`); another node may accept it
 * - `rejected`: no node will ever accept these bytes
 * - `unavailable`: no answer, or no node was reached
 * - `unknown`: an unrecognized answer; retry a bounded number of times
 */
export type SubmissionOutcome =
  | 'accepted'
  | 'nonce_too_low'
  | 'nonce_gap'
  | 'replacement_underpriced'
  | 'fee_too_low'
  | 'insufficient_funds'
  | 'pool_full'
  | 'node_limit'
  | 'rejected'
  | 'unavailable'
  | 'unknown'
