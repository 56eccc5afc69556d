/**
 * Wallets that send everything they have, while fees rise and fall, nonces are missing and deposits leave the chain.
 */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { runCommandLine } from '../support/cli.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const PLAIN_GAS = 21_000n
/** The chain's default. */
const CAP_WEI = 500n * GWEI

const stage = await withStage(t, { env: { REPLACE_AFTER_MS: '1500', REBROADCAST_AFTER_MS: '1500' } })
const { service, rpc, mine, send, read, until, settle } = stage

const inEther = (wei: bigint) => `${wei / ETHER}.${(wei % ETHER).toString().padStart(18, '0')}`
const raiseTo = (wei: bigint) => rpc('anvil_setNextBlockBaseFeePerGas', toQuantity(wei)).then(() => mine())

type Offer = { readonly hash: string; readonly maxFee: bigint; readonly reserved: bigint }

/** Each signed version, and the reserved amounts of its transaction. */
async function offersOf(id: string): Promise<Offer[]> {
  const { rows } = await service.pool.query<{ hash: string; fee: string; reserved: string }>(
    `SELECT data->>'hash' AS hash, data->'fees'->>'maxFeePerGas' AS fee, (SELECT data->'reserved'->>'maxFeePerGas'
              FROM events WHERE stream_id = $1 AND stream_version = 1) AS reserved
       FROM events WHERE stream_id = $1 AND type IN ('TransactionSigned', 'TransactionReplaced') ORDER BY stream_version`,
    [`transaction-${id}`],
  )
  return rows.map(({ hash, fee, reserved }) => ({ hash, maxFee: BigInt(fee), reserved: BigInt(reserved) }))
}

async function fillersOf(wallet: LoadWallet): Promise<{ state: string; nonce: string | null }[]> {
  const { rows } = await service.pool.query<{ state: string; nonce: string | null }>(
    "SELECT state, nonce FROM transactions WHERE wallet_id = $1 AND type = 'NONCE_FILL'",
    [wallet.id],
  )
  return rows
}

/** What a wallet can send minus the gas of that transfer, at current prices. */
async function allOf(wallet: LoadWallet): Promise<bigint> {
  const { rows } = await service.pool.query<{ balance: string }>(
    `SELECT balance FROM balances WHERE wallet_id = $1 AND asset_id LIKE '%/slip44:%'`,
    [wallet.id],
  )
  // One percent above the quote: the API may have read it a moment before.
  const { medium } = await service.kernel.chainOf(1000001).fees.quote()
  return BigInt(rows[0]?.balance ?? 0) - (PLAIN_GAS * medium.maxFeePerGas * 101n) / 100n
}

/** The service has observed that the wallet has less than its initial funds. */
async function hasPaid(wallet: LoadWallet): Promise<boolean> {
  const { rowCount } = await service.pool.query('SELECT FROM balances WHERE wallet_id = $1 AND balance < $2', [
    wallet.id,
    (1_000n * ETHER).toString(),
  ])
  return rowCount === 1
}

/** The service has observed that the wallet cannot afford its replacement. */
function heldAtItsPrice(id: string) {
  return eventually(() =>
    service.lines.some(
      ({ transaction_id, msg }) =>
        transaction_id === id && String(msg).includes('the balance of the wallet is too low'),
    ),
  )
}

async function available(wallet: LoadWallet): Promise<string> {
  const { body } = await service.api.insist({ path: `/v1/wallets/${wallet.id}/balance?asset=ETH` })
  return JSON.stringify(body.data)
}

t.test(
  'when fees rise after signing, nothing is signed above the funds, and the affordable version is sent again',
  async (t) => {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    const id = await send(wallet, inEther(await allOf(wallet)))
    const { hash } = await until(wallet, id, 'submitted')
    const [first] = await offersOf(id)
    await rpc('anvil_dropAllTransactions')
    await raiseTo((first?.maxFee ?? 0n) * 3n)
    await heldAtItsPrice(id)
    t.equal((await offersOf(id)).length, 1, 'no unaffordable version is signed')
    await raiseTo(GWEI)
    await settle()
    t.match(await read(wallet, id), { state: 'confirmed', hash })
  },
)

t.test('when fees rise before signing, the signed transactions cost no more than was reserved', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await service.stopWorker('signer')
  const id = await send(wallet, inEther(await allOf(wallet)))
  await raiseTo(60n * GWEI)
  await service.startWorker('signer')
  await until(wallet, id, 'signed', 'submitted')
  const [first] = await offersOf(id)
  const [paid = 0n, reserved = 0n] = [first?.maxFee, first?.reserved]
  t.ok(paid >= reserved && paid * 50n <= reserved * 51n, 'the fee uses the reserve and the small remaining balance')
  await raiseTo(GWEI)
  await settle()
  t.match(await read(wallet, id), { state: 'confirmed', hash: first?.hash })
})

t.test('when the wallet cannot pay for the newest version, an older one is sent', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  const [first] = await offersOf(id)
  const price = first?.maxFee ?? 0n
  await raiseTo((price * 5n) / 4n)
  await eventually(async () => (await offersOf(id)).length > 1)
  await until(wallet, id, 'submitted')
  // The wallet loses its funds except what the first version needs, and the node loses its pool.
  await rpc('anvil_setBalance', wallet.address, toQuantity(10n ** 12n + PLAIN_GAS * price))
  await rpc('anvil_dropAllTransactions')
  await raiseTo(GWEI)
  await settle()
  t.match(await read(wallet, id), { state: 'confirmed', hash: first?.hash })
  t.equal((await onChain(stage, wallet)).length, 1)
})

