/** Error messages of nodes and providers, and their classification. */
import { AbiCoder, Interface } from 'ethers/abi'
import t from 'tap'
import type { RpcFailure, RpcResult } from '../../src/chain/json-rpc.ts'
import {
  classifyCallFailure,
  classifySubmission,
  isBatchTooLarge,
  isRetryable,
  isWorthAnotherNode,
} from '../../src/chain/rpc-errors.ts'
import type { SubmissionOutcome } from '../../src/chain/submission-outcome.ts'

/** Type and reason. */
function read(failure: RpcFailure, ...errors: readonly Interface[]): [string, string | null] {
  const call = classifyCallFailure(failure, errors)
  return [call.type, call.type === 'reverted' ? call.reason : null]
}

function answer(message: string, code = -32000, data?: unknown): RpcFailure {
  return { kind: 'answer', code, message, ...(data === undefined ? {} : { data }) }
}

/** Outcome, source, JSON-RPC code, message. */
const SUBMISSIONS: readonly (readonly [SubmissionOutcome, string, number, string])[] = [
  ['accepted', 'geth', -32000, 'already known'],
  ['accepted', 'erigon', -32000, 'ALREADY_EXISTS: already known'],
  ['accepted', 'erigon', -32000, 'INTERNAL_ERROR: existing tx with same hash'],
  ['accepted', 'nethermind', -32010, 'AlreadyKnown'],
  ['accepted', 'besu', -32000, 'Known transaction'],
  ['accepted', 'anvil', -32003, 'transaction already imported'],
  ['accepted', 'hardhat', -32000, `Known transaction: 0x${'ab'.repeat(32)}`],
  ['accepted', 'openethereum', -32010, 'Transaction with the same hash was already imported.'],
  ['nonce_too_low', 'anvil', -32003, 'nonce too low'],
  ['nonce_too_low', 'geth', -32000, 'nonce too low: address 0xd8dA6BF2, tx: 5 state: 7'],
  ['nonce_too_low', 'reth', -32000, 'nonce too low: next nonce 82, tx nonce 81'],
  ['nonce_too_low', 'erigon', -32000, 'INTERNAL_ERROR: nonce too low'],
  ['nonce_too_low', 'besu', -32001, 'Nonce too low'],
  ['nonce_too_low', 'nethermind', -32010, 'OldNonce, Current nonce: 7, nonce of rejected tx: 5'],
  ['nonce_too_low', 'openethereum', -32010, 'Transaction nonce is too low. Try incrementing the nonce.'],
  ['nonce_too_low', 'hardhat', -32000, 'Nonce too low. Expected nonce to be 7 but got 5.'],
  ['nonce_gap', 'besu', -32006, 'Nonce too high'],
  ['nonce_gap', 'besu', -32000, 'Transaction nonce is too distant from current sender nonce'],
  ['nonce_gap', 'nethermind', -32010, 'NonceGap, Future nonce. Expected nonce: 5'],
  ['nonce_gap', 'geth', -32000, 'gapped-nonce tx from delegated accounts'],
  ['replacement_underpriced', 'geth', -32000, 'replacement transaction underpriced'],
  ['replacement_underpriced', 'besu', -32000, 'Replacement transaction underpriced'],
  ['replacement_underpriced', 'erigon', -32000, 'could not replace existing tx'],
  ['replacement_underpriced', 'nethermind', -32010, 'ReplacementNotAllowed'],
  ['replacement_underpriced', 'reth', -32603, '[0xab]: insufficient gas price to replace existing transaction.'],
  [
    'replacement_underpriced',
    'openethereum',
    -32010,
    'Transaction gas price supplied is too low. There is another transaction with same nonce in the queue. Try increasing the gas price or incrementing the nonce.',
  ],
  [
    'replacement_underpriced',
    'hardhat',
    -32000,
    'Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 11 is necessary to replace the existing transaction.',
  ],
  ['fee_too_low', 'geth', -32000, 'transaction underpriced'],
  ['fee_too_low', 'geth', -32000, 'transaction underpriced: gas tip cap 1, minimum needed 25000000000'],
  ['fee_too_low', 'anvil', -32003, 'max fee per gas less than block base fee'],
  ['fee_too_low', 'erigon', -32000, 'fee too low'],
  ['fee_too_low', 'nethermind', -32010, 'FeeTooLowToCompete'],
  ['fee_too_low', 'nethermind', -32010, 'FeeTooLow, EffectivePriorityFeePerGas too low 1 < 2, BaseFee: 7'],
  ['fee_too_low', 'besu', -32009, 'Gas price below configured minimum gas price'],
  ['fee_too_low', 'besu', -32009, 'Gas price below current base fee'],
  ['fee_too_low', 'reth', -32000, '[0xab] Transaction feeCap 7 below chain minimum.'],
  [
    'fee_too_low',
    'openethereum',
    -32010,
    "Transaction gas price is too low. It does not satisfy your node's minimal gas price (minimal: 10, got: 1). Try increasing the gas price.",
  ],
  [
    'insufficient_funds',
    'geth',
    -32000,
    'insufficient funds for gas * price + value: balance 0, tx cost 9, overshot 9',
  ],
  ['insufficient_funds', 'geth', -32000, 'insufficient funds for transfer'],
  ['insufficient_funds', 'geth', -32000, 'transaction would cause overdraft: balance 1, queued cost 2, tx cost 3'],
  ['insufficient_funds', 'anvil', -32003, 'Insufficient funds for gas * price + value'],
  ['insufficient_funds', 'nethermind', -32010, 'InsufficientFunds, Account balance: 0, cumulative cost: 9'],
  ['insufficient_funds', 'besu', -32004, 'Upfront cost exceeds account balance'],
  ['insufficient_funds', 'hardhat', -32000, "Sender doesn't have enough funds to send tx. The max upfront cost is: 9"],
  [
    'insufficient_funds',
    'openethereum',
    -32010,
    'Insufficient funds. The account you tried to send transaction from does not have enough funds. Required 9 and got: 0.',
  ],
  ['pool_full', 'geth', -32000, 'txpool is full'],
  ['pool_full', 'geth', -32000, 'account limit exceeded'],
  ['pool_full', 'geth', -32000, 'future transaction tries to replace pending'],
  ['pool_full', 'geth', -32000, 'in-flight transaction limit reached for delegated accounts'],
  ['pool_full', 'erigon', -32000, 'baseFee sub-pool is full'],
  ['pool_full', 'reth', -32603, '[0xab] Transaction discarded outright due to pool size constraints.'],
  [
    'pool_full',
    'openethereum',
    -32010,
    'There are too many transactions in the queue. Your transaction was dropped due to limit. Try increasing the fee.',
  ],
  ['rejected', 'hardhat', -32000, 'input too short'],
  ['rejected', 'geth', -32000, 'intrinsic gas too low: gas 20000, minimum needed 21000'],
  ['rejected', 'geth', -32000, 'insufficient gas for floor data gas cost: gas 21000, minimum needed 21400'],
  ['rejected', 'geth', -32000, 'exceeds block gas limit'],
  ['rejected', 'geth', -32000, 'invalid sender'],
  ['rejected', 'geth', -32000, 'invalid sender: invalid chain id for signer: have 5 want 1'],
  ['rejected', 'geth', -32000, 'oversized data: transaction size 200000, limit 131072'],
  ['rejected', 'geth', -32000, 'max priority fee per gas higher than max fee per gas'],
  ['rejected', 'geth', -32000, 'transaction type not supported'],
  ['rejected', 'geth', -32000, 'only replay-protected (EIP-155) transactions allowed over RPC'],
  ['rejected', 'geth', -32000, 'rlp: value size exceeds available input length'],
  ['rejected', 'geth', -32000, 'max initcode size exceeded: code size 50000, limit 49152'],
  ['rejected', 'anvil', -32000, 'intrinsic gas too low'],
  ['rejected', 'anvil', -32000, 'intrinsic gas too high -- tx.gas_limit > env.block.gas_limit'],
  ['rejected', 'anvil', -32003, 'invalid chain id for signer'],
  ['rejected', 'anvil', -32602, 'Failed to decode transaction'],
  ['rejected', 'nethermind', -32010, 'GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 90000000'],
  ['rejected', 'nethermind', -32010, 'Invalid, transaction Hash is null'],
  ['rejected', 'besu', -32003, 'Intrinsic gas exceeds gas limit'],
  ['rejected', 'besu', -32005, 'Transaction gas limit exceeds block gas limit'],
  ['rejected', 'besu', -32000, 'Wrong chainId'],
  ['rejected', 'erigon', -32000, 'RLPTooLong'],
  ['rejected', 'hardhat', -32000, 'Transaction requires at least 21000 gas but got 20000'],
  ['rejected', 'hardhat', -32000, 'Transaction gas limit is 90000000 and exceeds block gas limit of 30000000'],
  ['unavailable', 'infura', -32005, 'project ID request rate exceeded'],
  ['unavailable', 'infura', -32005, 'daily request count exceeded, request rate limited'],
  ['unavailable', 'alchemy', 429, 'Your app has exceeded its compute units per second capacity.'],
  ['unavailable', 'quicknode', -32007, '50/second request limit reached - reduce calls per second'],
  ['unavailable', 'bsc', -32005, 'limit exceeded'],
  ['unavailable', 'geth', -32002, 'request timed out'],
  ['unavailable', 'besu', -32008, 'Initial sync is still in progress'],
  [
    'unavailable',
    'besu',
    -32002,
    'Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).',
  ],
  ['unknown', 'any', -32603, 'Internal error'],
  ['node_limit', 'geth', -32000, 'tx fee (1.20 ether) exceeds the configured cap (1.00 ether)'],
  ['unknown', 'any', 1, 'the moon is in the wrong house'],
]

