/** Transfers to contracts that do harm to who sends to them: each ends by itself, and no other transfer waits for it. */
import { randomBytes } from 'node:crypto'
import { AbiCoder } from 'ethers/abi'
import t from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { transactionAggregate } from '../../src/transactions/projection.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { PASS } from '../support/node-lies.ts'
import { createOpenCalls } from '../support/open-calls.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const MOODY = contractIn(compileSolidity('MoodyRecipient.sol'), 'MoodyRecipient')
const MOODS = { accepts: 0, reverts: 1, loops: 2, drains: 3 } as const
type Mood = keyof typeof MOODS
/** Reasons that `jsonb` cannot hold as they are, and what is kept of them. */
const REASONS = [
  ['a NUL', 'no\0thing', 'nothing'],
  ['an emoji at the bound', `${'x'.repeat(511)}😀y`, `${'x'.repeat(511)}😀`],
  ['nothing that can be seen', '\0\u202e', null],
] as const

const { node, before } = await withNodeProxyBefore(t)
const stage = await withStage(t, { nodes: before, env: { REBROADCAST_AFTER_MS: '1000' } })
const { service, rpc, mine, read, until, settle } = stage
const open = createOpenCalls(service.kernel)

async function deploy(mood: Mood, reason = ''): Promise<string> {
  const args = AbiCoder.defaultAbiCoder().encode(['uint8', 'string'], [MOODS[mood], reason]).slice(2)
  const hash = await rpc('eth_sendTransaction', { from: RICH, data: MOODY.bytecode + args })
  await mine()
  const receipt = (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }
  return toChecksumAddress(receipt.contractAddress)
}

/** Changes its mood in the next block. */
const turn = (to: string, mood: Mood, reason = '') =>
  rpc('eth_sendTransaction', {
    from: RICH,
    to,
    data: MOODY.abi.encodeFunctionData('turn', [MOODS[mood], reason]),
  })

async function pay(wallet: LoadWallet, to: string, amount = '0.001', asset = 'ETH') {
  return service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${wallet.id}/transfer`,
    key: randomBytes(8).toString('hex'),
    prefer: 'respond-async',
    body: { to, amount, asset },
  })
}

async function sent(wallet: LoadWallet, to: string, amount?: string): Promise<string> {
  const { status, body } = await pay(wallet, to, amount)
  if (status !== 202) throw new Error(JSON.stringify(body))
  return body.data.transaction_id
}

t.afterEach(() => {
  node.decide = () => PASS
})

t.test('a recipient that reverts with text that no database holds fails its own transfer alone', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  for (const [what, reason, kept] of REASONS) {
    const bad = await sent(wallet, await deploy('reverts', reason))
    const good = await sent(wallet, RECIPIENT)
    const { failure } = await until(wallet, bad, 'failed')
    t.strictSame(
      failure,
      { code: 'execution_reverted', message: kept ?? 'The call would revert without a reason.' },
      what,
    )
    await until(wallet, good, 'submitted')
  }
  await settle()
})

t.test('so it does where it reverts in its block: what others sent there is settled', async (t) => {
  const [wallet, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  const cases: { id: string; to: string; mood: Mood; reason: string; what: string; message: string }[] = []
  for (const [what, reason, kept] of REASONS) {
    for (const mood of ['reverts', 'drains', 'loops'] as const) {
      const to = await deploy('accepts')
      const [id = ''] = await open(wallet, { to, data: '0x' })
      const message = kept === null || mood === 'loops' ? 'It reverted without a reason.' : kept
      cases.push({ id, to, mood, reason, what, message })
    }
  }
  const good = await sent(other, RECIPIENT)
  await until(other, good, 'submitted')
  for (const { id } of cases) await until(wallet, id, 'submitted')
  // The moods change in a block before theirs, so that the reasons can be read.
  await rpc('anvil_dropAllTransactions')
  for (const { to, mood, reason } of cases) await turn(to, mood, reason)
  await mine()
  for (const { state } of await service.kernel.log.loadMany(transactionAggregate, [good, ...cases.map(({ id }) => id)]))
    await rpc('eth_sendRawTransaction', (state.state === 'submitted' && state.attempts[0]?.rawTransaction) || '')
  await settle()
  t.equal((await read(other, good)).state, 'confirmed')
  for (const { id, mood, what, message } of cases) {
    const { state, failure } = await read(wallet, id)
    t.strictSame(
      { state, failure },
      { state: 'reverted', failure: { code: 'execution_reverted', message } },
      `${mood}: ${what}`,
    )
  }
})
