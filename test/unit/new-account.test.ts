/** A refusal names its cause: that the recipient is new, and what its account costs. */
import '../../src/declarations.ts'
import t from 'tap'
import { nativeAsset } from '../../src/core/assets.ts'
import { InsufficientFunds } from '../../src/core/errors.ts'
import { HoldRefused } from '../../src/event-log/append.ts'
import { type ExaminingChain, examineWaiting, type Waiting } from '../../src/transactions/examine-waiting.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { costOfNewAccount } from '../../src/transactions/new-account.ts'
import { explainRefusal } from '../../src/transactions/prepare-transaction.ts'
import { readIntent } from '../../src/transactions/read-events.ts'
import { matchExactly } from '../support/match-exactly.ts'

const asset = nativeAsset('ethereum', 1)
const reserved = { gasLimit: 207_391n, maxFeePerGas: 2_000_000_000n, newAccountGas: 186_391n }
const FEES = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1n }
const QUOTE = { baseFeePerGas: 1_000_000_000n, low: FEES, medium: FEES, high: FEES }

const intentWith = (given: Partial<Intent>) =>
  ({
    ...{ network: 'ethereum', chainId: 1, walletId: 'wal_1', from: '0x1', to: '0x2', asset, amount: 5n, data: null },
    ...{ gasPriority: 'medium', validUntil: null, reserved },
    ...given,
  }) as unknown as Intent
const CAUSE = 'The recipient is new: creating its account costs up to 0.000372782 ETH more.'

t.test('what the creation of an account costs is told where it is held, and nowhere else', (t) => {
  t.equal(costOfNewAccount(intentWith({})), CAUSE)
  const { newAccountGas: _, ...existing } = reserved
  t.equal(costOfNewAccount(intentWith({ reserved: existing })), null)
  t.end()
})

t.test('a refusal for lack of funds names it', (t) => {
  const held = new HoldRefused({ assetId: asset.assetId, available: 1n, needed: 9n } as never)
  const told = explainRefusal(held, [intentWith({})], { isTransfer: true })
  t.ok(told instanceof InsufficientFunds)
  t.ok((told as Error).message.endsWith(CAUSE), (told as Error).message)
  t.end()
})

t.test(
  'a transfer whose recipient is new since it was accepted gets more gas, and one that cannot says why',
  async (t) => {
    const old = { gasLimit: 21_000n, maxFeePerGas: 2_000_000_000n }
    const judge = async (gasLimit: bigint) => {
      const transaction = { intent: intentWith({ reserved: old }) }
      const waiting = { loaded: { id: 'tx_1' }, transaction, dependency: { outcome: 'succeeded', blockNumber: 1 } }
      const chain = {
        gasRules: async () => ({ transaction: 50_000_000n }),
        forkSince: async () => null,
        estimateGas: async () => [{ ok: true, gasLimit, newAccount: gasLimit - 21_000n }],
        kinds: new Map(),
        refusedByToken: async () => [],
        observedBlock: async () => 0,
      } as unknown as ExaminingChain
      return examineWaiting([waiting as unknown as Waiting], chain, QUOTE, '2026-01-01T00:00:00.000Z')
    }
    const { ready } = await judge(207_391n)
    matchExactly(t, ready, [{ fees: { gasLimit: 207_391n } }], 'accepted before a fork, signed after it')
    const { refused } = await judge(400_000n)
    matchExactly(t, refused, [
      { command: { code: 'fee_cap_exceeded', message: /379000 create the account of the recipient, which is new/ } },
    ])
  },
)

t.test('the recorded part of the hold is read again, and is missing in events of before', (t) => {
  const digits = { gasLimit: '207391', maxFeePerGas: '2000000000' }
  const recorded = (given: object) => ({ ...intentWith({}), amount: '5', quote: null, reserved: given }) as never
  t.strictSame(readIntent(recorded({ ...digits, newAccountGas: '186391' })).reserved, reserved)
  t.strictSame(readIntent(recorded(digits)).reserved, { gasLimit: 207_391n, maxFeePerGas: 2_000_000_000n })
  t.end()
})
