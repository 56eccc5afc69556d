/** The policies to copy of docs/policies.md are published, and let through and refuse requests to the service as their texts say. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { encodeApprove } from '../../src/chain/erc20.ts'
import { PAST } from '../../src/compose/capabilities.ts'
import { seedCounters } from '../../src/policies/seed-counters.ts'
import { createClient } from '../support/client.ts'
import { deployToken } from '../support/demo-token.ts'
import type { LoadWallet } from '../support/load.ts'
import { withStage } from '../support/service-stage.ts'

const PAGE = readFileSync('docs/policies.md', 'utf8')
const [KEY, EMPLOYEE, EXCHANGE] = [
  'key_0198c0de-7c3e-7b52-8d10-0f6c2f1d8a11',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45',
]
const STRANGER = '0x00000000000000000000000000000000b0b5ade0'
const NATIVE = 'eip155:1000001/slip44:60'

const stage = await withStage(t)
const { service } = stage
const { kernel, baseUrl } = service
const [wallet, own] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
let isDeployed = false
const deploying = deployToken(stage.url, { name: 'Token', symbol: 'TKN', decimals: 18 }).finally(() => {
  isDeployed = true
})
while (!isDeployed) await stage.mine()
const token = await deploying
const scopes = ['*', 'policies:read', 'policies:write', 'policies:publish', 'api_keys:read', 'api_keys:write']
const other = await createIssueApiKey(kernel)(
  { tenantId: 'acme', environment: 'mainnet', scopes },
  { actor: 'operator' },
)
const otherApi = createClient(baseUrl, other.token)
const seeding = { pool: service.pool, log: kernel.log, source: PAST, chains: kernel.config.chains }
const seed = (signal: AbortSignal) => seedCounters(seeding, signal)

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH'
async function ask(method: Method, path: string, body?: object, api = otherApi) {
  const { status, body: answer } = await api.insist({ method, path, body })
  return { status, data: answer.data, codes: answer.errors?.map(({ code }) => code) ?? [] }
}

const send =
  (to: string, api = otherApi) =>
  () =>
    ask('POST', `/v1/wallets/${wallet.id}/transfer`, { to, amount: '0.001', asset: 'ETH' }, api)
const approve = (spender: string, amount: bigint) => () =>
  ask('POST', `/v1/wallets/${wallet.id}/contract-call`, {
    contract_address: token,
    data: encodeApprove(spender, amount),
  })

/** The office is open at other times than the test: the day of the month is that of now, and the hours are all. */
const today = new Intl.DateTimeFormat('en', { timeZone: 'Europe/Zurich', day: 'numeric' }).format()
const asWritten = (text: string) => text
const now = (text: string) => text.replace('[25]', `[${today}]`).replace(/, "from": "[0-9:]+", "to": "[0-9:]+"/g, '')

type Try = () => ReturnType<typeof ask>
/** What is let through; what is refused, and with which code: without a price, limits of US dollars refuse. */
const TRIES: Readonly<
  Record<string, { readonly edit?: (text: string) => string; readonly allowed?: Try; readonly refused?: Try }>
> = {
  'Payroll on the 25th': { edit: now, allowed: send(EMPLOYEE), refused: send(STRANGER) },
  'Hot wallets with a daily cap': {
    allowed: () => ask('POST', `/v1/wallets/${own.id}/transfer`, { to: STRANGER, amount: '0.001', asset: 'ETH' }),
    refused: send(STRANGER),
  },
  'Only to our own wallets': { allowed: send(own.address), refused: send(STRANGER) },
  // The chain of the test has no exchange: what it refuses, the unit test of the examples shows.
  'Swap only stable coins, under 50 bps': { allowed: send(STRANGER) },
  'NFT drop': { allowed: send(STRANGER), refused: send(STRANGER, service.api) },
  'No unlimited allowances': { allowed: approve(EXCHANGE, 5n), refused: approve(EXCHANGE, 2n ** 256n - 1n) },
  'Office hours': { edit: now, allowed: send(STRANGER), refused: send(STRANGER, service.api) },
  'A new recipient waits': {},
  'A daily limit for each recipient': { allowed: send(own.address), refused: send(STRANGER) },
  'Only known contracts and functions': { allowed: send(STRANGER), refused: approve(EXCHANGE, 5n) },
}

const { rows } = await service.pool.query<{ key_id: string }>('SELECT key_id FROM api_keys WHERE key_id <> $1', [
  other.keyId,
])
const mine = rows[0]?.key_id ?? ''
await ask('PATCH', `/v1/wallets/${wallet.id}`, { tags: ['hot'] })
const policies = [...PAGE.matchAll(/^### (.+)\n[^#]*?```json\n([\s\S]*?)```/gm)]

t.strictSame(
  policies.map(([, title]) => title),
  Object.keys(TRIES),
)
for (const [, title = '', text = ''] of policies)
  t.test(title, async (t) => {
    const { edit = asWritten, allowed, refused } = TRIES[title] ?? {}
    const known = text.replace(/eip155:1\/[^"]+/g, NATIVE).replaceAll(KEY, mine)
    const { data: before } = await ask('GET', '/v1/policies')
    const revision = before.draft?.revision ?? 0
    const drafted = await ask('PUT', '/v1/policies', { revision, policy: JSON.parse(edit(known)) })
    t.strictSame(drafted.codes, [])
    await ask('POST', '/v1/policies/shadow', { revision: revision + 1 })
    const version = (await ask('GET', '/v1/policies')).data.shadow?.version
    while (!(await ask('GET', '/v1/policies')).data.shadow?.seeded) await seed(new AbortController().signal)
    const published = await ask('POST', '/v1/policies/publish', { version })
    t.strictSame(
      published.codes,
      title === 'A new recipient waits' ? ['approval_unavailable', 'approval_unavailable'] : [],
    )
    if (allowed) t.strictSame((await allowed()).codes, [], 'it is let through')
    if (refused) {
      const { status, codes } = await refused()
      t.equal(status, 403)
      t.match(codes.join(), /^policy_(denied|limit)$/)
    }
  })

t.end()
