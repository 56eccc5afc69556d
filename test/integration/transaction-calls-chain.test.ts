/** Contract calls that a lane signs on a real chain: gas, data, reasons, and nodes that lag behind a dependency. */

import t, { type Test } from 'tap'
import { createChainClients } from '../../src/chain/client-set.ts'
import { EMPTY_TRANSFER_GAS } from '../../src/chain/forks.ts'
import { rpcCall } from '../../src/chain/json-rpc.ts'
import { composeCheckRecorded } from '../../src/compose/check-recorded.ts'
import { composeCheckRequests } from '../../src/compose/check-requests.ts'
import { newId } from '../../src/compose/new-id.ts'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { createEstimateGas } from '../../src/transactions/estimate-gas.ts'
import { createDeferred } from '../../src/transactions/held-lanes.ts'
import type { LaneContext } from '../../src/transactions/lane-context.ts'
import type { Lane } from '../../src/transactions/lanes.ts'
import type { CallRequest } from '../../src/transactions/prepare-call.ts'
import { createRefusedByToken } from '../../src/transactions/refused-by-token.ts'
import { signLane } from '../../src/transactions/sign-lane.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { withAnvil } from '../support/anvil.ts'
import { type Calls, NOW, rowOf, withCalls } from '../support/calls.ts'
import { createDrainLane } from '../support/drain-lane.ts'
import { osakaPlainGas, osakaRules } from '../support/gas.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { TAG_KEYS } from '../support/recorded-transactions.ts'
import { deployRegister } from '../support/register.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ACME, testSigner } from '../support/wallet-parts.ts'

/** The lane of a wallet on a separate chain, drained like by a signer process. */
async function withChain(t: Test, calls: Calls) {
  const { url } = await withAnvil(t, { mining: 'call' })
  const settings = {
    network: 'ethereum',
    environment: 'mainnet',
    chainId: TEST_CHAIN,
    rpcUrls: [url],
    confirmations: 2,
    minTipWei: 1n,
    maxTipWei: 1_000_000_000_000n,
    maxFeePerGasWei: 10n ** 12n,
    pollIntervalMs: 20,
    multicall3Address: null,
    priceFeeds: {},
    tokens: [],
  } as const
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const clients = createChainClients({ chains: [settings], timeoutMs: 60_000, now: Date.now, log: silent })
  t.after(() => clients.close())
  const { client, code, fees } = clients.get(settings)
  const countOf = async ({ address }: Pick<Lane, 'address'>) =>
    Number(await rpcCall(client, 'eth_getTransactionCount', [address, 'latest']))
  const ctx: LaneContext = {
    log: calls.log,
    lanes: calls.lanes,
    signer: testSigner(),
    check: composeCheckRecorded(
      { log: calls.log, pool: calls.pool, chains: clients },
      createSigningWalletOf(composeRecordedWallets(calls)),
      TAG_KEYS,
      composeCheckRequests({ log: calls.log, pool: calls.pool, chains: clients, clock: Date.now }, { counts: false }),
    ),
    onRefused: (id, reason) => {
      throw new Error(`${id}: ${reason}`)
    },
    compare: async (lane) => ({ held: null, unclear: [], from: await countOf(lane) }),
    countOf,
    keys: TAG_KEYS,
    clock: Date.now,
    newId,
    config: { replaceAfterMs: 60_000, maxInFlightPerLane: 64 },
    deferred: createDeferred(() => performance.now()),
    logger: { warn: () => undefined },
    metrics: { count: () => undefined },
    leftAlone: () => undefined,
    onUnstorable: (id, error) => {
      throw new Error(id, { cause: error })
    },
    laneChainOf: () => ({
      settings,
      quote: fees.quote,
      estimateGas: createEstimateGas(client, code, osakaPlainGas),
      neededGas: async () => null,
      emptyGas: async () => EMPTY_TRANSFER_GAS,
      gasRules: osakaRules,
      forkSince: async () => null,
      refusedByToken: createRefusedByToken(client),
      kinds: new Map(),
      observedBlock: async () => 0,
    }),
  }
  const drain = createDrainLane(createLeases({ pool: calls.pool, holder: 'test', leaseMs: 60_000 }), (lane, lease) =>
    signLane(ctx, lane, lease),
  )
  const rpc = (method: string, ...params: unknown[]) => rpcCall(client, method, params)
  /** Submits the signed bytes to the chain and mines them. Returns the receipt. */
  const send = async (id: string) => {
    const { state } = await calls.log.load(transactionAggregate, id)
    if (state.state !== 'signed') throw new Error(`${id} is ${state.state}`)
    const hash = await rpc('eth_sendRawTransaction', state.attempts[0]?.rawTransaction)
    await rpc('evm_mine')
    return (await rpc('eth_getTransactionReceipt', hash)) as { status: string; blockNumber: string; gasUsed: string }
  }
  const fund = (address: string) => rpc('anvil_setBalance', address, '0xde0b6b3a7640000')
  return { drain, rpc, send, fund, register: await deployRegister(url) }
}