t.test('a submission error is classified by the message of the node, whatever its code', async (t) => {
  for (const [outcome, node, code, message] of SUBMISSIONS) {
    const submission = classifySubmission({ ok: false, error: answer(message, code) })
    t.strictSame(submission, { outcome, message }, `${node}: ${message}`)
  }
  t.equal(classifySubmission({ ok: true, value: `0x${'ab'.repeat(32)}` }).outcome, 'accepted')
})

t.test('a missing answer is never a refusal', async (t) => {
  for (const reason of [
    'timeout',
    'network',
    'http_status',
    'rate_limited',
    'invalid_response',
    'no_endpoint',
  ] as const) {
    const silence: RpcResult = { ok: false, error: { kind: 'unavailable', reason, message: 'nonce too low' } }
    t.equal(classifySubmission(silence).outcome, 'unavailable', reason)
  }
})

t.test('a submission is final only if a node accepted it or no node can accept it', async (t) => {
  const outcomes = [...new Set(SUBMISSIONS.map(([outcome]) => outcome))]
  t.strictSame(outcomes.filter((outcome) => !isRetryable(outcome)).sort(), ['accepted', 'nonce_too_low', 'rejected'])
})

const encode = (types: string[], values: unknown[]): string => AbiCoder.defaultAbiCoder().encode(types, values).slice(2)

