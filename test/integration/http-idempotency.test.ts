/**
 * Idempotency keys under contention: several API processes, equal and different bodies at the same instant, tenants and
 * environments with the same key, a killed process. One effect, and the same response for every repetition.
 */
import t from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { type Client, createClient, type Reply } from '../support/client.ts'
import { createWallet, type LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'
import { startVictimApi } from '../support/victims.ts'

/** A chain without a reachable node: wallets are created without one. */
const TESTNET = { ETHEREUM_TESTNET_RPC_URLS: 'http://127.0.0.1:9', ETHEREUM_TESTNET_CHAIN_ID: '1000002' }

const stage = await withStage(t, { env: TESTNET })
const { service } = stage
const { api, pool } = service
const [payer] = (await service.makeWallets(1)) as [LoadWallet]
const [other, dyingBefore, dyingAfter] = await Promise.all([
  startVictimApi(t, service),
  startVictimApi(t, service),
  startVictimApi(t, service),
])

function transfer(key: string, amount: string, from: { readonly id: string } = payer) {
  const body = { to: RECIPIENT, amount, asset: 'ETH' }
  return { method: 'POST', path: `/v1/wallets/${from.id}/transfer`, key, prefer: 'respond-async', body } as const
}

const codeOf = ({ status, body }: Reply) => `${status} ${body.errors?.[0]?.code ?? ''}`.trim()
const idsOf = (replies: readonly Reply[]) => [...new Set(replies.map(({ body }) => body.data.transaction_id))]
const isFirst = ({ headers }: Reply) => headers['idempotency-replayed'] === undefined
const accepted = async (): Promise<number> =>
  (await pool.query("SELECT FROM transactions WHERE state <> 'unknown' AND wallet_id = $1", [payer.id])).rowCount ?? 0

t.test('of simultaneous requests with one key at two processes, one body is accepted once', async (t) => {
  const before = await accepted()
  const paid: string[] = []
  for (const key of ['race-1', 'race-2', 'race-3', 'race-4', 'race-5', 'race-6']) {
    const amounts = [`0.1${key.slice(-1)}`, `0.2${key.slice(-1)}`]
    const asked = Array.from({ length: 24 }, (_, n) => ({
      amount: amounts[n % 2] ?? '',
      client: n % 4 < 2 ? api : other.api,
    }))
    const answers = await Promise.all(
      asked.map(async ({ amount, client }) => ({ amount, reply: await client.insist(transfer(key, amount)) })),
    )
    const won = answers.filter(({ reply }) => reply.status === 202)
    const lost = answers.filter(({ reply }) => reply.status !== 202)
    t.strictSame([won.length, lost.length], [12, 12], key)
    t.equal(new Set(won.map(({ amount }) => amount)).size, 1, 'only one body is accepted')
    t.strictSame([...new Set(lost.map(({ reply }) => codeOf(reply)))], ['422 idempotency_key_reused'])
    const replies = won.map(({ reply }) => reply)
    t.equal(idsOf(replies).length, 1)
    t.ok(replies.filter(isFirst).length <= 1, 'at most one answer is not a replay')
    paid.push(won[0]?.amount ?? '')
    const again = await other.api.insist(transfer(key, won[0]?.amount ?? ''))
    t.strictSame([idsOf([again]), isFirst(again)], [idsOf(replies), false], 'a later request gets the same answer')
  }
  t.equal((await accepted()) - before, 6)
  await stage.settle()
  const wei = (amount: string) => BigInt(amount.replace('0.', '')) * 10n ** 16n
  t.strictSame((await onChain(stage, payer)).map(({ amount }) => amount).toSorted(), paid.map(wei).toSorted())
})

t.test('a refused request leaves its key free, also for simultaneous requests', async (t) => {
  const amounts = Array.from({ length: 24 }, (_, n) => (n % 3 === 0 ? '0.5' : '1000000'))
  const answers = await Promise.all(
    amounts.map(async (amount, n) => ({
      amount,
      reply: await (n % 2 ? api : other.api).insist(transfer('dear-or-cheap', amount)),
    })),
  )
  const good = answers.filter(({ amount }) => amount === '0.5').map(({ reply }) => reply)
  t.ok(good.every(({ status }) => status === 202))
  t.equal(idsOf(good).length, 1)
  const refused = answers.filter(({ amount }) => amount !== '0.5').map(({ reply }) => codeOf(reply))
  t.strictSame(
    refused.filter((code) => code !== '422 insufficient_funds' && code !== '422 idempotency_key_reused'),
    [],
  )

  const poor = await createWallet(api, 'ethereum', 'poor')
  const early = await Promise.all(Array.from({ length: 8 }, () => api.insist(transfer('too-early', '0.5', poor))))
  t.strictSame([...new Set(early.map(codeOf))], ['422 insufficient_funds'])
  const [rich] = (await stage.rpc('eth_accounts')) as string[]
  await stage.rpc('eth_sendTransaction', { from: rich, to: poor.address, value: '0xde0b6b3a7640000' })
  await stage.mine()
  const first = await eventually(async () => {
    const reply = await api.insist(transfer('too-early', '0.5', poor))
    return reply.status === 202 && reply
  })
  t.ok(isFirst(first), 'the same request is accepted once funds arrive')
  const repeated = await Promise.all(
    Array.from({ length: 8 }, () => other.api.insist(transfer('too-early', '0.5', poor))),
  )
  t.strictSame([idsOf(repeated), repeated.filter(isFirst).length], [idsOf([first]), 0])
})

t.test('each tenant has its own keys, shared by its environments', async (t) => {
  const issue = createIssueApiKey(service.kernel)
  const clientOf = async (tenantId: string, environment: 'mainnet' | 'testnet') => {
    const { token } = await issue({ tenantId, environment }, { actor: 'operator' })
    return createClient(service.baseUrl, token)
  }
  const clients = [
    { who: 'globex mainnet', client: await clientOf('globex', 'mainnet') },
    { who: 'initech mainnet', client: await clientOf('initech', 'mainnet') },
    { who: 'initech testnet', client: await clientOf('initech', 'testnet') },
  ]
  const answers = await Promise.all(
    Array.from({ length: 24 }, async (_, n) => {
      const { who, client } = clients[n % 3] as (typeof clients)[number]
      const body = { network: 'ethereum', type: 'hd' }
      const reply = await client.insist({
        method: 'POST',
        path: '/v1/wallets/create',
        key: 'the-same',
        prefer: 'respond-async',
        body,
      })
      return { who, outcome: codeOf(reply), id: reply.body.data?.wallet_id ?? null }
    }),
  )
  const of = (name: string) => answers.filter(({ who }) => who.startsWith(name))
  t.equal(new Set(of('globex').map(({ id }) => id)).size, 1)
  t.ok(of('globex').every(({ id }) => id !== null))
  const made = of('initech').filter(({ id }) => id !== null)
  t.equal(new Set(made.map(({ who, id }) => `${who} ${id}`)).size, 1, 'one environment of the tenant has the key')
  t.strictSame(
    [...new Set(of('initech').flatMap(({ id, outcome }) => (id === null ? [outcome] : [])))],
    ['422 idempotency_key_reused'],
    'the other environment of the tenant is refused',
  )
  t.equal(made.length, 8)
  const { rows } = await pool.query(
    "SELECT tenant_id, count(*)::integer AS n FROM wallets WHERE tenant_id IN ('globex', 'initech') GROUP BY 1 ORDER BY 1",
  )
  t.strictSame(rows, [
    { tenant_id: 'globex', n: 1 },
    { tenant_id: 'initech', n: 1 },
  ])
})

t.test('a request repeated after its process was killed has one effect and one answer', async (t) => {
  for (const [moment, dying] of [['before', dyingBefore] as const, ['after', dyingAfter] as const]) {
    const { armed, reached } = dying.victim.arm({ moment, step: 'append TransferRequested' })
    await armed
    const before = await accepted()
    const lost = dying.api.once(transfer(`killed-${moment}`, '0.3')).then(
      () => 'answered',
      () => 'lost',
    )
    await reached
    t.strictSame([await dying.victim.ended, await lost], [true, 'lost'], moment)
    t.equal((await accepted()) - before, moment === 'after' ? 1 : 0)
    const again = await Promise.all(
      Array.from({ length: 12 }, (_, n) => (n % 2 ? api : other.api).insist(transfer(`killed-${moment}`, '0.3'))),
    )
    t.ok(again.every(({ status }) => status === 202))
    t.equal(idsOf(again).length, 1)
    t.equal(again.filter(isFirst).length, moment === 'after' ? 0 : 1)
    t.equal((await accepted()) - before, 1)
    t.equal(codeOf(await api.insist(transfer(`killed-${moment}`, '0.4'))), '422 idempotency_key_reused')
  }
})

t.test('the same request at several processes, one of which is killed, has one effect and one answer', async (t) => {
  const another = await service.startApi()
  const before = await accepted()
  const keys = ['storm-1', 'storm-2', 'storm-3', 'storm-4']
  const at = (client: Client) =>
    keys.flatMap((key) => Array.from({ length: 8 }, () => client.once(transfer(key, '0.01')).catch(() => null)))
  const doomed = at(other.api)
  const others = keys.flatMap((key) =>
    Array.from({ length: 8 }, async (_, n) => ({
      key,
      reply: await (n % 2 ? api : another).insist(transfer(key, '0.01')),
    })),
  )
  void Promise.race(doomed).then(other.victim.kill)
  const heard = (await Promise.all(doomed)).flatMap((reply) => (reply?.status === 202 ? idsOf([reply]) : []))
  const answers = await Promise.all(others)
  for (const key of keys) {
    const replies = answers.filter((answer) => answer.key === key).map(({ reply }) => reply)
    t.ok(replies.every(({ status }) => status === 202))
    t.equal(idsOf(replies).length, 1, key)
  }
  const ids = idsOf(answers.map(({ reply }) => reply))
  t.strictSame(
    heard.filter((id) => !ids.includes(id)),
    [],
    'the killed process answered with the same ids as the others',
  )
  t.equal((await accepted()) - before, keys.length)
  await stage.settle()
  t.equal((await onChain(stage, payer)).filter(({ amount }) => amount === 10n ** 16n).length, keys.length)
})

t.end()