t.test('a gap is filled without what later transactions reserve: they are mined behind it', async (t) => {
  const [giver, wallet] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  for (const { address } of [giver, wallet]) await rpc('anvil_impersonateAccount', address)
  const stranger = { from: wallet.address, to: RECIPIENT, value: '0x7', nonce: '0x0', gas: '0x5208' }
  const foreign = await rpc('eth_sendTransaction', stranger)
  await mine()
  await eventually(() => hasPaid(wallet))
  const id = await send(wallet, inEther(await allOf(wallet)))
  t.match(await until(wallet, id, 'submitted'), { nonce: 1 })
  await rpc('anvil_reorg', 1, [])
  await rpc('anvil_dropTransaction', foreign)
  // What the wallet got back does not pay for a filler at this price.
  await raiseTo(60n * GWEI)
  const commands = await bursarCommands(service.env)
  await eventually(async () => /The wallet lacks \d+ wei/.test((await runCommandLine(commands, 'stuck')).out))
  t.equal((await fillersOf(wallet)).length, 0, 'nothing is taken from what the transfer needs')
  await raiseTo(GWEI)
  const deposit = { from: giver.address, to: wallet.address, value: toQuantity(ETHER), gas: '0x5208' }
  await rpc('eth_sendTransaction', deposit)
  await settle()
  const after = await read(wallet, id)
  t.match(after, { state: 'confirmed', nonce: 1 })
  t.notOk(after.history.some(({ state }) => state === 'awaiting_funds'))
  matchExactly(t, await fillersOf(wallet), [{ state: 'confirmed', nonce: '0' }])
})

t.test('a transfer whose valid_until passes behind a stuck transaction fails, and its hold is released', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const stuck = await send(wallet, '0.000001')
  await until(wallet, stuck, 'submitted')
  await service.stopWorker('signer')
  // On a slow machine the time may have passed before the request is read: it is then refused, and sent again.
  const { body } = await eventually(async () => {
    const validUntil = new Date(Date.now() + 4_000).toISOString()
    const body = { to: RECIPIENT, amount: '1', asset: 'ETH', valid_until: validUntil }
    const reply = await service.api.send(`/v1/wallets/${wallet.id}/transfer`, body)
    return reply.status === 202 && reply
  })
  await rpc('anvil_dropAllTransactions')
  await raiseTo(2n * CAP_WEI)
  await service.startWorker('signer')
  const late = await until(wallet, body.data.transaction_id, 'failed')
  t.match(late.failure, { code: 'fee_cap_exceeded' })
  t.match(await read(wallet, stuck), { status: 'pending' })
  const { rows } = await service.pool.query<{ held: string }>(
    `SELECT held FROM wallet_holds WHERE wallet_id = $1 AND asset_id LIKE '%/slip44:%'`,
    [wallet.id],
  )
  t.ok(BigInt(rows[0]?.held ?? ETHER) < ETHER, 'only the stuck transaction holds funds')
  await raiseTo(GWEI)
  await settle()
  t.match(await read(wallet, stuck), { state: 'confirmed' })
})

t.test('a reorg of the deposit that pays for a transfer leaves balances and holds correct', async (t) => {
  const [giver, wallet] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  await settle()
  const first = await send(giver, '500')
  await settle()
  t.match(await read(giver, first), { state: 'confirmed' })
  await rpc('anvil_impersonateAccount', giver.address)
  const deposit = { from: giver.address, to: wallet.address, value: toQuantity(400n * ETHER), gas: '0x5208' }
  await rpc('eth_sendTransaction', deposit)
  await mine()
  await eventually(async () => (await available(wallet)).includes('1400'))
  const id = await send(wallet, '1300')
  await until(wallet, id, 'submitted')
  const accepted = await read(wallet, id)
  await rpc('anvil_dropAllTransactions')
  await rpc('anvil_reorg', 1, [])
  await mine()
  await eventually(async () => {
    const { rows } = await service.pool.query(
      `SELECT b.balance, h.held > b.balance AS short FROM balances b JOIN wallet_holds h USING (wallet_id, asset_id)
        WHERE wallet_id = $1 AND asset_id LIKE '%/slip44:%'`,
      [wallet.id],
    )
    return rows[0]?.balance === (1_000n * ETHER).toString() && rows[0]?.short === true
  })
  const { status } = await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${wallet.id}/transfer`,
    key: `short-${wallet.id}`,
    body: { to: RECIPIENT, amount: '0.1', asset: 'ETH' },
  })
  t.equal(status, 422, 'the remaining balance is reserved')
  await until(wallet, id, 'awaiting_funds')
  await rpc('eth_sendTransaction', deposit)
  await settle()
  t.match(await read(wallet, id), { state: 'confirmed', hash: accepted.hash })
  const { rows } = await service.pool.query(
    `SELECT b.balance, h.held FROM balances b JOIN wallet_holds h USING (wallet_id, asset_id)
      WHERE wallet_id = $1 AND asset_id LIKE '%/slip44:%'`,
    [wallet.id],
  )
  const balance = await rpc('eth_getBalance', wallet.address, 'latest')
  t.strictSame(rows, [{ balance: BigInt(String(balance)).toString(), held: '0' }])
})

t.end()