t.test('the reason of a revert is found, wherever the node puts it', async (t) => {
  const hello = `0x08c379a0${encode(['string'], ['hello'])}`
  const shapes: readonly (readonly [string, RpcFailure])[] = [
    ['geth, anvil', answer('execution reverted: hello', 3, hello)],
    ['openethereum', answer('VM execution error.', -32015, `Reverted ${hello}`)],
    [
      'hardhat',
      answer("VM Exception while processing transaction: reverted with reason string 'hello'", -32603, {
        message: 'x',
        data: hello,
      }),
    ],
    ['hardhat, nested', answer('Internal JSON-RPC error.', -32603, { data: { message: 'x', data: hello } })],
    [
      'ganache',
      answer('VM Exception while processing transaction: revert hello', -32000, {
        '0xab': { error: 'revert', return: hello },
      }),
    ],
    ['no data', answer('execution reverted: hello', -32000)],
    ['besu, no data', answer('Execution reverted (hello)', -32000)],
  ]
  for (const [node, failure] of shapes) {
    t.strictSame(read(failure), ['reverted', 'hello'], node)
  }
  t.hasStrict(classifyCallFailure(answer('execution reverted', 3, '0x')), {
    type: 'reverted',
    reason: null,
    data: '0x',
  })
  t.hasStrict(classifyCallFailure(answer('EVM error InvalidFEOpcode', -32603)), {
    type: 'reverted',
    reason: 'EVM error InvalidFEOpcode',
  })
})