/** A call of any contract, as its route records it. */
const contractCall = ({ data, ...rest }: Partial<CallRequest> & { readonly data: string }): Partial<CallRequest> => ({
  ...rest,
  data,
  kind: 'ContractCallRequested',
  subject: null,
  call: {
    function: null,
    signature: null,
    selector: data.slice(0, 10),
    args: null,
    events: [],
    errors: [],
    spends: [],
  },
})

t.test('a call is signed with its data and value, and has its effect on chain', async (t) => {
  const calls = await withCalls(t)
  const { drain, send, fund, register, rpc } = await withChain(t, calls)
  const { walletId, address, lane } = await calls.wallet()
  await fund(address)
  const to = register.address
  const modest = await calls.call(walletId, contractCall({ to, data: register.enter(7), value: 5n, gasLimit: 30_000n }))
  await drain(lane)
  t.equal((await send(modest)).status, '0x1', 'the estimate is used when the reserved gas is too low')
  const ample = await calls.call(walletId, contractCall({ to, data: register.enter(8, 7), gasLimit: 400_000n }))
  await drain(lane)
  const { state } = await calls.log.load(transactionAggregate, ample)
  t.equal(
    state.state === 'signed' && state.attempts[0]?.fees.gasLimit,
    400_000n,
    'the reserved gas is used when the estimate is lower',
  )
  t.equal((await send(ample)).status, '0x1')
  t.strictSame(await register.entries(), [7, 8])
  t.equal(await rpc('eth_getBalance', to, 'latest'), '0x5')
})

t.test(
  'a call that would revert fails unsigned with the decoded reason, and what depends on it with its name',
  async (t) => {
    const calls = await withCalls(t)
    const { drain, fund, register } = await withChain(t, calls)
    const { walletId, address, lane } = await calls.wallet()
    await fund(address)
    const bad = await calls.call(walletId, contractCall({ to: register.address, data: register.enter(2, 1) }))
    const behind = await calls.call(
      walletId,
      contractCall({ to: register.address, data: register.enter(3), dependsOn: bad }),
    )
    const last = await calls.call(
      walletId,
      contractCall({ to: register.address, data: register.enter(4), dependsOn: behind }),
    )
    const lost = await calls.call(
      walletId,
      contractCall({ to: register.address, data: register.enter(5), dependsOn: 'tx_none' }),
    )
    await drain(lane)
    const failures = await Promise.all([bad, behind, last, lost].map(async (id) => (await rowOf(calls, id)).failure))
    t.strictSame(failures, [
      { code: 'execution_reverted', message: 'ERC721NonexistentToken(tokenId: 1)' },
      {
        code: 'dependency_failed',
        message: `It depends on ${bad}, which ended as failed: ERC721NonexistentToken(tokenId: 1)`,
      },
      {
        code: 'dependency_failed',
        message: `It depends on ${behind}, which ended as failed.`,
      },
      { code: 'dependency_failed', message: 'It depends on tx_none, but this transaction does not exist.' },
    ])
    const { rows } = await calls.pool.query('SELECT held FROM wallet_holds WHERE wallet_id = $1', [walletId])
    t.equal(rows[0].held, '0')
  },
)

t.test('a node that has not seen the block of the dependency does not judge what depends on it', async (t) => {
  const calls = await withCalls(t)
  const { drain, send, fund, register, rpc } = await withChain(t, calls)
  const { walletId, address, lane } = await calls.wallet()
  await fund(address)
  const before = await rpc('evm_snapshot')
  const first = await calls.call(walletId, contractCall({ to: register.address, data: register.enter(1) }))
  await drain(lane)
  const { blockNumber } = await send(first)
  const { state } = await calls.log.load(transactionAggregate, first)
  const { hash = '', rawTransaction = '' } = (state.state === 'signed' && state.attempts[0]) || {}
  const inclusion = {
    hash,
    blockNumber: Number(blockNumber),
    blockHash: '0xb',
    succeeded: true,
    logs: null,
    gasUsed: 21_000n,
    effectiveGasPrice: 2n,
    blockTimestamp: NOW,
    minedAt: NOW,
  }
  await calls.log.execute(transactionAggregate, first, { type: 'RecordInclusion', inclusion }, { metadata: ACME })
  await rpc('evm_revert', before)
  const second = await calls.call(
    walletId,
    contractCall({ to: register.address, data: register.enter(2, 1), dependsOn: first }),
  )
  await t.rejects(drain(lane), Unavailable)
  t.equal((await rowOf(calls, second)).state, 'requested')
  await rpc('eth_sendRawTransaction', rawTransaction)
  await rpc('evm_mine')
  // It is tried again after a pause.
  await eventually(async () => {
    await drain(lane)
    return (await rowOf(calls, second)).state === 'signed' ? true : null
  })
  t.equal((await send(second)).status, '0x1')
})
