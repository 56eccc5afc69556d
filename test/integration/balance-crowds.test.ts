/** Many wallets at once: an airdrop to ten thousand of them in a block, and funds that no log shows. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { AbiCoder } from 'ethers/abi'
import t, { type Test } from 'tap'
import { blockAt } from '../../src/balances/read-holdings.ts'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { tokenAsset } from '../../src/core/assets.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import { balanceOf, untilWalked } from '../support/balances.ts'
import { type FollowedChain, withFollowedChain } from '../support/followed-chain.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { insertWallets } from '../support/many-rows.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const TOKEN = contractIn(compileSolidity('HostileToken.sol'), 'HostileToken')
const WALLETS = 20_000
const TOKENS = 20
const GAS_LIMIT = 10n ** 12n
/** The defaults of RPC_BATCH_MAX_CALLS and RPC_BATCH_MAX_BYTES. */
const MAX_CALLS = 100
const MAX_BYTES = 500_000
const HALF_OF_IT = '0x746a528800'
/** The first and the last wallet of `insertWallets`. */
const walletOf = (n: number) => `wal_${String(n).padStart(7, '0')}`
const addressOf = (n: number) => `0x1${n.toString(16).padStart(39, '0')}`

async function withCrowd(
  t: Test,
  count: number,
  nodeBefore: (url: string) => Promise<string> = async (url) => url,
): Promise<FollowedChain> {
  const chain = await withFollowedChain(
    t,
    async (url) => ({
      multicall3Address: (await setUpChain(url, 'ethereum')).contracts.multicall3,
      rpcUrls: [await nodeBefore(url)],
    }),
    { gasLimit: GAS_LIMIT },
  )
  await insertWallets(chain.pool, { count })
  return chain
}

async function registerToken(chain: FollowedChain) {
  const args = AbiCoder.defaultAbiCoder().encode(['uint8', 'uint8'], [0, 0]).slice(2)
  const { contractAddress } = await chain.send({ data: TOKEN.bytecode + args, gas: '0x1c9c380' })
  const contract = toChecksumAddress(contractAddress ?? '')
  const asset = tokenAsset(TEST_CHAIN, contract, 'HST', 18)
  await chain.pool.query(
    `INSERT INTO assets VALUES ('tenant_0', $1, 'ethereum', 'mainnet', $2, $3, 'HST', 'Crowd', 18, now(), 1)`,
    [asset.assetId, TEST_CHAIN, contract],
  )
  return asset
}

t.test('an airdrop to 20,000 wallets in one block is read whole', async (t) => {
  const chain = await withCrowd(t, WALLETS)
  const { rows } = await chain.pool.query('SHOW statement_timeout')
  t.strictSame(rows, [{ statement_timeout: '30s' }], 'the connections of the follower have a statement timeout')
  const asset = await registerToken(chain)
  chain.follow()
  await untilWalked(chain)
  const data = TOKEN.abi.encodeFunctionData('mint', [addressOf(1), WALLETS, 7n])
  await chain.send({ to: asset.contract ?? '', data, gas: HALF_OF_IT })
  await chain.transfer(addressOf(WALLETS), 5n)
  await untilWalked(chain)
  t.equal(await balanceOf(chain, walletOf(WALLETS)), '5', 'the next block is read as well')
  const found = async () =>
    Number(
      (
        await chain.pool.query('SELECT count(*) AS n FROM balances WHERE asset_id = $1 AND balance = 7', [
          asset.assetId,
        ])
      ).rows[0].n,
    )
  t.ok((await found()) > 0, 'the first round reads some of the balances')
  // The time for one look is limited: on a slow machine it takes more than one.
  for (let looks = 0; looks < 20 && (await found()) < WALLETS; looks += 1) {
    await chain.pool.query(`UPDATE unread_tokens SET retry_at = clock_timestamp() - interval '1 minute'`)
    await chain.retryTokens(TEST_CHAIN)
  }
  t.equal(await found(), WALLETS, 'later rounds read the rest of the balances')
})

t.test('one run finds money that left no log among 10,000 wallets and 20 tokens', async (t) => {
  const chain = await withCrowd(t, WALLETS / 2)
  for (let n = 0; n < TOKENS; n += 1) await registerToken(chain)
  chain.follow()
  await chain.sendInternally(addressOf(WALLETS / 2), 9n)
  await untilWalked(chain)
  t.equal(await balanceOf(chain, walletOf(WALLETS / 2)), undefined, 'no block names the wallet, so there is no balance')
  t.match(await chain.reconcile(TEST_CHAIN), { wallets: WALLETS / 2 })
  t.equal(await balanceOf(chain, walletOf(WALLETS / 2)), '9')
})

type Body = { readonly bytes: number; readonly calls: number }

/** Forwards everything to a node, and records the sizes. */
async function noteBodies(t: Test, url: string, bodies: Body[]): Promise<string> {
  const pass = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    bodies.push({ bytes: body.length, calls: Array.isArray(parsed) ? parsed.length : 1 })
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    response.end(await answer.text())
  }
  const server = http.createServer((request, response) => {
    pass(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test(
  '20 tokens of 250 wallets are reconciled, and read at once, in bodies that nodes and proxies take',
  async (t) => {
    const bodies: Body[] = []
    const chain = await withCrowd(t, 250, (url) => noteBodies(t, url, bodies))
    const assets: Awaited<ReturnType<typeof registerToken>>[] = []
    for (let n = 0; n < TOKENS; n += 1) assets.push(await registerToken(chain))
    const { client, head } = chain
    const { chainOf, readForRecord } = chain.balances
    chain.follow()
    await untilWalked(chain)
    await chain.reconcile(TEST_CHAIN)
    const at = await blockAt(chainOf(TEST_CHAIN), await head())
    const holdings = Array.from({ length: 250 }, (_, i) =>
      assets.map((asset) => ({
        walletId: walletOf(i + 1),
        tenantId: 'tenant_0',
        address: addressOf(i + 1),
        asset,
        orphaned: null,
      })),
    ).flat()
    const before = bodies.length
    t.equal((await readForRecord(chainOf(TEST_CHAIN), holdings, at)).length, 250 * TOKENS)
    t.ok(bodies.length - before > 1, 'the reads need more than one HTTP body')
    await client.client.batch(
      holdings.map(({ address }) => ({ method: 'eth_getBalance', params: [address, 'latest'] })),
    )
    t.equal(Math.max(...bodies.map(({ calls }) => calls)), MAX_CALLS)
    const largest = Math.max(...bodies.map(({ bytes }) => bytes))
    t.ok(largest <= MAX_BYTES, `the largest body has ${largest} bytes`)
  },
)