t.test('panics and the errors of ERC-6093 are decoded, others by the given ABI', async (t) => {
  const panic = answer('execution reverted', 3, `0x4e487b71${encode(['uint256'], [17])}`)
  t.strictSame(read(panic), ['reverted', 'panic 17: arithmetic overflow or underflow'])
  const owner = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
  const balance = answer(
    'execution reverted',
    3,
    `0xe450d38c${encode(['address', 'uint256', 'uint256'], [owner, 1, 2])}`,
  )
  t.hasStrict(classifyCallFailure(balance), {
    reason: `ERC20InsufficientBalance(sender: ${owner}, balance: 1, needed: 2)`,
    decoded: { name: 'ERC20InsufficientBalance', args: { sender: owner, balance: '1', needed: '2' } },
  })
  const errors = new Interface(['error Paused(uint64 until, uint8[] reasons)'])
  const custom = answer('execution reverted', 3, errors.encodeErrorResult('Paused', [9n, [1, 2]]))
  const others = new Interface(['error Stopped()'])
  t.strictSame(read(custom, others, errors), ['reverted', 'Paused(until: 9, reasons: ["1","2"])'])
  t.strictSame(read(custom), ['reverted', `unknown error ${errors.getError('Paused')?.selector}`], 'no ABI, no name')
  const cut = answer('execution reverted', 3, '0x08c379a000')
  t.strictSame(read(cut), ['reverted', 'unknown error 0x08c379a0'], 'data that cannot be decoded is an unknown error')
})

t.test('a read that failed says whether the state, the method or the node is missing', async (t) => {
  const table: readonly (readonly [string, number, string])[] = [
    [
      'missing_state',
      -32000,
      'missing trie node 5c0ee75d9dd668839db2895c93257f6a3a77282740c045d286ff0d1f297ffa24 (path )',
    ],
    ['missing_state', -32000, 'header not found'],
    ['missing_state', -32000, 'required historical state unavailable (reexec=128)'],
    ['missing_state', -32000, 'historical state not available in path scheme yet'],
    ['missing_state', -32000, "state histories haven't been fully indexed yet"],
    ['missing_state', -32603, 'State at block #11052984 is pruned'],
    ['missing_state', -32000, 'World state unavailable'],
    ['missing_state', -32002, 'No state available for block 0xab'],
    ['missing_state', -32602, 'BlockOutOfRangeError: block height is 435 but requested was 1048575'],
    [
      'missing_state',
      -32000,
      'This request is not supported because your node is running with state pruning. Run with --pruning=archive.',
    ],
    ['insufficient_funds', -32000, 'insufficient funds for transfer'],
    ['unsupported', -32601, 'the method eth_getBlockReceipts does not exist/is not available'],
    ['unsupported', -32000, 'Method not found'],
    ['unavailable', -32005, 'limit exceeded'],
    ['unavailable', 429, 'slow down'],
    ['unavailable', -32000, 'execution aborted (timeout = 5s)'],
    ['unknown', -32602, 'invalid argument 0: json: cannot unmarshal hex string'],
  ]
  for (const [type, code, message] of table) t.equal(classifyCallFailure(answer(message, code)).type, type, message)
})

t.test('empty data with another message is not a revert', async (t) => {
  t.equal(classifyCallFailure(answer('header not found', -32000, '0x')).type, 'missing_state')
})

t.test('another node is asked where one is unavailable or lacks the data, and not where it refused', async (t) => {
  const call = (message: string, code = -32000) => isWorthAnotherNode(answer(message, code), 'eth_call')
  t.strictSame(
    [call('header not found'), call('method not found'), call('limit exceeded'), call('execution reverted', 3)],
    [true, true, true, false],
  )
  const send = (message: string) => isWorthAnotherNode(answer(message), 'eth_sendRawTransaction')
  t.strictSame(
    [
      send('txpool is full'),
      send('Internal error'),
      send('tx fee (1.20 ether) exceeds the configured cap (1.00 ether)'),
      send('already known'),
      send('nonce too low'),
      send('invalid sender'),
    ],
    [true, true, true, false, false, false],
  )
})

t.test('a batch that is too large is distinguished from an exceeded gas limit', async (t) => {
  for (const words of ['batch too large', 'batch limit 100 exceeded: 142 requests given', 'response too large']) {
    t.ok(isBatchTooLarge(answer(words)), words)
  }
  t.ok(isBatchTooLarge(answer('Number of requests exceeds max batch size', -32005)))
  t.notOk(isBatchTooLarge(answer('exceeds block gas limit')))
  t.notOk(isBatchTooLarge({ kind: 'unavailable', reason: 'timeout', message: 'no response in time' }))
})
