/**
 * The error messages of nodes and providers, as data for `rpc-errors.ts`. A string matches when the lower-case message
 * contains it; patterns are for variable texts. Sources: the error lists of geth (and bor, bsc), erigon, nethermind,
 * besu, reth, openethereum, anvil and hardhat, and responses of public providers.
 */
import type { SubmissionOutcome } from './submission-outcome.ts'

export type Wording = string | RegExp

/** @param message in lower case */
export function isSaid(message: string, wordings: readonly Wording[]): boolean {
  return wordings.some((wording) => (typeof wording === 'string' ? message.includes(wording) : wording.test(message)))
}

/** The first matching group wins, since "replacement transaction underpriced" is also "underpriced". */
export const SUBMISSION_WORDINGS: readonly (readonly [SubmissionOutcome, readonly Wording[]])[] = [
  [
    'accepted',
    [
      'already known', // geth, erigon ("ALREADY_EXISTS: already known"), reth
      'alreadyknown', // nethermind
      'known transaction', // besu, hardhat, geth before 1.9
      'already imported', // anvil, openethereum
      'existing tx with same hash', // erigon
      'already in the mempool',
      'already in mempool',
      'tx already exists',
    ],
  ],
  [
    'replacement_underpriced',
    [
      'replacement transaction', // geth, erigon, reth, besu, anvil, hardhat
      'replacementnotallowed', // nethermind
      'to replace existing',
      'could not replace existing tx', // erigon
      'another transaction with same nonce', // openethereum
      'another tx which has the same nonce',
      'ownnoncealreadyused', // nethermind: another transaction of its own holds the nonce, unmined
    ],
  ],
  ['nonce_too_low', [/nonce (is )?too low/, 'oldnonce', /nonce .*already been used/, 'invalid transaction nonce']],
  [
    'nonce_gap',
    [
      /nonce (is )?too (high|distant|far)/, // geth, besu
      'noncegap',
      'noncetoofarinfuture',
      'gapped-nonce', // geth, for EIP-7702 accounts
      'gapped nonce',
      'lower nonce exists', // besu
    ],
  ],
  [
    'pool_full',
    [
      /(tx ?pool|mempool|sub-?pool|queue|pool) (is )?(full|overflow)/,
      'account limit exceeded', // geth, bsc
      'too many transactions', // openethereum
      'future transaction tries to replace pending', // geth
      'in-flight transaction limit reached', // geth, for EIP-7702 accounts
      'already reserved', // geth
      'pool size constraints', // reth
      'spammer', // erigon, reth
    ],
  ],
  [
    'insufficient_funds',
    [
      'insufficient funds',
      'insufficientfunds',
      'insufficient balance',
      'not enough funds',
      'have enough funds', // hardhat
      'upfront cost exceeds account balance', // besu
      'would cause overdraft', // geth
    ],
  ],
  ['node_limit', ['exceeds the configured cap']], // geth, bor, bsc, erigon: RPC's own bound on value and fees
  ['rejected', [/max ?priority ?fee ?per ?gas.* (higher|exceeds|greater)/]],
  [
    'fee_too_low',
    [
      'underpriced',
      /fee ?too ?low/,
      /less than (the )?(block )?base ?fee/,
      /below (the )?(current |configured |pool )?(base ?fee|minimum)/,
      /gas ?price (supplied )?(is )?too low/, // openethereum
      /max fee per gas.* too low/, // hardhat
      /(gas tip cap|gas price|fee ?cap).* (minimum needed|below chain minimum)/, // bor, reth
    ],
  ],
  [
    'rejected',
    [
      'intrinsic gas', // geth, anvil ("too low", "too high"), besu ("exceeds gas limit")
      'intrinsicgas', // erigon
      'floor data gas',
      /exceeds (the )?block('s)? gas limit/,
      /gas limit .*(exceeds|greater than|too high)/,
      'gaslimitexceeded',
      'gas limit reached',
      'cost exceeds current gas limit', // openethereum
      'gas is too low', // openethereum
      /requires at least \d+ gas/, // hardhat
    ],
  ],
  [
    'rejected',
    [
      /invalid (sender|signature|chain ?id|transaction|rlp|raw|gas fee cap)/,
      'wrong chain',
      /chain ?id (is )?(not supported|required|invalid|mismatch|does not match)/,
      'for another chain',
      'incompatible eip-155',
      'replay-protected',
      /(failed|unable|could not|cannot) ?to ?(resolve|recover|decode|parse)/,
      'could not decode',
      'rlp:',
      'rlptoolong',
      'typed transaction too short',
      'input too short', // hardhat
      'expected a valid hex string',
    ],
  ],
  [
    'rejected',
    [
      'oversized data',
      /transaction.* too (big|large)/,
      'initcode',
      'negative value',
      'overflow',
      'nonce has max value',
      'type not supported',
      'type is not activated',
      'unsupported transaction type',
      'not an eoa',
      'senderiscontract',
      /^invalid(,|$)/, // nethermind
    ],
  ],
]

/** The provider's rate limit was exceeded. */
export const RATE_LIMITED: readonly Wording[] = [
  /rate ?-?limit|rate exceeded|throttl|requests? limited/,
  /too many (requests|connections)/,
  /(request|connection|rate|plan) limit reached/,
  /(?<!gas )(limit|quota|capacity|count|credits?) (has been |is )?(exceeded|reached)/,
  /exceeded (its|the|your) .*(capacity|quota|credits|units)/,
]

/** The node, or the gateway in front of it, did not process the request. */
export const OVERLOADED: readonly Wording[] = [
  /time[d]?[ -]?out|deadline exceeded|context canceled/,
  /service unavailable|temporarily unavailable|bad gateway|gateway time/,
  /overloaded|server (is )?busy/,
  /no (available|healthy) |upstream|connection (refused|reset|closed)/,
  /syncing|initial sync|not yet in sync/,
  /transaction pool (is )?(not enabled|disabled)/,
]

export const UNSUPPORTED: readonly Wording[] = [
  'method not found',
  /method .*(does not exist|not available|not supported|not enabled|not allowed|is disabled|not whitelisted)/,
  'unsupported method',
  'unknown method',
  'not implemented',
  'rpc method is',
]

/** A parameter of a kind that the node does not take. */
export const WRONG_PARAMETER: readonly Wording[] = [
  'cannot unmarshal', // geth and its relatives
  /invalid (argument|params|parameter|type|block ?(number|tag|parameter))/,
  /cannot (wrap|convert|parse) .*(object|block|string|number)/, // ganache
  /(expected|must be) (a )?(hex )?string/,
]

export const MISSING_STATE: readonly Wording[] = [
  'missing trie node', // geth, bsc, bor
  'header not found', // geth: the block is not there, often a replica behind the head
  'header for hash not found',
  'unknown block', // geth, besu
  /block (number )?not found/,
  'resource not found', // anvil
  'blockoutofrange', // anvil
  'world state unavailable', // besu
  'no state available', // nethermind
  'historical state', // geth, bsc
  'state histories', // geth by path scheme
  'state is not available',
  'required historical state unavailable',
  /state at block .*pruned|is pruned|pruned history|history has been pruned/, // reth
  'state pruning', // openethereum
  'distance to target block exceeds',
  'old data not available', // erigon
]

export const BATCH_TOO_LARGE: readonly Wording[] = [
  'payload too large',
  /body (size )?(is )?too (large|big)|body (limit|size) exceeded/,
  /batch (is )?too (large|big)|too (big|large) (a )?batch/, // geth, jsonrpsee
  /batch (request )?(limit|size)/, // erigon: "batch limit 100 exceeded"
  /max(imum)? batch/, // besu
  /requests in batch/,
  /(response|request|content|entity) (size )?(is )?too (large|big)/, // geth: "response too large"
  'response size',
]

/** A call ran out of gas. */
export const OUT_OF_GAS: readonly Wording[] = [/out ?of ?gas|oog\b/, 'gas required exceeds allowance']

/** A call ran and failed. */
export const EXECUTION_FAILED: readonly Wording[] = [
  'revert',
  'vm exception',
  'vm execution error', // openethereum, nethermind
  'evm error', // anvil
  'invalid opcode',
  ...OUT_OF_GAS,
  'stack underflow',
  'stack overflow',
  'stack limit reached',
  'invalid jump',
  'write protection',
  'due to an exception', // besu
]
